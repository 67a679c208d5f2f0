import type { Seeded } from "./Seeded.ts"

/** A fault of one kind that lasts for a while. */
export interface Fault<Kind extends string> {
  readonly kind: Kind
  /** The node at fault, from 0; undefined for a fault of what all nodes share. */
  readonly node: number | undefined
  readonly from: number
  readonly to: number
}

/** A kind of fault: where it strikes and how long it lasts. Unit: milliseconds. */
export interface FaultKind {
  readonly perNode: boolean
  readonly longestMillis: number
}

/** Draws up to `most` faults that begin before `endMillis`. Some schedules have none. */
export const drawFaults = <Kind extends string>(
  random: Seeded,
  kinds: Readonly<Record<Kind, FaultKind>>,
  { endMillis, most, nodes }: { readonly nodes: number; readonly endMillis: number; readonly most: number },
): ReadonlyArray<Fault<Kind>> => {
  const names = Object.keys(kinds) as Array<Kind>
  return Array.from({ length: random.int(0, most) }, () => {
    const kind = random.pick(names)
    const { longestMillis, perNode } = kinds[kind]
    const from = random.int(0, endMillis)
    return { kind, node: perNode ? random.int(0, nodes - 1) : undefined, from, to: from + random.int(1, longestMillis) }
  })
}

/** Whether a fault of this kind lasts now. */
export const isFaulty = <Kind extends string>(
  faults: ReadonlyArray<Fault<Kind>>,
  kind: Kind,
  now: number,
  node?: number,
): boolean => {
  for (const fault of faults) {
    if (
      fault.kind === kind && fault.from <= now && now < fault.to && (fault.node === undefined || fault.node === node)
    ) {
      return true
    }
  }
  return false
}
