import { Context, Metric } from "effect"
import type { Placeholder } from "../domain/Placeholders.ts"

/** Where values can be left open: ids are counted by their names. */
const members = ["attrs", "fields", "user_id", "tracking_id", "email"] as const

const counters = new Map(
  members.map((member) => [
    member as string,
    Metric.counter("parlance_unfilled_values_total", { incremental: true, attributes: { member } }),
  ]),
)

const process = Context.empty()

/** The member of a request that a place belongs to: `attrs` of `/attrs/tier`, `attrs[tier]` and `attrs.tier`. */
export const memberOf = ({ at }: Placeholder): string => /^(?:\/requests\/\d+)?\/?([a-z_]+)/.exec(at)?.[1] ?? ""

/** Counts a request once for each of its members with places that nobody filled in. */
export const countUnfilled = (places: ReadonlyArray<Placeholder>): void => {
  for (const member of new Set(places.map(memberOf))) counters.get(member)?.updateUnsafe(1, process)
}
