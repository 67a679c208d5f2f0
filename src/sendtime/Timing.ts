import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

// Lift from sending at the recommended times, over messages that had a recommendation.

/**
 * A number of messages, the share of them with engagement and its 95 % interval. Share and interval are null without
 * messages.
 */
export interface TimingCount {
  readonly sends: number
  readonly engaged: number
  readonly rate: number | null
  readonly interval: readonly [number, number] | null
}

/** A difference of two rates with its 95 % interval. */
interface TimingDifference {
  readonly difference: number
  readonly interval: readonly [number, number]
}

/** Engagement by whether messages were sent at the recommended time, and the resulting gain. */
interface TimingResults {
  /** Messages sent at the recommended time, which was the best hour. */
  readonly followed: TimingCount
  /** Messages sent at a recommended time that was drawn uniformly: the average over all allowed times. */
  readonly explored: TimingCount
  /** Messages with a recommendation that were sent at another time. */
  readonly missed: TimingCount
  /** `followed` compared with `explored`: only chance decided to which a message belongs. */
  readonly gain: TimingDifference | null
  /** `followed` compared with `missed`. Senders that use the recommended times may differ in other ways. */
  readonly followed_against_missed: TimingDifference | null
}

const z = 1.959963984540054

/** Wilson's score interval of a rate. */
export const wilson = (engaged: number, sends: number): readonly [number, number] => {
  const rate = engaged / sends
  const spread = z * z / sends
  const middle = (rate + spread / 2) / (1 + spread)
  const half = z * Math.sqrt(rate * (1 - rate) / sends + spread / (4 * sends)) / (1 + spread)
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}

/** Returns the number of messages, the rate of engagement and its interval. */
export const countOf = ({ engaged, sends }: { readonly engaged: number; readonly sends: number }): TimingCount => ({
  sends,
  engaged,
  rate: sends === 0 ? null : engaged / sends,
  interval: sends === 0 ? null : wilson(engaged, sends),
})

/** Returns the difference of two rates, by Newcombe's hybrid of Wilson's intervals. Null if either has no messages. */
export const differenceOf = (a: TimingCount, b: TimingCount): TimingDifference | null => {
  if (a.rate === null || b.rate === null) return null
  const [lowA, highA] = a.interval!
  const [lowB, highB] = b.interval!
  const difference = a.rate - b.rate
  return {
    difference,
    interval: [
      difference - Math.hypot(a.rate - lowA, highB - b.rate),
      difference + Math.hypot(highA - a.rate, b.rate - lowB),
    ],
  }
}

/**
 * Reads the timing of a template's messages decided in [from, to), by whole days (UTC), counted once they are four days
 * old.
 */
export const timing = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  from: Date,
  to: Date,
): Effect.fn.Return<TimingResults, SqlError> {
  const rows = yield* sql<
    { readonly followed: boolean; readonly explored: boolean; readonly sends: number; readonly engaged: number }
  >`
    SELECT t.followed, t.explored, sum(t.sends)::float8 AS sends, sum(t.engaged)::float8 AS engaged
    FROM timing_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.day >= ${from} AND t.day < ${to}
    GROUP BY t.followed, t.explored`
  const of = (followed: boolean, explored?: boolean) =>
    countOf(
      rows.filter((row) => row.followed === followed && (explored === undefined || row.explored === explored))
        .reduce((sum, row) => ({ sends: sum.sends + row.sends, engaged: sum.engaged + row.engaged }), {
          sends: 0,
          engaged: 0,
        }),
    )
  const [followed, explored, missed] = [of(true, false), of(true, true), of(false)]
  return {
    followed,
    explored,
    missed,
    gain: differenceOf(followed, explored),
    followed_against_missed: differenceOf(followed, missed),
  }
})
