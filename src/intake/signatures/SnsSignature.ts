import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { type KeyObject, verify, X509Certificate } from "node:crypto"
import { LruMap } from "../../json/LruMap.ts"
import * as Json from "../../json/Json.ts"
import * as SenderToken from "./SenderToken.ts"
import * as Verdict from "./Verdict.ts"

/** Hosts of the Simple Notification Service. Anyone can own another host below `amazonaws.com`, such as a bucket. */
const host = /^sns\.([a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?$/

/** Returns the region of a URL of the Simple Notification Service with a path that matches; undefined for other URLs. */
const regionOf = (text: unknown, path: RegExp): string | undefined => {
  if (typeof text !== "string" || text.length > 2_000 || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.protocol === "https:" && url.port === "" && url.username === "" && url.password === ""
  return isPlain && path.test(url.pathname) ? host.exec(url.hostname)?.[1] : undefined
}

const certificatePath = /^\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/

const certificateOf = (pem: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** The name of a topic: `arn:aws:sns:us-east-1:123456789012:mail`. Its first group is the region. */
const topicArn = /^arn:aws(?:-cn|-us-gov)?:sns:([a-z0-9-]{1,40}):\d{12}:[\w.-]{1,256}$/

/** Settings for events of Amazon SES. */
export const SnsSettings = Schema.Struct({
  /** Tokens for events of EventBridge. Not needed for topics, whose messages are signed. */
  secrets: Schema.Array(Verdict.TokenSecret).check(Schema.isMaxLength(2)),
  /** The topics whose messages are accepted, by their ARN. Anyone can have a topic, so others are refused. */
  topics: Schema.optionalKey(
    Schema.Array(Schema.String.check(
      Schema.makeFilter<string>((text) =>
        topicArn.test(text) ? undefined : "must be the ARN of a topic, such as arn:aws:sns:us-east-1:123456789012:mail"
      ),
    )).check(Schema.isMaxLength(50)),
  ),
  /** Header with the token. Default: `authorization`. */
  header: Schema.optionalKey(Verdict.HeaderName),
  /** Certificates of SNS in PEM by their URL, for installations that cannot fetch them. */
  certificates: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
}).check(
  Schema.makeFilter<{ readonly certificates?: Readonly<Record<string, string>> }>(({ certificates = {} }) => {
    const wrong = Object.keys(certificates).find((url) =>
      regionOf(url, certificatePath) === undefined || certificateOf(certificates[url]!) === undefined
    )
    return wrong === undefined
      ? undefined
      : { path: ["certificates", wrong], issue: "must be a certificate in PEM, by its URL at sns.REGION.amazonaws.com" }
  }),
  Schema.makeFilter<{ readonly secrets: ReadonlyArray<string>; readonly topics?: ReadonlyArray<string> }>(
    ({ secrets, topics = [] }) =>
      secrets.length + topics.length > 0
        ? undefined
        : { path: ["secrets"], issue: "is required without topics: name the topics that SES publishes to" },
  ),
)
export type SnsSettings = typeof SnsSettings.Type

/** A message of the Simple Notification Service. */
interface SnsMessage {
  readonly [member: string]: unknown
}

/** The members that are signed, in this order. Absent members are left out. */
const signedMembers: { readonly [type: string]: ReadonlyArray<string> } = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
}

const algorithms: { readonly [version: string]: string } = { "1": "RSA-SHA1", "2": "RSA-SHA256" }

/** Headers that repeat a member of the body. */
const repeated = {
  "x-amz-sns-message-type": "Type",
  "x-amz-sns-message-id": "MessageId",
  "x-amz-sns-topic-arn": "TopicArn",
} as const

/** Maximum size of a message of SNS, with escapes. Unit: bytes. */
const maxBytes = 1024 * 1024

/** Maximum age of a message, and maximum time ahead: SNS tries again for up to an hour. Unit: milliseconds. */
const toleranceMillis = 7_200_000

/** Returns the message of SNS in a body; undefined for other bodies. */
export const messageIn = (body: Uint8Array): SnsMessage | undefined => {
  if (body.length > maxBytes) return undefined
  try {
    const json: unknown = Json.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
    return typeof json === "object" && json !== null && "TopicArn" in json && "Type" in json
      ? json as SnsMessage
      : undefined
  } catch {
    return undefined
  }
}

/** Returns the text that SNS signs; undefined if a member is no text. Exported for tests. */
export const signedText = (message: SnsMessage): string | undefined => {
  let text = ""
  for (const member of signedMembers[String(message["Type"])] ?? []) {
    const value = message[member]
    if (value === undefined || value === null) continue
    if (typeof value !== "string") return undefined
    text += `${member}\n${value}\n`
  }
  return text
}

/** Returns the URL by which a subscription is confirmed; undefined for other messages. */
export const subscribeUrlOf = (message: SnsMessage): string | undefined =>
  message["Type"] === "SubscriptionConfirmation" ? message["SubscribeURL"] as string : undefined

/** Parsed certificates by their text. */
const parsed = new LruMap<{ readonly certificate: X509Certificate; readonly key: KeyObject }>(100)

const keyIn = (pem: string, now: number): KeyObject | undefined => {
  let known = parsed.get(pem)
  if (known === undefined) {
    const certificate = certificateOf(pem)
    if (certificate === undefined) return undefined
    known = { certificate, key: certificate.publicKey }
    parsed.set(pem, known)
  }
  const { validFrom, validTo } = known.certificate
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo) ? known.key : undefined
}

/** Returns why a message is refused before its signature is checked; undefined if nothing speaks against it. */
const faultOf = (settings: SnsSettings, headers: Verdict.Headers, message: SnsMessage, now: number) => {
  const { SignatureVersion: version, Timestamp: timestamp, TopicArn: topic, Type: type } = message
  if (settings.topics?.includes(String(topic)) !== true) {
    return `The topic ${JSON.stringify(String(topic).slice(0, 300))} is not among the topics of this source`
  }
  if (typeof type !== "string" || !Object.hasOwn(signedMembers, type)) return "The Type of the message is not known"
  for (const [name, member] of Object.entries(repeated)) {
    if (Object.hasOwn(headers, name) && headers[name] !== message[member]) {
      return `The header ${name} differs from the member ${member} of the body`
    }
  }
  if (typeof version !== "string" || !Object.hasOwn(algorithms, version)) return "The SignatureVersion must be 1 or 2"
  const region = topicArn.exec(String(topic))?.[1]
  if (regionOf(message["SigningCertURL"], certificatePath) !== region) {
    return "The SigningCertURL must be a certificate at sns.REGION.amazonaws.com, in the region of the topic"
  }
  if (type !== "Notification" && regionOf(message["SubscribeURL"], /^\/$/) !== region) {
    return "The SubscribeURL must be at sns.REGION.amazonaws.com, in the region of the topic"
  }
  const age = now - Date.parse(String(timestamp))
  return Math.abs(age) <= toleranceMillis ? undefined : "The Timestamp of the message is more than 2 hours off"
}

/**
 * Accepts a message of SNS if its topic is among the settings, and its signature is valid for a certificate of Amazon.
 * Other bodies, such as events of EventBridge, need the token. If the certificate is not in the settings, the verdict
 * names its URL. Facts: docs/integrations/facts/ses.md.
 */
export const check: Verdict.Check<SnsSettings> = (settings, headers, body, now) => {
  const message = messageIn(body)
  if (message === undefined) {
    return Verdict.usable(settings.secrets).length > 0
      ? SenderToken.check(settings, headers, body, now)
      : Verdict.refused(
        "The body is no message of SNS. Switch raw message delivery off, or set a secret for events of EventBridge",
      )
  }
  const fault = faultOf(settings, headers, message, now)
  if (fault !== undefined) return Verdict.refused(fault)
  const url = String(message["SigningCertURL"])
  const { certificates = {} } = settings
  if (!Object.hasOwn(certificates, url)) {
    return { ...Verdict.refused("The certificate of the message is not known"), certificate: url }
  }
  const key = keyIn(certificates[url]!, now)
  if (key === undefined) return Verdict.refused("The certificate of the message is not valid at this time")
  const text = signedText(message)
  const stated = message["Signature"]
  const signature = typeof stated === "string" ? Verdict.base64Of(stated) : undefined
  if (text === undefined || signature === undefined) {
    return Verdict.refused("The message needs a Signature in Base64, and texts as its signed members")
  }
  return key.asymmetricKeyType === "rsa" &&
      verify(algorithms[String(message["SignatureVersion"])], Buffer.from(text), key, signature)
    ? Verdict.accepted
    : Verdict.mismatch("Signature")
}
