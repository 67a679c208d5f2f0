// Addresses from which feedback loops send complaints, as data.

/**
 * Senders of the feedback loops of mailbox providers: an address, or a domain with its subdomains that has no mailboxes
 * of people. `COMPLAINT_SENDERS` adds to them.
 */
const knownSenders: ReadonlyArray<string> = [
  // Yahoo and AOL, signed by arf.mail.yahoo.com. Source: Yahoo Sender Hub, Complaint Feedback Loop.
  "arf.mail.yahoo.com",
  // Microsoft's Junk Mail Reporting Program. People have mailboxes at hotmail.com.
  "staff@hotmail.com",
  // Validity, for Comcast, Italiaonline, Mail.ru, Telenor, XS4ALL, Yandex and others.
  "senderscore.net",
  "returnpath.net",
  // Amazon SES forwards the complaints of other providers.
  "email-abuse.amazonses.com",
  // Sources of the rest: sender_map of AbuseIO's parser-fbl, and the providers' postmaster pages.
  "feedback.bluetie.com",
  "feedback.comcast.net",
  "fbl.cox.net",
  "fbl.fastmail.com",
  "fbl.hostedemail.com",
  "fbl.italiaonline.net",
  "fbl@corp.mail.ru",
  "feedback.apps.rackspace.com",
  "fbl.apps.rackspace.com",
  "feedback.postmaster.rr.com",
  "fbl.synacor.com",
  "feedback.terra.com",
  "fbl.usa.net",
  "fbl.zoho.com",
]

/** Whether a domain is equal to another one, or a subdomain of it. Both are in lowercase. */
const isWithin = (domain: string, other: string): boolean => domain === other || domain.endsWith(`.${other}`)

/** Whether an address belongs to a feedback loop. `added` are senders in the form of `knownSenders`. */
export const isComplaintSender = (address: string, added: ReadonlyArray<string>): boolean => {
  const sender = address.toLowerCase()
  const domain = sender.slice(sender.lastIndexOf("@") + 1)
  return [...knownSenders, ...added.map((one) => one.toLowerCase())].some((one) =>
    one.includes("@") ? sender === one : isWithin(domain, one)
  )
}

/** Second-level names under which the registries of countries register domains, such as `co.uk`. */
const registries = /^(?:ac|co|com|edu|go|gob|gouv|gov|mil|ne|net|nom|or|org)\.[a-z]{2}$/

/** Whether a domain can belong to a provider: it is neither a top-level domain nor a registry's second-level name. */
const isRegistrable = (domain: string): boolean => domain.includes(".") && !registries.test(domain)

/**
 * Whether a signing domain, in lowercase, may sign for an address: it is the domain of the address, a subdomain, or a
 * parent that can belong to a provider.
 */
export const isAligned = (signingDomain: string, address: string): boolean => {
  const domain = address.slice(address.lastIndexOf("@") + 1).toLowerCase()
  return isRegistrable(signingDomain) && (isWithin(domain, signingDomain) || isWithin(signingDomain, domain))
}

/** Maximum length of a field From that is read, so that a long field costs little time. */
const maxFrom = 1_000

/** Returns the only address in the value of a field From. Undefined for several, also in the display name. */
export const addressIn = (from: string): string | undefined => {
  if (from.length > maxFrom) return undefined
  const [address, ...others] = from.match(/[^\s<>()[\],;:"]+@[^\s<>()[\],;:"]+/g) ?? []
  return others.length === 0 ? address : undefined
}
