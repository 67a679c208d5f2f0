import { assert, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { fileURLToPath } from "node:url"
import { describe } from "vitest"
import { seeded, seedOfRun } from "../support/load.ts"
import { waitUntil } from "../support/service.ts"
import { type Environment, layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { type Cost, faultsOf, strike, type Surroundings, watchActors } from "./clusterFaults.ts"
import { startClusterLoad } from "./clusterLoad.ts"
import { scopedNodes, type TestNode } from "./clusterNodes.ts"
import { connectionTo, fullestSecond, type Sink, startSink } from "./deliverSink.ts"
import { deliveriesIn, summaryOf } from "./deliverStorm.ts"
import { hasDocker } from "../support/containers.ts"
import { replicatedPostgres } from "./replicatedPostgres.ts"
import { counted, shuffle, type Truth } from "./storm.ts"

/** How often every fault strikes; the trial goes on for ten minutes. */
const rounds = Number(process.env.CLUSTER_ROUNDS ?? 1)
const seconds = Number(process.env.CLUSTER_SECONDS ?? 0)
/** For how long a node is stopped or cut off; the trial takes 30 seconds. */
const awayMillis = Number(process.env.CLUSTER_AWAY_SECONDS ?? 7) * 1000
const deliveriesPerSecond = Number(process.env.CLUSTER_DELIVERIES ?? 40)
const ceiling = 100
/** The messages that the owner of a lane may have sent without recording them. */
const unrecordedAtMost = 2 * ceiling / 2 + 20

const isDockerThere = await hasDocker("restarts and a failover of PostgreSQL beneath a cluster")

const store: Effect.Effect<
  { readonly env: Environment; readonly postgres?: Surroundings["postgres"] },
  never,
  Scope.Scope
> = isDockerThere
  ? Effect.map(replicatedPostgres, (postgres) => ({ env: postgres.env, postgres }))
  : Effect.map(temporaryEnvironment, (env) => ({ env }))

const scopedSink = Effect.acquireRelease(
  Effect.promise(() => startSink("smtp")),
  (sink) => Effect.promise(sink.stop),
)

const scopedQuery = (env: Environment) =>
  Effect.map(Layer.build(layerMigrated(Effect.succeed({ ...env, DATABASE_POOL_SIZE: "2" }))), (context) => {
    const run: Surroundings["query"] = (use) =>
      Effect.runPromise(
        Effect.flatMap(SqlClient.SqlClient, use).pipe(
          Effect.timeout("3 seconds"),
          Effect.provideContext(context),
          Effect.orDie,
        ),
      )
    return run
  })

const shiftedClock = fileURLToPath(new URL("shiftedClock.preload.ts", import.meta.url))

const org = "acme"
const mail = "mail"
const variants = ["left", "right"].map((id) => ({ id, vars: { subject: `${id} for {{ name }}`, body: "Dear you" } }))

/** The organization with its templates and its way out; answers a key for everything. */
const setUp = async ({ service }: TestNode, sink: Sink, templates: ReadonlyArray<string>): Promise<string> => {
  const manage = async (method: string, path: string, body: unknown) => {
    const answer = await service!.manage(method, `/organizations${path}`, body)
    assert.isAtMost(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  await manage("POST", "", { slug: org, name: "Acme" })
  const { key } = await manage("POST", `/${org}/keys`, { name: "test", scopes: ["generate", "events", "deliver"] })
  for (const id of [...templates, mail]) await manage("POST", `/${org}/templates`, { id, name: id, variants })
  await manage("PUT", `/${org}/connections/main`, connectionTo(sink))
  return key
}

const firstMessage = "first@example.com"

/** Whether all nodes know the key, the template and the way out: one message, asked for at each of them. */
const canSend = async (nodes: ReadonlyArray<TestNode>, key: string): Promise<boolean> => {
  const answers = await Promise.all(nodes.map(async ({ service }) => {
    const response = await service!.request(`/api/deliver/${org}`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json", "idempotency-key": "first" },
      body: JSON.stringify({ template_id: mail, email: firstMessage }),
    })
    await response.body?.cancel()
    return response.status
  }))
  return answers.every((status) => status === 200)
}

const secondsUntil = async (what: string, ready: () => Promise<boolean>) => {
  const began = performance.now()
  await waitUntil(what, ready, 30)
  return (performance.now() - began) / 1000
}

const sorted = (totals: ReadonlyMap<string, Truth>) =>
  [...totals].sort(([a], [b]) => a < b ? -1 : 1).map(([id, { decisions: _, ...truth }]) =>
    [id, Object.fromEntries(Object.entries(truth).filter(([, count]) => count !== undefined).sort())] as const
  ).filter(([, truth]) => Object.keys(truth).length > 0)

/** Waits until all work is done, and compares the database with the answers to clients. */
const account = async (
  nodes: ReadonlyArray<TestNode>,
  env: Environment,
  { acknowledged, query, templates }: Pick<Surroundings, "acknowledged" | "query" | "templates">,
) => {
  const service = nodes[0]!.service!
  await waitUntil("every message is recorded", async () => {
    const summary = await summaryOf(service)
    return (summary["queued"] ?? 0) + (summary["sending"] ?? 0) === 0
  }, 120)
  await waitUntil("nothing waits to be counted", () =>
    query((sql) =>
      Effect.map(
        sql<{ n: number }>`
          SELECT (SELECT count(*) FROM tally_ledger)::int + (SELECT count(*) FROM inbox i WHERE i.status = 'pending')::int AS n`,
        ([row]) => row!.n === 0,
      )
    ), 60)

  const rows = await query((sql) =>
    sql<{ trackingId: string; templateId: string; copyId: string }>`
      SELECT d.tracking_id, d.template_id, d.copy_id FROM decisions d WHERE d.template_id <> ${mail}`
  )
  const stored = new Map(rows.map((row) => [row.trackingId, row]))
  assert.deepStrictEqual(
    [...acknowledged.decisions].filter(([id, { copyId, template }]) =>
      stored.get(id)?.copyId !== copyId || stored.get(id)?.templateId !== template
    ),
    [],
    "acknowledged decisions that are not there as they were answered",
  )
  assert.deepStrictEqual(
    [...stored.keys()].filter((id) => !acknowledged.decisions.has(id) && !acknowledged.fromMemory.has(id)),
    [],
    "decisions nobody asked for",
  )
  const decided = new Map<string, number>()
  for (const { copyId, templateId } of rows) {
    decided.set(`${templateId} ${copyId}`, (decided.get(`${templateId} ${copyId}`) ?? 0) + 1)
  }
  for (const template of templates) {
    const found = await counted(service, org, template)
    assert.deepStrictEqual(sorted(found), sorted(acknowledged.truth.get(template) ?? new Map()), template)
    for (const [copyId, { decisions }] of found) {
      assert.strictEqual(
        decisions ?? 0,
        decided.get(`${template} ${copyId}`) ?? 0,
        `decisions of ${template}/${copyId}`,
      )
    }
  }
  const { body } = await service.manage("POST", `/organizations/${org}/rebuild`, { check: true })
  assert.deepStrictEqual(body.differences, [])

  const deliveries = await deliveriesIn(env)
  assert.deepStrictEqual(
    deliveries.map(({ email }) => email).sort(),
    [firstMessage, ...acknowledged.deliveries].sort(),
    "messages in the queue are those that were accepted",
  )
  assert.deepStrictEqual(deliveries.filter(({ state }) => state !== "sent"), [])
  return { decisions: rows.length, messages: deliveries.length }
}

/** Whether all nodes decide by the model that was published last. */
const sameModel = async (nodes: ReadonlyArray<TestNode>, key: string, query: Surroundings["query"]) => {
  const ids = nodes.map(({ name }) => `${name} ${performance.now()}`)
  await Promise.all(
    nodes.map(({ service }, i) => service!.generate(org, key, { template_id: mail, tracking_id: ids[i] })),
  )
  const policies = await query((sql) =>
    sql<{ policy: string; latest: string }>`
      SELECT d.policy, m.template_id || ':' || m.version AS latest FROM decisions d
      JOIN models m ON m.org_slug = d.org_slug AND m.template_id = d.template_id
      WHERE d.template_id = ${mail} AND d.tracking_id = ANY(${ids})`
  )
  return policies.length === nodes.length && policies.every(({ latest, policy }) => policy === latest)
}

describe("nodes on one Postgres", () => {
  it.live(
    "lose nothing and count nothing twice while they are killed, stopped and disconnected in turn",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { env, postgres } = yield* store
        const seed = seedOfRun()
        const random = seeded(seed)
        const sink = yield* scopedSink
        const nodes = yield* scopedNodes(env, [{}, {}, {}])
        const query = yield* scopedQuery(env)
        // Enough for every node to have some.
        const templates = Array.from({ length: 12 }, (_, i) => `offer ${i * 7919}`)
        yield* Effect.promise(async () => {
          const key = await setUp(nodes[0]!, sink, templates)
          const known = await secondsUntil("every node can send", () => canSend(nodes, key))

          const load = startClusterLoad({
            nodes,
            org,
            key,
            templates,
            mail,
            random,
            clients: 6,
            pauseMillis: 40,
            deliveriesPerSecond,
          })
          const surroundings: Surroundings = {
            nodes,
            templates,
            acknowledged: load.acknowledged,
            sink,
            query,
            postgres,
            awayMillis,
            random,
          }
          const watch = watchActors(surroundings)
          const costs: Array<Cost> = []
          try {
            await waitUntil("every template is counted", () => Promise.resolve(watch.movedSince(0)), 60)
            const began = performance.now()
            for (let round = 0; round < rounds || performance.now() - began < seconds * 1000; round++) {
              for (const fault of shuffle([...faultsOf(surroundings)], random)) {
                const victim = nodes[Math.floor(random() * nodes.length)]!
                costs.push(await strike(fault, victim, watch, surroundings))
              }
            }
          } finally {
            await watch.stop()
          }

          // A change is known everywhere, and so is a model.
          await nodes[1]!.service!.manage("PATCH", `/organizations/${org}/templates/${mail}/variants/left`, {
            active: false,
          })
          const changed = await secondsUntil("every node knows of the change", async () => {
            const answers = await Promise.all(nodes.map(({ service }) =>
              service!.generate(org, key, { template_id: mail, tracking_id: `changed ${random()}` })
            ))
            return answers.every(({ body }) =>
              body.copy.id === "right"
            )
          })
          await load.stop()
          const modelled = await secondsUntil("every node decides by the latest model", () =>
            sameModel(nodes, key, query))
          const { body: keys } = await nodes[2]!.service!.manage("GET", `/organizations/${org}/keys`)
          const { decisions, messages } = await account(nodes, env, surroundings)
          await nodes[0]!.service!.manage("DELETE", `/organizations/${org}/keys/${keys.keys[0].id}`)
          const revoked = await secondsUntil("every node refuses the key", async () => {
            const answers = await Promise.all(
              nodes.map(({ service }) =>
                service!.generate(org, key, { template_id: mail, tracking_id: "late" })
              ),
            )
            return answers.every(({ status }) => status === 401)
          })

          await sink.refresh()
          const fullest = fullestSecond(sink.arrivals.map(([, , at]) => at))
          const twice = sink.arrivals.length - new Set(sink.arrivals.map(([id]) => id)).size
          const { acknowledged } = load
          console.info(
            [
              `cluster: seed ${seed}, ${acknowledged.decisions.size} decisions (of ${decisions}), ${acknowledged.events} ` +
              `events and ${messages} messages acknowledged and accounted for through ${costs.length} faults; ` +
              `${acknowledged.unanswered} tries without an answer, ${acknowledged.refusals} refused, ` +
              `${acknowledged.fromMemory.size} answered from memory; ${twice} messages sent twice; fullest second ${fullest}`,
              `known on every node after ${known.toFixed(1)} s (new), ${changed.toFixed(1)} s (changed), ` +
              `${revoked.toFixed(1)} s (revoked), ${modelled.toFixed(1)} s (model)`,
              "seconds without: an answer, counting, sending; and until all was whole again",
              ...costs.map(({ actors, dispatcher, fault, generate, healing }) =>
                `  ${fault.padEnd(30)}${
                  [generate, actors, dispatcher, healing].map((s) => s.toFixed(1).padStart(8)).join("")
                }`
              ),
            ].join("\n"),
          )
          assert.isAtMost(fullest, ceiling)
          assert.isAtMost(twice, costs.length * unrecordedAtMost)
          const arrived = new Set(sink.arrivals.map(([, email]) => email))
          assert.deepStrictEqual([...acknowledged.deliveries].filter((email) => !arrived.has(email)), [])
        })
      })),
    480_000 + rounds * 240_000 + seconds * 2000,
  )

  it.live(
    "count correctly although their clocks differ by an hour",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const seed = seedOfRun()
        const random = seeded(seed)
        const sink = yield* scopedSink
        const hour = 3_600_000
        const nodes = yield* scopedNodes(env, [
          { env: { CLOCK_SHIFT_MILLIS: String(hour) }, denoFlags: ["--preload", shiftedClock] },
          {},
        ])
        const query = yield* scopedQuery(env)
        const templates = Array.from({ length: 6 }, (_, i) => `offer ${i * 7919}`)
        yield* Effect.promise(async () => {
          const key = await setUp(nodes[0]!, sink, templates)
          await waitUntil("every node can send", () => canSend(nodes, key))
          const load = startClusterLoad({
            nodes,
            org,
            key,
            templates,
            mail,
            random,
            clients: 6,
            pauseMillis: 5,
            deliveriesPerSecond: 40,
          })
          await waitUntil("there is something to count", () =>
            Promise.resolve(load.acknowledged.decisions.size > 300), 120)
          await load.stop()
          // The one that is ahead sees what the other has yet to reach.
          const { decisions, messages } = await account(nodes, env, {
            acknowledged: load.acknowledged,
            query,
            templates,
          })
          const [{ apart }] = await query((sql) =>
            sql<{ apart: number }>`
              SELECT extract(epoch FROM max(d.decided_at) - min(d.decided_at))::float8 AS apart FROM decisions d`
          ) as unknown as [{ apart: number }]
          await sink.refresh()
          const fullest = fullestSecond(sink.arrivals.map(([, , at]) =>
            at
          ))
          console.info(
            `clocks an hour apart: seed ${seed}, ${decisions} decisions, ${load.acknowledged.events} events and ` +
              `${messages} messages accounted for; decisions spread over ${(apart / 60).toFixed(0)} minutes; fullest ` +
              `second ${fullest}`,
          )
          assert.isAbove(apart * 1000, hour)
          assert.strictEqual(sink.arrivals.length, messages)
          assert.isAtMost(fullest, ceiling)
        })
      })),
    480_000,
  )
})
