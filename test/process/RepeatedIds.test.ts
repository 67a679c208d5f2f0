import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { makeOrganization, type Service, type ServiceProcess, waitUntil } from "../support/service.ts"
import { familyOf, signalAll } from "../support/systemCalls.ts"
import { startPostgres } from "../support/throwawayPostgres.ts"
import { scopedNodes } from "./clusterNodes.ts"
import { decisionsIn, terminate } from "./support.ts"

/** How many ids are asked for again while the database is out. */
const ids = Number(process.env.REPEATED_IDS ?? 64)

/** Signals PostgreSQL's first process, whose id is in its data directory, and then its children. */
const signal = (data: string, name: "SIGSTOP" | "SIGCONT") => {
  const first = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])
  signalAll(familyOf(first), name)
}

const scopedPostgres = Effect.acquireRelease(
  Effect.promise(() => startPostgres()),
  ({ data, stop }) =>
    Effect.promise(() => {
      signal(data, "SIGCONT")
      return stop()
    }),
)

const variants = ["a", "b", "c", "d", "e", "f"].map((id) => ({ id, vars: { s: id } }))

/** The kinds of templates whose draws may depend on more than the tracking id. */
const templates = [
  { id: "plain", name: "plain", variants },
  { id: "even", name: "even", holdout: { share: 0.2, content: "even" }, variants },
  { id: "silent", name: "silent", holdout: { share: 0.2, content: "no_message" }, variants },
  { id: "sticky", name: "sticky", sticky_hours: 24, variants },
]

/** The answer to a caller under a tracking id: a variant by template, or `held out`. */
type Told = Readonly<Record<string, string>>

const ask = async (service: Service, key: string, n: number, more: object = {}): Promise<Told> => {
  const response = await service.request("/api/batch-generate/acme", {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({
      requests: templates.map(({ id }) => ({ template_id: id, tracking_id: `m-${n}` })),
      user_id: `user-${n}`,
      ...more,
    }),
  })
  const body = await response.json()
  assert.strictEqual(response.status, 200, JSON.stringify(body))
  return Object.fromEntries(
    templates.map(({ id }) => [id, body[id].held_out === true ? "held out" : body[id].copy.id]),
  )
}

/** Runs `work` for all ids, 32 at once, in their order. */
const forAll = async <A>(work: (n: number) => Promise<A>): Promise<ReadonlyArray<A>> => {
  const out: Array<A> = []
  let next = 0
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < ids) {
      const n = next++
      out[n] = await work(n)
    }
  }))
  return out
}

describe("a tracking id repeated during a database outage", () => {
  it.live(
    "gets the same variant from every node, which is the one stored and learned from",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const postgres = yield* scopedPostgres
        const env = { DATABASE_URL: postgres.url }
        const nodes = yield* scopedNodes(
          env,
          [1, 2].map(() => ({
            env: { STORE_TIMEOUT: "1 second", DECISION_BUFFER_AGE: "10 minutes" },
          })),
        )
        const [first, second] = nodes.map(({ service }) => service!) as [ServiceProcess, ServiceProcess]
        const pending = async ({ request }: Service) =>
          (await (await request("/readyz")).json()).decisions_pending as number

        yield* Effect.promise(async () => {
          const key = await makeOrganization(first, "acme")
          for (const template of templates) {
            const { status } = await first.manage("POST", "/organizations/acme/templates", template)
            assert.strictEqual(status, 201)
          }
          await waitUntil("the second node knows the templates", async () =>
            Object.values(await ask(second, key, -1)).every((told) => told !== undefined))
          const isEven = (n: number) =>
            n % 2 === 0

          // Half of the ids are decided before, the others while the database is out.
          const before = new Map<number, Told>()
          await forAll(async (n) => isEven(n) && void before.set(n, await ask(first, key, n)))
          signal(postgres.data, "SIGSTOP")
          const told = await forAll((n) => ask(isEven(n) ? second : first, key, n))
          const again = await forAll((n) => ask(isEven(n) ? first : second, key, n))
          // As after a change of the model: each repeat reaches the node that holds the decision in memory.
          const changed = await forAll((n) => ask(first, key, n, { epsilon: 1, attrs: { tier: "gold" } }))
          signal(postgres.data, "SIGCONT")
          for (const service of [first, second]) {
            await waitUntil("nothing waits in memory", async () => await pending(service) === 0)
          }
          const after = await forAll((n) => ask(isEven(n) ? first : second, key, n))

          for (let n = 0; n < ids; n++) {
            assert.deepStrictEqual(again[n], told[n], `m-${n}`)
            assert.deepStrictEqual(changed[n], told[n], `m-${n}`)
            assert.deepStrictEqual(after[n], told[n], `m-${n}`)
            if (isEven(n)) assert.deepStrictEqual(told[n], before.get(n), `m-${n}`)
          }
          for (const { id } of templates) assert.isAtLeast(new Set(told.map((one) => one[id])).size, 6, id)
          for (const service of [first, second]) {
            assert.deepStrictEqual(await terminate(service), { code: 0, signal: null })
          }
          const rows = await Effect.runPromise(decisionsIn(env))
          for (let n = 0; n < ids; n++) assert.strictEqual(rows.get(`m-${n}`)?.n, templates.length, `m-${n}`)
        })
      })),
    240_000,
  )
})
