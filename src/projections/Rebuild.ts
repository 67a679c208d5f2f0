import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ContextKey } from "../bandit/Contexts.ts"
import { type Measure, measures, type Tally, type Track } from "../bandit/Tally.ts"
import { bucketAt, dayMillis, hourMillis, isExpired } from "../bandit/Window.ts"
import { type HistoriesRebuilt, rebuildHistories } from "../sendtime/HistoryRebuild.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import * as FoldAttempts from "../learning/FoldAttempts.ts"
import type { DelayCounts } from "../journal/Ledger.ts"
import * as Tallies from "../learning/Tallies.ts"
import { type Report, withProgress } from "../runtime/Progress.ts"
import { isDataFault } from "../store/DataFault.ts"
import { innermost } from "../store/innermost.ts"
import { contributionOf, readEvents } from "../journal/events/DecisionEvents.ts"
import { type DecisionRef, refOf } from "../journal/events/DecisionRef.ts"
import { repeatsOf } from "../journal/events/Repeats.ts"
import { rulesIn } from "../journal/events/RevenueRules.ts"
import { noMessage } from "../journal/decisions/Decision.ts"
import { countDecisions, decisionsAfter, type PagedDecision } from "../journal/decisions/DecisionPages.ts"
import { failedDraws, failureOf } from "../journal/decisions/FailedRenderings.ts"
import * as TallyRebuild from "../learning/TallyRebuild.ts"
import { firstPeriod } from "../bandit/AttributeOutcomes.ts"
import { AttributeOutcomesSum, replaceAttributeOutcomes } from "../learning/OutcomesByAttribute.ts"
import { FatigueSum, firstFatigueDay, replaceFatigue } from "../learning/FatigueTallies.ts"
import { PropensitySum, rebuildPropensities } from "../learning/PropensityTallies.ts"
import type { Days } from "../learning/SettledDecisions.ts"
import { settledDays } from "../sendtime/SettledDays.ts"

/** Maximum number of decisions read at once. */
const page = 5000

/** Age after which no bucket contains a decision. Unit: days. */
const countedDays = 190

/** A count that differed from decisions and events. */
interface TallyDifference {
  readonly templateId: string
  readonly copyId: string
  readonly context: ContextKey
  readonly start: number
  readonly track: Track
  readonly measure: Measure
  readonly counted: number
  readonly true: number
}

/** A template that could not be rebuilt because of its data. Its tallies and ledger are unchanged. */
interface RebuildFault {
  readonly templateId: string
  readonly reason: string
}

/** Result of a rebuild. */
interface Rebuilt {
  readonly decisions: number
  readonly templates: number
  readonly faults: ReadonlyArray<RebuildFault>
  /** Differences between stored and recomputed tallies, including the ledger. At most 1,000. */
  readonly differences: ReadonlyArray<TallyDifference>
  /** Number of settled counts, weighted by inverse propensities, that were wrong. */
  readonly propensityDifferences: number
  /** Result for the histories of people. Null for a rebuild of one template. */
  readonly sendTimes: HistoriesRebuilt | null
}

const keptDifferences = 1000

const keyOf = ({ context, copyId, start, track }: Tally) => `${copyId}\0${context}\0${start}\0${track}`

const differencesOf = (
  templateId: string,
  counted: ReadonlyArray<Tally>,
  truth: ReadonlyArray<Tally>,
): ReadonlyArray<TallyDifference> => {
  const was = new Map(counted.map((tally) => [keyOf(tally), tally]))
  const is = new Map(truth.map((tally) => [keyOf(tally), tally]))
  return [...new Set([...was.keys(), ...is.keys()])].sort().flatMap((key) => {
    const { context, copyId, start, track } = (is.get(key) ?? was.get(key))!
    return measures.flatMap((measure) => {
      const before = was.get(key)?.counts[measure] ?? 0
      const after = is.get(key)?.counts[measure] ?? 0
      return before === after
        ? []
        : [{ templateId, copyId, context, start, track, measure, counted: before, true: after }]
    })
  })
}

