import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { layerServices } from "../../src/service/App.ts"
import { BulkActions } from "../../src/delivery/BulkActions.ts"
import { type BulkKind, changing, stateOf } from "../../src/delivery/BulkPreview.ts"
import { type BulkFilter, matching } from "../../src/delivery/DeliveryFilter.ts"
import { Outbox } from "../../src/delivery/Outbox.ts"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { layerSettings } from "../../test/support/settings.ts"
import type { Environment } from "./Databases.ts"
import { environmentOf } from "./deliverStore.ts"

// Measures bulk actions of one organization on many deliveries, without HTTP.

const org = "bench" as OrgSlug

/** The costs of a bulk action. Times in milliseconds. */
export interface BulkCost {
  readonly name: string
  readonly matched: number
  readonly previewMillis: number
  /** Time from the request to the last batch. */
  readonly applyMillis: number
  readonly changed: number
  /** Median and maximum time of claims of 50 messages while the action ran. Empty if no claim ended. */
  readonly claimMillis: ReadonlyArray<number>
  /** The query plan of the preview. */
  readonly previewPlan: string
  /** The query plan of a batch. */
  readonly batchPlan: string
}

interface Services {
  readonly sql: SqlClient.SqlClient
  readonly bulk: BulkActions["Service"]
  readonly outbox: Outbox["Service"]
  readonly close: () => Promise<void>
}

const openServices = async (store: Environment): Promise<Services> => {
  const scope = await Effect.runPromise(Scope.make())
  const layer = Layer.provideMerge(BulkActions.layer, layerServices).pipe(
    Layer.provide(layerSettings(environmentOf(store))),
  )
  const context = await Effect.runPromise(Layer.build(layer).pipe(Effect.provideService(Scope.Scope, scope)))
  return {
    sql: Context.get(context as Context.Context<SqlClient.SqlClient>, SqlClient.SqlClient),
    bulk: Context.get(context, BulkActions),
    outbox: Context.get(context, Outbox),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }
}

/**
 * Fills the table: nine of ten deliveries have failed within the last 30 days, and the others are queued. Reasons,
 * templates and connections vary: 1 % of the failures are greylisted, 5 % have the template `rare`, and 5 % the
 * connection `spare`.
 */
const fill = ({ sql }: Services, rows: number) =>
  Effect.gen(function* () {
    yield* sql`TRUNCATE deliveries`
    const step = 100_000
    for (let at = 0; at < rows; at += step) {
      yield* sql`
        INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, address_key, vars, size, formats, state, due_at,
          queued_at, finished_at, connection, reason)
        SELECT ${org}, '00000000-0000-7000-8001-' || lpad(to_hex(i), 12, '0'),
          CASE WHEN i % 20 = 0 THEN 'rare' ELSE 'welcome' END, 'v1', 'p' || i || '@example.com', 'p' || i || '@example.com',
          '{"subject":"Hi Ann","body":"Dear Ann, we picked boots for you."}', 60, '{"subject":"text","body":"text"}',
          t.state, t.at, t.at, CASE WHEN t.state = 'failed' THEN t.at + interval '1 minute' END,
          CASE WHEN i % 20 = 1 THEN 'spare' ELSE 'main' END,
          CASE WHEN i % 100 = 3 THEN 'The SMTP server answered 451 4.7.1 Greylisted p' || i || '@example.com'
            ELSE 'The SMTP server answered 554 5.7.1 Rejected, id ' || md5(i::text) END
        FROM generate_series(${at + 1}::int, ${Math.min(rows, at + step)}::int) AS i
        CROSS JOIN LATERAL (SELECT CASE WHEN i % 10 = 9 THEN 'queued' ELSE 'failed' END AS state,
          now() - interval '30 days' + i * (interval '30 days' / ${rows}::int) AS at) t`
    }
    yield* sql`VACUUM ANALYZE deliveries`
  })

