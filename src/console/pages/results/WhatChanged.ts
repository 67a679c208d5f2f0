import { Effect } from "effect"
import type { ChangeHistory } from "../../../accounts/ChangeHistory.ts"
import type { Organization } from "../../../domain/Organization.ts"
import { marksOf } from "../../../results/Marks.ts"
import type { TemplateSeries } from "../../../results/TemplateSeries.ts"

/** Reads what changed in the time of a series. */
export const whatChanged = Effect.fnUntraced(function* (
  history: ChangeHistory["Service"],
  org: Pick<Organization, "slug" | "time_zone">,
  template: Parameters<typeof marksOf>[0],
  { points }: Pick<TemplateSeries, "points">,
) {
  const [first] = points
  if (first === undefined) return []
  const changes = yield* history.ofServed(org.slug, template.id, new Date(first.start))
  const times = [first.start, ...points.map(({ end }) => end)].map((time) => Date.parse(time))
  return marksOf(template, changes, times, org.time_zone)
})
