import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createPrivateKey, type KeyObject, sign } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { signedText } from "../../src/intake/signatures/SnsSignature.ts"

/** A topic, and the URL of a certificate in its region. */
export const topic = "arn:aws:sns:us-east-1:123456789012:mail"
export const certificateUrl = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123abcd.pem"

/** A certificate with its key, as SNS has one. Valid from now on, for `days`. */
export interface Signer {
  readonly pem: string
  readonly key: KeyObject
}

/** Creates a certificate. */
export const makeSigner = (): Signer => {
  const folder = mkdtempSync(join(tmpdir(), "sns-"))
  try {
    const [key, pem] = [join(folder, "key.pem"), join(folder, "cert.pem")]
    execFileSync("openssl", [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      key,
      "-out",
      pem,
      "-days",
      "2",
      "-subj",
      "/CN=sns.amazonaws.com",
    ], { stdio: "ignore" })
    return { pem: readFileSync(pem, "utf8"), key: createPrivateKey(readFileSync(key, "utf8")) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A message of SNS without its signature. */
export const message = (more: object = {}) => ({
  Type: "Notification",
  MessageId: "m-1",
  TopicArn: topic,
  Message: "the text",
  Timestamp: new Date().toISOString(),
  SignatureVersion: "2",
  SigningCertURL: certificateUrl,
  UnsubscribeURL: "https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe",
  ...more,
})

/** A request to confirm a subscription, without its signature. */
export const confirmation = (more: object = {}) =>
  message({
    Type: "SubscriptionConfirmation",
    MessageId: "m-2",
    Token: "t-1",
    SubscribeURL: "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t-1",
    ...more,
  })

/** The message with its signature. */
export const signed = (signer: Signer, unsigned: Readonly<Record<string, unknown>>) => ({
  ...unsigned,
  Signature: sign(
    unsigned["SignatureVersion"] === "1" ? "RSA-SHA1" : "RSA-SHA256",
    new TextEncoder().encode(signedText(unsigned)),
    signer.key,
  ).toString("base64"),
})
