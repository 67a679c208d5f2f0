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
 * Returns the cause of a refusal, which is equal for all recipients: the enhanced status code if it is specific,
 * otherwise the status code and the words.
 */
export const refusalCause = (reason: string): string => {
  const { enhanced, status } = codesOf(reason)
  return enhanced !== undefined && !unspecific.has(enhanced) ? enhanced : `${status ?? ""} ${wordsOf(reason)}`.trim()
}

const recipientWords =
  /(?:user|recipient|mailbox|email|e-mail|contact|customer|subscriber|profile|person)\b.{0,60}?(?:not (?:found|exist|known)|n[o']t exist|unknown|invalid)|(?:unknown|no such|invalid) (?:user|recipient|mailbox|email|e-mail|contact|customer|subscriber|profile|person)\b/i

/** Whether the body of a 404 says that the recipient is unknown, and not that the URL of the platform is wrong. */
export const isAboutRecipient = (body: string): boolean => recipientWords.test(body)
