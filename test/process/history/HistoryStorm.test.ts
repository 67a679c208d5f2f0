import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { fileURLToPath } from "node:url"
import { seeded, seedOfRun } from "../../support/load.ts"
import { adminToken, makeOrganization, type Service, waitUntil } from "../../support/service.ts"
import { type Environment, layerMigrated } from "../../support/stores.ts"
import { isWhole, scopedNodes } from "../clusterNodes.ts"
import { connectionTo, type Sink, startSink } from "../deliverSink.ts"
import { pause, summaryOf } from "../deliverStorm.ts"
import { databases, embeddedNode } from "./databases.ts"
import { makeFaults } from "./faults.ts"
import { decideAndRepeat, type Heard, mail, mailAndOptOut, offer, org, variantsOf } from "./clients.ts"
import { changedInOutage, type History, type Stored, violationsOf } from "./History.ts"

/** How often each fault strikes; the trial has 23 of each. */
const rounds = Number(process.env.HISTORY_ROUNDS ?? 1)
/** Differences of the clocks of the nodes, one for each node. The trial has three. Unit: milliseconds. */
const clocks = (process.env.HISTORY_CLOCKS ?? "0,0").split(",")
/** The databases of the storms, one after the other: see `databases`. */
const kinds = (process.env.HISTORY_DATABASES ?? "standby").split(",")
/** Maximum time of the storm. Unit: milliseconds. */
const mostMillis = Number(process.env.HISTORY_MINUTES ?? Infinity) * 60_000

const shiftedClock = new URL("../shiftedClock.preload.ts", import.meta.url)
/** Load before, between and after the faults. */
const calmMillis = 1500

/** Name of the calls before the storm. */
const first = "first"

const setUp = async (service: Service, sink: Sink): Promise<string> => {
  const key = await makeOrganization(service, org, ["generate", "deliver", "events"])
  const manage = async (method: string, path: string, body: unknown) => {
    const answer = await service.manage(method, `/organizations/${org}${path}`, body)
    assert.isAtMost(answer.status, 201, JSON.stringify(answer.body))
  }
  await manage("POST", "/templates", { id: offer, name: offer, variants: variantsOf(offer) })
  await manage("POST", "/templates", { id: mail, name: mail, list_unsubscribe: true, variants: variantsOf(mail) })
  await manage("PUT", "/connections/main", connectionTo(sink))
  return key
}

/** Reads the stored decisions and events after the last event is read, without the calls before the storm. */
const storedIn = (env: Environment): Promise<Pick<History, "decisions" | "events">> =>
  Effect.runPromise(Effect.scoped(Effect.gen(function* () {
    const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    const unread = sql<object>`SELECT 1 FROM inbox i WHERE i.status = 'pending' LIMIT 1`
    yield* Effect.promise(() =>
      waitUntil("every event is read", async () => (await Effect.runPromise(unread)).length === 0)
    )
    const events = yield* sql<{ id: string }>`
      SELECT regexp_replace(e.event_key, '^id:', '') AS id FROM events e WHERE e.org_slug = ${org}`
    const decisions = yield* sql<Stored>`
      SELECT d.template_id AS template, d.tracking_id, d.copy_id FROM decisions d
      WHERE d.org_slug = ${org} AND d.tracking_id <> ${first}`
    return { decisions, events: events.map(({ id }) => id) }
  })))

/** The differences between the counts and the journal. */
const miscounted = async (service: Service): Promise<unknown> =>
  (await service.manage("POST", `/organizations/${org}/rebuild`, { check: true })).body.differences

const isSuppressed = async (service: Service, email: string): Promise<boolean> => {
  const response = await service.request(
    `/console/api/organizations/${org}/suppressions/${encodeURIComponent(email)}`,
    { headers: { authorization: `Bearer ${adminToken}` } },
  )
  return (await response.json()).suppressed === true
}

/** Whether a node knows the organization, its templates, and its way out. */
const canServe = async (service: Service, key: string): Promise<boolean> => {
  const decided = await service.generate(org, key, { template_id: offer, tracking_id: first })
  const queued = await service.request(`/api/deliver/${org}`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", "idempotency-key": first },
    body: JSON.stringify({ template_id: mail, email: `${first}@example.com` }),
  })
  await queued.body?.cancel()
  return decided.status === 200 && decided.body.copy.id !== undefined && queued.status === 200
}

