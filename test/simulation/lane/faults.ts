import type { FaultKind } from "../support/Faults.ts"

const shared = (longestMillis: number): FaultKind => ({ perNode: false, longestMillis })
const perNode = (longestMillis: number): FaultKind => ({ perNode: true, longestMillis })

/** The faults of a schedule, and their maximum durations. Unit: milliseconds. */
export const faultKinds = {
  /** A process ends without a word; it starts again when the fault is over. */
  crash: perNode(8_000),
  /** A process is stopped and goes on, with everything that happened meanwhile still to be read. */
  pause: perNode(12_000),
  /** A process ends in order; it starts again when the fault is over. */
  restart: perNode(4_000),
  storeSlow: shared(6_000),
  /** Half of all queries fail, before or after they took effect. */
  storeFails: shared(6_000),
  /** One node cannot reach the store. */
  storeAway: perNode(8_000),
  /** The row of the lane is locked: no renewal gets through, but other queries do. */
  renewalsFail: shared(8_000),
  /** The clock of the store jumps: back by any time, or ahead by less than the margin of the lease. */
  clockJump: shared(1),
  wakesLost: shared(8_000),
  wakesDoubled: shared(8_000),
  platformSlow: shared(8_000),
  platformFails: shared(8_000),
  platformCuts: shared(8_000),
  platformBroken: shared(2_000),
  platformRefuses: shared(3_000),
  platformAsksForLess: shared(6_000),
  domainDefers: shared(10_000),
  /** The connection is entered anew. */
  enteredAnew: shared(1),
} satisfies Readonly<Record<string, FaultKind>>

export type FaultName = keyof typeof faultKinds
