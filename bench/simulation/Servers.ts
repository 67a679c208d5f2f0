// Computes which limit is reached first if traffic grows, with organizations placed at random on database servers, each
// with its own nodes. Costs are measured (bench/RESULTS.md), machines are assumed.
import { seeded } from "../../test/support/load.ts"

/** Measured costs and fixed limits. Units: µs of one processor, bytes, and a second. */
export const costs = {
  /** A node, for a Generate with the writing of its decision. */
  nodePerDecision: 250,
  /** A node, for an event from the inbox to the ledger. */
  nodePerEvent: 98,
  /** PostgreSQL, for a decision under a caller's own id. */
  databasePerDecision: 40,
  /** PostgreSQL, for an event with its ledger rows and their folding. */
  databasePerEvent: 200,
  /** Bytes with indexes, for a decision and its events. */
  bytesPerDecision: 1_320,
  /** Bytes with indexes of the received bodies of a decision's events, which are kept for 30 days. */
  bodyBytesPerDecision: 296,
  eventsPerDecision: 1.35,
} as const

/**
 * Assumed machines: a node has one processor, a database server has `cores`. `load` is the share of processors and disks
 * that may be in use, and `peakOverMean` the traffic of the busiest time over the mean.
 */
export const machines = { cores: 8, connections: 100, load: 0.7, peakOverMean: 10 } as const

/** Settings that the simulation changes. */
export interface ServerSettings {
  readonly diskBytes: number
  /** Share of the bytes of decisions and events that the file system stores. Below 1: it compresses. */
  readonly storedShare: number
  readonly retentionDays: number
  /** Limit of an API key, of which each organization uses one. Unit: requests a second. */
  readonly keyLimit: number
  /** `DATABASE_POOL_SIZE` */
  readonly pool: number
  /** Number of organizations that share the traffic of the largest one. */
  readonly parts: number
}

export const defaults: ServerSettings = {
  diskBytes: 4e12,
  storedShare: 1,
  retentionDays: 400,
  keyLimit: 5_000,
  pool: 10,
  parts: 1,
}

interface Remedy {
  readonly name: string
  readonly change: Partial<ServerSettings>
}

/** What moves each limit, in order of cost. After that, only more servers help. */
export const remedies = {
  disk: [
    { name: "a file system with zstd", change: { storedShare: 0.36 } },
    { name: "retention of 30 days", change: { retentionDays: 30 } },
    { name: "disks of 16 TB", change: { diskBytes: 16e12 } },
  ],
  "limit of the key": [{ name: "`KEY_RATE_LIMIT=none`", change: { keyLimit: Infinity } }],
  connections: [{ name: "`DATABASE_POOL_SIZE=4`", change: { pool: 4 } }],
  "processors of the database": [{ name: "the largest organization divided into ten", change: { parts: 10 } }],
} as const satisfies Record<string, ReadonlyArray<Remedy>>
export type LimitName = keyof typeof remedies

/** Returns the shares of the traffic: half for one organization, and a Zipf distribution for 1,000 others. */
const sharesOf = (parts: number): ReadonlyArray<number> => {
  const others = Array.from({ length: 1_000 }, (_, i) => 1 / (i + 1))
  const sum = others.reduce((a, b) => a + b)
  return [...Array.from({ length: parts }, () => 0.5 / parts), ...others.map((weight) => weight / sum / 2)]
}

/** Returns the share of the traffic on the fullest of `servers`, for random placements. */
const fullest = (shares: ReadonlyArray<number>, servers: number, random: () => number): number => {
  const loads = new Float64Array(servers)
  for (const share of shares) loads[Math.floor(random() * servers)]! += share
  return Math.max(...loads)
}

/** Returns the peak of decisions a second at which each limit is reached. */
export const capacities = (
  { diskBytes, keyLimit, parts, pool, retentionDays, storedShare }: ServerSettings,
  servers: number,
  random: () => number,
): Readonly<Record<LimitName, number>> => {
  const shares = sharesOf(parts)
  const largest = Math.max(...shares)
  const share = fullest(shares, servers, random)
  const perNode = machines.load * 1e6 / (costs.nodePerDecision + costs.eventsPerDecision * costs.nodePerEvent)
  const perDatabase = machines.load * machines.cores * 1e6 /
    (costs.databasePerDecision + costs.eventsPerDecision * costs.databasePerEvent)
  const bytes = costs.bytesPerDecision * storedShare * retentionDays + costs.bodyBytesPerDecision * 30
  const stored = diskBytes / bytes / 86_400
  return {
    disk: machines.load * stored * machines.peakOverMean / share,
    "limit of the key": keyLimit / largest,
    connections: perNode * Math.floor(machines.connections / (pool + 2)) / share,
    "processors of the database": perDatabase / share,
  }
}

/** A step of the growth: the limit that is reached first, at which rate, and the setting that moves it. */
export interface Step {
  readonly servers: number
  readonly limit: LimitName
  /** Decisions a second at the peak, the median of all placements. */
  readonly rate: number
  readonly remedy: string | undefined
}

/** Returns the limits in the order in which growing traffic reaches them, each after the setting of the one before. */
export const growth = (servers: number, placements = 200): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  let settings = defaults
  for (;;) {
    const all = Array.from({ length: placements }, (_, seed) => {
      const entries = Object.entries(capacities(settings, servers, seeded(seed + 1))) as Array<[LimitName, number]>
      return entries.reduce((least, one) => one[1] < least[1] ? one : least)
    }).sort((a, b) => a[1] - b[1])
    const [limit, rate] = all[placements >> 1]!
    const remedy = remedies[limit].find(({ change }: Remedy) =>
      // The parts of an organization help only on different servers.
      (change.parts === undefined || servers > 1) &&
      Object.entries(change).some(([name, value]) => settings[name as keyof ServerSettings] !== value)
    )
    steps.push({ servers, limit, rate, remedy: remedy?.name })
    if (remedy === undefined) return steps
    settings = { ...settings, ...remedy.change }
  }
}
