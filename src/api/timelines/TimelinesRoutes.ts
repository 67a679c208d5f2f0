import { Effect } from "effect"
import type { OrgSlug } from "../../domain/Ids.ts"
import { isSandbox } from "../../domain/Sandbox.ts"
import { sourceIdOf } from "../../domain/Source.ts"
import { localeIn } from "../../journal/decisions/DecisionLocale.ts"
import { type Timeline, Timelines } from "../../people/Timelines.ts"
import { addressKey } from "../../suppressions/AddressKey.ts"
import type { SuppressionEntry } from "../../suppressions/Suppression.ts"
import { Suppressions } from "../../suppressions/Suppressions.ts"
import { managed } from "../http/Managed.ts"
import { invalid } from "../http/Requests.ts"
import { withBothNames } from "../suppressions/SuppressionsRoutes.ts"

const shown = (
  org: OrgSlug,
  timeline: Timeline,
  foundAs: "tracking_id" | "person" | null,
  suppressions: ReadonlyArray<SuppressionEntry>,
) => ({
  ...timeline,
  test: isSandbox(org),
  foundAs,
  decisions: timeline.decisions.map(({ failed, mode, user, ...decision }) => ({
    ...decision,
    locale: localeIn(decision.segment) ?? null,
    userId: user,
    mode: mode as "bandit",
    ...(failed === null ? {} : { failed }),
  })),
  suppressions: suppressions.map(withBothNames),
})

const asks = ["tracking_id", "user_id", "email", "q"] as const

/** Serves `TimelinesGroup`. */
export const layer = managed(
  "stories",
  Effect.gen(function* () {
    const timelines = yield* Timelines
    const list = yield* Suppressions

    /**
     * Finds the suppressions of the person's addresses, for the first page only. Spellings of one address share its
     * entries.
     */
    const suppressionsOf = Effect.fnUntraced(function* (org: OrgSlug, { names }: Timeline, cursor: string | undefined) {
      if (cursor !== undefined) return []
      const keys = new Set(names.flatMap((name) => addressKey(name) ?? []))
      return (yield* Effect.forEach([...keys], (key) => list.find(org, key))).flat()
    })

    return {
      findStory: Effect.fnUntraced(function* ({ org, query: { cursor, limit, ...names } }) {
        const given = asks.flatMap((name) => names[name] === undefined ? [] : [{ name, text: names[name] }])
        const [first, second] = given
        if (first === undefined || second !== undefined) {
          return yield* invalid([{
            pointer: "tracking_id",
            detail: `exactly one of ${asks.join(", ")} is required`,
          }])
        }
        const { name: kind, text } = first
        const page = { cursor, limit }
        if (kind === "q") {
          const { as, timeline } = yield* timelines.search(org, text, page)
          return shown(org, timeline, as, yield* suppressionsOf(org, timeline, cursor))
        }
        const ask = kind === "tracking_id"
          ? { trackingId: text }
          : kind === "user_id"
          ? { userId: text }
          : { email: text }
        const timeline = yield* timelines.find(org, ask, page)
        return shown(org, timeline, null, yield* suppressionsOf(org, timeline, cursor))
      }),
      recentEvents: ({ org, params: { segment }, query }) =>
        Effect.map(timelines.recent(org, sourceIdOf(segment) ?? segment, query.limit), (events) => ({ events })),
    }
  }),
)
