import { Effect } from "effect"
import type { Projection } from "../journal/Projection.ts"
import { applyTouches, applyZones, holderOf, type TouchChange } from "./Histories.ts"
import { touchOf } from "./Touch.ts"

/** Derives the histories of people's reactions to messages, and their time zones, from the events of decisions. */
export const historyProjection: Projection = {
  name: "send times",
  apply: Effect.fnUntraced(function* (sql, { decisions, zones }) {
    yield* applyTouches(
      sql,
      decisions.map(({ before, decision, events }): TouchChange => ({
        holder: holderOf(decision.org, decision.user, decision.trackingId),
        remove: touchOf(decision, before),
        add: touchOf(decision, events),
        // If this is the first event of a decision, its touch may or may not have been added before.
        known: before.length > 0,
      })),
    )
    yield* applyZones(sql, zones)
  }),
}
