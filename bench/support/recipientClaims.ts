import { Effect } from "effect"
import type { ClaimChoice } from "../../src/delivery/DomainSessions.ts"
import type { Environment } from "./Databases.ts"
import { openServices, org, type Services } from "./deliverStore.ts"

/** Cost of one claim of 50 messages. Unit: milliseconds. */
export interface ClaimCost {
  readonly name: string
  readonly claimed: number
  readonly median: number
  readonly longest: number
}

const group = 50

/**
 * Fills the queue with messages that have been due for an hour: a number of messages for each domain, one domain after
 * another.
 */
const fill = (
  { sql }: Services,
  parts: ReadonlyArray<readonly [domain: string, count: number, isTransactional?: boolean]>,
) =>
  Effect.gen(function* () {
    yield* sql`TRUNCATE deliveries`
    let before = 0
    for (const [domain, count, isTransactional = false] of parts) {
      yield* sql`
        INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, address_key, vars, size, formats, state, due_at,
          queued_at, is_transactional)
        SELECT ${org}, gen_random_uuid()::text, 'welcome', 'v1', t.email, t.email, '{"subject":"Hi","body":"Dear Ann"}', 100,
          '{"subject":"text","body":"text"}', 'queued', t.at, t.at, ${isTransactional}
        FROM generate_series(1, ${count}::int) AS i
        CROSS JOIN LATERAL (SELECT now() - interval '1 hour' + (${before}::int + i) * interval '1 millisecond' AS at,
          'p' || i || '@' || ${domain}::text AS email) t`
      before += count
    }
    yield* sql`VACUUM ANALYZE deliveries`
  })

const measure = async (services: Services, name: string, choice: ClaimChoice, times: number): Promise<ClaimCost> => {
  const { outbox } = services
  const lane = await Effect.runPromise(outbox.take(org, "bench"))
  if (lane === undefined) throw new Error("Another process holds the lane")
  const taken: Array<number> = []
  let claimed = 0
  for (let n = 0; n < times; n++) {
    await Effect.runPromise(outbox.renew(lane, 0))
    const begin = performance.now()
    claimed = (await Effect.runPromise(outbox.claim(lane, choice.only === undefined ? group : 1, false, choice))).length
    taken.push(performance.now() - begin)
  }
  await Effect.runPromise(outbox.release(lane))
  taken.sort((a, b) => a - b)
  return { name, claimed, median: taken[times >> 1]!, longest: taken.at(-1)! }
}

/** Measures the costs of claims with `rows` queued messages. */
export const measureClaims = async (
  store: Environment,
  rows: number,
  times: number,
): Promise<ReadonlyArray<ClaimCost>> => {
  const services = await openServices(store)
  const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)
  const count = rows.toLocaleString("en")
  try {
    await run(services.sql`INSERT INTO organizations (slug, name, time_zone, created_at, updated_at)
      VALUES (${org}, 'Bench', 'UTC', now(), now()) ON CONFLICT DO NOTHING`)
    const costs: Array<ClaimCost> = []
    await run(fill(services, [["good.example", rows]]))
    costs.push(await measure(services, `${count} queued`, {}, times))
    await run(fill(services, [["grey.example", 1_000], ["good.example", rows - 1_000]]))
    costs.push(await measure(services, "1,000 of a held domain in front", { without: ["grey.example"] }, times))
    costs.push(await measure(services, "one message of the held domain", { only: "grey.example" }, times))
    await run(fill(services, [["good.example", rows - 1_000], ["grey.example", 1_000]]))
    costs.push(await measure(services, "one of a held domain at the end", { only: "grey.example" }, times))
    await run(fill(services, [["big.example", rows * 0.6], ["good.example", rows * 0.4]]))
    costs.push(await measure(services, "60 % of a held domain in front", { without: ["big.example"] }, times))
    const dueFrom = Date.now() - 3_600_000 + rows * 0.6 - 1_000
    costs.push(await measure(services, "the same from there on", { without: ["big.example"], dueFrom }, times))
    await run(fill(services, [["good.example", rows], ["urgent.example", 1_000, true]]))
    costs.push(await measure(services, "1,000 transactional behind", {}, times))
    costs.push(
      await measure(
        services,
        "transactional only, none",
        { isTransactional: true, without: ["urgent.example"] },
        times,
      ),
    )
    return costs
  } finally {
    await services.close()
  }
}
