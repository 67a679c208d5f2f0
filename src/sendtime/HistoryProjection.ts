import { Effect } from "effect"
import type { Projection } from "../journal/Projection.ts"
import { applyTouches, applyZones, holderOf, type TouchChange } from "./Histories.ts"
import { touchOf } from "./Touch.ts"

/** When people react to messages, and their time zones, derived from the events of decisions. */
export const historyProjection: Projection = {
  name: "send times",
  apply: Effect.fnUntraced(function* (sql, { decisions, zones }) {
    yield* applyTouches(
      sql,
      decisions.map(({ before, decision, events }): TouchChange => ({
        holder: holderOf(decision.org, decision.user, decision.trackingId),
        remove: touchOf(decision, before),
        add: touchOf(decision, events),
        // The first event of a decision does not show whether its touch was added before.
        known: before.length > 0,
      })),
    )
    yield* applyZones(sql, zones)
  }),
}