/** Returns how a plan reads tables, such as "Index Scan using deliveries_by_state", and its time. */
const planOf = (sql: SqlClient.SqlClient, query: Statement.Statement<object>) =>
  Effect.map(
    sql<{ readonly "QUERY PLAN": string }>`EXPLAIN (ANALYZE, TIMING OFF) ${query}`,
    (rows) => {
      const lines = rows.map((row) => String(Object.values(row)[0]))
      const scans = lines.flatMap((line) =>
        /(?:Bitmap )?(?:Index |Seq )(?:Only )?Scan(?: using| on)? \S+/.exec(line) ?? []
      )
      const time = lines.find((line) => line.startsWith("Execution Time"))?.replace(/^Execution Time: /, "") ?? ""
      return `${[...new Set(scans)].join(", ")}; ${time}`
    },
  )

/** Claims messages and releases them until `isOver` returns true. Returns the time of each claim. */
const claimUntil = async ({ outbox }: Services, isOver: () => boolean): Promise<ReadonlyArray<number>> => {
  const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)
  const lane = await run(outbox.take(org, "bench"))
  if (lane === undefined) throw new Error("Another process holds the lane")
  const taken: Array<number> = []
  while (!isOver()) {
    await run(outbox.renew(lane, 0))
    const begin = performance.now()
    const claimed = await run(outbox.claim(lane, 50))
    taken.push(performance.now() - begin)
    await run(outbox.giveBack(lane, claimed.map(({ id }) => id)))
  }
  await run(outbox.release(lane))
  return taken.sort((a, b) => a - b)
}

const measure = async (services: Services, name: string, kind: BulkKind, filter: BulkFilter): Promise<BulkCost> => {
  const { bulk, sql } = services
  const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)
  const fitting = matching(sql, { ...filter, state: stateOf[kind] })
  const previewPlan = await run(
    planOf(sql, sql`SELECT count(*) FROM deliveries d WHERE d.org_slug = ${org} AND ${fitting}`),
  )
  const batchPlan = await run(planOf(
    sql,
    sql`SELECT d.id FROM deliveries d WHERE ${changing(sql, org, kind, filter)}
      AND d.id > '00000000-0000-7000-8001-000000001000' AND d.id <= '00000000-0000-7000-8001-0000000013e8' ORDER BY d.id`,
  ))
  const begin = performance.now()
  const { matched } = await run(bulk.preview(org, kind, filter))
  const previewMillis = performance.now() - begin
  let isOver = false
  const claiming = claimUntil(services, () => isOver)
  const asked = performance.now()
  const { id } = await run(bulk.start(org, { kind, filter, requestedBy: "bench", idempotencyKey: undefined }))
  let action = await run(bulk.get(org, id))
  while (action.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, 100))
    action = await run(bulk.get(org, id))
  }
  const applyMillis = performance.now() - asked
  isOver = true
  return {
    name,
    matched,
    previewMillis,
    applyMillis,
    changed: action.changed,
    claimMillis: await claiming,
    previewPlan,
    batchPlan,
  }
}

/** Retries and cancels parts of `rows` deliveries, and then all deliveries. Calls `onCost` after each action. */
export const measureBulk = async (
  store: Environment,
  rows: number,
  onCost: (cost: BulkCost) => void,
): Promise<ReadonlyArray<BulkCost>> => {
  const services = await openServices(store)
  try {
    const { sql } = services
    await Effect.runPromise(sql`INSERT INTO organizations (slug, name, time_zone, created_at, updated_at)
      VALUES (${org}, 'Bench', 'UTC', now(), now()) ON CONFLICT DO NOTHING`)
    await Effect.runPromise(fill(services, rows))
    const since = new Date(Date.now() - 86_400_000)
    const costs: Array<BulkCost> = []
    for (
      const [name, kind, filter] of [
        ["retry, by reason", "retry", { reason: "451 4.7.1 Greylisted …" }],
        ["retry, by template", "retry", { templateId: "rare" }],
        ["retry, by connection", "retry", { connection: "spare" }],
        ["retry, the last day", "retry", { since }],
        ["cancel, by template", "cancel", { templateId: "rare" }],
        ["retry, all failed", "retry", {}],
        ["cancel, all queued", "cancel", {}],
      ] as const
    ) {
      const cost = await measure(services, name, kind, filter)
      onCost(cost)
      costs.push(cost)
    }
    return costs
  } finally {
    await services.close()
  }
}
