import { deliveryOfMailbox } from "../../tracking/BounceAddress.ts"
import type { Normalized } from "../../domain/Event.ts"
import type { EventName } from "../../domain/EventKinds.ts"
import type { Skipped } from "../../domain/DryRun.ts"
import { ignored } from "../Items.ts"
import type { NotUnderstood } from "../../domain/DryRun.ts"
import type { NormalizeMail } from "../Normalize.ts"
import { type BounceEvent, bounceEvents, eventOfRefusal } from "../../domain/refusals/BounceEvent.ts"
import type { Classified } from "../../domain/refusals/Classify.ts"
import { classifyRefusal } from "../../domain/refusals/Refusals.ts"
import {
  explanationIn,
  isAutomatic,
  isAutomaticReply,
  isDelay,
  isFromServer,
  isPlainBounce,
  refusalIn,
  saysRefusal,
} from "./PlainBounces.ts"
import { type MailHeaders, readMail, type ReceivedMail } from "./ReceivedMail.ts"

// Reads e-mails from mail servers: delivery reports (RFC 3464), bounces in the formats of qmail and older Exim, and
// complaints (RFC 5965).

/**
 * Name of the stored header with the delivery that a mail is about. The delivery comes from the signed address that
 * received the mail. Mail to the address for complaints has no such header: the enclosed message identifies its
 * delivery.
 */
export const deliveryHeader = "delivery-id"

/** Name of the stored header with the sender of the envelope. Its value is empty for reports. */
export const senderHeader = "mail-from"

/** Name of the stored header with the deliveries whose signed return paths a complaint contains, separated by spaces. */
export const signedDeliveriesHeader = "signed-deliveries"

/** Name of the stored header with the sender of a complaint if it is a feedback loop whose signature was verified. */
export const verifiedSenderHeader = "verified-sender"

/** The interpretation of a mail: an event of its delivery, or the reason why it has no event. */
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

/**
 * Classifies the refusal in a readable text, by the words of the receiver if it has any, otherwise by the whole text.
 */
const classifyExplanation = (explanation: string, status?: string): Classified => {
  const said = classifyRefusal({ said: refusalIn(explanation) })
  return said.class === "unknown" ? classifyRefusal({ said: explanation, status }) : said
}

/**
 * Returns the result for one recipient of a delivery report; undefined for a group that names no recipient.
 * `explanation`: the readable text of the report, which has the reason if the group has none.
 */
const resultOf = (group: MailHeaders, explanation: string): RecipientResult | undefined => {
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
    case "expired":
      break
    default:
      // If the action is absent or unknown, only a permanent status counts as a failed delivery.
      if (!/^\s*5\./.test(group.get("status") ?? "")) return undefined
  }
  const diagnostic = group.get("diagnostic-code")?.replace(/^\s*[\w-]{1,40}\s*;/, "").trim()
  const said = diagnostic || group.get("x-supplementary-info")
  const status = group.get("status")
  if (!said) return eventOfRefusal(classifyExplanation(explanation, status).class)
  const refusal = classifyRefusal({ said, status }).class
  if (refusal !== "unknown") return eventOfRefusal(refusal)
  // Exim tells only people that the server refused a command about the sender.
  const told = eventOfRefusal(classifyExplanation(explanation).class)
  return told === "failed" ? told : eventOfRefusal(refusal)
}

