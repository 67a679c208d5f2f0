import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as AccountErrors from "../../accounts/AccountErrors.ts"
import type { Actor } from "../../accounts/Actor.ts"
import { HashingOverloaded } from "../../accounts/Passwords.ts"
import type { SignedIn } from "../../accounts/Sessions.ts"
import { NoSecretKey, SecretFileFaulty, SecretUnreadable } from "../../auth/SecretBox.ts"
import * as Problems from "../Problems.ts"
import { invalid } from "../server/Requests.ts"
import { retryLater } from "../admission/RetryAfter.ts"

type Unprocessable =
  | AccountErrors.NoPassword
  | AccountErrors.NotOneself
  | AccountErrors.SecondFactorOff
  | AccountErrors.SecondFactorOn
  | AccountErrors.SignInTooOld
  | NoSecretKey
  | SecretFileFaulty
  | SecretUnreadable

/** The problem for an error about accounts; other errors are returned unchanged. */
type ProblemOf<E> = E extends AccountErrors.AccountNotFound ? Problems.AccountNotFound
  : E extends AccountErrors.InvitationNotFound ? Problems.InvitationNotFound
  : E extends AccountErrors.SessionNotFound ? Problems.SessionNotFound
  : E extends AccountErrors.EmailTaken ? Problems.Conflict
  : E extends Unprocessable ? Problems.Unprocessable
  : E extends AccountErrors.WrongPassword | AccountErrors.WrongCode ? Problems.InvalidRequest
  : E extends AccountErrors.TooManyAttempts ? Problems.TooManyAttempts
  : E extends HashingOverloaded ? Problems.Unavailable
  : E

const unprocessable = [
  AccountErrors.NoPassword,
  AccountErrors.NotOneself,
  AccountErrors.SecondFactorOff,
  AccountErrors.SecondFactorOn,
  AccountErrors.SignInTooOld,
  NoSecretKey,
  SecretFileFaulty,
  SecretUnreadable,
]

const problemOf = (error: unknown, request: HttpServerRequest.HttpServerRequest | undefined): unknown => {
  if (error instanceof AccountErrors.AccountNotFound) return new Problems.AccountNotFound({ detail: error.message })
  if (error instanceof AccountErrors.InvitationNotFound) {
    return new Problems.InvitationNotFound({ detail: error.message })
  }
  if (error instanceof AccountErrors.SessionNotFound) return new Problems.SessionNotFound({ detail: error.message })
  if (error instanceof AccountErrors.EmailTaken) return new Problems.Conflict({ detail: error.message })
  if (error instanceof AccountErrors.WrongPassword) {
    return invalid([{ pointer: "/current_password", detail: "is not the password of this account" }])
  }
  if (error instanceof AccountErrors.WrongCode) {
    return invalid([{ pointer: "/code", detail: "is wrong or has been used" }])
  }
  if (error instanceof AccountErrors.TooManyAttempts) {
    const problem = new Problems.TooManyAttempts({ detail: error.message })
    return request === undefined ? problem : retryLater(request, error.retryAfterSeconds, problem)
  }
  if (error instanceof HashingOverloaded) return new Problems.Unavailable({ detail: error.message })
  const known = unprocessable.find((one) => error instanceof one)
  return known === undefined ? error : new Problems.Unprocessable({ detail: (error as Error).message })
}

/** Turns errors about accounts into problems. With the request, a 429 says when to try again. */
export const accountProblems =
  (request?: HttpServerRequest.HttpServerRequest) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, ProblemOf<E>, R> =>
    Effect.mapError(effect, (error) => problemOf(error, request) as ProblemOf<E>)

/** The caller's session. Fails with `Unprocessable` for a caller without an account, such as the admin token. */
export const ownSession = (actor: Actor): Effect.Effect<SignedIn, Problems.Unprocessable> =>
  actor.kind === "session"
    ? Effect.succeed(actor.session)
    : new Problems.Unprocessable({ detail: "The admin token belongs to no account" })
