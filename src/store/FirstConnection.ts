import { Clock, Context, Duration, Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { withProgress } from "../runtime/Progress.ts"
import { isPassing } from "./ConnectFailure.ts"
import { Store, type StorePlace } from "./Store.ts"
import { StoreUnreachable } from "./StoreUnreachable.ts"

/** How long a start retries a failure of the database that may pass. Default: 10 seconds, for commands. */
export const StartPatience = Context.Reference<Duration.Duration>("parlance/store/StartPatience", {
  defaultValue: () => Duration.seconds(10),
})

/** The patience of a serving process: enough time for PostgreSQL to start, recover or fail over. */
export const servicePatience = Duration.seconds(60)

/** Explains a failed statement. Undefined if its reason is neither the connection nor a missing right. */
export const unreachableAt = ({ address, explain, setting }: StorePlace, error: SqlError) =>
  Effect.map(
    explain(error),
    (reason) =>
      reason === undefined
        ? undefined
        : new StoreUnreachable({ setting, address, reason, isPassing: isPassing(error), triedSeconds: 0 }),
  )

/** First and longest pause between two attempts. Unit: milliseconds. */
const firstPause = 250
const longestPause = 5_000

/**
 * Repeats `attempt` while it fails for a reason that may pass, such as a server that is still starting, for at most
 * `StartPatience`. Other failures, such as a wrong password, are not retried.
 */
export const whenReachable = <A, E, R>(attempt: Effect.Effect<A, E | StoreUnreachable, R>) =>
  Effect.flatMap(Store, ({ address }) => whenReachableAt(address, attempt))

/** `whenReachable` before there is a `Store`. */
export const whenReachableAt = <A, E, R>(address: string, attempt: Effect.Effect<A, E | StoreUnreachable, R>) =>
  Effect.gen(function* () {
    const patience = Duration.toMillis(yield* StartPatience)
    const startedAt = yield* Clock.currentTimeMillis
    const seconds = Math.round(patience / 1000)
    let logged = ""

    const after = Effect.fnUntraced(function* (
      error: StoreUnreachable,
      pause: number,
    ): Effect.fn.Return<A, E | StoreUnreachable, R> {
      const left = startedAt + patience - (yield* Clock.currentTimeMillis)
      if (left <= 0) return yield* seconds > 0 ? error.afterTrying(seconds) : error
      if (error.reason !== logged) {
        logged = error.reason
        yield* Effect.logWarning(`Waiting up to ${seconds} s for the database at ${address}: ${error.reason}`)
      }
      yield* Effect.sleep(Math.min(pause, left))
      return yield* orAgain((again) => after(again, Math.min(2 * pause, longestPause)))
    })
    const orAgain = (
      wait: (error: StoreUnreachable) => Effect.Effect<A, E | StoreUnreachable, R>,
    ): Effect.Effect<A, E | StoreUnreachable, R> =>
      Effect.catchIf(attempt, (error): error is E & StoreUnreachable => isPassingFailure(error), wait)

    return yield* orAgain((error) =>
      withProgress(`Waiting for the database at ${address}`, () => after(error, firstPause))
    )
  })

const isPassingFailure = (error: unknown): error is StoreUnreachable =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "StoreUnreachable" &&
  (error as StoreUnreachable).isPassing
