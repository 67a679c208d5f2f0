import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Agent } from "node:http"
import { startLoad, type Target } from "../support/load.ts"
import type { Service, ServiceProcess } from "../support/service.ts"
import { type Environment, layerMigrated } from "../support/stores.ts"

/** A template with two variants that have the same chance, so that a lost choice shows. */
export const makeTemplate = async (service: Service, org: string, id: string): Promise<void> => {
  const { body, status } = await service.manage("POST", `/organizations/${org}/templates`, {
    id,
    name: id,
    variants: ["left", "right"].map((variant) => ({ id: variant, vars: { subject: `${variant} for {{ name }}` } })),
  })
  if (status !== 201 && status !== 200) throw new Error(`No template: ${status} ${JSON.stringify(body)}`)
}

/** Calls for the template "offer" of "acme" at `service`. */
export const targetAt = (service: Service, key: string): Target => ({
  url: service.url,
  org: "acme",
  key,
  templateId: "offer",
})

/** Clients on connections they keep, until the scope closes. */
export const scopedLoad = (
  prefix: string,
  clients: number,
  options: { keepAlive?: boolean; pauseMillis?: number } = {},
) =>
  Effect.gen(function* () {
    const agent = new Agent({ keepAlive: options.keepAlive ?? true, maxSockets: clients })
    return yield* Effect.acquireRelease(
      Effect.sync(() => startLoad(prefix, clients, agent, options.pauseMillis)),
      (load) => Effect.andThen(Effect.promise(load.stop), Effect.sync(() => agent.destroy())),
    )
  })

/**
 * Sends SIGTERM and answers how the process ended. Not `child.kill`: after that Deno 2.9.6 reports the signal as the
 * end even of a process that handled it and chose its own exit code.
 */
export const terminate = (service: Pick<ServiceProcess, "pid" | "ended">) => {
  process.kill(service.pid, "SIGTERM")
  return service.ended
}

/** Rows of the `decisions` table by tracking id, read without a service. */
export const decisionsIn = (env: Environment) =>
  Effect.scoped(Effect.gen(function* () {
    const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    const rows = yield* sql<{ trackingId: string; copyId: string; n: number }>`
      SELECT d.tracking_id, min(d.copy_id) AS copy_id, count(*)::int AS n FROM decisions d GROUP BY 1`
    return new Map(rows.map((row) => [row.trackingId, row]))
  }))
