import type { SendResult } from "../Connection.ts"
import { broken, deferred, excerpt, ofRecipient, refused, retry, slowDown, unfit } from "./Answers.ts"

/** Where a session with an SMTP server went wrong. */
export interface SmtpFault {
  /** `connect` up to and with the login, or while nothing was going on; then the command whose reply failed. */
  readonly stage: "connect" | "login" | "sender" | "recipient" | "data"
  /** The code of the reply; undefined without a reply. */
  readonly code: number | undefined
  /** The reply, or the error that came instead. */
  readonly detail: string
  /** Part of the message may have been sent, and no reply says whether it was accepted. */
  readonly uncertain: boolean
  /** `tls`: encryption failed for good. `address`: the guard refused the address. `login`: no way of logging in. */
  readonly cause?: "tls" | "address" | "login" | "size" | "utf8" | undefined
}

const name = "The SMTP server"

const isPace = (detail: string) =>
  /too many (?:concurrent |simultaneous )?(?:connections|messages|mails|emails|sessions)|rate.?limit|throttl|too fast|slow down|(?:hourly|daily|sending) (?:limit|quota)|\b4\.7\.28\b/i
    .test(detail)

/** Whether a reply speaks of too many sessions of this client. */
const isCrowd = (detail: string) => /(?:concurrent|simultaneous) |too many (?:connections|sessions)/i.test(detail)

/** Whether a reply speaks of the rate of this client, whichever command came before. */
const isOwnPace = (detail: string) =>
  isCrowd(detail) ||
  /throttl|(?:maximum|hourly|daily|sending) (?:sending )?(?:rate|limit|quota)|\b4\.7\.28\b/i
    .test(detail)

/**
 * Whether a server refuses one more session for now: with any temporary reply before a message, or with one about too many
 * sessions afterwards. Sessions that are open can be used further.
 */
export const isSessionRefusal = ({ cause, code, detail, stage }: SmtpFault): boolean =>
  cause === undefined && code !== undefined && code >= 400 && code < 500 &&
  (stage === "connect" || stage === "login" ||
    (stage === "sender" && isCrowd(detail)))

/**
 * Whether a failure belongs to the message or the domain of its recipient: it came in answer to RCPT or after DATA, and the
 * server neither ends the session (421), nor lost track of it (503), nor complains about this client's rate.
 */
const isOfRecipient = ({ cause, code, detail, stage }: SmtpFault) =>
  cause === undefined && (stage === "recipient" || stage === "data") && code !== 421 && code !== 503 &&
  !(isPace(detail) && isOwnPace(detail))

/** RFC 3463: the subject and the detail of an enhanced code, `2.2` of `552 5.2.2 Mailbox full`. */
const enhancedOf = (detail: string): string | undefined => /^\d{3}[ -][245]\.(\d{1,3}\.\d{1,3})\b/.exec(detail)?.[1]

/**
 * Decides the meaning of a failure, and whether it belongs to the connection or to the recipient:
 *
 *     530, 534, 535, 538, TLS, address    broken
 *     5yz before a message, or to its sender    broken: no message would get through
 *     421 and 4yz that speak of pace    slow-down
 *     other 4yz    retry; to the recipient or the message: deferred
 *     503, no reply    retry
 *     552, 5.2.2    refused: the mailbox is full
 *     other 5yz    refused
 */
export const sortFault = (fault: SmtpFault, secrets: ReadonlyArray<string>): SendResult => {
  const result = meaningOf(fault, secrets)
  return isOfRecipient(fault) ? ofRecipient(result) : result
}

const meaningOf = (fault: SmtpFault, secrets: ReadonlyArray<string>): SendResult => {
  const { cause, code, detail, stage, uncertain } = fault
  const said = excerpt(detail, secrets)
  if (cause === "address") return broken(`${name} was not connected to: ${said}`)
  if (cause === "tls") return broken(`${name} offers no encryption that can be trusted: ${said}`)
  if (cause === "login") return broken(`${name} cannot be logged in to: ${said}`)
  if (cause === "utf8") {
    return unfit(`${name} takes no such address: ${said}. Use an address in ASCII, or a server with SMTPUTF8`)
  }
  if (cause === "size") return refused(`${name} takes no message of this size: ${said}`)
  if (code === undefined) return retry(`The connection to ${name.toLowerCase()} failed: ${said}`, uncertain)
  const reason = `${name} answered ${said}`
  if (code >= 400 && code < 500) {
    if (isPace(detail)) return slowDown(reason)
    return isOfRecipient(fault) ? deferred(reason) : retry(reason)
  }
  if (code === 503) return retry(reason)
  if (code === 530 || code === 534 || code === 535 || code === 538) {
    return broken(`${reason}. Check user, password and TLS mode`)
  }
  const enhanced = enhancedOf(detail)
  if (stage === "recipient" || stage === "data") {
    if (enhanced === "2.2" || (code === 552 && enhanced === undefined)) return refused(`The mailbox is full. ${reason}`)
  }
  // A size is the message's own fault, although the server refuses the sender for it.
  if (code === 552 || enhanced === "3.4") return refused(reason)
  if (stage === "login") return broken(reason)
  if (stage === "connect") return broken(`${reason}, before any message`)
  if (stage === "sender") return broken(`${reason}. It does not take messages from this sender: check from`)
  return code >= 500 && code < 600 ? refused(reason) : retry(reason, uncertain)
}
