import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { mostRepeats, type PersonalOutcome, repeatChanges, repeatMillis } from "../../bandit/Repeats.ts"
import { type RepeatCounts, repeatedOutcomes, repeatName, type TallyCounts } from "../../bandit/Tally.ts"
import { recordset } from "../../store/Recordset.ts"
import { contributionOf, readEvents } from "./DecisionEvents.ts"
import { type DecisionRef, type DecisionRow, refOf } from "./DecisionRef.ts"

// How often people repeat an outcome of a variant, so that learning can take people as its units.

/** A decision whose events changed what it counts as. */
export interface ChangedDecision {
  readonly decision: DecisionRef
  /** What it counted as before, and counts as now. */
  readonly before: TallyCounts
  readonly after: TallyCounts
}

/** A change of the repeats, to be counted at this decision. */
export interface RepeatsOf {
  readonly decision: DecisionRef
  readonly counts: RepeatCounts
}

/** Decisions of a person that are read, the latest ones, whatever their template and variant. */
const mostRead = 4000

const amountsOf = (counts: TallyCounts) => repeatedOutcomes.map((outcome) => counts[outcome] ?? 0)

const personKey = ({ copyId, org, templateId, user }: DecisionRef) => `${org}\0${templateId}\0${copyId}\0${user}`

const decisionKey = ({ decidedAt, trackingId }: DecisionRef) => `${decidedAt}\0${trackingId}`

const inOrder = (a: DecisionRef, b: DecisionRef): number =>
  a.decidedAt - b.decidedAt || (a.trackingId < b.trackingId ? -1 : a.trackingId > b.trackingId ? 1 : 0)

interface Person {
  readonly changed: ReadonlyMap<string, ChangedDecision>
  readonly first: DecisionRef
  readonly from: number
  readonly to: number
}

const peopleOf = (changed: ReadonlyArray<ChangedDecision>): ReadonlyArray<Person> =>
  Array.from(Map.groupBy(changed, ({ decision }) => personKey(decision)).values(), (own) => ({
    changed: new Map(own.map((one) => [decisionKey(one.decision), one])),
    first: own[0]!.decision,
    from: own.reduce((least, { decision }) => Math.min(least, decision.decidedAt), Infinity) - repeatMillis,
    to: own.reduce((most, { decision }) => Math.max(most, decision.decidedAt), 0) + repeatMillis,
  }))

/** All learned decisions about each person for the same variant around the changed ones, the earliest first. */
const readDecisions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, people: ReadonlyArray<Person>) {
  const rows = people.map(({ first, from, to }, place) => ({
    place,
    org_slug: first.org,
    template_id: first.templateId,
    copy_id: first.copyId,
    user_id: first.user,
    from_ms: from,
    to_ms: to,
  }))
  const columns = {
    place: "int",
    org_slug: "text",
    template_id: "text",
    copy_id: "text",
    user_id: "text",
    from_ms: "float8",
    to_ms: "float8",
  } as const
  const found = yield* sql<DecisionRow & { readonly place: number }>`
    SELECT r.place, e.tracking_id, e.template_id, e.copy_id, e.segment, e.mode, e.propensity, e.user_id, e.decided_at
    FROM ${recordset(rows, columns)}
    CROSS JOIN LATERAL (
      SELECT d.tracking_id, d.template_id, d.copy_id, d.segment, d.mode, d.propensity, d.user_id, d.decided_at
      FROM decisions d
      WHERE d.org_slug = r.org_slug AND d.user_id = r.user_id
        AND d.decided_at >= to_timestamp(r.from_ms / 1000.0) AND d.decided_at <= to_timestamp(r.to_ms / 1000.0)
      ORDER BY d.decided_at DESC LIMIT ${mostRead}) e
    WHERE e.template_id = r.template_id AND e.copy_id = r.copy_id`
  const decisions: Array<Array<DecisionRef>> = people.map(() => [])
  for (const row of found) {
    const decision = refOf(people[row.place]!.first.org, row)
    if (!decision.forced) decisions[row.place]!.push(decision)
  }
  return decisions.map((own) => own.sort(inOrder))
})

/** Decisions that did not change and can be one of a pair with one that did: by their places in time and order. */
const partnersOf = (decisions: ReadonlyArray<DecisionRef>, { changed }: Person, isRecount: boolean) => {
  const places = decisions.flatMap((decision, place) => changed.has(decisionKey(decision)) ? [place] : [])
  const partners = new Set<DecisionRef>()
  for (const place of places) {
    const from = Math.max(0, place - mostRepeats)
    const to = Math.min(decisions.length - 1, isRecount ? place : place + mostRepeats)
    for (let other = from; other <= to; other++) {
      const decision = decisions[other]!
      if (Math.abs(decision.decidedAt - decisions[place]!.decidedAt) > repeatMillis) continue
      if (!changed.has(decisionKey(decision))) partners.add(decision)
    }
  }
  return [...partners]
}

/**
 * What changed decisions change in the repeats. With `isRecount` every decision of the template is given in its turn, with
 * nothing before, so that only the changed decisions are told of. Costs one statement for decisions about people who have no other
 * of the variant.
 */
export const repeatsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changed: ReadonlyArray<ChangedDecision>,
  isRecount = false,
): Effect.fn.Return<ReadonlyArray<RepeatsOf>, SqlError> {
  const people = peopleOf(
    changed.filter(({ after, before, decision: { forced, user } }) =>
      user !== undefined && !forced && repeatedOutcomes.some((name) => (before[name] ?? 0) !== (after[name] ?? 0))
    ),
  )
  if (people.length === 0) return []
  const decisions = yield* readDecisions(sql, people)
  const partners = people.flatMap((person, place) =>
    decisions[place]!.length < 2 ? [] : partnersOf(decisions[place]!, person, isRecount)
  )
  const events = yield* readEvents(sql, partners)
  const known = new Map(
    partners.map((decision, place) => [decision, amountsOf(contributionOf(decision, events[place]!).learned)]),
  )
  const none = repeatedOutcomes.map(() => 0)
  return people.flatMap((person, place) => {
    const own = decisions[place]!
    const outcomes = own.map((decision): PersonalOutcome => {
      const change = person.changed.get(decisionKey(decision))
      const amounts = known.get(decision) ?? none
      return change === undefined ? { at: decision.decidedAt, before: amounts, after: amounts, isChanged: false } : {
        at: decision.decidedAt,
        before: amountsOf(change.before),
        after: amountsOf(change.after),
        isChanged: true,
      }
    })
    return repeatChanges(outcomes, isRecount).map(({ again, place, seen }) => ({
      decision: own[place]!,
      counts: Object.fromEntries(repeatedOutcomes.flatMap((outcome, k) => [
        [repeatName(outcome, "again"), again[k]!],
        [repeatName(outcome, "seen"), seen[k]!],
      ])) as RepeatCounts,
    }))
  })
})
