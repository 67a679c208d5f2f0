import { Context, Effect, Layer } from "effect"
import { InvalidInput } from "../domain/Errors.ts"
import type { Account } from "./Account.ts"
import { type AccountNotFound, type LinkSpent, type TooManyAttempts, WrongPassword } from "./AccountErrors.ts"
import { Accounts } from "./Accounts.ts"
import { OneTimeLinks } from "./OneTimeLinks.ts"
import * as Passwords from "./Passwords.ts"
import { type Client, Sessions } from "./Sessions.ts"
import { SignInLimits } from "./SignInLimits.ts"

/** The ways to get, and to change, what one signs in with. Every success is a new session; its token is answered. */
export class SignIn extends Context.Service<SignIn, {
  readonly withPassword: (
    email: string,
    password: string,
    client: Client,
  ) => Effect.Effect<{ readonly account: Account; readonly token: string }, WrongPassword | TooManyAttempts>
  /** A new password by a one-time link; every other session of the account ends. */
  readonly withLink: (
    link: string,
    password: string,
    client: Client,
  ) => Effect.Effect<string, LinkSpent | AccountNotFound | InvalidInput>
  /** A new password by the old one; every other session of the account ends. */
  readonly changePassword: (
    account: Pick<Account, "id" | "email">,
    current: string,
    next: string,
    client: Client,
  ) => Effect.Effect<string, WrongPassword | TooManyAttempts | AccountNotFound | InvalidInput>
}>()("parlance/accounts/SignIn") {
  static readonly layer = Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const links = yield* OneTimeLinks
      const sessions = yield* Sessions
      const limits = yield* SignInLimits

      const verified = Effect.fnUntraced(function* (email: string, password: string, client: Client) {
        yield* limits.attempt(email, client.address)
        const account = yield* accounts.verify(email, password)
        if (account === undefined) return yield* new WrongPassword()
        yield* limits.succeeded(email)
        return account
      })

      const renewed = Effect.fnUntraced(function* (accountId: string, password: string, client: Client) {
        yield* accounts.setPassword(accountId, password)
        yield* sessions.revokeAll(accountId)
        return yield* sessions.start(accountId, client)
      })

      return SignIn.of({
        withPassword: Effect.fn("SignIn.withPassword")(function* (email, password, client) {
          const account = yield* verified(email, password, client)
          return { account, token: yield* sessions.start(account.id, client) }
        }),
        withLink: Effect.fn("SignIn.withLink")(function* (link, password, client) {
          const accountId = (yield* links.find("password", link)) ?? ""
          const { email } = yield* accounts.get(accountId)
          // A password that is refused must not cost the link.
          const fault = Passwords.faultOf(password, email)
          if (fault !== undefined) {
            return yield* new InvalidInput({ faults: [{ pointer: "/password", detail: fault }] })
          }
          yield* links.spend("password", link)
          const token = yield* renewed(accountId, password, client)
          yield* limits.succeeded(email)
          return token
        }),
        changePassword: Effect.fn("SignIn.changePassword")(function* (account, current, next, client) {
          yield* verified(account.email, current, client)
          return yield* renewed(account.id, next, client)
        }),
      })
    }),
  )
}
