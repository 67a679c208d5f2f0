import { Effect } from "effect"
import type { TemplateId } from "../../src/domain/Ids.ts"
import type { Settled } from "../../src/delivery/Outbox.ts"
import type { Environment } from "./Databases.ts"
import { enqueue, openServices, org, perSecond, type Services } from "./deliverStore.ts"

/** Costs of the queue with a number of rows in its table. Times are in milliseconds. */
export interface RowCosts {
  readonly name: string
  /** Time to claim a message, in groups of the size that a lane claims at 100 messages per second. */
  readonly claimMillis: number
  readonly settleMillis: number
  readonly enqueuedPerSecond: number
  readonly summaryMillis: number
  /** Times of the first page: of all deliveries, of a state, of one address, and of a state without deliveries. */
  readonly pagesMillis: ReadonlyArray<number>
}

export const pageNames = ["all", "sent", "queued, from the middle", "one address", "failed (none)"] as const

/** Number of messages that a lane claims at once at 100 messages per second. */
const group = 50

/** Fills the table with `count` messages that were queued an hour ago and are due, or were sent. */
const fill = ({ sql }: Services, series: number, count: number, state: "queued" | "sent") =>
  Effect.gen(function* () {
    const step = 100_000
    for (let at = 0; at < count; at += step) {
      yield* sql`
        INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, vars, formats, state, due_at, queued_at,
          connection, message_id, finished_at)
        SELECT ${org}, '00000000-0000-7000-800' || ${series}::int || '-' || lpad(to_hex(i), 12, '0'), 'welcome', 'v1',
          'p' || i || '@example.com',
          '{"subject":"Hi Ann, offer 1 for you","preheader":"Only in OSLO today","body":"Dear Ann, we picked boots for you."}',
          '{"subject":"text","preheader":"text","body":"text"}', ${state}, t.at, t.at,
          CASE WHEN ${state} = 'sent' THEN 'smtp' END, CASE WHEN ${state} = 'sent' THEN 'm' || i END,
          CASE WHEN ${state} = 'sent' THEN t.at + interval '1 minute' END
        FROM generate_series(${at + 1}::int, ${Math.min(count, at + step)}::int) AS i
        CROSS JOIN LATERAL (SELECT now() - interval '1 hour' + i * interval '1 millisecond' AS at) t`
    }
    yield* sql`ANALYZE deliveries`
  })

const medianOf = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const begin = performance.now()
  await run()
  return performance.now() - begin
}

const medianTime = async (times: number, run: () => Promise<unknown>): Promise<number> => {
  const taken: Array<number> = []
  for (let i = 0; i < times; i++) taken.push(await timed(run))
  return medianOf(taken)
}

/** Claims and settles messages for some seconds. Returns the median over groups, per message. */
const drain = async ({ outbox }: Services, seconds: number) => {
  const lane = await Effect.runPromise(outbox.take(org, "bench"))
  if (lane === undefined) throw new Error("Somebody else holds the lane")
  const claims: Array<number> = []
  const settles: Array<number> = []
  const begin = performance.now()
  while (performance.now() - begin < seconds * 1000) {
    const start = performance.now()
    const messages = await Effect.runPromise(outbox.claim(lane, group))
    claims.push((performance.now() - start) / messages.length)
    if (messages.length < group) break
    const settled = messages.map(({ id, templateId }): Settled => ({
      id,
      templateId: templateId as TemplateId,
      connection: "smtp",
      _tag: "sent",
      messageId: id,
      links: [],
    }))
    settles.push(await timed(() => Effect.runPromise(outbox.settle(lane, settled))) / group)
  }
  await Effect.runPromise(outbox.release(lane))
  return { claimMillis: medianOf(claims), settleMillis: medianOf(settles) }
}

const costs = async (name: string, services: Services, seconds: number): Promise<RowCosts> => {
  const { deliveries } = services
  const page = (state: "sent" | "queued" | "failed" | undefined, email?: string, cursor?: string) => () =>
    Effect.runPromise(deliveries.list(org, { state, email, cursor, limit: 50 }))
  const pagesMillis: Array<number> = []
  for (
    const run of [
      page(undefined),
      page("sent"),
      page("queued", undefined, "00000000-0000-7000-8001-000000001000"),
      page(undefined, "p17@example.com"),
      page("failed"),
    ]
  ) {
    pagesMillis.push(await medianTime(15, run))
  }
  const summaryMillis = await medianTime(15, () => Effect.runPromise(deliveries.summary(org)))
  await perSecond(64, 1, (n) => enqueue(services, `warm ${name.length}`.replaceAll(" ", ""), n, false))
  const enqueuedPerSecond = await perSecond(
    64,
    seconds,
    (n) => enqueue(services, `rows${name.length}`, n, false),
  )
  return { name, ...await drain(services, seconds), enqueuedPerSecond, summaryMillis, pagesMillis }
}

/** Measures the costs with a nearly empty table, with `count` queued messages, and with `count` finished messages. */
export const measureRows = async (
  store: Environment,
  count: number,
  seconds: number,
): Promise<ReadonlyArray<RowCosts>> => {
  const services = await openServices(store)
  try {
    const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)
    const empty = async () => {
      await run(services.sql`TRUNCATE deliveries, decisions, inbox, delivery_counts, delivery_minutes`)
      // Due messages for the lane to claim.
      await run(fill(services, 1, 20_000, "queued"))
    }
    await empty()
    const rows = [await costs("20,000 rows", services, seconds)]
    await empty()
    await run(fill(services, 2, count, "sent"))
    rows.push(await costs(`${count.toLocaleString("en")} finished`, services, seconds))
    await empty()
    await run(fill(services, 3, count, "queued"))
    rows.push(await costs(`${count.toLocaleString("en")} queued`, services, seconds))
    return rows
  } finally {
    await services.close()
  }
}
