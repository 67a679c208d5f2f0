import { Buffer } from "node:buffer"
import type { DkimKeyView } from "../dkim/DkimKeys.ts"
import type { DnsRecord } from "../dkim/DkimKey.ts"
import { t } from "../../languages/Language.ts"
import type { Composed } from "../../text/Email.ts"
import type { DnsAnswer } from "./DnsRecords.ts"
import { type KeyRecordFinding, tagsOf, unavailableText } from "./KeyRecord.ts"

/** A requirement that receivers check. */
export type DeliverabilityCheck = "spf" | "dkim" | "dmarc" | "alignment" | "unsubscribe" | "plain-text" | "encryption"

/** The result of a check. */
export interface Finding {
  readonly check: DeliverabilityCheck
  /** `unknown`: the check was not possible, for example because DNS is not available. */
  readonly status: "ok" | "missing" | "wrong" | "unknown"
  /** The finding and its remedy, in one to three sentences. */
  readonly detail: string
  /** The DNS record to publish; null if there is no record to publish. */
  readonly record: DnsRecord | null
}

/** The parts of a DKIM key that findings use. */
type SigningKey = Pick<DkimKeyView, "bits" | "domain" | "record" | "selector">

/** The facts that findings are made from. */
export interface Facts {
  /** The domain of the sender's address, in ASCII. */
  readonly fromDomain: string
  /** The domain of the return path, which receives bounces, in ASCII. */
  readonly returnDomain: string
  readonly isTransactional: boolean
  readonly isEncrypted: boolean
  /** TXT records of the return path's domain. */
  readonly spf: DnsAnswer
  /**
   * TXT records of `_dmarc.` below the sender's domain, then below its parents, up to the first domain with a policy.
   */
  readonly dmarc: ReadonlyArray<{ readonly domain: string; readonly answer: DnsAnswer }>
  /** The signing key; undefined if messages are not signed. */
  readonly signing: { readonly key: SigningKey; readonly published: KeyRecordFinding } | undefined
  /** A key that is not used for signing. */
  readonly idle: SigningKey | undefined
  /** Undefined if the message could not be composed. */
  readonly mail: Composed | undefined
}

const finding = (
  check: DeliverabilityCheck,
  status: Finding["status"],
  detail: string,
  record: DnsRecord | null = null,
): Finding => ({ check, status, detail, record })

const isVersion = (version: string) => (text: string) => new RegExp(`^\\s*v\\s*=\\s*${version}\\b`, "i").test(text)

const spfFinding = ({ returnDomain, spf }: DomainFacts): Finding => {
  const record: DnsRecord = { name: returnDomain, type: "TXT", value: "v=spf1 include:YOUR-MAIL-SERVER ~all" }
  if (spf._tag === "unavailable") return finding("spf", "unknown", unavailableText(returnDomain, spf))
  const found = spf._tag === "none" ? [] : spf.texts.filter(isVersion("spf1"))
  if (found.length === 0) {
    return finding(
      "spf",
      "missing",
      t`No SPF record was found at ${returnDomain}, the domain of the return path. Publish one that lists your
        mail server. Its documentation says what to write in place of YOUR-MAIL-SERVER.`,
      record,
    )
  }
  if (found.length > 1) {
    return finding(
      "spf",
      "wrong",
      t`${returnDomain} has ${found.length} SPF records, and receivers then use none. Keep one.`,
    )
  }
  if (/(^|\s)\+?all(\s|$)/i.test(found[0]!)) {
    return finding(
      "spf",
      "wrong",
      t`The SPF record of ${returnDomain} ends in +all, which lets everybody send for the domain. End it in ~all
        or -all.`,
    )
  }
  return finding(
    "spf",
    "ok",
    t`${returnDomain} has an SPF record: ${found[0]!.trim()}. See that it includes your mail server.`,
  )
}

