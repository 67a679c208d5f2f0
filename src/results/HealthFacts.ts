import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { EventName } from "../domain/EventKinds.ts"
import { isValued, valuedOutcomes, weightsOf } from "../domain/ObjectiveWeights.ts"
import { nothing } from "../domain/SendNothing.ts"
import type { Objective, Template } from "../domain/Template.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import {
  sampleChoices,
  type SampledChoices,
  type SampledEvents,
  type SampledPeople,
  sampleEvents,
  samplePeople,
  type SampleSpan,
} from "../journal/decisions/DecisionSample.ts"
import { decisionsByBucket, renderingsOf, sentByVariant } from "../learning/TallyReports.ts"
import type { HealthFacts, PeopleFacts } from "./Health.ts"
import type { TemplateResults } from "./TemplateResults.ts"

/** Size of the sample: the latest hours with about this many decisions are read one by one. */
const sampled = 50_000

/**
 * Returns the start of the latest hours that contain `most` decisions, not before `from`. Unit: Unix milliseconds.
 * `buckets` are sorted, latest first.
 */
export const sampleStart = (
  buckets: ReadonlyArray<{ readonly bucketStart: Date; readonly decisions: number }>,
  from: number,
  most = sampled,
): number => {
  let sum = 0
  for (const { bucketStart, decisions } of buckets) {
    sum += decisions
    if (sum > most) return Math.max(from, bucketStart.getTime())
  }
  return from
}

/** The events that an objective counts as its outcomes, except events that lower it. */
export const outcomeEvents = (objective: Objective): ReadonlyArray<EventName> => {
  const weights = weightsOf(objective)
  return valuedOutcomes.flatMap((outcome): ReadonlyArray<EventName> =>
    outcome !== "negative" && isValued(weights, outcome) ? [outcome] : []
  )
}

const peopleFacts = (found: SampledPeople): PeopleFacts => ({
  people: found.people,
  heaviest: found.heaviest,
  decisions: { some: found.heaviestDecisions, all: found.decisions },
  outcomes: { some: found.heaviestOutcomes, all: found.outcomes },
})

interface Sample {
  readonly from: number
  readonly choices: ReadonlyArray<SampledChoices> | undefined
  readonly people: SampledPeople | undefined
  readonly events: SampledEvents | undefined
}

/**
 * Reads decisions one by one. If the statement times out, reads the decisions of the last day, then of the last hour.
 * Members are undefined if that times out as well.
 */
const sampleOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  { id, objective }: Pick<Template, "id" | "objective">,
  from: number,
  to: number,
) {
  const spans = [from, ...[to - dayMillis, to - hourMillis].filter((later) => later > from)]
  const events = outcomeEvents(objective)
  const read = (start: number) => {
    const span: SampleSpan = { from: new Date(start), to: new Date(to) }
    return Effect.all({
      choices: sampleChoices(sql, org, id, span),
      people: samplePeople(sql, org, id, span, events),
      events: sampleEvents(sql, org, id, span),
    })
  }
  for (const start of spans) {
    const found = yield* Effect.option(read(start))
    if (found._tag === "Some") return { from: start, ...found.value } satisfies Sample
  }
  return { from, choices: undefined, people: undefined, events: undefined } satisfies Sample
})

/**
 * Returns the facts that the checks of a test judge. `composed` are the results of the window from `from` (inclusive)
 * to `to` (exclusive, Unix milliseconds). `repeats` are the requests of the last 24 hours that repeated a tracking id
 * for another person or message. Fails with `SqlError` if the database does not respond.
 */
export const healthFacts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: Pick<Template, "id" | "objective">,
  composed: TemplateResults,
  { from, to }: { readonly from: number; readonly to: number },
  { nowMillis, repeats }: { readonly nowMillis: number; readonly repeats: number },
) {
  const buckets = yield* decisionsByBucket(sql, org, template.id, { from: new Date(from), to: new Date(to) })
  const sample = yield* sampleOf(sql, org, template, sampleStart(buckets, from), Math.min(to, nowMillis))
  const sent = yield* sentByVariant(sql, org, template.id, {
    from: new Date(from),
    to: new Date(Math.min(to, nowMillis - dayMillis)),
  })
  const renderings = yield* renderingsOf(sql, org, template.id, { from: new Date(from), to: new Date(to) })
  const sentBy = new Map(sent.map((one) => [one.copyId, one]))
  const lately = buckets.reduce(
    (sum, { bucketStart, decisions }) => bucketStart.getTime() > nowMillis - dayMillis ? sum + decisions : sum,
    0,
  )
  const { automated, outcomes } = composed
  const facts: HealthFacts = {
    from: sample.from,
    decisions: sample.choices?.reduce((sum, { observed }) => sum + observed, 0) ?? 0,
    variants: renderings.filter(({ copyId }) => copyId !== nothing).map(({ attempted, copyId, failed }) => ({
      copyId,
      renderings: { some: failed, all: attempted },
      sent: { some: sentBy.get(copyId)?.sent ?? 0, all: sentBy.get(copyId)?.decisions ?? 0 },
    })),
    choices: sample.choices,
    people: sample.people && peopleFacts(sample.people),
    machines: {
      some: automated.open + automated.click,
      all: automated.open + automated.click + outcomes.open + outcomes.click,
    },
    outside: { some: sample.events?.ignored ?? 0, all: sample.events?.events ?? 0 },
    repeated: { some: repeats, all: repeats + lately },
  }
  return facts
})
