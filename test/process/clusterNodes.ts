import { Effect, type Scope } from "effect"
import { type ServiceProcess, startProcess, waitUntil } from "../support/service.ts"
import { type Environment } from "../support/stores.ts"
import { sinkEnvironment } from "./deliverSink.ts"
import { type Relay, relayTo } from "./relay.ts"

/** One node: a process, and its way to the database, which can be blocked. */
export interface TestNode {
  readonly name: string
  /** Undefined while it is gone. */
  service: ServiceProcess | undefined
  /** Whether a load balancer would send it requests. */
  inRotation: boolean
  readonly toDatabase: Relay
  readonly start: () => Promise<void>
}

/** A node's view of the cluster; undefined if it does not answer at once. */
export interface ClusterView {
  readonly runners: number
  readonly shards: number
  readonly actors: number
}

export const viewOf = async ({ service }: Pick<TestNode, "service">): Promise<ClusterView | undefined> => {
  if (service === undefined) return undefined
  try {
    const response = await fetch(`${service.url}/readyz`, { signal: AbortSignal.timeout(2000) })
    return (await response.json()).cluster
  } catch {
    return undefined
  }
}

const shardCount = 300

/** All nodes know of each other, and every shard is somewhere. */
export const isWhole = async (nodes: ReadonlyArray<Pick<TestNode, "service">>): Promise<boolean> => {
  const views = await Promise.all(nodes.map(viewOf))
  return views.every((view) => view?.runners === nodes.length && view.shards > 0) &&
    views.reduce((sum, view) => sum + view!.shards, 0) === shardCount
}

/** Nodes on one database, killed when the scope closes; `more` by node. */
export const scopedNodes = (
  env: Environment,
  more: ReadonlyArray<{ readonly env?: Environment; readonly denoFlags?: ReadonlyArray<string> }>,
): Effect.Effect<ReadonlyArray<TestNode>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const database = new URL(env["DATABASE_URL"]!)
    const nodes: Array<TestNode> = []
    for (const [i, { denoFlags, env: own }] of more.entries()) {
      const toDatabase = yield* relayTo(Number(database.port || 5432))
      const url = new URL(database)
      url.hostname = "127.0.0.1"
      url.port = String(toDatabase.port)
      const environment: Environment = {
        ...env,
        ...sinkEnvironment,
        DATABASE_URL: url.href,
        DATABASE_POOL_SIZE: "5",
        LOG_LEVEL: "Error",
        STORE_TIMEOUT: "3 seconds",
        SHUTDOWN_TIMEOUT: "3 seconds",
        ...own,
      }
      const node: TestNode = {
        name: `node ${i + 1}`,
        service: undefined,
        inRotation: false,
        toDatabase,
        start: async () => {
          node.service = await startProcess(environment, denoFlags && { denoFlags })
          node.inRotation = true
        },
      }
      nodes.push(node)
    }
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        // The first makes the tables.
        await nodes[0]!.start()
        await Promise.all(
          nodes.slice(1).map((node) => node.start()),
        )
        await waitUntil("every node knows the others", () => isWhole(nodes), 60)
      }),
      () =>
        Effect.promise(async () => {
          for (const { service } of nodes) {
            if (service === undefined) continue
            // A process that is stopped dies all the same.
            service.kill("SIGKILL")
            await service.ended
          }
        }),
    )
    return nodes
  })
