// Prints the processor time of the main thread by function, in microseconds per request: deno task bench profile
// [--what generate|batch|delay|deliver|send] [--places 45] [--sessions 20].
import { freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { runLoad, startServer } from "./support/Bench.ts"
import { awaitArrivals, connectPaused, fillQueue, startPlatform } from "./support/deliverSend.ts"
import { connect, environmentOf, org, setUp } from "./support/deliverStore.ts"
import { offer, person } from "./support/offer.ts"
import { profileDuring } from "./support/Profile.ts"

const flag = (name: string, otherwise: string) =>
  new RegExp(`--${name}[ =](\\S+)`).exec(Deno.args.join(" "))?.[1] ?? otherwise
const what = flag("what", "generate")
const places = Number(flag("places", "45"))
const sessions = Number(flag("sessions", "20"))
/** A platform that receives no messages. */
const nowhere = { kind: "smtp", port: 9 } as const
const postgres = await startPostgres()
const inspector = await freePort()
const server = await startServer([`--inspect=127.0.0.1:${inspector}`, "src/main.ts", "serve"], await freePort(), {
  ...environmentOf({ DATABASE_URL: postgres.url }),
  DELIVERY_RATE: "10000",
})
const service = serviceAt(server.url)
const key = await makeOrganization(service, "bench")
for (let i = 0; i < 20; i++) await service.manage("POST", "/organizations/bench/templates", offer(`t${i}`))
const requests = Array.from({ length: 20 }, (_, i) => ({ template_id: `t${i}` }))
const url = `${server.url}/api`
const closed = { connections: 64, rate: 0 }
const posted = (path: string, body: unknown) => ({
  file: "load",
  options: { ...closed, url: `${url}/${path}/bench`, headers: { "X-Api-Key": key }, body: JSON.stringify(body) },
})
const loads: Readonly<Record<string, () => Promise<{ readonly file: string; readonly options: object }>>> = {
  generate: () => Promise.resolve(posted("generate", { template_id: "t0", user_id: "u1", ...person })),
  batch: () => Promise.resolve(posted("batch-generate", { requests, user_id: "u1", ...person })),
  delay: () =>
    Promise.resolve({
      file: "delayLoad",
      options: { ...closed, url: `${url}/delay/bench?delay_id=v1`, headers: { "X-Api-Key": key }, people: 1_000_000 },
    }),
  deliver: async () => ({
    file: "deliverLoad",
    options: { ...closed, url: `${url}/deliver/${org}`, key: await setUp(server.url, nowhere), keyed: false },
  }),
}
/** Profiles requests to the service from another process. */
const profileRequests = async () => {
  const { file, options } = await (loads[what] ?? loads["generate"]!)()
  const load = (seconds: number) =>
    runLoad<{ readonly requests: number; readonly perSecond: number }>("profile", `bench/support/${file}.ts`, {
      ...options,
      seconds,
    })
  await load(4)
  let measured = { requests: 0, perSecond: 0 }
  const times = await profileDuring(inspector, async () => {
    measured = await load(4)
  })
  return { ...measured, ...times }
}

/** Profiles the sending of messages to an SMTP server, after an equal number of messages as a warm-up. */
const profileSending = async () => {
  const key = await setUp(server.url, nowhere)
  const sink = await startPlatform("smtp")
  let requests = 0
  let millis = 0
  try {
    await connectPaused(server.url, sink, { connections: sessions })
    const fill = () => connect(server.url, "smtp", { paused: true }).then(() => fillQueue(server.url, key, 4000))
    const send = async (expected: number) => {
      const begin = performance.now()
      await connect(server.url, "smtp", { paused: false })
      await awaitArrivals("SMTP", sink, expected)
      millis = performance.now() - begin
    }
    const first = await fill()
    await send(first)
    requests = await fill()
    const { self, total } = await profileDuring(inspector, () => send(first + requests))
    return { requests, perSecond: requests * 1000 / millis, self, total }
  } finally {
    await sink.stop()
  }
}

const { perSecond, requests: count, self, total } = await (what === "send" ? profileSending() : profileRequests())
await server.stop()
await postgres.stop()
console.log(`${perSecond.toFixed(0)} requests a second`)
for (const [title, times] of [["self", self], ["total", total]] as const) {
  console.log(`\n${title}, µs per request`)
  for (const [place, micros] of [...times].sort((a, b) => b[1] - a[1]).slice(0, places)) {
    console.log(`${(micros / count).toFixed(2).padStart(8)} ${place}`)
  }
}
