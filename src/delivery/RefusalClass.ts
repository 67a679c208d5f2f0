/** Enhanced status codes (RFC 3463) without a specific meaning. */
const unspecific = new Set(["5.0.0", "5.5.0"])

/**
 * Returns the status code of a platform's answer, such as `554`, and its enhanced code, such as `5.7.1`, if present.
 */
const codesOf = (reason: string) => {
  const match = /\b([45]\d\d)(?:[ -](5\.\d{1,3}\.\d{1,3})\b)?/.exec(reason)
  return { status: match?.[1], enhanced: match?.[2] }
}

/** Removes addresses, host names, numbers and ids, which differ between messages. */
const wordsOf = (reason: string): string =>
  reason.toLowerCase()
    .replace(/<[^<>]*>/g, " ")
    .replace(/https?:\/\/\S+/g, " ")
    .replace(/\S+@\S+/g, " ")
    .replace(/\b[a-z0-9-]+(?:\.[a-z0-9-]+)+\b/g, " ")
    .replace(/\w*\d\w*/g, " ")
    .replace(/[^\p{L}]+/gu, " ")
    .trim()
    .slice(0, 200)

/**
 * Returns the class of a refusal. Refusals for one cause have one class for all recipients: the enhanced status code if
 * it is specific, otherwise the status code and the words.
 */
export const refusalClass = (reason: string): string => {
  const { enhanced, status } = codesOf(reason)
  return enhanced !== undefined && !unspecific.has(enhanced) ? enhanced : `${status ?? ""} ${wordsOf(reason)}`.trim()
}

/** Words in refusals about the recipient's address, and Iterable's error codes for it. */
const addressWords =
  /InvalidEmailAddressError|UnknownEmailError|ForgottenUserError|user (?:is )?unknown|unknown (?:user|recipient|mailbox|address|local part)|no such (?:user|mailbox|recipient|domain|address|person|account)|user not local|invalid (?:recipient|mailbox|address|email)|non-?existent|over quota|mailbox is full|(?:mailbox|user|recipient|address|email|account|domain|host)\b.{0,60}?(?:not (?:found|exist|known|available|valid)|n[o']t exist|unavailable|disabled|inactive|invalid|unknown|full)/i

/**
 * Whether a refusal is about the recipient's address (no such mailbox or domain, mailbox full or closed), and not about
 * the sender, the message or the account at the platform.
 */
export const isAboutAddress = (reason: string): boolean => {
  const { enhanced } = codesOf(reason)
  if (enhanced === undefined || unspecific.has(enhanced)) return addressWords.test(reason)
  // 5.1.7 and 5.1.8 are about the sender's address, 5.2.3 is about the size of the message.
  return /^5\.(?:1\.|2\.[^3]|4\.[14]$)/.test(enhanced) && !/^5\.1\.[78]$/.test(enhanced)
}

const recipientWords =
  /(?:user|recipient|mailbox|email|e-mail|contact|customer|subscriber|profile|person)\b.{0,60}?(?:not (?:found|exist|known)|n[o']t exist|unknown|invalid)|(?:unknown|no such|invalid) (?:user|recipient|mailbox|email|e-mail|contact|customer|subscriber|profile|person)\b/i

/** Whether the body of a 404 says that the recipient is unknown, and not that the URL of the platform is wrong. */
export const isAboutRecipient = (body: string): boolean => recipientWords.test(body)
