import type { ContentFinding } from "../../../delivery/ContentFinding.ts"
import type { MailPreview } from "../../../delivery/MailPreviews.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { RenderedFormats } from "../../../domain/Template.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { type ChannelCheck, charactersOf } from "../../../rendering/ChannelChecks.ts"
import { Badge } from "../../components/Badge.tsx"
import { counted, firstOf } from "../../Format.ts"
import { faultText } from "../../RetoldTexts.ts"
import { frameEnd } from "../../RawRoutes.tsx"
import type { PreviewLook } from "./Draft.ts"

// The message within a preview, as an inbox and a mail program show it.

/** Longer subjects and preheaders are cut by most inboxes. Unit: characters. */
const shownLengths = { subject: 60, preheader: 100 }

const Length = ({ of, text }: { readonly of: keyof typeof shownLengths; readonly text: string }) => {
  const length = charactersOf(text)
  return (
    <li>
      {of === "subject" ? t`Subject` : t`Preheader`}: {counted(length, "character")}
      {length > shownLengths[of] && ` ${t`(most inboxes cut after about ${shownLengths[of]})`}`}
    </li>
  )
}

const InboxLine = ({ mail: { preheader = "", sender, subject } }: { readonly mail: MailPreview }) => (
  <section class="inbox" aria-label={t`Inbox`}>
    <h2>{t`Inbox`}</h2>
    <div class="inbox-line">
      <p class="from">
        {sender === undefined
          ? <span class="muted">{t`Sender of your platform`}</span>
          : <b dir="auto">{sender.name ?? sender.email}</b>}
        {sender?.name !== undefined && <span class="muted">{sender.email}</span>}
      </p>
      <p class="line" dir="auto">
        <b>{subject}</b> <span class="muted">{preheader}</span>
      </p>
    </div>
    <ul class="lengths">
      <Length of="subject" text={subject} />
      <Length of="preheader" text={preheader} />
    </ul>
  </section>
)

const hasDarkStyles = (html: string) => /prefers-color-scheme\s*:\s*dark/i.test(html)

/** Turns the colors of a message around, as mail programs do with messages that have no dark styles; not its pictures. */
const inverted = "<style>:where(html){background:#fff}html{filter:invert(1) hue-rotate(180deg)}" +
  "img,video{filter:invert(1) hue-rotate(180deg)}</style>"

/** Styles of a message that names no direction of its own, as in a mail program of the locale. */
const directed = (dir: Direction): string => dir === "rtl" ? "<style>:root:not([dir]){direction:rtl}</style>" : ""

type Direction = "ltr" | "rtl"

const Html = ({ blocksOf, dir, html, look: { colors, width } }: {
  readonly blocksOf: string | undefined
  readonly dir: Direction
  readonly html: string
  readonly look: PreviewLook
}) => {
  const isDark = colors === "dark"
  const isInverted = isDark && !hasDarkStyles(html)
  return (
    <>
      {isInverted && (
        <p class="small muted">
          {t`The message has no dark styles. Mail programs turn its colors around, each in its own way: this is
            close to most.`}
        </p>
      )}
      <div class={`mail-frame of-${width}${isDark ? " dark" : ""}`}>
        <div>
          {/* The page around the preview measures the blocks of a message. No script runs in either frame. */}
          <iframe
            sandbox={blocksOf === undefined ? "" : "allow-same-origin"}
            data-blocks-of={blocksOf}
            srcdoc={`${html}${frameEnd}${directed(dir)}${isInverted ? inverted : ""}`}
            title={isDark ? t`Message, ${width} pixels wide, dark` : t`Message, ${width} pixels wide, light`}
          >
          </iframe>
        </div>
      </div>
    </>
  )
}

const words = { ok: english("ok"), warn: english("check"), wrong: english("fix") } as const
const kinds = { ok: "good", warn: "warn", wrong: "bad" } as const
const names: { readonly [check in ContentFinding["check"]]: string } = {
  subject: english("Subject"),
  size: english("Size"),
  links: english("Links"),
  images: english("Images"),
  unsubscribe: english("Unsubscribe"),
  "plain-text": english("Plain text"),
  wording: english("Wording"),
  placeholders: english("Placeholders"),
}

const StatusBadge = ({ status }: { readonly status: keyof typeof words }) => (
  <Badge kind={kinds[status]}>{translated(words[status])}</Badge>
)

