import { escapeHtml, lineOf } from "../text/Email.ts"

// The mails of the service itself, as text and as simple HTML.

/** The content of a mail. */
export interface Letter {
  readonly subject: string
  readonly text: string
  readonly html: string
  /** URL where the recipient turns off such mails. */
  readonly unsubscribe?: string
}

/** A part of a letter: a paragraph, a link, or a linked title with a text. */
type Part =
  | { readonly paragraph: string }
  | { readonly label: string; readonly url: string }
  | { readonly title: string; readonly text: string; readonly url: string }

const textOf = (part: Part): string => {
  if ("paragraph" in part) return part.paragraph
  if ("label" in part) return `${part.label}:\n${part.url}`
  return `${part.title}\n${part.text}\n${part.url}`
}

const button = "display:inline-block;padding:10px 16px;border-radius:6px;background:#2347c5;color:#ffffff;" +
  "text-decoration:none;font-weight:600"

const htmlOf = (part: Part): string => {
  if ("paragraph" in part) return `<p dir="auto">${escapeHtml(part.paragraph)}</p>`
  const href = escapeHtml(part.url)
  if ("label" in part) return `<p><a href="${href}" style="${button}">${escapeHtml(part.label)}</a></p>`
  return `<p dir="auto"><a href="${href}">${escapeHtml(part.title)}</a><br>${escapeHtml(part.text)}</p>`
}

/** A letter of parts, as text and as HTML. `foot` is set in small type below a line. */
export const letterOf = (
  { foot = [], parts, subject, unsubscribe }: {
    readonly subject: string
    readonly parts: ReadonlyArray<Part>
    readonly foot?: ReadonlyArray<Part>
    readonly unsubscribe?: string
  },
): Letter => ({
  subject: lineOf(subject),
  text: `${[...parts, ...foot].map(textOf).join("\n\n")}\n`,
  html: '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">' +
    `<title>${escapeHtml(lineOf(subject))}</title></head>` +
    '<body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;max-width:600px;margin:24px auto;padding:0 16px">' +
    `${parts.map(htmlOf).join("")}${
      foot.length === 0
        ? ""
        : `<hr><div style="font-size:14px">${
          foot.map((part) => "label" in part ? linkOf(part) : htmlOf(part)).join("")
        }</div>`
    }</body></html>`,
  ...(unsubscribe === undefined ? {} : { unsubscribe }),
})

const linkOf = ({ label, url }: { readonly label: string; readonly url: string }): string =>
  `<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`

const unexpected = { paragraph: "If you did not expect this mail, you can ignore it." }

/** An invitation to an organization. */
export const invitationLetter = (
  { days, invitedBy, org, role, url }: {
    readonly org: string
    readonly role: string
    readonly invitedBy: string
    readonly url: string
    /** How long the link is valid. Unit: days. */
    readonly days: number
  },
): Letter =>
  letterOf({
    subject: `Invitation to ${org} on Parlance`,
    parts: [
      { paragraph: `${invitedBy} invites you to the organization ${org} on Parlance, with the role ${role}.` },
      { label: "Accept the invitation", url },
      { paragraph: `The link works once, within ${days} days.` },
    ],
    foot: [unexpected],
  })

/** A mail with a link to choose a password. `isAsked`: the recipient requested it on the sign-in page. */
export const passwordLetter = ({ isAsked, url }: { readonly isAsked: boolean; readonly url: string }): Letter =>
  letterOf({
    subject: "Choose a password for Parlance",
    parts: [
      {
        paragraph: isAsked
          ? "Somebody, probably you, asked for a new password for your account on Parlance."
          : "An administrator made a link with which you choose a password for your account on Parlance.",
      },
      { label: "Choose a password", url },
      { paragraph: "The link works once, for one hour. Choosing a password ends all your sessions." },
    ],
    foot: [unexpected],
  })

/** A mail to the owner of an account that has a new passkey. */
export const passkeyLetter = ({ name, url }: { readonly name: string; readonly url: string }): Letter =>
  letterOf({
    subject: "New passkey for Parlance",
    parts: [
      {
        paragraph: `The passkey ${
          JSON.stringify(name)
        } was added to your account on Parlance. It signs in without a password.`,
      },
      { label: "Your passkeys", url },
      {
        paragraph:
          "If you did not add it, remove it there, change your password, and tell an administrator of your installation.",
      },
    ],
  })

/** A mail to a person who requested a new password, but whose account signs in at an identity provider. */
export const providerLetter = ({ provider, url }: { readonly provider: string; readonly url: string }): Letter =>
  letterOf({
    subject: "Sign in to Parlance",
    parts: [
      {
        paragraph:
          "Somebody, probably you, asked for a new password for your account on Parlance. The account has no " +
          `password: it signs in with ${provider}.`,
      },
      { label: `Sign in with ${provider}`, url },
    ],
    foot: [unexpected],
  })

/** Maximum number of notifications in one mail. */
export const mostItems = 50

/** A mail with notifications of an organization for one member. */
export const notificationLetter = (
  { all, isDigest, items, org, preferences, unsubscribe }: {
    readonly org: string
    /** Up to `mostItems` notifications, newest first. */
    readonly items: ReadonlyArray<{ readonly title: string; readonly text: string; readonly url: string }>
    /** Number of all notifications. */
    readonly all: number
    readonly isDigest: boolean
    readonly preferences: string
    readonly unsubscribe: string
  },
): Letter => {
  const [first] = items
  return letterOf({
    subject: all === 1 && !isDigest
      ? `${first!.title} · ${org}`
      : `${all} ${all === 1 ? "notification" : "notifications"}${isDigest ? " of the last day" : ""} · ${org}`,
    parts: [
      ...items,
      ...(all > items.length
        ? [{ paragraph: `And ${all - items.length} more, which the list of notifications shows.` }]
        : []),
    ],
    foot: [
      { paragraph: `You get this mail as a member of ${org} on Parlance.` },
      { label: "Choose which notifications you get by mail", url: preferences },
    ],
    unsubscribe,
  })
}
