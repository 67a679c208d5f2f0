import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { describe, it } from "vitest"
import { deliveryEnvironment } from "../console/furnished.ts"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { type DnsServer, startDns } from "../support/dnsServer.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken, makeOrganization, run, type Service, startInProcess, waitUntil } from "../support/service.ts"
import { emptyEnvironment, type Environment, temporaryEnvironment } from "../support/stores.ts"
import { type Receiver, receiver as startReceiver } from "../delivery/receiver.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

/** A service with an organization, and commands that talk to it. */
const commandsAt = (service: Service, more: Environment = {}) => {
  const own = { PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken, ...more }
  const start = (args: ReadonlyArray<string>) => run([...args, "--org", "acme"], own)
  const parlance = async (code: number, args: ReadonlyArray<string>, input = "") => {
    const ended = await runCommand([...args, "--org", "acme"], own, input)
    assert.strictEqual(ended.code, code, ended.output)
    assert.notInclude(ended.output, "    at ")
    return ended.output
  }
  return { parlance, start }
}

const brazeToken = "b".repeat(32)

describe("command-line tools", () => {
  let service: Service
  let key: string
  let dns: DnsServer
  let receiver: Receiver
  let environment: Environment
  const start = Effect.gen(function* () {
    environment = yield* temporaryEnvironment
    dns = yield* Effect.acquireRelease(Effect.promise(() => startDns()), (server) => Effect.promise(server.close))
    receiver = yield* startReceiver()
    return yield* startInProcess(Effect.succeed(environment), deliveryEnvironment)
  }) as Effect.Effect<Service, never, Scope.Scope>
  aroundTests(start, async (started) => {
    service = started
    key = await makeOrganization(service, "acme", ["generate", "events"])
    await service.manage("POST", "/organizations/acme/templates", {
      id: "welcome",
      name: "Welcome",
      variants: [{ id: "a", vars: { subject: "Hi", body: "Hello" } }],
    })
  })

  it("send an event as a platform does, and show its record", async () => {
    const { parlance } = commandsAt(service, { PARLANCE_KEY: key, WEBHOOK_SECRET: brazeToken })
    const click = ["webhook", "trigger", "braze", "click"]
    assert.include(await parlance(1, [...click, "--template", "welcome"]), "parlance webhook set braze")
    await service.manage("PUT", "/organizations/acme/webhooks/braze", { secret: brazeToken })
    const shown = await parlance(0, [...click, "--template", "welcome"])
    assert.include(shown, "Recorded for welcome / a")
    assert.match(shown, / sent +counted/)
    assert.match(shown, / click +counted/)
    const conversion = JSON.parse(
      await parlance(0, ["webhook", "trigger", "braze", "conversion", "--template", "welcome", "--json"]),
    )
    assert.deepStrictEqual(conversion.events.map(({ effect, event }: Json) => [event, effect]).toSorted(), [
      ["conversion", "counted"],
      ["sent", "counted"],
    ])
    const again = ["--tracking-id", conversion.tracking_id]
    assert.match(await parlance(0, [...click, ...again]), / sent +repeated/)
    assert.include(await parlance(1, ["webhook", "trigger", "events", "open", ...again]), "401")
  }, 300_000)

  it("report why an event cannot be sent", async () => {
    const { parlance } = commandsAt(service, { PARLANCE_KEY: key })
    await service.manage("PUT", "/organizations/acme/webhooks/sfmc", { secret: "s".repeat(32) })
    const trigger = (...more: ReadonlyArray<string>) => ["webhook", "trigger", ...more]
    assert.include(await parlance(1, trigger("sfmc", "spam", "--template", "welcome")), "It reports sent, open, click")
    assert.include(await parlance(1, trigger("hotmail", "open", "--template", "welcome")), "provider_a (braze)")
    assert.include(await parlance(1, trigger("sfmc", "open", "--template", "welcome"), "\n"), "WEBHOOK_SECRET")
    assert.include(await parlance(1, trigger("sfmc", "open"), "s"), "--tracking-id")
    assert.include(await parlance(1, trigger("sfmc", "open", "--template", "nothing"), "s"), "nothing")
    assert.include(await parlance(1, trigger("sfmc", "open", "--tracking-id", "nothing"), "s"), "no decision")
    assert.include(await parlance(1, trigger("sfmc", "open", "--template", "welcome"), "wrong-secret"), "401")
    const custom = await parlance(0, trigger("events", "open", "--template", "welcome"), key)
    assert.match(custom, / open +counted/)
    await service.manage("DELETE", "/organizations/acme/webhooks/sfmc")
  }, 300_000)

  it("follow events until Ctrl+C", async () => {
    const report = async (id: string, event: string) => {
      const answer = await service.request("/api/webhook/events/acme", {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({ event, tracking_id: id, event_id: `${id}-${event}` }),
      })
      assert.strictEqual(answer.status, 200)
    }
    await service.generate("acme", key, { template_id: "welcome", tracking_id: "tail-1" })
    await report("tail-1", "open")
    await waitUntil("the open is recorded", async () => {
      const { body } = await service.manage("GET", "/organizations/acme/events?tracking_id=tail-1")
      return body.events.length === 1
    })
    const { child, ended, output } = commandsAt(service).start(["event", "tail", "events", "--json"])
    const watch = makeWatch()
    child.stdout.on("data", watch.changed)
    await watch.until(() => output().includes("tail-1-open"))
    await report("tail-1", "click")
    await watch.until(() => output().includes("tail-1-click"))
    // Not `child.kill`, after which Deno reports the signal as the end of a process that ended by itself with 0.
    process.kill(child.pid!, "SIGINT")
    assert.deepStrictEqual(await ended, { code: 0, signal: null })
    const lines = output().trim().split("\n").map((line) => JSON.parse(line))
    assert.isTrue(lines.every(({ source }) => source === "events"))
    assert.strictEqual(lines.filter(({ event_id }) => event_id === "tail-1-click").length, 1)
    assert.include(await commandsAt(service).parlance(1, ["event", "tail", "hotmail"]), "provider_a (braze)")
  }, 300_000)

  it("manage webhook endpoints", async () => {
    const { parlance } = commandsAt(service)
    const endpoint = (...args: ReadonlyArray<string>) => ["webhook-endpoint", ...args]
    assert.include(await parlance(0, endpoint("list")), "webhook-endpoint create URL")
    const made = JSON.parse(
      await parlance(
        0,
        endpoint("create", receiver.url, "--event", "delivery.failed", "--description", "CRM", "--json"),
      ),
    )
    assert.match(made.secret, /^whsec_/)
    assert.deepStrictEqual(made.events, ["delivery.failed"])
    assert.include(await parlance(1, endpoint("create", receiver.url, "--event", "nothing")), "/events/0")
    assert.match(await parlance(0, endpoint("list")), new RegExp(`${made.id} .*delivery.failed .*enabled +CRM`))
    const { event_id } = JSON.parse(await parlance(0, endpoint("test", made.id, "--json")))
    await receiver.until(() => receiver.requests.length > 0)
    assert.strictEqual(receiver.requests[0]!.headers["webhook-id"], event_id)
    assert.include(await parlance(0, endpoint("replay", made.id, "--event-id", "none")), "No event")
    assert.include(await parlance(1, endpoint("replay", made.id)), "--event-id or --since")
    assert.include(await parlance(0, endpoint("events", made.id)), `${event_id}  ping`)
    assert.include(await parlance(0, endpoint("update", made.id, "--disable", "--all-events")), "disabled")
    assert.include(await parlance(1, endpoint("update", made.id)), "Name a change")
    assert.include(await parlance(0, endpoint("show", made.id)), "all")
    assert.match(await parlance(0, endpoint("rotate", made.id)), /whsec_/)
    assert.include(await parlance(0, endpoint("remove", made.id)), "Removed")
    assert.include(await parlance(1, endpoint("show", made.id)), made.id)
  }, 300_000)

  it("diagnose a service, its sources, connections and domains", async () => {
    const smtp = await startSmtp({ login: { user: "u", password: "right" } })
    const connection = (password: string) =>
      service.manage("PUT", "/organizations/acme/connections/main", {
        platform: "smtp",
        settings: {
          host: "127.0.0.1",
          port: smtp.port,
          tls: "starttls",
          ca: certificate,
          user: "u",
          from: "news@shop.example",
        },
        secrets: { password },
        enabled: true,
        default: true,
      })
    dns.entries.set("", [])
    dns.entries.set("shop.example", ["v=spf1 include:mail.example ~all"])
    const { parlance } = commandsAt(service, { DNS_SERVERS: dns.address })
    assert.strictEqual((await connection("wrong")).status, 200)
    const ill = JSON.parse(await parlance(1, ["doctor", "--json"]))
    const found = (check: string, part = "") =>
      ill.diagnoses.filter((one: Json) => one.check === check && one.subject.includes(part)).map(({ status }: Json) =>
        status
      )
    assert.deepStrictEqual(found("service"), ["ok"])
    assert.strictEqual(found("clock").length, 1)
    assert.deepStrictEqual(found("connection", "acme / main"), ["fault"])
    assert.deepStrictEqual(found("dns", "main / spf"), ["ok"])
    assert.deepStrictEqual(found("dns", "main / dmarc"), ["fault"])
    assert.include(JSON.stringify(ill), "_dmarc.shop.example TXT")
    dns.entries.set("_dmarc.shop.example", ["v=DMARC1; p=none"])
    await connection("right")
    const text = await parlance(0, ["doctor"])
    assert.match(text, /ok +connection acme \/ main/)
    assert.match(text, /\n0 faults, \d+ warnings, \d+ checks in order/)
    await service.manage("DELETE", "/organizations/acme/connections/main")
    await smtp.close()
  }, 300_000)

  it("diagnose settings and a database without changing it", async () => {
    const doctor = (env: Environment) => runCommand(["doctor"], env)
    const faulty = await doctor({ ...environment, ADMIN_TOKEN: "short", SECRET_KEY: "odd" })
    assert.strictEqual(faulty.code, 1)
    assert.match(faulty.output, /ADMIN_TOKEN.*\n.*\n?[^]*SECRET_KEY/)
    const well = await doctor({ ...environment, ...deliveryEnvironment, DNS_SERVERS: dns.address })
    assert.match(well.output, /ok +store: The database at .* has schema version \d+/)
    assert.match(well.output, /ok +clock: The clocks of this machine and the database agree/)
    const gone = new URL(environment["DATABASE_URL"]!)
    gone.port = "1"
    const unreachable = await doctor({ DATABASE_URL: gone.href })
    assert.strictEqual(unreachable.code, 1)
    assert.match(unreachable.output, /fault +store: /)
    const empty = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(emptyEnvironment, (env) =>
        Effect.promise(async () => {
          const first = await doctor(env)
          return [first, await doctor(env)]
        }))),
    )
    for (const { code, output } of empty) {
      assert.strictEqual(code, 0)
      assert.match(output, /warning +store: .* has schema version 0, .*\n.*parlance migrate/)
    }
  }, 300_000)
})
