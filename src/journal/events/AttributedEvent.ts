import type { Valued } from "../../bandit/Revenue.ts"
import type { EventName } from "../../domain/EventKinds.ts"

/** An event that belongs to a decision. Only conversions and refunds have a value. */
export interface AttributedEvent extends Valued {
  /** Identity of the event within its source. A repeated event has an equal key. */
  readonly key: string
  readonly source?: string
  readonly event: EventName
  /** Unit: Unix milliseconds. */
  readonly occurredAt: number
  /** Whether the source says that a machine caused the event. */
  readonly automated: boolean
  /** The clicked URL; undefined if the source does not report it. */
  readonly link: string | undefined
}
