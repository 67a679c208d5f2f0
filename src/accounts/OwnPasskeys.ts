import type { PublicKeyCredentialCreationOptionsJSON } from "@simplewebauthn/server"
import { Context, DateTime, Effect, Layer } from "effect"
import type { Passkey } from "./Account.ts"
import {
  PasskeyNotFound,
  type PasskeyRefused,
  SignInTooOld,
  type TooManyAttempts,
  type WrongPassword,
} from "./AccountErrors.ts"
import { Accounts } from "./Accounts.ts"
import { Passkeys } from "./Passkeys.ts"
import type { HashingOverloaded } from "./Passwords.ts"
import { type Client, Sessions, type SignedIn } from "./Sessions.ts"
import { recentMillis, SignIn } from "./SignIn.ts"
import type { Site } from "./WebAuthn.ts"

type ProofRefused = WrongPassword | SignInTooOld | TooManyAttempts | HashingOverloaded

/**
 * Actions of people on their own passkeys, in the console and in the API. Adding and removing requires the password, so
 * that a stranger at an unlocked computer cannot do it. An account without a password, or with a second factor, must
 * also have signed in within 15 minutes.
 */
export class OwnPasskeys extends Context.Service<OwnPasskeys, {
  /** Returns the proofs that a change of the passkeys requires now: the password, and a new sign-in. */
  readonly needs: (session: SignedIn) => Effect.Effect<{ readonly password: boolean; readonly signIn: boolean }>
  /**
   * Returns the options for a new passkey. Fails with `WrongPassword` for a wrong password, `SignInTooOld` if the
   * session is not recent enough, `TooManyAttempts` after too many attempts, `HashingOverloaded` while too many passwords
   * are being checked, and `PasskeyRefused` if the account has 20 passkeys.
   */
  readonly begin: (
    session: SignedIn,
    site: Site,
    password: string,
    client: Client,
  ) => Effect.Effect<PublicKeyCredentialCreationOptionsJSON, ProofRefused | PasskeyRefused>
  /**
   * Adds the passkey that a browser made. Ends the account's other sessions, which have not used the passkey. Returns
   * new recovery codes if the account has none left. Fails with `PasskeyRefused` if the passkey is not accepted.
   */
  readonly add: (
    session: SignedIn,
    site: Site,
    name: string,
    response: string,
  ) => Effect.Effect<
    { readonly passkey: Passkey; readonly recoveryCodes: ReadonlyArray<string> | undefined },
    PasskeyRefused
  >
  /**
   * Removes a passkey. Fails with `PasskeyNotFound` for an unknown passkey, `WrongPassword` for a wrong password,
   * `SignInTooOld` if the session is not recent enough, `TooManyAttempts` after too many attempts, and
   * `HashingOverloaded` while too many passwords are being checked.
   */
  readonly remove: (
    session: SignedIn,
    id: string,
    password: string,
    client: Client,
  ) => Effect.Effect<void, ProofRefused | PasskeyNotFound>
}>()("parlance/accounts/OwnPasskeys") {
  static readonly layer = Layer.effect(
    OwnPasskeys,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const passkeys = yield* Passkeys
      const sessions = yield* Sessions
      const signIn = yield* SignIn

      const needs = Effect.fn("OwnPasskeys.needs")(function* ({ account: { id }, startedMillis }: SignedIn) {
        const { has_password: password, second_factor: isOn } = yield* Effect.orDie(accounts.get(id))
        const age = (yield* DateTime.nowAsDate).getTime() - startedMillis
        return { password, signIn: (!password || isOn) && age > recentMillis }
      })

      const prove = Effect.fnUntraced(function* (session: SignedIn, password: string, client: Client) {
        const needed = yield* needs(session)
        if (needed.signIn) return yield* new SignInTooOld({ to: "passkeys" })
        if (needed.password) {
          yield* Effect.catchTag(signIn.confirmPassword(session, password, client), "NoPassword", Effect.die)
        }
      })

      return OwnPasskeys.of({
        needs,
        begin: Effect.fn("OwnPasskeys.begin")(function* (session, site, password, client) {
          yield* prove(session, password, client)
          return yield* passkeys.beginNew(site, session.account)
        }),
        add: Effect.fn("OwnPasskeys.add")(function* ({ account, sessionId }, site, name, response) {
          const added = yield* passkeys.add(site, account, name, response)
          yield* sessions.revokeAll(account.id, sessionId)
          yield* sessions.renew(sessionId)
          return added
        }),
        remove: Effect.fn("OwnPasskeys.remove")(function* (session, id, password, client) {
          const known = yield* passkeys.list(session.account.id)
          if (!known.some((one) => one.id === id)) return yield* new PasskeyNotFound({ id })
          yield* prove(session, password, client)
          yield* passkeys.remove(session.account.id, id)
        }),
      })
    }),
  )
}
