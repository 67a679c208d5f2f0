import type { EventName } from "../../domain/EventKinds.ts"

// Classifies failed deliveries by whether the recipient's address is at fault. Pure.

/**
 * The event of a failed delivery.
 *
 *     bounce         the address does not exist, or no longer accepts mail
 *     soft_bounce    the address may work later: full mailbox, unreachable server, unknown reason
 *     failed         not related to the address: policy, reputation, content, the sender
 */
export type BounceEvent = Extract<EventName, "bounce" | "soft_bounce" | "failed">

/** Events of failed deliveries, the mildest first. */
export const bounceEvents: ReadonlyArray<BounceEvent> = ["failed", "soft_bounce", "bounce"]

/** The event of a bounce that a platform calls temporary or permanent. */
export const bounceOf = (isTemporary: boolean): BounceEvent => isTemporary ? "soft_bounce" : "bounce"

/** How a mail server describes a failure. */
interface Failure {
  /** `Status` of a report, such as `5.1.1`. */
  readonly status?: string | undefined
  /** `Diagnostic-Code` of a report, or the text of a bounce. */
  readonly diagnostic?: string | undefined
}

/** An enhanced status code (RFC 3463). */
interface Code {
  readonly level: "4" | "5"
  /** `subject.detail`, such as `1.1`. */
  readonly rest: string
}

/** Maximum length of a diagnostic that is read. Unit: characters. */
const maxDiagnostic = 8_000

/** Returns the first enhanced status code in a text. Parts of IP addresses and version numbers do not match. */
const codeIn = (text: string | undefined): Code | undefined => {
  const found = /(?<![\d.])([45])\.(\d{1,3})\.(\d{1,3})(?!\d|\.\d)/.exec(text ?? "")
  return found === null ? undefined : { level: found[1] as "4" | "5", rest: `${Number(found[2])}.${Number(found[3])}` }
}

/** Returns the first reply code in a text, such as `550`. */
const replyIn = (text: string): string | undefined => /(?<![\d.])([45]\d\d)(?=[ -])/.exec(text)?.[1]

/** Returns a case-insensitive pattern of alternatives. Their gaps are short, so that matching needs linear time. */
const anyOf = (...alternatives: ReadonlyArray<string>): RegExp => new RegExp(alternatives.join("|"), "i")

const mailboxWords = "(?:user|recipient|mailbox|inbox|address|account|person|e-?mail)"

const fullMailbox = anyOf(
  `${mailboxWords}[^\\n]{0,60}?(?:full|quota|exceed|over ?limit|out of (?:storage|space))`,
  "(?:over|exceed\\w{0,5})[^\\n]{0,20} (?:quota|storage)",
  "quota[^\\n]{0,20} exceed",
  "insufficient (?:system |disk )?(?:storage|space)",
)

const unknownAddress = anyOf(
  `(?:no|unknown|invalid|non-?existent|bad|inactive|disabled) (?:such )?${mailboxWords}`,
  `${mailboxWords}[^\\n]{0,60}? (?:unknown|invalid|inactive|disabled|deactivated|closed|deleted|suspended|expired|unavailable)`,
  `${mailboxWords}[^\\n]{0,60}? (?:no longer|does(?: not|n't) (?:exist|have)|not (?:be )?(?:found|exist|available|known|valid|a valid|here))`,
  "unrouteable address",
  "no mailbox here",
  "not our customer",
  "unknown (?:alias|host|domain)",
  "domain (?:name )?(?:not found|does(?: not|n't) exist)",
  "null ?mx",
)

const blocked = anyOf(
  "spam|junk|virus|malware|phish|unsolicited|bulk mail|reputation|polic(?:y|ies)|\\b(?:spf|dkim|dmarc|dnsbl|rbl)\\b",
  "block(?:ed|list| list)|black ?list|deny ?list|gr[ea]y ?list",
  "relay(?:ing)?\\b[^\\n]{0,30}(?:denied|not permitted|not allowed|prohibited)",
  "(?:rate|connection|message)[- ]?limit|too many",
  "authentication required|content (?:rejected|not)",
  "message (?:size|too (?:big|large|long))|too large",
)

/** Refusals of the sender. In these, words about addresses refer to the sender's address. */
const senderRefused = /sender (?:address|domain|rejected|denied|verif|unknown|not )/i

const byText = (level: Code["level"], text: string): BounceEvent => {
  if (senderRefused.test(text)) return "failed"
  if (fullMailbox.test(text)) return "soft_bounce"
  if (level === "5" && unknownAddress.test(text)) return "bounce"
  return blocked.test(text) ? "failed" : "soft_bounce"
}

/** Status codes of an invalid address, regardless of the text. */
const hard: ReadonlySet<string> = new Set([
  "1.1", // no such mailbox
  "1.2", // no such domain
  "1.3", // bad syntax
  "1.6", // moved, and no forwarding
  "1.10", // the domain takes no mail (null MX), or no such recipient (Exchange Online)
  "2.1", // mailbox disabled
  "4.4", // no route, such as a domain that does not exist
  "4.310", // no such domain (Exchange Online)
  "7.17", // the mailbox has a new owner
])

/** Codes that concern only the sender or the message. */
const ofMessage: ReadonlySet<string> = new Set(["1.7", "1.8", "1.9", "2.3", "3.4"])

/** Whether a code is unspecific: many servers use these codes for any failure. */
const isVague = (rest: string): boolean =>
  /^[0-4]\.0$/.test(rest) || rest.startsWith("5.") || rest === "4.1" || rest === "2.4"

/** Returns the event of a failure, by its enhanced code. If the code is unspecific or missing, by the server's text. */
export const bounceEventOf = ({ diagnostic = "", status }: Failure): BounceEvent => {
  const text = diagnostic.slice(0, maxDiagnostic)
  const stated = codeIn(status)
  const said = codeIn(text)
  const reply = replyIn(text)
  // Some servers report 5.0.0 for every failure, and quote the receiver's code in the text.
  const code = stated === undefined || (isVague(stated.rest) && said !== undefined) ? said ?? stated : stated
  const level = reply === undefined ? code?.level ?? "5" : reply[0] as Code["level"]
  if (code === undefined || isVague(code.rest)) return byText(level, text)
  const subject = code.rest.split(".")[0]
  if (ofMessage.has(code.rest)) return "failed"
  if (hard.has(code.rest)) return level === "5" ? "bounce" : "soft_bounce"
  return subject === "6" || subject === "7" ? "failed" : "soft_bounce"
}
