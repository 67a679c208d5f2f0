import { Result, Schema } from "effect"
import { Buffer } from "node:buffer"
import { domainToASCII } from "node:url"
import { type Composed, type Email, type EmailParts, validateAddress } from "../../text/Email.ts"
import type { Faults, Message } from "../Connection.ts"
import { feedbackIdOf, isSenderId } from "../FeedbackId.ts"
import type { HeaderLine } from "../sandbox/SinkMessages.ts"
import { contentOf } from "./Content.ts"
import { Address, DisplayName, HttpUrl, Variables } from "./Entry.ts"

// E-mails that the service composes, and the settings of their connections.

/** Settings of connections whose e-mails the service composes. */
export const emailFields = {
  from: Address,
  from_name: Schema.optionalKey(DisplayName),
  reply_to: Schema.optionalKey(Address),
  /**
   * Content of the header `List-Unsubscribe`. `{tracking_id}` and `{email}` in the URL are replaced. An https URL also
   * supports one-click unsubscribe. `one_click`: uses the unsubscribe link of this service for all templates, not only
   * for templates with `list_unsubscribe`.
   */
  unsubscribe: Schema.optionalKey(Schema.Struct({
    url: Schema.optionalKey(HttpUrl),
    mailto: Schema.optionalKey(Address),
    one_click: Schema.optionalKey(Schema.Boolean),
  })),
  /** The sender id at the end of `Feedback-ID`. Default: derived from the organization's slug. */
  sender_id: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter<string>((text) =>
        isSenderId(text) ? undefined : "must be 5 to 15 letters, digits, dots, hyphens or underscores"
      ),
    ),
  ),
}

const EmailSettings = Schema.Struct({ ...emailFields, variables: Schema.optionalKey(Variables) })

/** Settings that affect the content of an e-mail. */
type EmailSettings = typeof EmailSettings.Type

/** Returns the faults of a connection's setting `unsubscribe`. */
export const unsubscribeFaults = (unsubscribe: EmailSettings["unsubscribe"]): Faults => [
  ...(unsubscribe !== undefined && unsubscribe.url === undefined && unsubscribe.mailto === undefined &&
      unsubscribe.one_click !== true
    ? [{ pointer: "/settings/unsubscribe", detail: "must have a url, a mailto, or one_click: true" }]
    : []),
  ...(unsubscribe?.one_click === true && unsubscribe.url !== undefined
    ? [{
      pointer: "/settings/unsubscribe/url",
      detail: "must be left out with one_click: true, which has a link of its own",
    }]
    : []),
]

const filled = (url: string, { email, id }: Message): string =>
  url.replaceAll("{tracking_id}", encodeURIComponent(id)).replaceAll(
    "{email}",
    encodeURIComponent(email.toWellFormed()),
  )
    // A URL may contain these characters as entered, but a header may not.
    .replace(/[^\x21-\x7e]|[<>]/gu, (character) => encodeURIComponent(character))

/** Returns the `Message-ID` of a message, which is equal in each attempt. */
export const messageIdOf = ({ from }: Pick<EmailSettings, "from">, { id }: Message): string => {
  const domain = from.slice(from.lastIndexOf("@") + 1)
  return `${id}@${/^[a-z0-9.-]+$/.test(domain) ? domain : domainToASCII(domain)}`
}

/** Returns the targets of `List-Unsubscribe`: this service's link if the template or the connection requests it. */
const unsubscribeOf = ({ unsubscribe }: EmailSettings, message: Message): Email["unsubscribe"] => {
  const isOwn = message.unsubscribe?.isListed === true || unsubscribe?.one_click === true
  const url = isOwn && message.unsubscribe !== undefined
    ? message.unsubscribe.url
    : unsubscribe?.url === undefined
    ? undefined
    : filled(unsubscribe.url, message)
  const mailto = unsubscribe?.mailto
  return url === undefined && mailto === undefined ? undefined : { url, mailto }
}

/**
 * Returns the e-mail of a message. Fails with the end of a sentence that begins with "The message" and names the
 * missing or faulty part.
 */
export const emailOf = (settings: EmailSettings, message: Message): Result.Result<Email, string> => {
  const content = contentOf(message, settings.variables)
  if (Result.isFailure(content)) return Result.fail(content.failure)
  const address = validateAddress(message.email)
  if (address !== undefined) return Result.fail(`has a recipient that ${address}`)
  return Result.succeed({
    ...content.success,
    from: { email: settings.from, name: settings.from_name },
    to: message.email,
    replyTo: settings.reply_to,
    // Equal in each attempt, so that servers and mailboxes can recognize a repeated message.
    messageId: messageIdOf(settings, message),
    trackingId: message.id,
    unsubscribe: unsubscribeOf(settings, message),
    feedbackId: feedbackIdOf(message, settings.sender_id),
    isAutomatic: message.isTransactional,
    date: new Date(message.firstAttemptAt),
  })
}

/** Returns the header lines of an e-mail, unfolded. */
export const headersOf = (bytes: Uint8Array): ReadonlyArray<HeaderLine> => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = text.indexOf("\r\n\r\n")
  return text.toString("utf8", 0, end === -1 ? text.length : end).replace(/\r\n[ \t]+/g, " ").split("\r\n").map(
    (line) => {
      const colon = line.indexOf(":")
      return { name: line.slice(0, colon), value: line.slice(colon + 1).trim() }
    },
  )
}

/** Headers of a composed e-mail that a service accepts by API, in lowercase. The service writes all others. */
const ownHeaders: ReadonlySet<string> = new Set([
  "x-tracking-id",
  "list-unsubscribe",
  "list-unsubscribe-post",
  "feedback-id",
  "auto-submitted",
])

/** Returns the parts of an e-mail that was composed with `isShown`, for services that write the message themselves. */
export const apiParts = (
  { bytes, shown }: Composed,
): Pick<EmailParts, "subject" | "html" | "text"> & { readonly headers: ReadonlyArray<HeaderLine> } => ({
  ...shown!,
  headers: headersOf(bytes).filter(({ name }) => ownHeaders.has(name.toLowerCase())),
})
