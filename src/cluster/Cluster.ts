import { Context, type Effect } from "effect"

/** The last known state of this process's cluster. */
interface Membership {
  /** Name of this node for other nodes; undefined for a process outside of a cluster. */
  readonly address: string | undefined
  /** Number of live nodes, including this node. */
  readonly runners: number
  /** Time since this node last read the list of nodes; 0 outside of a cluster. Unit: seconds. */
  readonly seenSecondsAgo: number
  /** Number of shards whose actors run on this node. Outside of a cluster: all shards. */
  readonly shards: number
  /** Number of active actors on this node. */
  readonly actors: number
}

/**
 * Where actors run: in this process only (`SingleProcess`), or distributed over the nodes on one database (`Nodes`).
 */
export class Cluster extends Context.Service<Cluster, {
  readonly membership: Effect.Effect<Membership>
  /** Whether the actor with this id runs on this node. */
  readonly isHere: (actorId: string) => boolean
}>()("parlance/cluster/Cluster") {}