/** Recomputes the tallies by template. A check leaves out tallies of fatigue, attributes and repeats. */
const recount = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { check, now, settled, since, template }: {
    readonly template: string | undefined
    readonly now: number
    readonly since: Date
    readonly settled: Days & { readonly until: number }
    readonly check: boolean
  },
  report: Report,
) {
  const total = yield* countDecisions(sql, org, { since, template })
  const sums = new Map<string, Tallies.TallySum>()
  const rules = yield* rulesIn(sql, org)
  const propensities = new PropensitySum()
  const fatigue = new FatigueSum(sql, org)
  const byAttribute = new AttributeOutcomesSum()
  const fatigueSince = Math.max(settled.from, firstFatigueDay(now))
  let decisions = 0
  let after = { trackingId: "", templateId: "" }
  while (true) {
    const rows: ReadonlyArray<PagedDecision> = yield* decisionsAfter(sql, org, after, {
      since,
      template,
      limit: page,
    })
    const refs = rows.map((row) => refOf(org, row))
    const events = yield* readEvents(sql, refs)
    const contributions = refs.map((ref, place) => contributionOf(ref, events[place]!, rules.of(ref)))
    refs.forEach((ref, place) => {
      const { automated, delays, learned } = contributions[place]!
      const sum = sums.getOrInsertComputed(ref.templateId, () => new Tallies.TallySum())
      const decidedHour = Math.floor(ref.decidedAt / hourMillis) * hourMillis
      const at = { copyId: ref.copyId, context: ref.context, decidedHour }
      const timed: DelayCounts = ref.forced || ref.copyId === noMessage ? {} : Object.fromEntries(
        Object.entries(delays).map(([outcome, delayClass]) => [`${outcome}:${delayClass}`, 1]),
      )
      sum.add({ ...at, track: ref.forced ? "forced" : "learned" }, { decisions: 1, ...learned }, timed, now)
      for (const failure of rows[place]!.failed ?? []) {
        const { counts, track } = failureOf(failure)
        sum.add({ ...at, copyId: failure.copy_id, track }, counts, undefined, now)
      }
      if (Object.keys(automated).length > 0) sum.add({ ...at, track: "automated" }, automated, undefined, now)
      if (!check && ref.decidedAt >= firstPeriod(now) && ref.decidedAt < settled.until) {
        byAttribute.add(rows[place]!, events[place]!)
        for (const draw of failedDraws([rows[place]!])) byAttribute.add(draw, [])
      }
      if (ref.decidedAt >= settled.from && ref.decidedAt < settled.to) {
        propensities.add(rows[place]!, events[place]!)
        for (const draw of failedDraws([rows[place]!])) propensities.add(draw, [])
      }
    })
    if (!check) {
      const outcomes = refs.map((decision, place) => ({ decision, before: {}, after: contributions[place]!.learned }))
      for (const { counts, decision } of yield* repeatsOf(sql, outcomes, true)) {
        const { context, copyId, decidedAt, templateId } = decision
        const decidedHour = Math.floor(decidedAt / hourMillis) * hourMillis
        sums.get(templateId)!.add({ copyId, context, decidedHour, track: "learned" }, counts, undefined, now)
      }
      const counts = ({ decidedAt }: DecisionRef) => decidedAt >= fatigueSince && decidedAt < settled.to
      yield* fatigue.add(
        rows.filter((_, place) => counts(refs[place]!)),
        events.filter((_, place) => counts(refs[place]!)),
      )
    }
    decisions += rows.length
    yield* report({ done: decisions, total, unit: "decisions" })
    const last = rows[rows.length - 1]
    if (last === undefined || rows.length < page) {
      return {
        sums,
        propensities,
        decisions,
        byAttribute,
        fatigue: fatigue.rows(),
        fatigueDays: { ...settled, from: fatigueSince },
      }
    }
    after = last
  }
})

/** The recomputed counts of a template. */
interface Recounted {
  readonly sum: Tallies.TallySum
  /** Replaces the counts of fatigue and of attributes. */
  readonly replaceOthers: Effect.Effect<unknown, SqlError>
  /** Compares the counts by propensities, and replaces them unless it is a check. Returns the number of differences. */
  readonly rebuildWeighted: Effect.Effect<number, SqlError>
}

/**
 * Compares the counts of a template with the recomputed ones, and replaces them unless it is a check. A fault of the
 * template's data is returned, and its counts stay as they are.
 */
const rebuildTemplate = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  id: string,
  { rebuildWeighted, replaceOthers, sum }: Recounted,
  { check, now }: { readonly check: boolean; readonly now: number },
) {
  const truth = {
    tallies: withoutZeros(sum.tallies(), now),
    delays: sum.delays(),
    variantDelays: sum.variantDelays(),
    repeats: sum.repeats(),
  }
  const differences = differencesOf(id, yield* TallyRebuild.countedTallies(sql, org, id, now), truth.tallies)
  if (check) return { differences, propensityDifferences: yield* rebuildWeighted, fault: undefined }
  // In a savepoint, so that a failure of one template does not undo the others.
  return yield* sql.withTransaction(
    TallyRebuild.replaceTallies(sql, org, id, truth, now).pipe(
      Effect.andThen(replaceOthers),
      Effect.andThen(rebuildWeighted),
    ),
  ).pipe(
    Effect.map((propensityDifferences) => ({ differences, propensityDifferences, fault: undefined })),
    Effect.catchIf(isDataFault, (error) => {
      const reason = innermost(error)
      return Effect.as(
        Effect.logError("A template could not be rebuilt because of its data", { org, template: id, reason }),
        { differences, propensityDifferences: 0, fault: { templateId: id, reason } satisfies RebuildFault },
      )
    }),
  )
})