const dkimFinding = ({ idle, signing }: DomainFacts): Finding => {
  if (signing === undefined) {
    return idle === undefined
      ? finding(
        "dkim",
        "unknown",
        t`This connection does not sign messages. Unless your mail server signs them, make a key in the console on
          the page of the connection, or with: parlance connection dkim make`,
      )
      : finding(
        "dkim",
        "missing",
        t`The key ${idle.selector} of ${idle.domain} does not sign yet. Publish its record, then let it sign.`,
        idle.record,
      )
  }
  const { key, published } = signing
  if (published.status === "ok") {
    const short = key.bits < 2048 ? [t`The key has ${key.bits} bits; receivers recommend 2,048.`] : []
    return finding("dkim", "ok", [t`Messages are signed for ${key.domain}.`, published.detail, ...short].join(" "))
  }
  const remedy = published.status === "unknown"
    ? t`See that the record below is published.`
    : t`Until it is corrected, receivers treat the messages as unsigned. Publish this record.`
  return finding("dkim", published.status, `${published.detail} ${remedy}`, key.record)
}

/** Returns the DMARC policy that applies to the sender's domain, and the domain that publishes it. */
const policyOf = ({ dmarc }: DomainFacts) => {
  for (const { answer, domain } of dmarc) {
    const text = answer._tag === "found" ? answer.texts.find(isVersion("DMARC1")) : undefined
    if (text !== undefined) return { domain, tags: tagsOf(text) }
  }
  return undefined
}

const dmarcFinding = (facts: DomainFacts): Finding => {
  const { dmarc, fromDomain } = facts
  const policy = policyOf(facts)
  if (policy !== undefined) {
    const { domain, tags } = policy
    const action = tags.get("p")?.toLowerCase() ?? ""
    return ["none", "quarantine", "reject"].includes(action)
      ? finding("dmarc", "ok", t`${domain} has a DMARC policy: p=${action}.`)
      : finding("dmarc", "wrong", t`The DMARC record of ${domain} has no valid policy. Add p=none to begin with.`)
  }
  const failed = dmarc.find(({ answer }) => answer._tag === "unavailable")
  if (failed?.answer._tag === "unavailable") {
    return finding("dmarc", "unknown", unavailableText(`_dmarc.${failed.domain}`, failed.answer))
  }
  return finding(
    "dmarc",
    "missing",
    t`No DMARC record was found for ${fromDomain}. Gmail and Yahoo ask bulk senders for one. The record below
      changes nothing about delivery.`,
    { name: `_dmarc.${fromDomain}`, type: "TXT", value: "v=DMARC1; p=none" },
  )
}

const isWithin = (domain: string, parent: string) => domain === parent || domain.endsWith(`.${parent}`)

/**
 * Whether a domain is aligned with the sender's domain: it is equal, or, unless the policy is strict, it belongs to one
 * organizational domain with it.
 */
const isAligned = (facts: DomainFacts, domain: string, mode: "adkim" | "aspf"): boolean => {
  const { fromDomain } = facts
  const policy = policyOf(facts)
  if (domain === fromDomain) return true
  if (policy?.tags.get(mode)?.toLowerCase() === "s") return false
  return isWithin(domain, fromDomain) || isWithin(fromDomain, domain) ||
    (policy !== undefined && isWithin(domain, policy.domain))
}

const alignmentFinding = (facts: DomainFacts): Finding => {
  const { fromDomain, returnDomain, signing } = facts
  const isSigned = signing !== undefined && isAligned(facts, signing.key.domain, "adkim")
  const isReturned = isAligned(facts, returnDomain, "aspf")
  if (isSigned) return finding("alignment", "ok", t`The signature is for ${signing.key.domain}, as DMARC wants it.`)
  if (signing !== undefined) {
    return finding(
      "alignment",
      "wrong",
      t`The signature is for ${signing.key.domain} and the sender is at ${fromDomain}, so the signature does not
        count for DMARC. Make a key for ${fromDomain}.`,
    )
  }
  return isReturned
    ? finding(
      "alignment",
      "unknown",
      t`Without a signature, DMARC depends on SPF for the return path, which is at ${returnDomain}. Mail servers
        may replace it by an address of their own. Look at the headers of the message that arrives.`,
    )
    : finding(
      "alignment",
      "wrong",
      t`The return path is at ${returnDomain} and the sender at ${fromDomain}, and no signature is for
        ${fromDomain}, so DMARC fails. Make a key for ${fromDomain}.`,
    )
}

