import { Context, Effect, Layer } from "effect"
import type { NoSecretKey, SecretFileFaulty, SecretUnreadable } from "../store/SecretBox.ts"
import type {
  AccountNotFound,
  NoPassword,
  SecondFactorOn,
  TooManyAttempts,
  WrongCode,
  WrongPassword,
} from "./AccountErrors.ts"
import { SecondFactorOff } from "./AccountErrors.ts"
import { Accounts } from "./Accounts.ts"
import type { HashingOverloaded } from "./Passwords.ts"
import { SecondFactors } from "./SecondFactors.ts"
import { type Client, Sessions, type SignedIn } from "./Sessions.ts"
import { SignIn } from "./SignIn.ts"

type PasswordRefused = WrongPassword | NoPassword | TooManyAttempts | HashingOverloaded
type CodeRefused = WrongCode | SecondFactorOff | TooManyAttempts | SecretUnreadable | SecretFileFaulty

/** Actions of people on their own second factor, in the console and in the API, and of administrators on it. */
export class OwnSecondFactor extends Context.Service<OwnSecondFactor, {
  /**
   * Begins the set-up. Requires the password, so that a stranger at an unlocked computer cannot set one up. Fails with
   * `WrongPassword` for a wrong password, `NoPassword` if the account has no password, `TooManyAttempts` after too many
   * attempts, `HashingOverloaded` while too many passwords are being checked, `SecondFactorOn` if the account already
   * has a second factor, `NoSecretKey` without a key to encrypt with, and `SecretFileFaulty` if the key file of the
   * embedded database is damaged.
   */
  readonly begin: (
    session: SignedIn,
    password: string,
    client: Client,
  ) => Effect.Effect<
    { readonly secret: string; readonly uri: string },
    PasswordRefused | SecondFactorOn | NoSecretKey | SecretFileFaulty
  >
  /**
   * Confirms the set-up by a code and returns the recovery codes. Ends the account's other sessions, which have not
   * used the second factor. Fails with `WrongCode` for a wrong or used code, `SecondFactorOff` if there is no second
   * factor to use or confirm, `SecretUnreadable` if no present key decrypts a stored secret, and `SecretFileFaulty` if
   * the key file of the embedded database is damaged.
   */
  readonly confirm: (session: SignedIn, code: string) => Effect.Effect<
    ReadonlyArray<string>,
    WrongCode | SecondFactorOff | SecretUnreadable | SecretFileFaulty
  >
  /**
   * Turns the second factor off. Fails with `WrongPassword` for a wrong password, `NoPassword` if the account has no
   * password, `TooManyAttempts` after too many attempts, `HashingOverloaded` while too many passwords are being
   * checked, `WrongCode` for a wrong or used code, and `SecondFactorOff` if there is no second factor to use or
   * confirm.
   */
  readonly disable: (
    session: SignedIn,
    password: string,
    code: string,
    client: Client,
  ) => Effect.Effect<void, PasswordRefused | CodeRefused>
  /**
   * Replaces the recovery codes. Fails with `WrongPassword` for a wrong password, `NoPassword` if the account has no
   * password, `TooManyAttempts` after too many attempts, `HashingOverloaded` while too many passwords are being
   * checked, `WrongCode` for a wrong or used code, and `SecondFactorOff` if there is no second factor to use or
   * confirm.
   */
  readonly renewRecoveryCodes: (
    session: SignedIn,
    password: string,
    code: string,
    client: Client,
  ) => Effect.Effect<ReadonlyArray<string>, PasswordRefused | CodeRefused>
  /**
   * Removes the authenticator app and the passkeys of an account, on behalf of an administrator, and ends the account's sessions. Fails with
   * `AccountNotFound` for an unknown account and `SecondFactorOff` if there is no second factor to use or confirm.
   */
  readonly reset: (accountId: string) => Effect.Effect<void, AccountNotFound | SecondFactorOff>
}>()("parlance/accounts/OwnSecondFactor") {
  static readonly layer = Layer.effect(
    OwnSecondFactor,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const factors = yield* SecondFactors
      const sessions = yield* Sessions
      const signIn = yield* SignIn

      const proven = Effect.fnUntraced(function* (session: SignedIn, password: string, code: string, client: Client) {
        yield* signIn.confirmPassword(session, password, client)
        yield* signIn.confirmCode(session, code, client)
      })

      return OwnSecondFactor.of({
        begin: Effect.fn("OwnSecondFactor.begin")(function* (session, password, client) {
          yield* signIn.confirmPassword(session, password, client)
          return yield* factors.begin(session.account)
        }),
        confirm: Effect.fn("OwnSecondFactor.confirm")(function* ({ account, sessionId }, code) {
          const codes = yield* factors.confirm(account.id, code)
          yield* sessions.revokeAll(account.id, sessionId)
          return codes
        }),
        disable: Effect.fn("OwnSecondFactor.disable")(function* (session, password, code, client) {
          yield* proven(session, password, code, client)
          yield* factors.remove(session.account.id)
        }),
        renewRecoveryCodes: Effect.fn("OwnSecondFactor.renewRecoveryCodes")(
          function* (session, password, code, client) {
            yield* proven(session, password, code, client)
            return yield* factors.renewRecoveryCodes(session.account.id)
          },
        ),
        reset: Effect.fn("OwnSecondFactor.reset")(function* (accountId) {
          const { id } = yield* accounts.get(accountId)
          if (!(yield* factors.removeAll(id))) return yield* new SecondFactorOff()
          yield* sessions.revokeAll(id)
        }),
      })
    }),
  )
}
