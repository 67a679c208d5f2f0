import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeOrganization, type Service, type ServiceProcess, startProcess } from "../support/service.ts"
import type { Attempt, RecipientOptions } from "../support/platformServers/RecipientServer.ts"
import { type Environment, layerMigrated } from "../support/stores.ts"
import { connectionTo, fullestSecond, type Sink, sinkEnvironment, startSink } from "./deliverSink.ts"

// Deliveries to recipients that behave badly: an SMTP server and services in processes of their own. The benchmark and
// the tests run this code.

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Longest without an arrival before a load is given up. Unit: milliseconds. */
const patienceMillis = 90_000

/** `count` addresses at a domain. */
export const people = (count: number, domain: string): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => `p${n}@${domain}`)

/** One address at each of `count` domains that begin with a word. */
export const domains = (count: number, word: string): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => `p@${word}${n}.example`)

/** An organization "acme" whose deliveries go to recipients of all kinds, by one service or several on one store. */
export interface RecipientLoad {
  readonly sink: Sink
  readonly services: ReadonlyArray<ServiceProcess>
  readonly service: () => Service
  /**
   * Asks Deliver for messages, nearly in this order. Returns when each was accepted, in milliseconds of the clock of
   * arrivals.
   */
  readonly deliver: (emails: ReadonlyArray<string>, more?: object) => Promise<ReadonlyMap<string, number>>
  /** Lets messages leave, or holds them in the queue. */
  readonly hold: (paused: boolean) => Promise<void>
  /** Waits until all of these have been accepted by the server. */
  readonly untilReached: (emails: ReadonlyArray<string>) => Promise<void>
  /** Waits until as many messages have been accepted in all. */
  readonly untilArrived: (count: number) => Promise<void>
  /** Ends a service with SIGKILL, and starts another in its place. */
  readonly replace: (place: number) => Promise<void>
  readonly attempts: () => Promise<ReadonlyArray<Attempt>>
  readonly stop: () => Promise<void>
}

const setUp = async (service: Service, sink: Sink, settings: object): Promise<string> => {
  const key = await makeOrganization(service, "acme", ["deliver"])
  const manage = async (method: string, path: string, body: unknown) => {
    const answer = await service.manage(method, `/organizations/acme${path}`, body)
    if (answer.status > 201) throw new Error(`${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  }
  const vars = { subject: "Hello {{ name }}", body: "Dear {{ name }}, it is here." }
  await manage("POST", "/templates", { id: "offer", name: "offer", variants: [{ id: "left", vars }] })
  const connection = connectionTo(sink)
  await manage("PUT", "/connections/main", {
    ...connection,
    settings: { ...connection.settings, ...settings },
    paused: true,
  })
  return key
}

/** Starts the server, services and the organization; nothing leaves before `hold(false)`. */
export const openRecipientLoad = async (
  store: Environment,
  { nodes = 1, recipients = {}, settings = {} }: {
    readonly nodes?: number
    readonly recipients?: RecipientOptions
    readonly settings?: object
  } = {},
): Promise<RecipientLoad> => {
  const environment = { ...store, ...sinkEnvironment, LOG_LEVEL: "Error", SHUTDOWN_TIMEOUT: "2 seconds" }
  const sink = await startSink("recipients", [], recipients)
  const services = [await startProcess(environment)]
  const key = await setUp(services[0]!, sink, settings)
  while (services.length < nodes) services.push(await startProcess(environment))
  let turn = 0

  const deliver = async (emails: ReadonlyArray<string>, more: object = {}) => {
    const acceptedAt = new Map<string, number>()
    let next = 0
    const client = async () => {
      for (let n = next++; n < emails.length; n = next++) {
        const email = emails[n]!
        const { url } = services[turn++ % services.length]!
        const response = await fetch(`${url}/api/deliver/acme`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json" },
          body: JSON.stringify({ template_id: "offer", email, fields: { name: email }, ...more }),
        })
        const text = await response.text()
        if (response.status !== 200) throw new Error(`${email} was answered ${response.status}: ${text}`)
        acceptedAt.set(email, performance.timeOrigin + performance.now())
      }
    }
    await Promise.all(Array.from({ length: 16 }, client))
    return acceptedAt
  }

  const until = async (what: string, holds: () => boolean) => {
    let arrived = -1
    let movedAt = performance.now()
    while (!holds()) {
      await pause(200)
      const now = await sink.refresh()
      if (now > arrived) movedAt = performance.now()
      else if (performance.now() - movedAt > patienceMillis) {
        throw new Error(
          `${what}: ${arrived} messages have arrived, and nothing more for ${patienceMillis / 1000} seconds`,
        )
      }
      arrived = now
    }
  }
  return {
    sink,
    services,
    service: () => services[0]!,
    deliver,
    hold: async (paused) => {
      const answer = await services[0]!.manage("PUT", "/organizations/acme/connections/main", { paused })
      if (answer.status !== 200) throw new Error(`The connection was answered ${answer.status}`)
    },
    untilReached: (emails) => {
      let seen = 0
      const missing = new Set(emails)
      return until("These recipients are reached", () => {
        for (; seen < sink.arrivals.length; seen++) missing.delete(sink.arrivals[seen]![1])
        return missing.size === 0
      })
    },
    untilArrived: (count) => until(`${count} messages have arrived`, () => sink.arrivals.length >= count),
    replace: async (place) => {
      services[place]!.kill("SIGKILL")
      await services[place]!.ended
      services[place] = await startProcess(environment)
    },
    attempts: sink.attempts,
    stop: async () => {
      for (const service of services) {
        service.kill("SIGKILL")
        await service.ended
      }
      await sink.stop()
    },
  }
}

/** Puts bulk messages into the queue in this order, due for an hour, without asking Deliver. */
export const fillQueue = (store: Environment, emails: ReadonlyArray<string>): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, address_key, vars, size, formats, state, due_at,
          queued_at)
        SELECT 'acme', gen_random_uuid()::text, 'offer', 'left', t.email, t.email,
          '{"subject":"Hello","body":"It is here."}', 40, '{"subject":"text","body":"text"}', 'queued', t.at, t.at
        FROM json_array_elements_text(${JSON.stringify(emails)}::text::json) WITH ORDINALITY AS e(email, i)
        CROSS JOIN LATERAL (SELECT e.email, now() - interval '1 hour' + e.i * interval '1 millisecond' AS at) t`
      yield* sql`ANALYZE deliveries`
    }).pipe(Effect.provide(layerMigrated(Effect.succeed(store)))),
  )

/** When messages to recipients were accepted by the server, ascending. */
export const timesOf = (sink: Sink, isWanted: (email: string) => boolean = () => true): ReadonlyArray<number> =>
  sink.arrivals.flatMap(([, email, at]) => isWanted(email) ? [at] : []).sort((a, b) => a - b)

/** The highest number of attempts in any sliding second, including refused ones. */
export const fullestAttempts = (attempts: ReadonlyArray<Attempt>): number =>
  fullestSecond(attempts.map(({ at }) => at).sort((a, b) => a - b))

/** The value that this share of the values does not exceed. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  [...values].sort((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? NaN
