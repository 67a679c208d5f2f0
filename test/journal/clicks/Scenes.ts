import type { Chance } from "../../../src/simulation/Chance.ts"
import type { AttributedEvent } from "../../../src/journal/events/AttributedEvent.ts"

// Messages with the requests of one gateway or one person, for the simulation of clicks.

/** A message of the simulation. */
export interface Scene {
  /** When the server accepted it. Unit: Unix milliseconds. */
  readonly acceptedAt: number
  /** Tracked links, in the order of the message. At least one. */
  readonly links: ReadonlyArray<string>
  /** Whether the message has a link to the unsubscribe page. */
  readonly hasPage: boolean
  readonly chance: Chance
}

/** What one gateway or one person requests. */
export type Visitor = (scene: Scene) => ReadonlyArray<AttributedEvent>

export const second = 1_000
export const minute = 60 * second

/** A uniform number in [from, to). */
export const between = ({ uniform }: Chance, from: number, to: number): number => from + (to - from) * uniform()

/** A number with a log-normal distribution. */
export const around = ({ normal }: Chance, median: number, spread: number): number =>
  median * Math.exp(spread * normal())

const eventOf = (
  event: AttributedEvent["event"],
  at: number,
  more: Partial<AttributedEvent> = {},
): AttributedEvent => ({
  key: `${event} ${more.link ?? ""} ${Math.round(at)}`,
  event,
  occurredAt: Math.round(at),
  automated: false,
  link: undefined,
  ...more,
})

export const click = (link: string, at: number) => eventOf("click", at, { link })
export const open = (at: number) => eventOf("open", at)
export const page = (at: number) => eventOf("unsubscribe_view", at)

/**
 * Returns a message, and the events that its sender reports: `sent` alone, `delivered` alone, or both. Platforms round
 * times to seconds.
 */
export const sceneOf = (
  chance: Chance,
): { readonly scene: Scene; readonly reports: ReadonlyArray<AttributedEvent> } => {
  const acceptedAt = 1_700_000_000_000 + Math.floor(between(chance, 0, 86_400_000))
  const links = Array.from({ length: 1 + Math.floor(between(chance, 0, 8)) }, (_, n) => `https://shop.example/${n}`)
  const reportedAt = Math.floor(acceptedAt / second) * second
  const kind = chance.uniform()
  const reports = kind < 0.4
    ? [eventOf("sent", acceptedAt + between(chance, 0, 300))]
    : kind < 0.5
    ? [eventOf("delivered", reportedAt)]
    : [eventOf("sent", reportedAt - second * Math.floor(between(chance, 0, 5))), eventOf("delivered", reportedAt)]
  return { scene: { acceptedAt, links, hasPage: chance.uniform() < 0.9, chance }, reports }
}
