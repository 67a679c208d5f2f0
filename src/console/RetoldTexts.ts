import { english, retold, t } from "../languages/Language.ts"

// English texts of layers below the console, in the language of the page. Their layers keep them in English, because the API, logs
// and stored rows have them too.

/** Faults of forms and of Liquid, special ones first. Other faults stay in English. */
const faults: ReadonlyArray<string> = [
  english("is required"),
  english("is not valid"),
  english("is unknown"),
  english("must not be empty"),
  english("must not be white space alone"),
  english("must not contain line breaks"),
  english("must not contain control characters"),
  english("must not contain spaces or invisible characters"),
  english("must not contain quotes, brackets, colons or backslashes"),
  english("must not begin or end with a space"),
  english("must not be the e-mail address"),
  english("must have at most {0} characters"),
  english("must have at least {0} characters; several unrelated words make a good one"),
  english("must have a length of at least {0}"),
  english("must have a length of at most {0}"),
  english("must have a domain after the @, such as example.com"),
  english("must be between {0} and {1}"),
  english("must be at least {0}"),
  english("must be at most {0}"),
  english("must be greater than {0}"),
  english("must be less than {0}"),
  english("must be true or false"),
  english("must be a number"),
  english("must be an integer"),
  english("must be a string"),
  english("must be an object"),
  english("must be an array"),
  english("must be an e-mail address, such as ann@example.com"),
  english("must be an address with one @, such as ada@example.com"),
  english("must be one address, not a list"),
  english("must be the bare address, without a name or angle brackets"),
  english("must be an IANA time zone, such as Europe/Berlin or UTC"),
  english("must be an IANA time zone, such as {0}"),
  english("must be an ISO 4217 code of three capital letters, such as EUR"),
  english("must be a language tag such as de or pt-BR"),
  english("must be a domain such as shop.example"),
  english("must be a domain, such as bounces.shop.example"),
  english("must be a host name or an IP address, without a port"),
  english("must be a URL such as https://links.shop.example, 200 characters at most"),
  english("must be a URL such as https://mail.example.com, 500 characters at most"),
  english("must be {0} characters at most"),
  english("must be 1 to {0} characters"),
  english("must be 1 to {0} lowercase letters, digits, hyphens or underscores, starting with a letter or digit"),
  english("must be 1 to {0} lowercase letters, digits, hyphens or underscores"),
  english("must be 1 to {0} letters, digits, hyphens or underscores"),
  english('must be "{0}" or "{1}"'),
  english("is longer than {0} characters"),
  english("is nested deeper than {0} levels"),
  english("is incomplete {0}: write the missing part, or delete the part before it"),
  english("does not understand {0} behind a complete value: {1}"),
  english("does not understand {0} behind a complete value"),
  english("does not understand {0}"),
  english("there is no filter {0}"),
  english("there is no tag {0}: {1}"),
  english("there is no snippet {0}: create it first, or correct the id"),
  english("the filter {0} needs the argument {1}"),
  english("undefined variable: {0}"),
  english("undefined variables: {0}"),
  english("{0} has no sample value. Add it to the sample fields"),
  english("{0} has a value only within a loop. Write it between {% for %} and {% endfor %}"),
]

/** The detail of a fault in the language of the page, such as `line 2, column 5: there is no filter "x"`. */
export const faultText = (detail: string): string => {
  const place = /^line (\d+), column (\d+): (.*)$/s.exec(detail)
  if (place === null) return retold(detail, faults)
  const [, line = "", column = "", message = ""] = place
  return t`line ${line}, column ${column}: ${retold(message, faults)}`
}

/** Reasons of deliveries. Answers of platforms are not translated. */
const reasons: ReadonlyArray<string> = [
  english("Expired at {0} before it was sent: {1}"),
  english("Expired at {0} before it was sent"),
  english("Expired at {0} after 1 attempt: {1}"),
  english("Expired at {0} after 1 attempt"),
  english("Expired at {0} after {1} attempts: {2}"),
  english("Expired at {0} after {1} attempts"),
  english("Suppressed: the recipient complained about spam on {0} (complaint)"),
  english("Suppressed: the recipient bounced for good on {0} (hard_bounce)"),
  english("Suppressed: the recipient bounced too often in a row on {0} (soft_bounce)"),
  english("Suppressed: the recipient was put on the suppression list on {0} (manual)"),
  english("Suppressed: the recipient unsubscribed on {0} (unsubscribe)"),
  english("The mailbox is full. {0} answered {1}"),
  english("The connection to {0} failed: {1}"),
  english("The connection was closed here"),
  english("The connection was changed or paused before the message began"),
  english("The SMTP server did not answer within the time of RFC 5321"),
  english("The server was slow to answer for this recipient, and other messages needed the session"),
  english("The suppression list could not be read in time"),
  english("The message was not composed in time"),
  english("The message cannot be composed: {0}"),
  english("An internal error"),
  english("{0} answered {1}. Check the credentials and what they permit"),
  english("{0} answered {1}. Check the address and the ids in the settings"),
  english("{0} answered {1}. Check user, password and TLS mode"),
  english("{0} answered {1}"),
]

/** The reason of a delivery in the language of the page. */
export const deliveryReason = (reason: string): string => retold(reason, reasons)
