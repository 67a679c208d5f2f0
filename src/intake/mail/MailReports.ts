import { deliveryOfMailbox } from "../../tracking/BounceAddress.ts"
import type { Normalized } from "../../domain/Event.ts"
import type { EventName } from "../../domain/EventKinds.ts"
import type { Skipped } from "../../domain/DryRun.ts"
import { ignored } from "../Items.ts"
import type { NotUnderstood } from "../../domain/DryRun.ts"
import type { NormalizeMail } from "../Normalize.ts"
import { type BounceEvent, bounceEventOf, bounceEvents } from "./BounceKind.ts"
import { type MailHeaders, readMail, type ReceivedMail } from "./ReceivedMail.ts"

// Reads e-mails from mail servers: delivery reports (RFC 3464), bounces in the formats of qmail and older Exim, and
// complaints (RFC 5965).

/**
 * Name of the stored header with the delivery that a mail is about. The delivery comes from the signed address that
 * received the mail. Mail to the address for complaints has no such header: the enclosed message identifies its
 * delivery.
 */
export const deliveryHeader = "delivery-id"

/** The interpretation of a mail: an event of its delivery, or why it has no event. */
type Interpretation = { readonly event: EventName } | Skipped | NotUnderstood

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

const firstWord = (text: string | undefined): string => /^[a-z-]+/.exec((text ?? "").trim().toLowerCase())?.[0] ?? ""

/** Mildest result first: a message that reached one mailbox of an alias has not bounced. */
const severity: ReadonlyArray<EventName | "delayed" | "relayed"> = [
  "delivered",
  "relayed",
  "delayed",
  ...bounceEvents,
]

type RecipientResult = BounceEvent | "delivered" | "delayed" | "relayed"

/** Returns the result for one recipient of a delivery report; undefined for a group of fields without a recipient. */
const resultOf = (group: MailHeaders): RecipientResult | undefined => {
  if (!group.has("final-recipient") && !group.has("original-recipient") && !group.has("action")) return undefined
  switch (firstWord(group.get("action"))) {
    case "delayed":
      return "delayed"
    case "delivered":
      return "delivered"
    case "relayed":
    case "expanded":
      return "relayed"
    case "failed":
      break
    default:
      // If the action is absent or unknown, only a permanent status counts as a failed delivery.
      if (!/^\s*5\./.test(group.get("status") ?? "")) return undefined
  }
  return bounceEventOf({
    status: group.get("status"),
    diagnostic: group.get("diagnostic-code") ?? group.get("x-supplementary-info"),
  })
}

/** Interprets the fields of a delivery report (RFC 3464). */
const interpretStatus = (groups: ReadonlyArray<MailHeaders>): Interpretation => {
  const results = groups.flatMap((group) => resultOf(group) ?? [])
  const [result] = results.sort((a, b) => severity.indexOf(a) - severity.indexOf(b))
  switch (result) {
    case undefined:
      return { reason: "The delivery report names no recipient with an action or a status" }
    case "delayed":
      return ignored("The message is delayed: the server goes on trying")
    case "relayed":
      return ignored("The message was passed on to a server that sends no reports")
    default:
      return { event: result }
  }
}

/** Feedback types of complaints by the recipient. */
const complaints: ReadonlySet<string> = new Set(["abuse", "fraud", "complaint"])
const optOuts: ReadonlySet<string> = new Set(["opt-out", "opt-out-list", "unsubscribe"])

/** Interprets the fields of a feedback report (RFC 5965). */
const interpretFeedback = (fields: MailHeaders): Interpretation => {
  const type = firstWord(fields.get("feedback-type"))
  if (complaints.has(type)) return { event: "spam" }
  if (optOuts.has(type)) return { event: "unsubscribe" }
  if (type === "") return { reason: "The feedback report has no Feedback-Type" }
  return ignored(`Feedback of the type "${type}" is no complaint of the recipient`)
}

const isFromServer = (headers: MailHeaders): boolean =>
  /mailer-daemon|postmaster|mail delivery (?:sub)?system/i.test(headers.get("from") ?? "")

const bounceSubject =
  /undeliver|deliver\w* (?:status|fail|problem|has failed)|(?:mail|message) delivery|fail(?:ed|ure)\b|returned (?:mail|to sender)|could not be (?:delivered|sent)|non-?delivery|unzustellbar|nicht zugestellt/i

const isDelay = (subject: string, text: string): boolean =>
  /warning|delay|not yet/i.test(subject) && !/fail|undeliver|return/i.test(subject) ||
  /(?:has not yet been delivered|this is a warning message only|do not need to resend|will (?:continue|keep) trying|no action is required on your part)/i
    .test(text)

/** Maximum length of an explanation that is read. Unit: characters. */
const maxExplanation = 16_000

