import { Context, Duration, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../settings/Settings.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import { recordset } from "../store/Recordset.ts"

/** A recommended send time of a variant for one person. Unit of times: Unix milliseconds. */
interface Given {
  readonly org: string
  readonly person: string
  readonly copyId: string
  readonly givenAt: number
  readonly advisedAt: number
  readonly explored: boolean
  readonly basis: string
}

/** Counter of this process's recommendations, by whether they are stored for `results`. */
const given = (recorded: "true" | "false") =>
  Metric.counter("parlance_send_advice_total", { incremental: true, attributes: { recorded } })
const recorded = given("true")
const dropped = given("false")

const adviceColumns = {
  org_slug: "text",
  person: "text",
  copy_id: "text",
  given_at: "float8",
  advised_at: "float8",
  explored: "boolean",
  basis: "text",
} as const

/**
 * Stores recommendations in groups that share a commit, without blocking the caller. If a crash loses recommendations,
 * only the comparison in `results` lacks them.
 */
export class AdviceLog extends Context.Service<AdviceLog, {
  readonly record: (advice: Given) => void
  /** Number of recommendations that are not stored yet. */
  readonly pending: () => number
}>()("parlance/sendtime/AdviceLog") {
  static readonly layer = Layer.effect(
    AdviceLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const context = yield* Effect.context()
      const count = Effect.runSyncWith(context)

      const commit = yield* GroupCommit.make<Given, undefined>({
        write: (entries) => {
          const rows = entries.map((one) => ({
            org_slug: one.org,
            person: one.person,
            copy_id: one.copyId,
            given_at: one.givenAt,
            advised_at: one.advisedAt,
            explored: one.explored,
            basis: one.basis,
          }))
          return sql`
            INSERT INTO send_advice (org_slug, person, copy_id, given_at, advised_at, explored, basis)
            SELECT r.org_slug, r.person, r.copy_id, to_timestamp(r.given_at / 1000.0),
              to_timestamp(r.advised_at / 1000.0), r.explored, r.basis
            FROM ${recordset(rows, adviceColumns)}`.pipe(
            Effect.tap(Metric.update(recorded, entries.length)),
            Effect.as(entries.map(() => undefined)),
          )
        },
        maxGroup: 1000,
        // A pause forms larger groups: a row in a large group costs a fifth of a row in small ones.
        gathering: Duration.millis(100),
        maxWaiting: settings.storeQueueSize,
        bufferSize: settings.decisionBufferSize,
        bufferAge: settings.decisionBufferAge,
        timeout: settings.storeTimeout,
        drainTimeout: settings.shutdownTimeout,
      })

      return AdviceLog.of({
        record: (advice) => {
          if (commit.submit(advice) === undefined) count(Metric.update(dropped, 1))
        },
        pending: commit.size,
      })
    }),
  )
}
