import { Context, JsonPointer, Metric } from "effect"
import type { Placeholder } from "../text/Placeholders.ts"

/** Members that can contain unfilled placeholders. Ids are counted by their names. */
const members = ["attrs", "fields", "user_id", "tracking_id", "email"] as const

const counters = new Map(
  members.map((member) => [
    member as string,
    Metric.counter("parlance_unfilled_values_total", { incremental: true, attributes: { member } }),
  ]),
)

const process = Context.empty()

/** Returns the member of a request that contains a place: `attrs` of `/attrs/tier`, `attrs[tier]` and `attrs.tier`. */
export const memberOf = ({ at }: Placeholder): string => /^(?:\/requests\/\d+)?\/?([a-z_]+)/.exec(at)?.[1] ?? ""

/**
 * Returns a place in readable form: `attrs.tier` of `/attrs/tier` and `attrs[tier]`, `tracking_id` of
 * `/requests/0/tracking_id`.
 */
export const pathOf = ({ at }: Placeholder): string =>
  at.startsWith("/")
    ? at.replace(/^\/requests\/\d+/, "").slice(1).split("/").map(JsonPointer.unescapeToken).join(".")
    : at.replace(/^([a-z_]+)\[(.*)\]$/s, "$1.$2")

/** Counts a request once for each of its members with unfilled placeholders. */
export const countUnfilled = (places: ReadonlyArray<Placeholder>): void => {
  for (const member of new Set(places.map(memberOf))) counters.get(member)?.updateUnsafe(1, process)
}
