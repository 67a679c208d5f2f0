import type { DecideRequest } from "../decide/DecideRequest.ts"
import type { UserId } from "../domain/Ids.ts"
import type { Priority } from "./Delivery.ts"

/** A request to deliver one message. */
export interface DeliverRequest
  extends Omit<DecideRequest, "trackingId" | "isNewId" | "userId" | "trace" | "unsentId"> {
  /** The recipient's address. It is also the user id of the decision. */
  readonly email: UserId
  /** Earliest send time. Unit: Unix milliseconds. Undefined: now. */
  readonly sendAt: number | undefined
  /** Whether to send at the recommended time for this recipient, not before `sendAt`. */
  readonly optimizeSendTime: boolean
  /**
   * The message expires at this time, which is later than `sendAt`. Unit: Unix milliseconds. Undefined: it does not
   * expire.
   */
  readonly expiresAt: number | undefined
  /** A request with the same key and body within 24 hours returns the same delivery. */
  readonly idempotency: Idempotency | undefined
  /** Default: transactional if the template ignores unsubscribes, otherwise bulk. */
  readonly priority?: Priority | undefined
}

/** A caller's idempotency key (at most 255 characters) and the digest of the request body. */
export interface Idempotency {
  readonly key: string
  readonly digest: string
}

/** A message that is durably queued. */
export interface Queued {
  readonly id: string
  /** Whether an earlier request with this idempotency key queued the message. */
  readonly repeated: boolean
  /** Warnings of the decision that the message was made from. */
  readonly warnings?: ReadonlyArray<string> | undefined
}