/** Interprets the fields of a delivery report (RFC 3464). */
const interpretStatus = (groups: ReadonlyArray<MailHeaders>, explanation: string): Interpretation => {
  const results = groups.flatMap((group) => resultOf(group, explanation) ?? [])
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

/**
 * Interprets a bounce without a delivery report; undefined for other mail. `hasNullSender`: whether the envelope has no
 * sender, as for bounces and automatic replies.
 */
const interpretText = (mail: ReceivedMail, hasNullSender: boolean): Interpretation | undefined => {
  if (isAutomaticReply(mail) && !isFromServer(mail)) return undefined
  const explanation = explanationIn(mail)
  if (isDelay(mail, explanation)) return ignored("The message is delayed: the server goes on trying")
  const said = `${mail.headers.get("subject") ?? ""}\n${explanation}`
  const refusal = classifyExplanation(said)
  if (!isPlainBounce(mail, explanation) && !(hasNullSender && saysRefusal(said, refusal))) return undefined
  return { event: eventOfRefusal(refusal.class) }
}

/** Returns the delivery of a mail to the address for complaints, according to the enclosed message. */
const deliveryIn = ({ enclosed, feedback }: ReceivedMail): string | undefined => {
  const named = [feedback?.get("original-mail-from"), ...enclosed.map((headers) => headers.get("return-path"))]
    .flatMap((address) => deliveryOfMailbox(address ?? "") ?? [])
  const ids = enclosed.flatMap((headers) =>
    [headers.get("x-tracking-id"), headers.get("message-id")].flatMap((value) => uuid.exec(value ?? "")?.[0] ?? [])
  )
  return named[0] ?? ids[0]
}

/** The envelope of a mail: its recipient, and whether its sender is empty, as for reports. */
interface Envelope {
  readonly isForComplaints: boolean
  readonly hasNullSender: boolean
}

const interpret = (mail: ReceivedMail, { hasNullSender, isForComplaints }: Envelope): Interpretation => {
  if (mail.feedback !== undefined) return interpretFeedback(mail.feedback)
  if (mail.status !== undefined) return interpretStatus(mail.status, explanationIn(mail))
  // Microsoft's older reports contain only the enclosed message.
  if (isForComplaints && mail.enclosed.length > 0) return { event: "spam" }
  const interpreted = isForComplaints ? undefined : interpretText(mail, hasNullSender)
  if (interpreted !== undefined) return interpreted
  if (isAutomaticReply(mail) || isAutomatic(mail)) return ignored("An automatic reply says nothing about the delivery")
  return { reason: "The mail is neither a delivery report nor a complaint" }
}

/** Whether the header section marks a mail as a report. Other mail to a return path is refused. */
export const isReport = (headers: MailHeaders): boolean =>
  /^multipart\/report\s*;.*\breport-type\s*=/is.test(headers.get("content-type") ?? "") ||
  headers.has("x-failed-recipients")

const unprovenReason =
  "The report counts but suppresses no address: it has neither a signed return path of this service nor " +
  "the valid DKIM signature of a known feedback loop. Add its sender to COMPLAINT_SENDERS if you trust it"

const only = (skipped: Skipped): Normalized => ({ items: 1, events: [], skipped: [{ pointer: "", ...skipped }] })

/**
 * Reads a mail that was sent to a return path or to the address for complaints. It has at most one event. The event's
 * id is made of the delivery and the event, so a repeated report counts once.
 */
export const normalizeMail: NormalizeMail = async (body, stored, receivedAt) => {
  const mail = await readMail(body).catch((cause: Error) => ({ reason: `The mail cannot be read: ${cause.message}` }))
  if ("reason" in mail) return mail
  const own = stored[deliveryHeader]
  const interpreted = interpret(mail, {
    isForComplaints: own === undefined,
    hasNullSender: stored[senderHeader] === "",
  })
  if ("expected" in interpreted) return only(interpreted)
  if (!("event" in interpreted)) return interpreted
  const trackingId = own ?? deliveryIn(mail)
  if (trackingId === undefined) {
    return { reason: "The complaint encloses no message of this service: neither return path nor Message-ID is known" }
  }
  const { event } = interpreted
  // Whoever knows the address for complaints could send a report about any message whose id they know.
  const isProven = own !== undefined || stored[verifiedSenderHeader] !== undefined ||
    stored[signedDeliveriesHeader]?.split(" ").includes(trackingId) === true
  return {
    items: 1,
    skipped: [],
    ...(isProven ? {} : { incomplete: [{ pointer: "", reason: unprovenReason, event: 0 }] }),
    events: [{
      event,
      trackingId,
      templateId: undefined,
      user: undefined,
      // A report without proof must not make a later one with proof a duplicate.
      key: `id:${trackingId} ${event}${isProven ? "" : " unproven"}`,
      occurredAt: receivedAt,
      automated: false,
      link: undefined,
      ...(isProven ? {} : { unproven: true }),
    }],
  }
}
