import { generateKeyPairSync } from "node:crypto"
import type { Platform } from "../../src/domain/Source.ts"
import { senders } from "../../src/intake/samples/SenderSamples.ts"

/** A sender of e-mail. */
export type SenderName = keyof typeof senders

/** A sender with its settings, and the secret that it shares with us. */
interface TestSender {
  /** The secret to enter, different for different letters. */
  readonly secret: (letter: string) => string
  /** The secret with which the sender signs. Default: the secret to enter. */
  readonly signing?: (letter: string) => string
  readonly settings?: Readonly<Record<string, unknown>>
}

const pairs = new Map<string, { readonly publicKey: string; readonly privateKey: string }>()

/** A key pair of SendGrid, equal for equal letters. */
const pairOf = (letter: string) => {
  const { privateKey, publicKey } = pairs.get(letter) ?? generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "der" },
  })
  const pair = {
    publicKey: typeof publicKey === "string" ? publicKey : publicKey.toString("base64"),
    privateKey: typeof privateKey === "string" ? privateKey : privateKey.toString("base64"),
  }
  pairs.set(letter, pair)
  return pair
}

/** Every sender of e-mail, for the tests that all of them share. */
export const testSenders: { readonly [sender in SenderName]: TestSender } = {
  resend: { secret: (letter) => `whsec_${btoa(letter.repeat(32))}` },
  brevo: { secret: (letter) => `brevo-${letter.repeat(20)}` },
  klaviyo: { secret: (letter) => `klaviyo-${letter.repeat(20)}` },
  ses: { secret: (letter) => `ses-${letter.repeat(20)}` },
  sendgrid: { secret: (letter) => pairOf(letter).publicKey, signing: (letter) => pairOf(letter).privateKey },
  postmark: { secret: (letter) => `postmark-${letter.repeat(20)}` },
  mailgun: { secret: (letter) => `mailgun-${letter.repeat(20)}` },
  sparkpost: { secret: (letter) => `sparkpost-${letter.repeat(20)}` },
}

export const senderNames = Object.keys(testSenders) as ReadonlyArray<SenderName & Platform>
