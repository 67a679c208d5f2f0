import type { Platform } from "../../src/domain/Source.ts"
import { senders } from "../../src/cli/SenderSamples.ts"

/** A sender of e-mail. */
export type SenderName = keyof typeof senders

/** A sender with its settings, and the secret that it shares with us. */
interface TestSender {
  /** The secret to enter, different for different letters. */
  readonly secret: (letter: string) => string
  readonly settings?: Readonly<Record<string, unknown>>
}

/** Every sender of e-mail, for the tests that all of them share. */
export const testSenders: { readonly [sender in SenderName]: TestSender } = {
  resend: { secret: (letter) => `whsec_${btoa(letter.repeat(32))}` },
  brevo: { secret: (letter) => `brevo-${letter.repeat(20)}` },
  klaviyo: { secret: (letter) => `klaviyo-${letter.repeat(20)}` },
  postmark: { secret: (letter) => `postmark-${letter.repeat(20)}` },
}

export const senderNames = Object.keys(testSenders) as ReadonlyArray<SenderName & Platform>
