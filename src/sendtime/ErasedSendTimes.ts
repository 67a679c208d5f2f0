import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { changed, chunks, learnSpellings, lookedUp, repeated, type Work } from "../erasure/Work.ts"

/**
 * Deletes the send-time histories of the people and their recommendations. Run it after decisions and events are
 * erased, because histories are derived from them.
 */
export const eraseSendTimes = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sizes, sql } = work
  for (const some of chunks(names.spellings(), lookedUp)) {
    work.count(
      "send_times",
      yield* work.step(changed(sql`
        DELETE FROM send_times s
        WHERE s.org_slug = ${org} AND s.kind = 'user' AND s.person = ANY(${some}::text[])`)),
    )
    yield* repeated(
      sizes.changes,
      work.step(Effect.gen(function* () {
        const gone = yield* changed(sql`
          DELETE FROM send_advice a USING (
            SELECT f.person, f.copy_id, f.id FROM send_advice f
            WHERE f.org_slug = ${org} AND f.person = ANY(${some}::text[]) LIMIT ${sizes.changes}) f
          WHERE a.org_slug = ${org} AND a.person = f.person AND a.copy_id = f.copy_id AND a.id = f.id`)
        work.count("send_advice", gone)
        return gone
      })),
    )
  }
})

/** Finds the spellings of the people's addresses in histories and recommendations. */
export const learnSendTimeNames = (work: Work): Effect.Effect<void, SqlError> =>
  Effect.andThen(
    learnSpellings(work, "send_times", "person", work.sql`t.kind = 'user'`),
    learnSpellings(work, "send_advice", "person", work.sql`TRUE`),
  )
