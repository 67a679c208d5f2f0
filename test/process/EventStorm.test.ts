import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agent } from "node:http"
import { seeded, seedOfRun } from "../support/load.ts"
import { makeOrganization, type ServiceProcess, startProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { addTruth, counted, post, shuffle, story, type Truth } from "./storm.ts"

/** Events sent, duplicates included (about); the trial sends a million. */
const wantedEvents = Number(process.env.STORM_EVENTS ?? 4_000)
/** Calls that are acknowledged between two kills, on average. */
const callsPerKill = Number(process.env.STORM_CALLS_PER_KILL ?? 250)
const connections = 8
const perRequest = 50

type Job = { readonly type: "decide"; readonly trackingId: string } | { readonly type: "events"; readonly body: string }

describe("a storm of events with a kill every few hundred calls", () => {
  const environment = temporaryEnvironment
  it.live(
    "leaves exactly the counts of the acknowledged events",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* environment
        const seed = seedOfRun()
        const random = seeded(seed)
        let service: ServiceProcess | undefined
        yield* Effect.addFinalizer(() =>
          Effect.promise(async () => {
            service?.kill("SIGKILL")
            await service?.ended
          })
        )
        yield* Effect.promise(async () => {
          service = await startProcess({ ...env, LOG_LEVEL: "Error" })
          const key = await makeOrganization(service, "acme", ["generate", "events"])
          await service.manage("POST", "/organizations/acme/templates", {
            id: "offer",
            name: "offer",
            variants: ["a", "b", "c"].map((id) => ({ id, vars: { subject: id } })),
          })

          const began = Date.now()
          const stories = Array.from(
            { length: Math.ceil(wantedEvents / 3.2) },
            (_, n) => story("s", n, began - 30 * 60_000, random),
          )
          const chosen = new Map<string, string>()
          let sent = 0
          let killed = 0
          let unanswered = 0
          let calls = 0
          let killAt = Infinity
          let onKillTime = () => {}
          const untilCalls = (count: number) =>
            new Promise<void>((resolve) => {
              killAt = count
              onKillTime = resolve
            })

          /** Works `jobs` off over all connections; each is repeated until it is acknowledged. */
          const work = async (jobs: ReadonlyArray<Job>) => {
            const agent = new Agent({ keepAlive: true, maxSockets: connections })
            let next = 0
            const client = async () => {
              while (next < jobs.length) {
                const job = jobs[next++]!
                for (;;) {
                  const target = service
                  if (target === undefined) {
                    await new Promise((resolve) => setTimeout(resolve, 5))
                    continue
                  }
                  const { status, text } = await (job.type === "decide"
                    ? post(
                      `${target.url}/api/generate/acme`,
                      key,
                      JSON.stringify({ template_id: "offer", tracking_id: job.trackingId, attrs: { plan: "pro" } }),
                      agent,
                    )
                    : post(`${target.url}/api/webhook/events/acme`, key, job.body, agent))
                  if (status === 200) {
                    if (++calls >= killAt) onKillTime()
                    if (job.type === "decide") chosen.set(job.trackingId, JSON.parse(text).copy.id)
                    break
                  }
                  if (status !== 0 && status !== 503) throw new Error(`Answered ${status}: ${text}`)
                  unanswered++
                  await new Promise((resolve) => setTimeout(resolve, 10))
                }
              }
            }
            await Promise.all(Array.from({ length: connections }, client))
            agent.destroy()
          }

          let storming = true
          const killer = (async () => {
            while (storming) {
              await untilCalls(calls + 1 + Math.floor(random() * 2 * callsPerKill))
              // Anywhere between two commits, not only right after an answer.
              await new Promise((resolve) => setTimeout(resolve, random() * 30))
              if (!storming) return
              const target = service!
              service = undefined
              target.kill("SIGKILL")
              await target.ended
              killed++
              service = await startProcess({ ...env, LOG_LEVEL: "Error" })
            }
          })()

          await work(
            stories.filter(({ early }) => !early).map(({ trackingId }): Job => ({ type: "decide", trackingId })),
          )
          const bodies = shuffle(stories.flatMap(({ events }) => events), random)
          sent = bodies.length
          const jobs: Array<Job> = stories.filter(({ early }) => early)
            .map(({ trackingId }) => ({ type: "decide", trackingId }))
          for (let at = 0; at < bodies.length; at += perRequest) {
            jobs.push({ type: "events", body: `[${bodies.slice(at, at + perRequest).join(",")}]` })
          }
          const stormBegan = Date.now()
          await work(shuffle(jobs, random))
          const stormSeconds = (Date.now() - stormBegan) / 1000
          storming = false
          onKillTime()
          await killer
          assert.isAbove(killed, 0)

          const truth = new Map<string, Truth>()
          for (const { trackingId, truth: one } of stories) addTruth(truth, chosen.get(trackingId)!, one)
          const sorted = (totals: Map<string, Truth>) =>
            [...totals].sort(([a], [b]) => a < b ? -1 : 1)
              .map(([id, one]) => [id, Object.fromEntries(Object.entries(one).sort())])
          const expected = JSON.stringify(sorted(truth))
          let found = ""
          const waited = Date.now()
          await waitUntil("everything is counted", async () => {
            found = JSON.stringify(sorted(await counted(service!, "acme", "offer")))
            return found === expected
            // An event whose decision came while the service was killed is tried again after as long as it has waited.
          }, 60 + wantedEvents / 2000 + stormSeconds).catch(() => {})
          assert.deepStrictEqual(JSON.parse(found), JSON.parse(expected))

          // Compares context by context, including rows in the ledger.
          const { body } = await service!.manage("POST", "/organizations/acme/rebuild", { check: true })
          assert.deepStrictEqual(body.differences, [])
          assert.strictEqual(body.decisions, stories.length)
          console.info(
            `event storm: seed ${seed}, ${stories.length} decisions, ${sent} events, ${killed} kills, ` +
              `${unanswered} calls without an answer; ${Math.round(sent / stormSeconds)} events/s acknowledged, all ` +
              `counted ${((Date.now() - waited) / 1000).toFixed(1)} s after the last; 0 lost, 0 twice`,
          )
        })
      })),
    600_000 + wantedEvents * 5,
  )
})
