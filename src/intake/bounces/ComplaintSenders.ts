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

/** Whether a signing domain may sign for an address: it is the domain of the address, a parent, or a subdomain. */
export const isAligned = (signingDomain: string, address: string): boolean => {
  const domain = address.slice(address.lastIndexOf("@") + 1).toLowerCase()
  return isWithin(domain, signingDomain) || isWithin(signingDomain, domain)
}

/** Returns the only address in the value of a field From. Undefined for several, also in the display name. */
export const addressIn = (from: string): string | undefined => {
  const [address, ...others] = from.match(/[^\s<>()[\],;:"]+@[^\s<>()[\],;:"]+/g) ?? []
  return others.length === 0 ? address : undefined
}