describe.each(kinds)("a storm over kills and outages of the %s database", (kind) => {
  it.live(
    "keeps one variant per tracking id, sends the stored variant, and sends nothing after an acknowledged opt-out",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const database = yield* databases[kind]!
        const { env } = database
        const sink = yield* Effect.acquireRelease(
          Effect.promise(() => startSink("smtp")),
          (sink) => Effect.promise(sink.stop),
        )
        const nodes = kind === "embedded" ? [yield* embeddedNode(env)] : yield* scopedNodes(
          env,
          clocks.map((shift) =>
            shift === "0"
              ? {}
              : { env: { CLOCK_SHIFT_MILLIS: shift }, denoFlags: [`--preload=${fileURLToPath(shiftedClock)}`] }
          ),
        )
        const seed = seedOfRun()
        const random = seeded(seed)
        yield* Effect.promise(async () => {
          const key = await setUp(nodes[0]!.service!, sink)
          const heard: Heard = {
            answers: [],
            optOuts: [],
            accepted: new Map(),
            reported: new Set(),
            refused: 0,
            unanswered: 0,
          }
          const killed = new Set<string>()
          const { faults, processOf } = makeFaults(nodes, killed, new Map(), database)
          const options = { nodes, processOf, key, sink, random }
          await waitUntil("every node decides and sends", async () => {
            const answers = await Promise.all(nodes.map(({ service }) => canServe(service!, key)))
            return answers.every((canServe) => canServe)
          })

          let isOver = false
          const clients = Promise.all([
            ...Array.from({ length: 4 }, () => decideAndRepeat(options, heard, () => isOver)),
            ...Array.from({ length: 4 }, (_, n) => mailAndOptOut(options, heard, `p${n}`, () => isOver)),
          ])
          // A failure is kept until the clients are awaited.
          clients.catch(() => {})
          await pause(calmMillis)
          const until = performance.now() + mostMillis
          const struck = new Map<string, number>()
          for (let round = 0; round < rounds; round++) {
            for (const [fault, strike] of faults) {
              if (performance.now() > until) break
              struck.set(fault, (struck.get(fault) ?? 0) + 1)
              await strike(nodes[Math.floor(random() * nodes.length)]!)
              await waitUntil("all is whole again", () => isWhole(nodes), 120)
              await pause(calmMillis)
            }
          }
          isOver = true
          await clients
          await waitUntil("no message is on its way", async () => {
            const { queued = 0, scheduled = 0, sending = 0 } = await summaryOf(nodes[0]!.service!)
            return queued + scheduled + sending === 0
          }, 300)
          await waitUntil("no decision waits in memory", async () => {
            const answers = await Promise.all(nodes.map(async ({ service }) => {
              const response = await service!.request("/readyz")
              return (await response.json()).decisions_pending === 0
            }))
            return answers.every((isDone) => isDone)
          }, 60)

          const emails = new Set([...heard.optOuts.map(({ email }) => email)])
          const suppressed = new Set<string>()
          for (const email of emails) if (await isSuppressed(nodes.at(-1)!.service!, email)) suppressed.add(email)
          await sink.refresh()
          const history: History = {
            answers: heard.answers,
            arrivals: sink.arrivals.map(([deliveryId, email, , , began = NaN, , subject = ""]) => ({
              deliveryId,
              email,
              began,
              subject,
            })),
            optOuts: heard.optOuts,
            accepted: heard.accepted,
            reported: heard.reported,
            ...await storedIn(env),
            suppressed,
            subjects: new Map(
              [offer, mail].flatMap((template) =>
                variantsOf(template).map(({ id, vars }) => [`${template} ${id}`, vars.subject] as const)
              ),
            ),
          }
          const repeats = heard.answers.length - new Set(heard.answers.map(({ trackingId }) => trackingId)).size
          console.info(
            `history storm on the ${kind} database: seed ${seed}, ${
              [...struck].map(([fault, count]) => `${count} ${fault}`).join(", ")
            }; ${heard.answers.length} answers with ${repeats} repeats, ` +
              `${heard.answers.filter(({ isDurable }) => !isDurable).length} from memory (${
                changedInOutage(history)
              } unlike the stored decision, by another model), ${sink.arrivals.length} messages, ` +
              `${heard.optOuts.length} opt-outs, ${heard.reported.size} events, ${killed.size} kills, ${heard.refused} refused, ${heard.unanswered} unanswered`,
          )
          assert.isAbove(repeats, 0)
          assert.isAbove(heard.optOuts.length, 0)
          const broken = Object.entries(violationsOf(history)).filter(([, places]) => places.length > 0)
            .map(([rule, places]) => `${rule} (${places.length} times): ${places.slice(0, 5).join(" · ")}`)
          assert.deepStrictEqual(broken, [])
          assert.deepStrictEqual(await miscounted(nodes[0]!.service!), [])
        })
      })),
    480_000 + rounds * 12 * 60_000,
  )
})
