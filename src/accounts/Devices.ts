import { Context, DateTime, Effect, Layer } from "effect"
import { hash, randomBytes } from "node:crypto"
import { normalizeEmail } from "./Account.ts"
import { Signatures } from "./Signatures.ts"

/** Time for which a device is known after it signed in. Unit: milliseconds. */
export const knownMillis = 180 * 86_400_000

/** Maximum number of accounts in the cookie of one browser. */
const maxAccounts = 4

const purpose = "device"

/** A device in a cookie. */
interface Device {
  readonly id: string
  /** Time of the last sign-in. A password set later makes the device unknown. Unit: Unix milliseconds. */
  readonly signedInMillis: number
}

interface Entry extends Device {
  readonly account: string
}

// A digest, so that the cookie does not show the e-mail address.
const accountOf = (email: string) => hash("sha256", normalizeEmail(email), "base64url").slice(0, 22)

const entriesOf = (text: string): ReadonlyArray<Entry> =>
  text.split("~").map((entry) => {
    const [account = "", id = "", at = ""] = entry.split(":")
    return { account, id, signedInMillis: Number(at) }
  })

/**
 * Browsers that have signed in to an account before, by a signed cookie. It grants no access. It only counts a
 * browser's attempts separately, so that strangers who guess at an account do not lock its owner out.
 */
export class Devices extends Context.Service<Devices, {
  /** Returns the device in a cookie for an account. Undefined for a cookie that is forged, old or of other accounts. */
  readonly find: (cookie: string | undefined, email: string) => Effect.Effect<Device | undefined>
  /** Returns the cookie of a browser that has just signed in to an account, with the other accounts in `cookie`. */
  readonly remember: (cookie: string | undefined, email: string) => Effect.Effect<string>
}>()("parlance/accounts/Devices") {
  static readonly layer = Layer.effect(
    Devices,
    Effect.gen(function* () {
      const signatures = yield* Signatures

      const read = Effect.fnUntraced(function* (cookie: string | undefined) {
        if (cookie === undefined || cookie === "") return []
        const text = yield* signatures.open(purpose, cookie)
        if (text === undefined) return []
        const now = (yield* DateTime.nowAsDate).getTime()
        return entriesOf(text).filter(({ signedInMillis }) => now - signedInMillis < knownMillis)
      })

      return Devices.of({
        find: Effect.fn("Devices.find")(function* (cookie, email) {
          const account = accountOf(email)
          return (yield* read(cookie)).find((entry) => entry.account === account)
        }),
        remember: Effect.fn("Devices.remember")(function* (cookie, email) {
          const account = accountOf(email)
          const known = yield* read(cookie)
          const id = known.find((entry) => entry.account === account)?.id ?? randomBytes(12).toString("base64url")
          const now = (yield* DateTime.nowAsDate).getTime()
          const entries = [
            { account, id, signedInMillis: now },
            ...known.filter((entry) => entry.account !== account),
          ].slice(0, maxAccounts)
          const text = entries.map(({ account, id, signedInMillis }) => `${account}:${id}:${signedInMillis}`).join("~")
          return yield* signatures.sign(purpose, text)
        }),
      })
    }),
  )
}
