import { Effect } from "effect"
import type { Actor } from "../../accounts/Actor.ts"
import type { SignedIn } from "../../accounts/Sessions.ts"
import * as Problems from "../Problems.ts"

/** The caller's session. Fails with `Unprocessable` for a caller without an account, such as the admin token. */
export const ownSession = (actor: Actor): Effect.Effect<SignedIn, Problems.Unprocessable> =>
  actor.kind === "session"
    ? Effect.succeed(actor.session)
    : new Problems.Unprocessable({ detail: "The admin token belongs to no account" })
