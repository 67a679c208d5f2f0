import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Agent, request } from "node:http"
import { makeOrganization, type Service, waitUntil } from "../support/service.ts"
import { type Environment, layerMigrated } from "../support/stores.ts"
import { connectionTo, type Sink } from "./deliverSink.ts"
import { handleOf, ownPostgres } from "../support/containers.ts"

// Clients of Deliver that insist, and the store as it is when no service runs.

export const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/**
 * The organization "acme" with a connection to `sink`, a template "offer", and a template "closed" without eligible
 * users.
 */
export const setUp = async (service: Service, sink: Sink): Promise<string> => {
  const key = await makeOrganization(service, "acme", ["deliver"])
  const manage = async (method: string, path: string, body: unknown) => {
    const answer = await service.manage(method, `/organizations/acme${path}`, body)
    if (answer.status > 201) throw new Error(`${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  }
  const variant = (id: string) => ({
    id,
    vars: { subject: `${id} for {{ name }}`, body: "Dear {{ name }}, it is here." },
  })
  await manage("POST", "/templates", { id: "offer", name: "offer", variants: ["left", "right"].map(variant) })
  await manage("POST", "/templates", {
    id: "closed",
    name: "closed",
    variants: [{ ...variant("a"), targeting: [{ attribute: "tier", op: "in", values: ["gold"] }] }],
  })
  await manage("PUT", "/connections/main", connectionTo(sink))
  return key
}

/** One Deliver; status 0 when no complete answer came. Never rejects. */
const deliver = (url: string, key: string, idempotencyKey: string, body: string, agent: Agent) =>
  new Promise<{ readonly status: number; readonly text: string; readonly replayed: boolean }>((resolve) => {
    const lost = () => resolve({ status: 0, text: "", replayed: false })
    const call = request(`${url}/api/deliver/acme`, {
      method: "POST",
      agent,
      headers: {
        "x-api-key": key,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
        "idempotency-key": idempotencyKey,
      },
    }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("error", lost).on("aborted", lost)
      response.on("end", () =>
        resolve({
          status: response.complete ? response.statusCode ?? 0 : 0,
          text,
          replayed: response.headers["idempotent-replayed"] === "true",
        }))
    }).on("error", lost)
    call.end(body)
  })

/** The results of the requests of `insist`. */
export interface Asked {
  /** Addresses whose message was accepted. */
  readonly accepted: ReadonlySet<string>
  /** Addresses whose request was refused, as it should. */
  readonly refused: ReadonlySet<string>
  /** Calls that got no answer, or 503. */
  readonly unanswered: number
  /** Answers that said that the message had been accepted before, by a call whose answer was lost. */
  readonly replayed: number
}

/** Whom to ask, for how many messages, and how fast. */
export interface Insistence {
  /** The current service; undefined while none runs. */
  readonly service: () => Service | undefined
  readonly key: string
  readonly prefix: string
  readonly messages: number
  /** Clients wait while this many are accepted and have not arrived. */
  readonly ahead: number
  readonly arrived: () => number
  readonly clients: number
}

/**
 * Has messages accepted, each under an Idempotency-Key of its own with which it is asked for until there is an answer.
 * One in twenty is to be refused: an unknown template, one without eligible users, or the key of another message.
 */
export const insist = async (
  { ahead, arrived, clients, key, messages, prefix, service }: Insistence,
  asked: { accepted: Set<string>; refused: Set<string>; unanswered: number; replayed: number },
): Promise<Asked> => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const ask = async (idempotencyKey: string, templateId: string, email: string, wanted: number) => {
    const body = JSON.stringify({ template_id: templateId, email, fields: { name: email } })
    for (;;) {
      const target = service()
      if (target === undefined) {
        await pause(5)
        continue
      }
      const { replayed, status, text } = await deliver(target.url, key, idempotencyKey, body, agent)
      if (status === wanted) {
        if (replayed) asked.replayed++
        return
      }
      if (status !== 0 && status !== 503) throw new Error(`${email} was answered ${status}: ${text}`)
      asked.unanswered++
      await pause(20)
    }
  }
  let next = 0
  const client = async () => {
    for (let n = next++; n < messages; n = next++) {
      while (asked.accepted.size - arrived() >= ahead) await pause(10)
      const email = `${prefix}-${n}@example.com`
      await ask(`${prefix} ${n}`, "offer", email, 200)
      asked.accepted.add(email)
      if (n % 20 !== 0) continue
      const other = `${prefix}-refused-${n}@example.com`
      const kind = n / 20 % 3
      if (kind === 0) await ask(`${prefix} refused ${n}`, "unknown", other, 404)
      else if (kind === 1) await ask(`${prefix} refused ${n}`, "closed", other, 422)
      else await ask(`${prefix} ${n}`, "offer", other, 409)
      asked.refused.add(other)
    }
  }
  try {
    await Promise.all(Array.from({ length: clients }, client))
  } finally {
    agent.destroy()
  }
  return asked
}

export const newAsked = () => ({
  accepted: new Set<string>(),
  refused: new Set<string>(),
  unanswered: 0,
  replayed: 0,
})

export interface StoredDelivery {
  readonly id: string
  readonly email: string
  readonly state: string
}

/** The deliveries in a store, read without a service; on the embedded store there must be none. */
export const deliveriesIn = (env: Environment, state?: string): Promise<ReadonlyArray<StoredDelivery>> =>
  Effect.runPromise(Effect.scoped(Effect.gen(function* () {
    const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    return yield* sql<StoredDelivery>`
      SELECT d.id, d.email, d.state FROM deliveries d WHERE ${
      state === undefined ? sql`TRUE` : sql`d.state = ${state}`
    }`
  })))

/** Returns the delivery summary of "acme". */
export const summaryOf = async (service: Service): Promise<Readonly<Record<string, number>>> =>
  (await service.manage("GET", "/organizations/acme/delivery-summary")).body

/** Messages that a process has sent. */
export const sentBy = async (service: Service): Promise<number> => {
  const text = await (await service.request("/metrics")).text()
  return Number(/^parlance_deliveries_sent_total(?:\{.*\})? (\S+)/m.exec(text)?.[1] ?? 0)
}

/** A Postgres that can be stopped, on a port that stays the same when it starts again; goes with the scope. */
export const restartablePostgres = Effect.map(ownPostgres, ({ answers, container, url }) => ({
  env: { DATABASE_URL: url, DATABASE_POOL_SIZE: "4" } as Environment,
  /** Ends it as a power cut does, or in order, and starts it again after `awayMillis`. */
  restart: async (how: "kill" | "stop", awayMillis: number) => {
    const server = await handleOf(container)
    await (how === "kill" ? server.kill({ signal: "SIGKILL" }) : server.stop({ t: 10 }))
    await pause(awayMillis)
    await server.start()
    await waitUntil("Postgres answers", answers, 60)
  },
}))
