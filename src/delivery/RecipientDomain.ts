import * as Breaker from "./CircuitBreaker.ts"

/** State of a recipient domain in the lane of one connection. */
export interface RecipientDomain {
  readonly breaker: Breaker.CircuitBreaker
  readonly flights: number
  /** Number of claimed messages to this domain that are not yet sent. */
  readonly waiting: number
  /** Whether the domain has answered an attempt. */
  readonly isKnown: boolean
  /** Whether its last answer was slow, or an attempt in progress is slow. */
  readonly isSlow: boolean
  /** When the domain's rate limit permits the next message. */
  readonly nextAt: number
}

/** The state of a domain before its first answer. */
export const unknownDomain: RecipientDomain = {
  breaker: Breaker.closed,
  flights: 0,
  waiting: 0,
  isKnown: false,
  isSlow: false,
  nextAt: -Infinity,
}

/** Whether messages to the domain are sent one at a time, or not at all. */
export const isOpen = ({ breaker }: RecipientDomain): boolean => Breaker.isProbing(breaker, Breaker.domainPolicy)

/** Whether a domain is slow, has an open breaker, or has requested a pause before. */
export const isTroubled = ({ breaker, isSlow }: RecipientDomain): boolean =>
  isSlow || breaker.trouble !== undefined || breaker.silentUntil > -Infinity

/**
 * Whether several messages to the domain may be sent at a time despite its open breaker, while no other domain has
 * messages.
 */
export const isDeferring = ({ breaker, isSlow }: RecipientDomain): boolean =>
  breaker.trouble?.state === "failing" && !isSlow
