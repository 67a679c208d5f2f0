import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { seeded, seedOfRun } from "../support/load.ts"
import { adminToken, type ServiceProcess, startProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { sinkEnvironment, startSink } from "./deliverSink.ts"
import { deliveriesIn, pause, setUp, summaryOf } from "./deliverStorm.ts"

/** Requests to Deliver; the trial makes 20,000. */
const wantedMessages = Number(process.env.SUPPRESS_MESSAGES ?? 400)
/** Messages to one address, far apart, so that no two of them leave at the same time. */
const rounds = 4
/** Share of the accepted messages whose recipient then says no. */
const complaintShare = 0.08
const kills = 2
const clients = 8
/** Clients wait while so many messages are queued. */
const queuedAtMost = 300

/**
 * How recipients say no: by an event about the message, by an entry of the management API, or by the link in a message.
 */
type Way = "complaint" | "unsubscribe" | "entry" | "link"
const admin = { authorization: `Bearer ${adminToken}` }

/** Unix milliseconds by the clock of the platform's process, which does not jump. */
const now = () => performance.timeOrigin + performance.now()

const ways: ReadonlyArray<Way> = ["complaint", "unsubscribe", "entry", "link"]

describe("a storm of messages with concurrent complaints on two nodes", () => {
  it.live(
    "sends no message to an address after either node acknowledged its suppression",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const sink = yield* Effect.acquireRelease(
          Effect.promise(() => startSink("smtp")),
          (sink) => Effect.promise(sink.stop),
        )
        const nodes: Array<ServiceProcess | undefined> = []
        const killAll = async () => {
          for (const node of nodes) node?.kill("SIGKILL")
          await Promise.all(nodes.map((node) => node?.ended))
        }
        yield* Effect.addFinalizer(() => Effect.promise(killAll))
        const start = () =>
          startProcess({ ...env, ...sinkEnvironment, LOG_LEVEL: "Error", SHUTDOWN_TIMEOUT: "2 seconds" })
        yield* Effect.promise(async () => {
          const seed = seedOfRun()
          const random = seeded(seed)
          const service = await start()
          nodes.push(service)
          await setUp(service, sink)
          const changed = await service.manage("PATCH", "/organizations/acme/templates/offer", {
            list_unsubscribe: true,
          })
          assert.strictEqual(changed.status, 200)
          nodes.push(await start())
          const made = await service.manage("POST", "/organizations/acme/keys", {
            name: "storm",
            scopes: ["deliver", "events"],
          })
          const headers = { "x-api-key": String(made.body.key), "content-type": "application/json" }

          /** Asks until there is an answer, also while the service is being killed. */
          const insist = async (ask: (service: ServiceProcess) => Promise<Response>): Promise<Response> => {
            for (;;) {
              const target = nodes[Math.floor(random() * nodes.length)]
              const answer = target === undefined ? undefined : await ask(target).catch(() => undefined)
              if (answer !== undefined && answer.status !== 503) return answer
              await answer?.body?.cancel()
              await pause(20)
            }
          }

          const addresses = Math.ceil(wantedMessages / rounds)
          const accepted = new Map<string, string>()
          const refused: Array<string> = []
          /** When the suppression of an address was acknowledged, by the clock of this machine. */
          const acknowledged = new Map<string, number>()
          const said = new Set<string>()

          const isSuppressed = async (email: string) => {
            const answer = await insist((target) =>
              target.request(`/console/api/organizations/acme/suppressions/${encodeURIComponent(email)}`, {
                headers: admin,
              })
            )
            return (await answer.json()).suppressed === true
          }

          /** The path of a message's unsubscribe link, once the message has arrived. */
          const linkOf = async (id: string): Promise<string> => {
            for (;;) {
              await sink.refresh()
              const path = sink.arrivals.find(([arrived]) => arrived === id)?.[5]
              if (path !== undefined) return path
              await pause(50)
            }
          }

          const sayNo = async (email: string, id: string, way: Way) => {
            const link = way === "link" ? await linkOf(id) : ""

            const answer = await insist((target) =>
              way === "link"
                ? target.request(link, { method: "POST", body: "List-Unsubscribe=One-Click" })
                : way === "entry"
                ? target.request("/console/api/organizations/acme/suppressions", {
                  method: "POST",
                  headers: { ...admin, "content-type": "application/json" },
                  body: JSON.stringify({ address: email.toUpperCase() }),
                })
                : target.request("/api/webhook/events/acme", {
                  method: "POST",
                  headers,
                  body: JSON.stringify({ event: way === "complaint" ? "spam" : "unsubscribe", tracking_id: id }),
                })
            )
            const text = await answer.text()
            assert.include([200, 201], answer.status, text)
            acknowledged.set(email, now())
          }

          let queued = 0
          let asked = 0
          let storming = true
          const complaints: Array<Promise<void>> = []
          const client = async () => {
            for (let n = asked++; n < wantedMessages; n = asked++) {
              while (queued >= queuedAtMost) await pause(20)
              const email = `person-${n % addresses}@example.com`
              const body = JSON.stringify({ template_id: "offer", email, fields: { name: email } })
              const answer = await insist((target) =>
                target.request("/api/deliver/acme", {
                  method: "POST",
                  headers: { ...headers, "idempotency-key": `storm ${n}` },
                  body,
                })
              )
              const json = await answer.json()
              if (answer.status === 422) {
                assert.strictEqual(json.type, "/problems/recipient-suppressed")
                assert.isTrue(said.has(email), `${email} was refused and has never said no`)
                refused.push(email)
                continue
              }
              assert.strictEqual(answer.status, 200, JSON.stringify(json))
              const id = answer.headers.get("parlance-delivery-id")!
              accepted.set(id, email)
              if (random() < complaintShare && !said.has(email)) {
                said.add(email)
                complaints.push(sayNo(email, id, ways[Math.floor(random() * ways.length)]!))
              }
            }
          }
          const watch = async () => {
            while (storming) {
              const node = nodes.find((node) => node !== undefined)
              if (node !== undefined) {
                queued = await summaryOf(node).then((summary) => summary["queued"] ?? 0, () => queued)
              }
              await pause(100)
            }
          }
          const killer = async () => {
            for (let n = 1; n <= kills; n++) {
              await waitUntil("a part of the storm is over", () => asked >= n * wantedMessages / (kills + 1), 3600)
              const place = n % nodes.length
              const victim = nodes[place]!
              nodes[place] = undefined
              victim.kill("SIGKILL")
              await victim.ended
              nodes[place] = await start()
            }
          }
          const began = Date.now()
          const watching = watch()
          await Promise.all([killer(), ...Array.from({ length: clients }, client)])
          await Promise.all(complaints)
          storming = false
          await watching
          await waitUntil("nothing is on its way", async () => {
            const { queued, scheduled, sending } = await summaryOf(nodes[0]!)
            return queued === 0 && scheduled === 0 && sending === 0
          }, 600)
          const missing: Array<string> = []
          for (const email of acknowledged.keys()) if (!(await isSuppressed(email))) missing.push(email)
          await sink.refresh()
          await killAll()

          const stored = await deliveriesIn(env)
          const late = new Map<string, number>()
          let latest = 0
          for (const [, email, , , at] of sink.arrivals) {
            const since = acknowledged.get(email)
            if (since === undefined || at! <= since) continue
            late.set(email, (late.get(email) ?? 0) + 1)
            latest = Math.max(latest, at! - since)
          }
          const states = Map.groupBy(stored, ({ state }) => state)
          const ids = new Set(sink.arrivals.map(([id]) => id))
          console.info(
            `suppression storm: seed ${seed}, ${wantedMessages} requests to ${addresses} addresses in ${
              ((Date.now() - began) / 1000).toFixed(0)
            } s through ${kills} kills; ${acknowledged.size} addresses suppressed, ${refused.length} requests refused, ${
              states.get("cancelled")?.length ?? 0
            } messages cancelled, ${sink.arrivals.length} arrived; ${late.size} begun after the acknowledgement, the latest ${
              latest.toFixed(0)
            } ms after it`,
          )
          assert.isAbove(acknowledged.size, 0)
          assert.isAbove(refused.length, 0)
          assert.deepStrictEqual(missing, [], "acknowledged and lost")
          assert.deepStrictEqual([...late], [], "begun after the acknowledgement")
          assert.deepStrictEqual([...states.keys()].filter((state) => state !== "sent" && state !== "cancelled"), [])
          const silent = [...accepted].filter(([id, email]) => !said.has(email) && !ids.has(id))
          assert.deepStrictEqual(silent, [], "accepted for people who never said no, and not sent")
        })
      })),
    600_000 + wantedMessages * 120,
  )
})
