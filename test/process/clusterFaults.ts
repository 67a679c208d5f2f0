import type { SqlClient } from "effect/sql"
import { Effect } from "effect"
import { waitUntil } from "../support/service.ts"
import { isWhole, type TestNode } from "./clusterNodes.ts"
import { pause } from "./deliverStorm.ts"
import type { Sink } from "./deliverSink.ts"
import type { Acknowledged } from "./clusterLoad.ts"
import type { replicatedPostgres } from "./replicatedPostgres.ts"

/** The delays caused by one fault, in seconds. */
export interface Cost {
  readonly fault: string
  /** The longest that any client waited for a decision. */
  readonly generate: number
  /** The longest time in which the counts of one template did not change although there were events to count. */
  readonly actors: number
  /** The longest that no message left. */
  readonly dispatcher: number
  /** Until every node knew of every other, and every shard was somewhere, after the fault was over. */
  readonly healing: number
}

export interface Surroundings {
  readonly nodes: ReadonlyArray<TestNode>
  readonly templates: ReadonlyArray<string>
  readonly acknowledged: Acknowledged
  readonly sink: Sink
  /** Asks the database past every relay. */
  readonly query: <A>(run: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) => Promise<A>
  /** A PostgreSQL server that tests can disturb; undefined where none is available. */
  readonly postgres: Effect.Success<typeof replicatedPostgres> | undefined
  /** For how long a node is stopped or cut off; longer than a lease. Unit: milliseconds. */
  readonly awayMillis: number
  readonly random: () => number
}

/** Follows how the counts of templates move, as the database shows it. */
export const watchActors = ({ query, templates }: Surroundings) => {
  const revisions = new Map<string, number>()
  const movedAt = new Map<string, number>()
  /** The longest time in which the counts of one template did not change, since `reset`. Unit: milliseconds. */
  let longest = 0
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      try {
        const rows = await query((sql) =>
          sql<{ templateId: string; revision: number }>`
            SELECT s.template_id, s.revision::float8 AS revision FROM bandit_states s`
        )
        const now = performance.now()
        for (const { revision, templateId } of rows) {
          if (!templates.includes(templateId)) continue
          if (revisions.get(templateId) !== revision) {
            revisions.set(templateId, revision)
            longest = Math.max(longest, now - (movedAt.get(templateId) ?? now))
            movedAt.set(templateId, now)
          }
        }
      } catch {
        // The database itself is away.
      }
      await pause(100)
    }
  })()
  return {
    reset: () => void (longest = 0),
    /** The progress since `at`, and the longest pause of each part before it continued. */
    movedSince: (at: number) => templates.every((template) => (movedAt.get(template) ?? 0) > at),
    seconds: () => longest / 1000,
    stop: async () => {
      stopped = true
      await watching
    },
  }
}

type Watch = ReturnType<typeof watchActors>

interface Fault {
  readonly name: string
  /** Prepares the fault before it happens. */
  readonly prepare?: (surroundings: Surroundings) => Promise<void>
  /** Causes the fault at `node`. Returns the effect that repairs it. */
  readonly strike: (node: TestNode, surroundings: Surroundings) => Promise<() => Promise<void>>
  /** Minimum duration of the fault. */
  readonly lasts: (surroundings: Surroundings) => number
}

const restart = (node: TestNode) => async () => {
  await node.service!.ended
  await node.start()
}

/** Faults of nodes and of their way to the database. */
const ofNodes: ReadonlyArray<Fault> = [
  {
    name: "kill -9",
    lasts: () => 0,
    strike: async (node) => {
      node.inRotation = false
      node.service!.kill("SIGKILL")
      await node.service!.ended
      return restart(node)
    },
  },
  {
    name: "SIGTERM",
    lasts: () => 0,
    strike: (node) => {
      node.inRotation = false
      node.service!.kill("SIGTERM")
      return Promise.resolve(restart(node))
    },
  },
  {
    name: "SIGSTOP",
    lasts: ({ awayMillis }) => awayMillis,
    strike: (node) => {
      node.service!.kill("SIGSTOP")
      return Promise.resolve(async () => {
        node.service!.kill("SIGCONT")
        await pause(0)
      })
    },
  },
  {
    name: "cut off from Postgres",
    lasts: ({ awayMillis }) => awayMillis,
    strike: (node) => {
      node.toDatabase.block()
      return Promise.resolve(() => Promise.resolve(node.toDatabase.unblock()))
    },
  },
]

/** Faults of PostgreSQL itself. */
const ofPostgres: ReadonlyArray<Fault> = [
  {
    name: "Postgres killed and started",
    lasts: () => 0,
    strike: async (_, { postgres }) => {
      await postgres!.restart(1000)
      return () => Promise.resolve()
    },
  },
  {
    name: "Postgres fails over",
    lasts: () => 0,
    prepare: ({ postgres }) => postgres!.addStandby(),
    strike: async (_, { postgres }) => {
      await postgres!.failOver()
      return () => Promise.resolve()
    },
  },
]

/** Every fault there can be here. */
export const faultsOf = ({ postgres }: Pick<Surroundings, "postgres">): ReadonlyArray<Fault> =>
  postgres === undefined ? ofNodes : [...ofNodes, ...ofPostgres]

/** Disturbs `node`, waits until other nodes do its work, repairs it, and waits until the cluster is whole. */
export const strike = async (
  fault: Fault,
  node: TestNode,
  watch: Watch,
  surroundings: Surroundings,
): Promise<Cost> => {
  const { acknowledged, nodes, sink } = surroundings
  await fault.prepare?.(surroundings)
  const firstAnswer = acknowledged.generate.length
  await sink.refresh()
  const firstArrival = Math.max(0, sink.arrivals.length - 1)
  watch.reset()
  const struck = performance.now()
  const putRight = await fault.strike(node, surroundings)
  const isWorking = async () => {
    await sink.refresh()
    return watch.movedSince(struck) && sink.arrivals.length > firstArrival + 1
  }
  await waitUntil(`all is done elsewhere (${fault.name})`, isWorking, 60)
  const lasted = performance.now() - struck
  if (lasted < fault.lasts(surroundings)) await pause(fault.lasts(surroundings) - lasted)
  await putRight()
  const righted = performance.now()
  await waitUntil(`all is whole again (${fault.name})`, () => isWhole(nodes), 60)
  const healing = (performance.now() - righted) / 1000
  await waitUntil(
    `all is counted again (${fault.name})`,
    () => Promise.resolve(watch.movedSince(righted)),
    60,
  )
  await sink.refresh()
  const times = sink.arrivals.slice(firstArrival).map(([, , at]) => at)
  return {
    fault: fault.name,
    generate: Math.max(0, ...acknowledged.generate.slice(firstAnswer).map(({ began, ended }) => ended - began)) / 1000,
    actors: watch.seconds(),
    dispatcher: Math.max(0, ...times.slice(1).map((at, i) => at - times[i]!)) / 1000,
    healing,
  }
}