/** The message as an e-mail: its inbox line, its HTML or plain text, and the checks of its content. */
export const MailCard = ({ blocksOf, dir, look, mail, missing }: {
  /** Name of the MJML variable that is the HTML. Undefined for other HTML. */
  readonly blocksOf: string | undefined
  readonly dir: Direction
  readonly mail: MailPreview
  readonly look: PreviewLook
  /** Names of fields without a sample value. */
  readonly missing: ReadonlyArray<string>
}) => (
  <>
    <InboxLine mail={mail} />
    <section class="rendered" aria-label={t`Message`}>
      <h2>{look.part === "text" || mail.html === undefined ? t`Plain-text part` : t`Message, ${look.width} px`}</h2>
      {look.part === "text" || mail.html === undefined
        ? <pre class="text-part" tabIndex={0} dir="auto">{mail.text.replaceAll("\r\n", "\n")}</pre>
        : <Html blocksOf={blocksOf} dir={dir} html={mail.html} look={look} />}
    </section>
    <section class="findings" aria-label={t`Checks`}>
      <h2>{t`Checks`}</h2>
      <ul class="finding-list">
        {mail.findings.map(({ check, detail, status }) => (
          <li>
            <StatusBadge status={status} /> <b>{translated(names[check])}</b> {detail}
          </li>
        ))}
        <li>
          <StatusBadge status={missing.length === 0 ? "ok" : "warn"} /> <b>{t`Values`}</b>{" "}
          {missing.length === 0
            ? t`Every field has a value.`
            : t`No value for ${firstOf(missing, 10)}. The message shows where.`}
        </li>
      </ul>
    </section>
  </>
)

/** Warnings about the content, at their controls. A script places them next to these as well. */
export const ContentWarnings = ({ labels, warnings }: {
  readonly labels: Readonly<Record<string, string>>
  readonly warnings: ReadonlyArray<Fault>
}) =>
  warnings.length === 0 ? null : (
    <section class="findings" aria-label={t`Warnings`}>
      <h2>{t`Warnings`}</h2>
      <ul class="finding-list">
        {warnings.map(({ detail, pointer }) => (
          <li data-caution={pointer.slice(1)} data-detail={faultText(detail)}>
            <Badge kind="warn">{t`check`}</Badge> <b>{labels[pointer.slice(1)] ?? t`This variant`}</b>{" "}
            {faultText(detail)}
          </li>
        ))}
      </ul>
    </section>
  )

/** The lengths of texts of SMS and push. */
export const ChannelLengths = ({ checks }: { readonly checks: ReadonlyArray<ChannelCheck> }) =>
  checks.length === 0 ? null : (
    <section class="findings" aria-label={t`Lengths`}>
      <h2>{t`Lengths`}</h2>
      <ul class="finding-list">
        {checks.map(({ detail, status, variable }) => (
          <li>
            <StatusBadge status={status} /> <b>{variable}</b> {detail}
          </li>
        ))}
      </ul>
    </section>
  )

/** The sizes of the HTML to which MJML compiles. */
export const CompiledSizes = ({ compiled }: { readonly compiled: Readonly<Record<string, number>> }) => (
  <>
    {Object.entries(compiled).map(([name, bytes]) => (
      <p class="small muted">{t`${name}: the MJML compiles to ${Math.ceil(bytes / 1024)} kB of HTML.`}</p>
    ))}
  </>
)

/** Why the variables make no e-mail. Generate returns them all the same. */
export const NoMailNote = ({ reason }: { readonly reason: string }) => (
  <p class="small muted">{t`Not shown as an e-mail. ${reason} Generate returns the variables below.`}</p>
)

/** Rendered variables that are no part of the e-mail. */
export const VariableTexts = ({ dir = "ltr", formats, isShown, vars }: {
  /** Default: `ltr`. */
  readonly dir?: Direction
  readonly vars: Readonly<Record<string, string>>
  readonly formats: RenderedFormats
  readonly isShown: (name: string) => boolean
}) => (
  <>
    {Object.entries(vars).filter(([name]) => isShown(name)).map(([name, text]) => (
      <section class="rendered" aria-label={name}>
        <h2>{name}</h2>
        {Object.hasOwn(formats, name) && formats[name] === "html"
          ? (
            <iframe sandbox="" srcdoc={`${text}${frameEnd}${directed(dir)}`} title={t`${name}, as it is shown`}>
            </iframe>
          )
          : text === ""
          ? <p class="muted">{t`empty`}</p>
          : <p class="text" dir="auto">{text}</p>}
      </section>
    ))}
  </>
)
