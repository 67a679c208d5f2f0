/** Where events come from, by the neutral name in paths and tables, with the platform's own name. */
export const platforms = {
  provider_a: "braze",
  provider_b: "iterable",
  provider_c: "customerio",
  provider_d: "segment",
  provider_e: "sfmc",
  events: "events",
} as const

/** The neutral name of a source, as it stands in paths and tables. */
export type Segment = keyof typeof platforms

/** The platform behind it; `events` is the caller's own code. */
export type Platform = (typeof platforms)[Segment]

/** Every source under both names, for messages and documents: `provider_a (braze), …, events`. */
export const listOfSources = Object.entries(platforms)
  .map(([segment, platform]) => segment === platform ? segment : `${segment} (${platform})`).join(", ")

const bySegment = new Map<string, Segment>()
for (const [segment, platform] of Object.entries(platforms) as ReadonlyArray<[Segment, Platform]>) {
  bySegment.set(segment, segment)
  bySegment.set(platform, segment)
}

/** The source of a path segment, by its neutral name or the platform's; undefined when there is none. */
export const segmentOf = (name: string): Segment | undefined => bySegment.get(name)

/** What the service itself reports about the messages it sends stands in the inbox under this name. */
export const deliverSource = "deliver"

/** Mail about deliveries, such as bounces and complaints, stands in the inbox under this name. */
export const mailSource = "mail" as const

/** Headers of a body that a sink makes for a magic address. Callers cannot send them: see `isKept` of the webhook routes. */
export const simulatedHeaders = { "parlance-simulated": "true" }
