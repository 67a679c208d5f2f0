import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { mostRepeats, type PersonalOutcome, repeatChanges, repeatMillis } from "../../bandit/Repeats.ts"
import { type RepeatCounts, repeatedOutcomes, repeatName, type TallyCounts } from "../../bandit/Tally.ts"
import { trackSql } from "../decisions/Track.ts"
import { recordset } from "../../store/Recordset.ts"
import { contributionOf, readEvents } from "./DecisionEvents.ts"
import type { DecisionRef, DecisionRow } from "./DecisionRef.ts"

// Counts how often people repeat an outcome of a variant, so that learning can use people as its units.

/** A decision whose outcomes were changed by new events. */
interface ChangedDecision {
  readonly decision: DecisionRef
  /** Outcomes before and after the change. */
  readonly before: TallyCounts
  readonly after: TallyCounts
}

/** A change of the repeats, to be counted for this decision. */
interface RepeatsOf {
  readonly decision: DecisionRef
  readonly counts: RepeatCounts
}

/** Maximum number of decisions of a person that are read: the latest, of all templates and variants. */
const mostRead = 4000

const amountsOf = (counts: TallyCounts) => repeatedOutcomes.map((outcome) => counts[outcome] ?? 0)

const againNames = repeatedOutcomes.map((outcome) => repeatName(outcome, "again"))
const seenNames = repeatedOutcomes.map((outcome) => repeatName(outcome, "seen"))

const countsOf = (again: ReadonlyArray<number>, seen: ReadonlyArray<number>): RepeatCounts => {
  const counts: { -readonly [name in keyof RepeatCounts]: RepeatCounts[name] } = {}
  againNames.forEach((name, k) => {
    if (again[k] !== 0) counts[name] = again[k]!
  })
  seenNames.forEach((name, k) => {
    if (seen[k] !== 0) counts[name] = seen[k]!
  })
  return counts
}

const personKey = ({ copyId, org, templateId, user }: DecisionRef) => `${org}\0${templateId}\0${copyId}\0${user}`

const inOrder = (a: DecisionRef, b: DecisionRef): number =>
  a.decidedAt - b.decidedAt || (a.trackingId < b.trackingId ? -1 : a.trackingId > b.trackingId ? 1 : 0)

interface Person {
  /** Changed decisions by tracking id. */
  readonly changed: ReadonlyMap<string, ChangedDecision>
  readonly first: DecisionRef
  readonly from: number
  readonly to: number
}

const peopleOf = (changed: ReadonlyArray<ChangedDecision>): ReadonlyArray<Person> =>
  Array.from(Map.groupBy(changed, ({ decision }) => personKey(decision)).values(), (own) => ({
    changed: new Map(own.map((one) => [one.decision.trackingId, one])),
    first: own[0]!.decision,
    from: own.reduce((least, { decision }) => Math.min(least, decision.decidedAt), Infinity) - repeatMillis,
    to: own.reduce((most, { decision }) => Math.max(most, decision.decidedAt), 0) + repeatMillis,
  }))

interface Row extends Pick<DecisionRow, "trackingId" | "segment" | "decidedAt"> {
  readonly place: number
}

/** Reads all learned decisions about each person for one variant around the changed decisions, earliest first. */
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
  const found = yield* sql<Row>`
    SELECT r.place, e.tracking_id AS "trackingId", e.segment, e.decided_at AS "decidedAt"
    FROM ${recordset(rows, columns)}
    CROSS JOIN LATERAL (
      SELECT d.tracking_id, d.template_id, d.copy_id, d.segment, d.mode, d.propensity, d.decided_at
      FROM decisions d
      WHERE d.org_slug = r.org_slug AND d.user_id = r.user_id
        AND d.decided_at >= to_timestamp(r.from_ms / 1000.0) AND d.decided_at <= to_timestamp(r.to_ms / 1000.0)
      ORDER BY d.decided_at DESC LIMIT ${mostRead}) e
    WHERE e.template_id = r.template_id AND e.copy_id = r.copy_id AND ${sql.literal(trackSql("e"))} = 'learned'`
    .withoutTransform
  const decisions: Array<Array<DecisionRef>> = people.map(() => [])
  for (const row of found) {
    const { copyId, org, templateId, user } = people[row.place]!.first
    decisions[row.place]!.push({
      org,
      trackingId: row.trackingId,
      templateId,
      copyId,
      context: row.segment,
      forced: false,
      user,
      decidedAt: row.decidedAt.getTime(),
    })
  }
  return decisions.map((own) => own.sort(inOrder))
})

const changeOf = ({ changed }: Person, { decidedAt, trackingId }: DecisionRef): ChangedDecision | undefined => {
  const change = changed.get(trackingId)
  return change?.decision.decidedAt === decidedAt ? change : undefined
}

/**
 * Returns the unchanged decisions that can form a pair with a changed decision, according to their distance in order.
 */
const partnersOf = (decisions: ReadonlyArray<DecisionRef>, person: Person, isRecount: boolean) => {
  const partners: Array<DecisionRef> = []
  // Decisions up to `until` have been checked.
  let until = -1
  decisions.forEach((decision, place) => {
    if (changeOf(person, decision) === undefined) return
    const from = Math.max(until + 1, place - mostRepeats)
    const to = isRecount ? place : Math.min(decisions.length - 1, place + mostRepeats)
    for (let other = from; other <= to; other++) {
      if (changeOf(person, decisions[other]!) === undefined) partners.push(decisions[other]!)
    }
    until = Math.max(until, to)
  })
  return partners
}

/**
 * Returns the changes of the repeats caused by changed decisions. With `isRecount`, the caller passes every decision of
 * the template in turn, as changed from no outcome, and changes are returned only for these decisions. Costs one
 * statement if the people have no other decision of the variant. Fails with `SqlError` if the database does not
 * respond.
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
    if (own.length < 2) return []
    const outcomes = own.map((decision): PersonalOutcome => {
      const change = changeOf(person, decision)
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
      counts: countsOf(again, seen),
    }))
  })
})