/** Start of the original message, which ends the explanation of a plain-text bounce. */
const enclosure =
  /^-{2,}[^\n]{0,80}(?:copy of (?:the|your) message|original message|below this line|returned message)|^return-path: </im

/** Returns the readable text up to an enclosed message. */
const explanationIn = (mail: ReceivedMail): string => {
  const text = mail.text.slice(0, maxExplanation)
  const end = text.search(enclosure)
  return end < 0 ? text : text.slice(0, end)
}

/** Interprets a bounce without a delivery report, as qmail and older Exim send it; undefined for other mail. */
const interpretText = (mail: ReceivedMail): Interpretation | undefined => {
  const { headers } = mail
  const subject = headers.get("subject") ?? ""
  const text = explanationIn(mail)
  const isBounce = headers.has("x-failed-recipients") ||
    /^hi\. this is (?:the|a)\b[^\n]{0,120}(?:qmail|program)/im.test(text) ||
    (isFromServer(headers) && (bounceSubject.test(subject) || isDelay(subject, text)))
  if (!isBounce) return undefined
  if (isDelay(subject, text)) return ignored("The message is delayed: the server goes on trying")
  return { event: bounceEventOf({ diagnostic: text }) }
}

/** Whether a program sent the mail for a person: absence notes, confirmations, read receipts. */
const isAutomaticReply = ({ headers, types }: ReceivedMail): boolean =>
  /^auto-(?:replied|notified|generated)/i.test(headers.get("auto-submitted") ?? "") ||
  ["x-autoreply", "x-autorespond", "x-auto-reply-from", "x-autogenerated"].some((name) => headers.has(name)) ||
  /auto_?reply|junk|bulk/i.test(headers.get("precedence") ?? "") ||
  /out of (?:the )?office|auto(?:matic|mated)?[- ]?(?:reply|response|answer)|vacation|abwesen|absence|fuera de/i.test(
    headers.get("subject") ?? "",
  ) ||
  types.includes("message/disposition-notification")

/** Returns the delivery of a mail to the address for complaints, according to the enclosed message. */
const deliveryIn = ({ enclosed, feedback }: ReceivedMail): string | undefined => {
  const named = [feedback?.get("original-mail-from"), ...enclosed.map((headers) => headers.get("return-path"))]
    .flatMap((address) => deliveryOfMailbox(address ?? "") ?? [])
  const ids = enclosed.flatMap((headers) =>
    [headers.get("x-tracking-id"), headers.get("message-id")].flatMap((value) => uuid.exec(value ?? "")?.[0] ?? [])
  )
  return named[0] ?? ids[0]
}

const interpret = (mail: ReceivedMail, isForComplaints: boolean): Interpretation => {
  if (mail.feedback !== undefined) return interpretFeedback(mail.feedback)
  if (mail.status !== undefined) return interpretStatus(mail.status)
  // Microsoft's older reports contain only the enclosed message.
  if (isForComplaints && mail.enclosed.length > 0) return { event: "spam" }
  const interpreted = isForComplaints ? undefined : interpretText(mail)
  if (interpreted !== undefined) return interpreted
  if (isAutomaticReply(mail)) return ignored("An automatic reply says nothing about the delivery")
  return { reason: "The mail is neither a delivery report nor a complaint" }
}

/** Whether the header section marks a mail as a report. Other mail to a return path is refused. */
export const isReport = (headers: MailHeaders): boolean =>
  /^multipart\/report\s*;.*\breport-type\s*=/is.test(headers.get("content-type") ?? "") ||
  headers.has("x-failed-recipients")

const only = (skipped: Skipped): Normalized => ({ items: 1, events: [], skipped: [{ pointer: "", ...skipped }] })

/**
 * Reads a mail that was sent to a return path or to the address for complaints. It has at most one event. The event's
 * id is made of the delivery and the event, so a repeated report counts once.
 */
export const normalizeMail: NormalizeMail = async (body, stored, receivedAt) => {
  const mail = await readMail(body).catch((cause: Error) => ({ reason: `The mail cannot be read: ${cause.message}` }))
  if ("reason" in mail) return mail
  const own = stored[deliveryHeader]
  const interpreted = interpret(mail, own === undefined)
  if ("expected" in interpreted) return only(interpreted)
  if (!("event" in interpreted)) return interpreted
  const trackingId = own ?? deliveryIn(mail)
  if (trackingId === undefined) {
    return { reason: "The complaint encloses no message of this service: neither return path nor Message-ID is known" }
  }
  const { event } = interpreted
  return {
    items: 1,
    skipped: [],
    events: [{
      event,
      trackingId,
      templateId: undefined,
      user: undefined,
      key: `id:${trackingId} ${event}`,
      occurredAt: receivedAt,
      automated: false,
      link: undefined,
    }],
  }
}