/** The parts of a composed message that findings use. */
interface MailOutline {
  readonly headers: ReadonlyMap<string, string>
  readonly hasPlainText: boolean
}

const headersOf = (section: string): ReadonlyMap<string, string> =>
  new Map(
    section.replace(/\r\n[ \t]+/g, " ").split("\r\n").map((line): [string, string] => {
      const at = line.indexOf(":")
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )

const splitAt = (text: string): readonly [head: string, body: string] => {
  const at = text.indexOf("\r\n\r\n")
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 4)]
}

/** Reads a message that this service composed: a single part, or one level of parts. */
const outlineOfMail = (bytes: Uint8Array): MailOutline => {
  const [head, body] = splitAt(Buffer.from(bytes).toString("latin1"))
  const headers = headersOf(head)
  const boundary = /boundary="?([^";]+)"?/i.exec(headers.get("content-type") ?? "")?.[1]
  const parts = boundary === undefined
    ? [{ type: headers.get("content-type") ?? "", text: body }]
    : body.split(`--${boundary}`).map((part) => {
      const [partHead, text] = splitAt(part.replace(/^\r\n/, ""))
      return { type: headersOf(partHead).get("content-type") ?? "", text }
    })
  return { headers, hasPlainText: parts.some(({ text, type }) => /^text\/plain/i.test(type) && text.trim() !== "") }
}

const unsubscribeFinding = ({ headers }: MailOutline, isTransactional: boolean): Finding => {
  if (isTransactional) {
    return finding("unsubscribe", "ok", t`The message is transactional, so it needs no List-Unsubscribe header.`)
  }
  if (!headers.has("list-unsubscribe")) {
    return finding(
      "unsubscribe",
      "missing",
      t`The message has no List-Unsubscribe header, which Gmail and Yahoo want from bulk senders. Switch it on in
        the settings of the template (list_unsubscribe), or for all messages of this connection
        (unsubscribe.one_click).`,
    )
  }
  return headers.has("list-unsubscribe-post")
    ? finding("unsubscribe", "ok", t`The message has a List-Unsubscribe header with one click.`)
    : finding(
      "unsubscribe",
      "missing",
      t`The message has a List-Unsubscribe header, but no List-Unsubscribe-Post, without which mail programs
        offer no one click. It needs a link that begins with https.`,
    )
}

const contentFindings = ({ isTransactional, mail }: Facts): ReadonlyArray<Finding> => {
  if (mail === undefined) return []
  const outline = outlineOfMail(mail.bytes)
  return [
    unsubscribeFinding(outline, isTransactional),
    outline.hasPlainText ? finding("plain-text", "ok", t`The message has a plain-text part.`) : finding(
      "plain-text",
      "missing",
      t`The plain-text part of the message is empty, as with images alone. Add text to the HTML, or a variable
        named text.`,
    ),
  ]
}

/** Facts about domains, which are available without a message. */
type DomainFacts = Omit<Facts, "mail" | "isTransactional" | "isEncrypted">

/** Checks the DNS records, in display order. */
export const recordFindings = (facts: DomainFacts): ReadonlyArray<Finding> => [
  spfFinding(facts),
  dkimFinding(facts),
  dmarcFinding(facts),
  alignmentFinding(facts),
]

/** Makes all checks, in display order. */
export const findingsOf = (facts: Facts): ReadonlyArray<Finding> => [
  ...recordFindings(facts),
  ...contentFindings(facts),
  facts.isEncrypted ? finding("encryption", "ok", t`The connection to the mail server is encrypted.`) : finding(
    "encryption",
    "missing",
    t`The connection to the mail server is not encrypted. Set tls to starttls, or to tls, where the server can.`,
  ),
]
