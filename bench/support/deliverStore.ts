import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import { layerServices } from "../../src/service/App.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { DeliveryQueue } from "../../src/delivery/DeliveryQueue.ts"
import { Outbox } from "../../src/delivery/Outbox.ts"
import type { OrgSlug, TemplateId, UserId } from "../../src/domain/Ids.ts"
import { connectionTo, type Sink, sinkEnvironment } from "../../test/process/deliverSink.ts"
import { layerSettings } from "../../test/support/settings.ts"
import { makeOrganization, serviceAt } from "../../test/support/service.ts"
import type { Environment } from "./Databases.ts"
import { deliverBody } from "./deliverBody.ts"
import { offer } from "./offer.ts"

// Shared parts of bench/deliver.ts: an organization with messages, and the services without HTTP.

export const org = "bench" as OrgSlug
const templateId = deliverBody.template_id as TemplateId

export const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Settings of each service of the benchmark, with the settings of its store. */
export const environmentOf = (store: Environment): Environment => ({
  ADMIN_TOKEN: "test-admin-token-0123456789-abcdef",
  LOG_LEVEL: "Warn",
  ...sinkEnvironment,
  ...store,
})

/** Creates or changes a connection, and makes it the default connection. */
export const connect = async (url: string, name: string, change: object) => {
  const answer = await serviceAt(url).manage("PUT", `/organizations/${org}/connections/${name}`, {
    ...change,
    default: true,
  })
  if (answer.status > 201) throw new Error(`A connection was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}

/**
 * Creates an organization with a template of 5 variants with three Liquid variables each, and a paused connection to
 * `sink`. Returns an API key.
 */
export const setUp = async (url: string, sink: Pick<Sink, "kind" | "port">): Promise<string> => {
  const service = serviceAt(url)
  const key = await makeOrganization(service, org, ["deliver"])
  const made = await service.manage("POST", `/organizations/${org}/templates`, offer(templateId, false))
  if (made.status > 201) throw new Error(`The template was answered ${made.status}`)
  await connect(url, sink.kind, { ...connectionTo(sink), paused: true })
  return key
}

/** The services of a process that serves no requests and sends no messages. */
export interface Services {
  readonly sql: SqlClient.SqlClient
  readonly queue: DeliveryQueue["Service"]
  readonly outbox: Outbox["Service"]
  readonly deliveries: Deliveries["Service"]
  readonly close: () => Promise<void>
}

export const openServices = async (store: Environment): Promise<Services> => {
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(
    Layer.build(layerServices.pipe(Layer.provide(layerSettings(environmentOf(store))))).pipe(
      Effect.provideService(Scope.Scope, scope),
    ),
  )
  return {
    sql: Context.get(context as Context.Context<SqlClient.SqlClient>, SqlClient.SqlClient),
    queue: Context.get(context, DeliveryQueue),
    outbox: Context.get(context, Outbox),
    deliveries: Context.get(context, Deliveries),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }
}

/** Calls `call` for some seconds from a number of concurrent callers. Returns the calls per second. */
export const perSecond = async (
  callers: number,
  seconds: number,
  call: (n: number) => Promise<unknown>,
): Promise<number> => {
  const begin = performance.now()
  let next = 0
  let done = 0
  const caller = async () => {
    while (performance.now() - begin < seconds * 1000) {
      await call(next++)
      done++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return done * 1000 / (performance.now() - begin)
}

/** Queues one message with its decision through the service. */
export const enqueue = ({ queue }: Services, run: string, n: number, keyed: boolean): Promise<unknown> =>
  Effect.runPromise(queue.enqueue(org, {
    templateId,
    email: `${run}-${n}@example.com` as UserId,
    copyId: undefined,
    fields: deliverBody.fields,
    attrs: new Map([["tier", ["gold"]], ["country", ["no"]]]),
    window: { lookbackDays: 14, offsetDays: 3 },
    useCache: true,
    epsilon: undefined,
    sendAt: undefined,
    optimizeSendTime: false,
    expiresAt: undefined,
    idempotency: keyed ? { key: `${run} ${n}`, digest: hash("sha256", `${run} ${n}`, "hex") } : undefined,
  }))
