import { Context, type Effect } from "effect"

/** The cluster of this process, in the state last read. */
export interface Membership {
  /** Under which the other nodes reach this one; undefined for a process that is no node of a cluster. */
  readonly address: string | undefined
  /** Nodes that are alive, this one included. */
  readonly runners: number
  /** Seconds since the store was last asked which nodes there are; 0 outside of a cluster. */
  readonly seenSecondsAgo: number
  /** Shards whose actors run here; outside of a cluster all of them. */
  readonly shards: number
  /** Actors that are awake here. */
  readonly actors: number
}

/** Where actors run: in this process alone (`SingleProcess`), or spread over the nodes on one Postgres (`Nodes`). */
export class Cluster extends Context.Service<Cluster, {
  readonly membership: Effect.Effect<Membership>
  /** Whether the actor of this id runs here. */
  readonly isHere: (actorId: string) => boolean
}>()("parlance/cluster/Cluster") {}