/**
 * Recomputes the tallies of an organization from its decisions and events, which are the source of truth, and reports
 * differences. Runs in one transaction on one snapshot of the data. Decisions and events that arrive in the meantime
 * wait in the ledger and are added afterwards. Until then, nothing is folded or published in any organization. A check
 * blocks nothing.
 */
export class Rebuild extends Context.Service<Rebuild, {
  /**
   * Rebuilds all templates or one. With `check`, writes nothing. A template whose data has a fault is listed in
   * `faults`, and the others are rebuilt.
   */
  readonly run: (
    org: OrgSlug,
    options: { readonly template?: string | undefined; readonly check: boolean },
  ) => Effect.Effect<Rebuilt>
}>()("parlance/projections/Rebuild") {
  static readonly layer = Layer.effect(
    Rebuild,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const run = Effect.fn("Rebuild.run")(function* (
        org: OrgSlug,
        { check, template }: { readonly template?: string | undefined; readonly check: boolean },
      ) {
        const label = `${check ? "Checking" : "Rebuilding"} counts of ${org}`
        const rebuilt = yield* withProgress(label, (report) =>
          sql.withTransaction(Effect.gen(function* () {
            yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
            if (check) {
              // The snapshot is taken before the time is read, so that no row belongs to a bucket of a later hour. It
              // needs no lock, because every change of the ledger is one transaction.
              yield* sql`SELECT 1`
            } else {
              yield* TallyRebuild.stopFolding(sql)
            }
            const now = clock.currentTimeMillisUnsafe()
            const since = new Date(now - countedDays * dayMillis)
            // Later days are still being counted.
            const days = yield* settledDays(sql, org, since)
            const { byAttribute, decisions, fatigue, fatigueDays, propensities, sums } = yield* recount(
              sql,
              org,
              {
                check,
                now,
                settled: days,
                since,
                template,
              },
              report,
            )
            const propensitiesOf = Map.groupBy(propensities.rows(), ({ template_id }) => template_id)
            const fatigueOf = Map.groupBy(fatigue, ({ template_id }) => template_id)
            let propensityDifferences = 0
            const counted = yield* TallyRebuild.countedTemplates(sql, org, template)
            const templates = [...new Set([...sums.keys(), ...counted])].sort()
            const differences: Array<TallyDifference> = []
            const faults: Array<RebuildFault> = []
            for (const [index, id] of templates.entries()) {
              yield* report({ done: index, total: templates.length, unit: "templates" })
              const result = yield* rebuildTemplate(sql, org, id, {
                sum: sums.get(id) ?? new Tallies.TallySum(),
                replaceOthers: Effect.all([
                  replaceFatigue(sql, org, id, fatigueOf.get(id) ?? [], fatigueDays),
                  replaceAttributeOutcomes(sql, org, id, byAttribute.of(id)),
                ]),
                rebuildWeighted: rebuildPropensities(sql, org, id, propensitiesOf.get(id) ?? [], { days, check }),
              }, { check, now })
              differences.push(...result.differences)
              propensityDifferences += result.propensityDifferences
              if (result.fault !== undefined) faults.push(result.fault)
            }
            return {
              decisions,
              templates,
              faults,
              propensityDifferences,
              differences: differences.slice(0, keptDifferences),
            }
          })))
        // Restarts stopped folding. Outside of the transaction, because it would fail if an attempt has happened since
        // its snapshot.
        if (!check) {
          const faulty = new Set(rebuilt.faults.map(({ templateId }) => templateId))
          yield* Effect.forEach(
            rebuilt.templates.filter((id) => !faulty.has(id)),
            (id) => FoldAttempts.clear(sql, org, id),
          )
        }
        const nowMillis = clock.currentTimeMillisUnsafe()
        const histories = rebuildHistories(sql, org, { check, nowMillis })
        const sendTimes = template === undefined
          ? yield* withProgress(`${check ? "Checking" : "Rebuilding"} send times of ${org}`, () => histories)
          : null
        return { ...rebuilt, templates: rebuilt.templates.length, sendTimes }
      }, Effect.catch((error: SqlError) => Effect.die(error)))

      return Rebuild.of({ run })
    }),
  )
}

const withoutZeros = (tallies: ReadonlyArray<Tally>, now: number) =>
  tallies.filter(({ counts, start }) =>
    !isExpired(bucketAt(start, now).start, now) && Object.values(counts).some((count) => count !== 0)
  )
