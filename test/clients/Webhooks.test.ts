import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { spawnSync } from "node:child_process"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { ParlanceWebhookError, verifyWebhook } from "../../clients/typescript/src/index.ts"
import { python } from "./python.ts"
import { org, serviceForClients } from "./serviceForClients.ts"

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A server of a customer. `next` resolves with the next request that no earlier call returned. */
const receiver = Effect.acquireRelease(
  Effect.promise(async () => {
    const arrived: Array<Received> = []
    const waiting: Array<(received: Received) => void> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => {
        response.writeHead(204).end()
        const received = { headers: request.headers, body: Buffer.concat(chunks) }
        const take = waiting.shift()
        if (take === undefined) arrived.push(received)
        else take(received)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const next = () => {
      const received = arrived.shift()
      return received === undefined
        ? new Promise<Received>((resolve) => waiting.push(resolve))
        : Promise.resolve(received)
    }
    return { server, next, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    }),
)

interface Check {
  readonly name: string
  readonly isOurs: boolean
  readonly request: Received
  readonly secrets: ReadonlyArray<string>
  /** Seconds between now and the time at which the request is checked. */
  readonly later?: number
}

const verifyInTypeScript = (checks: ReadonlyArray<Check>) =>
  Promise.all(
    checks.map(({ later = 0, request: { body, headers }, secrets }) =>
      verifyWebhook({ secrets, headers, body, now: Date.now() + later * 1000 })
        .then(
          ({ type }) => typeof type === "string",
          (error) => {
            assert.instanceOf(error, ParlanceWebhookError)
            return false
          },
        )
    ),
  )

const program = `
import base64, json, sys, time
from parlance import ParlanceWebhookError, verify_webhook

def is_ours(one):
    try:
        body = base64.b64decode(one["body"])
        return isinstance(verify_webhook(one["secrets"], one["headers"], body, time.time() + one["later"])["type"], str)
    except ParlanceWebhookError:
        return False

print(json.dumps([is_ours(one) for one in json.load(sys.stdin)]))
`

const verifyInPython = (checks: ReadonlyArray<Check>): ReadonlyArray<boolean> => {
  const input = checks.map(({ later = 0, request: { body, headers }, secrets }) => ({
    secrets,
    headers,
    later,
    body: body.toString("base64"),
  }))
  const cwd = fileURLToPath(new URL("../../clients/python", import.meta.url))
  const ran = spawnSync(python!, ["-B", "-c", program], { cwd, input: JSON.stringify(input), encoding: "utf8" })
  assert.strictEqual(ran.status, 0, ran.stderr)
  return JSON.parse(ran.stdout)
}

describe("the clients", () => {
  it.live("distinguish genuine webhook requests from forged ones", () =>
    Effect.scoped(Effect.gen(function* () {
      const { service } = yield* serviceForClients
      const { next, url } = yield* receiver
      yield* Effect.promise(async () => {
        const endpoints = `/organizations/${org}/webhook-endpoints`
        const { id, secret: first } = (await service.manage("POST", endpoints, { url, events: [] })).body
        const at = `${endpoints}/${id}`
        await service.manage("POST", `/organizations/${org}/suppressions`, { address: "zoë@example.com" })
        const added = await next()
        assert.include(added.body.toString(), "zoë@example.com")
        // An event whose attempt has not been recorded yet is not sent again.
        await service.untilStored("the attempt is recorded", ["outgoing_webhooks"], async () => {
          const { events } = (await service.manage("GET", `${at}/events`)).body
          return events[0].state === "delivered"
        })
        await service.manage("POST", `${at}/replay`, { event_id: added.headers["webhook-id"] })
        const replayed = await next()
        assert.strictEqual(replayed.headers["webhook-id"], added.headers["webhook-id"])
        assert.deepStrictEqual(replayed.body, added.body)

        const { secret: second } = (await service.manage("POST", `${at}/rotate`)).body
        await service.manage("POST", `${at}/ping`)
        const rotated = await next()
        const stranger = `whsec_${Buffer.alloc(32, 5).toString("base64")}`
        const changed = Buffer.from(added.body.toString().replace("zoë", "zoe"))
        const checks: ReadonlyArray<Check> = [
          { name: "the first attempt", isOurs: true, request: added, secrets: [first] },
          { name: "a replay", isOurs: true, request: replayed, secrets: [first] },
          { name: "one of several secrets", isOurs: true, request: added, secrets: [stranger, second, first] },
          { name: "after rotation, the secret before", isOurs: true, request: rotated, secrets: [first] },
          { name: "after rotation, the new secret", isOurs: true, request: rotated, secrets: [second] },
          { name: "a clock that is behind", isOurs: true, request: rotated, secrets: [second], later: -240 },
          { name: "a wrong secret", isOurs: false, request: added, secrets: [stranger] },
          { name: "a secret that came later", isOurs: false, request: added, secrets: [second] },
          { name: "an old request", isOurs: false, request: added, secrets: [first], later: 301 },
          { name: "a request from the future", isOurs: false, request: added, secrets: [first], later: -360 },
          { name: "no secret", isOurs: false, request: added, secrets: [] },
          { name: "a changed body", isOurs: false, request: { ...added, body: changed }, secrets: [first] },
          {
            name: "the signature of another event",
            isOurs: false,
            request: { headers: { ...added.headers, "webhook-id": rotated.headers["webhook-id"] }, body: added.body },
            secrets: [first],
          },
          {
            name: "the time of another event",
            isOurs: false,
            request: { headers: { ...added.headers, "webhook-timestamp": "1800000000" }, body: added.body },
            secrets: [first],
            later: 1_800_000_000 - Date.now() / 1000,
          },
        ]
        const verdicts = (all: ReadonlyArray<boolean>) => checks.map(({ name }, at) => [name, all[at]])
        const expected = checks.map(({ isOurs, name }) => [name, isOurs])
        assert.deepStrictEqual(verdicts(await verifyInTypeScript(checks)), expected, "TypeScript")
        if (python !== undefined) assert.deepStrictEqual(verdicts(verifyInPython(checks)), expected, "Python")
      })
    })))
})
