import { classifyRefusal } from "../../domain/refusals/Refusals.ts"
import type { SendResult } from "../Connection.ts"
import { broken, deferred, excerpt, ofRecipient, refused, retry, slowDown, unfit } from "./Answers.ts"

/** A failure of a session with an SMTP server. */
export interface SmtpFault {
  /**
   * The command whose reply failed. `connect` covers everything before the login, and failures while no command was in
   * progress.
   */
  readonly stage: "connect" | "login" | "sender" | "recipient" | "data"
  /** The code of the reply; undefined if there was no reply. */
  readonly code: number | undefined
  /** The reply, or the error if there was no reply. */
  readonly detail: string
  /** Part of the message may have been sent, and no reply says whether it was accepted. */
  readonly uncertain: boolean
  /**
   * `tls`: encryption failed for good. `address`: the guard refused the address. `login`: no usable login method.
   * `size`: the message is larger than the server accepts. `utf8`: an address needs SMTPUTF8, which the server does not
   * offer.
   */
  readonly cause?: "tls" | "address" | "login" | "size" | "utf8" | undefined
}

const name = "The SMTP server"

const isPace = (detail: string) =>
  /too many (?:concurrent |simultaneous )?(?:connections|messages|mails|emails|sessions)|rate.?limit|throttl|too fast|slow down|(?:hourly|daily|sending) (?:limit|quota)|\b4\.7\.28\b/i
    .test(detail)

/** Whether a reply complains about too many sessions of this client. */
const isCrowd = (detail: string) => /(?:concurrent|simultaneous) |too many (?:connections|sessions)/i.test(detail)

/** Whether a reply complains about the rate of this client, regardless of the command. */
const isOwnPace = (detail: string) =>
  isCrowd(detail) ||
  /throttl|(?:maximum|hourly|daily|sending) (?:sending )?(?:rate|limit|quota)|\b4\.7\.28\b/i
    .test(detail)

/**
 * Whether a server refuses an additional session for now: with any temporary reply before a message, or with a later
 * reply about too many sessions. Open sessions can still be used.
 */
export const isSessionRefusal = ({ cause, code, detail, stage }: SmtpFault): boolean =>
  cause === undefined && code !== undefined && code >= 400 && code < 500 &&
  (stage === "connect" || stage === "login" ||
    (stage === "sender" && isCrowd(detail)))

/**
 * Whether a failure belongs to the message or its recipient's domain: the server replied to RCPT or after DATA, and it
 * neither ends the session (421), nor reports a wrong sequence of commands (503), nor complains about this client's
 * rate.
 */
const isOfRecipient = ({ cause, code, detail, stage }: SmtpFault) =>
  cause === undefined && (stage === "recipient" || stage === "data") && code !== 421 && code !== 503 &&
  !(isPace(detail) && isOwnPace(detail))

/** Returns subject and detail of an enhanced code (RFC 3463), such as `2.2` of `552 5.2.2 Mailbox full`. */
const enhancedOf = (detail: string): string | undefined => /^\d{3}[ -][245]\.(\d{1,3}\.\d{1,3})\b/.exec(detail)?.[1]

/**
 * Returns the result for a failure, assigned to the connection or the recipient:
 *
 *     530, 534, 535, 538, TLS, address, login    broken
 *     SMTPUTF8 is missing    unfit
 *     4yz (also 421) about the rate    slow-down
 *     other 4yz    retry; about the recipient or the message: deferred
 *     503, no reply    retry
 *     552, 5.3.4, size, at the sender    refused: the message is too large
 *     other 5yz before a message, or to its sender    broken: no message would be accepted
 *     other 5yz    refused, for the reason that the classifier of refusals finds
 */
export const sortFault = (fault: SmtpFault, secrets: ReadonlyArray<string>): SendResult => {
  const result = meaningOf(fault, secrets)
  return isOfRecipient(fault) ? ofRecipient(result) : result
}

const meaningOf = (fault: SmtpFault, secrets: ReadonlyArray<string>): SendResult => {
  const { cause, code, detail, stage, uncertain } = fault
  const said = excerpt(detail, secrets)
  if (cause === "address") return broken(`${name} was not connected to: ${said}`)
  if (cause === "tls" && code !== undefined) {
    return broken(
      `${name} offers no encryption by STARTTLS: ${said}. Set \`tls\` to \`tls\` for a port that is encrypted from the start, or to \`none\` ` +
        "for a server of your own that OUTBOUND_ALLOW lists",
    )
  }
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
  if ((stage === "recipient" || stage === "data") && code < 600) {
    const refusal = classifyRefusal({ said: detail }).class
    return refused(refusal === "mailbox-full" ? `The mailbox is full. ${reason}` : reason, refusal)
  }
  // The size is the message's fault, although the server refuses MAIL FROM because of it.
  if (code === 552 || enhancedOf(detail) === "3.4") return refused(reason)
  if (stage === "login") return broken(reason)
  if (stage === "connect") return broken(`${reason}, before any message`)
  if (stage === "sender") return broken(`${reason}. It does not take messages from this sender: check from`)
  return retry(reason, uncertain)
}
