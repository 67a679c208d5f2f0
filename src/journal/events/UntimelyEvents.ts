import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { hourMillis } from "../../bandit/Window.ts"
import { SeededMap } from "../../json/SeededMap.ts"
import { Settings } from "../../settings/Settings.ts"
import { bounded } from "../../store/bounded.ts"
import { madeAt } from "../decisions/TrackingId.ts"
import { attribute } from "./Attribution.ts"
import type { Claim } from "./Claim.ts"
import { clockSkewHours, countedHours, ignoredReason } from "./Outcomes.ts"

/** An event whose time is compared with its decision's time. */
interface TimedClaim extends Omit<Claim, "user"> {
  readonly key: string
  /** Unit: Unix milliseconds. */
  readonly receivedAt: number
}

/** Maximum number of events of one request that are searched. */
const maxLookedUp = 1_000

/**
 * Whether an event may be outside the time that counts for its decision. A decision is made before its events are
 * received, so an event of the last two hours can only be too late, for an old decision. Tracking ids that this service
 * generated contain the decision's time.
 */
const mayBeUntimely = ({ occurredAt, receivedAt, trackingId }: TimedClaim): boolean => {
  if (trackingId === undefined) return false
  if (receivedAt - occurredAt > clockSkewHours * hourMillis) return true
  const made = madeAt(trackingId)
  return made !== undefined && occurredAt - made > countedHours * hourMillis
}

/** Finds events whose time does not count for their decisions, so that the response can report them. */
export class UntimelyEvents extends Context.Service<UntimelyEvents, {
  /**
   * Returns why events are ignored, by key. Searches the first 1,000 events that may be ignored. Returns no reasons if
   * the database does not respond: the intake compares the times of all events later.
   */
  readonly find: (claims: ReadonlyArray<TimedClaim>) => Effect.Effect<Pick<SeededMap<string, string>, "get">>
}>()("parlance/journal/events/UntimelyEvents") {
  static readonly layer = Layer.effect(
    UntimelyEvents,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { storeTimeout } = yield* Settings

      const find = Effect.fnUntraced(function* (claims: ReadonlyArray<TimedClaim>) {
        const reasons = new SeededMap<string, string>()
        const asked = claims.filter(mayBeUntimely).slice(0, maxLookedUp)
        if (asked.length === 0) return reasons
        const found = yield* attribute(sql, asked.map((claim) => ({ ...claim, user: undefined }))).pipe(
          bounded(storeTimeout),
          Effect.orElseSucceed(() => undefined),
        )
        found?.forEach((decisions, place) => {
          const { key } = asked[place]!
          const reason = decisions.length === 0
            ? undefined
            : ignoredReason(asked[place]!, decisions.map(({ decidedAt }) => decidedAt))
          if (reason !== undefined) reasons.set(key, reason)
        })
        return reasons
      })

      return UntimelyEvents.of({ find })
    }),
  )
}
