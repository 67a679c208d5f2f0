import { encodeContext } from "../../src/bandit/Contexts.ts"
import { type Measure, measures, type Track } from "../../src/bandit/Tally.ts"
import type { VerdictState } from "../../src/bandit/VerdictState.ts"
import { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import type { Condition } from "../../src/domain/Targeting.ts"
import type { Variant } from "../../src/domain/Template.ts"
import type { ResultsInput } from "../../src/results/Composition.ts"
import type { CountedContext } from "../../src/results/Tabulation.ts"
import { day, fitRows, now } from "../bandit/Samples.ts"

export const contextOf = (plan: string, daypart: string) => encodeContext([["plan", plan], ["daypart", daypart]])

export const variant = (id: string, more: Partial<Variant> = {}): Variant => ({
  id: CopyId.make(id),
  name: `The ${id}`,
  vars: {},
  locales: {},
  formats: {},
  active: true,
  targeting: [],
  seasons: [],
  components: {},
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  ...more,
})

export const onlyFor = (attribute: string, ...values: ReadonlyArray<string>): ReadonlyArray<Condition> => [
  { attribute, op: "in", values },
]

export const row = (
  copyId: string,
  context: string,
  track: Track,
  counts: { readonly [measure in Measure]?: number },
): CountedContext => ({ copyId, context, track, counts: measures.map((measure) => counts[measure] ?? 0) })

const contexts = [
  ["free", "morning", 600],
  ["free", "evening", 300],
  ["pro", "morning", 80],
  ["pro", "evening", 20],
] as const

/** Clicks per hundred decisions, by variant and plan. */
const clicks = { a: { free: 5, pro: 2 }, b: { free: 3, pro: 6 } } as const

const each = (["a", "b"] as const).flatMap((id) =>
  contexts.map(([plan, daypart, sends]) => ({
    id,
    context: contextOf(plan, daypart),
    sends,
    clicks: clicks[id][plan] * sends / 100,
  }))
)

/** Ten days of two variants. The first is better for free users, the second for paying users. */
export const model = fitRows(
  each.flatMap(({ clicks, context, id, sends }) =>
    Array.from({ length: 10 }, (_, d) => ({
      variant: id,
      context,
      start: Math.floor(now / day) * day - (d + 1) * day,
      sends,
      clicks,
    }))
  ),
  { scheme: { keys: [{ name: "plan", values: ["free", "pro"] }], builtIns: ["daypart"] } },
)

/** A verdict that names a firm winner. */
export const won = (winner: string): VerdictState => ({
  verdict: "firm_winner",
  winner,
  contenders: ["a", "b"],
  since: now - 2 * day,
  evidenceFrom: null,
  lookedAt: now,
  objective: JSON.stringify("click"),
})

/** The tallies to which the model was fitted. */
export const rows: ReadonlyArray<CountedContext> = each.flatMap(({ clicks, context, id, sends }) => [
  row(id, context, "learned", {
    decisions: 10 * sends + 10,
    voided: 10,
    bounce: 10,
    delivered: 10 * sends,
    open: 3 * sends,
    click: 10 * clicks,
    conversion: clicks,
  }),
  row(id, context, "automated", { open: sends, click: 5 }),
])

export const input = (more: Partial<ResultsInput> = {}): ResultsInput => ({
  template: { id: TemplateId.make("welcome"), objective: "click", variants: [variant("a"), variant("b")] },
  eligible: new Set(["a", "b"]),
  floor: 0.01,
  model,
  verdict: undefined,
  rows,
  segment: new Map(),
  nowMillis: now,
  ...more,
})
