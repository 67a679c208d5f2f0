import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { type Letter, passwordLetter, providerLetter } from "../mail/Letters.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import type { TooManyAttempts } from "./AccountErrors.ts"
import { Accounts } from "./Accounts.ts"
import { Audit } from "./Audit.ts"
import { linkPath, OneTimeLinks } from "./OneTimeLinks.ts"
import { OpenId } from "./OpenId.ts"
import { SecurityLog } from "./SecurityLog.ts"
import type { Client } from "./Sessions.ts"
import { SignInLimits } from "./SignInLimits.ts"

/** New passwords for people who have forgotten theirs. */
export class ForgottenPasswords extends Context.Service<ForgottenPasswords, {
  /** Whether links can be mailed. */
  readonly isOn: boolean
  /**
   * Records a request for a new password. Does equal work for addresses with and without an account, so that neither
   * the response nor its duration discloses which addresses have one. Fails with `TooManyAttempts` after too many
   * requests, and with `SqlError` if the database does not respond.
   */
  readonly request: (email: string, client: Client) => Effect.Effect<void, TooManyAttempts | SqlError>
  /**
   * Returns the mail for an address at the time of sending, and the account's address. The mail has a new link to
   * choose a password, or the link of the identity provider if the account has no password and there is a provider.
   * Undefined without an account.
   */
  readonly letterFor: (
    email: string,
  ) => Effect.Effect<{ readonly to: string; readonly letter: Letter } | undefined>
}>()("parlance/accounts/ForgottenPasswords") {
  static readonly layer = Layer.effect(
    ForgottenPasswords,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const audit = yield* Audit
      const limits = yield* SignInLimits
      const links = yield* OneTimeLinks
      const log = yield* SecurityLog
      const mail = yield* MailQueue
      const { label: provider } = yield* OpenId

      const request = Effect.fn("ForgottenPasswords.request")(function* (email: string, { address }: Client) {
        if (!mail.isOn) return
        yield* Effect.tapError(
          limits.attemptReset({ email, address }),
          () => Effect.sync(() => log.refusedSignIn("locked_out", { email, address })),
        )
        yield* mail.queueForgotten(email)
      })

      const letterFor = Effect.fn("ForgottenPasswords.letterFor")(function* (email: string) {
        const account = yield* accounts.findByEmail(email)
        if (account === undefined) return undefined
        if (!account.has_password && provider !== undefined) {
          const letter = providerLetter({ provider, url: mail.urlOf("/console/openid") })
          return { to: account.email, letter }
        }
        const token = yield* links.createForgotten(account.id)
        yield* audit.recordEntry(account, "link for a new password mailed")
        const letter = passwordLetter({ isAsked: true, url: mail.urlOf(linkPath("password", token)) })
        return { to: account.email, letter }
      })

      return ForgottenPasswords.of({ isOn: mail.isOn, request, letterFor })
    }),
  )
}
