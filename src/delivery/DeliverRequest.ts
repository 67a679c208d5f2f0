import type { DecideRequest } from "../decide/DecideRequest.ts"
import type { UserId } from "../domain/Ids.ts"
import type { Priority } from "./Delivery.ts"

/** A request to deliver one message. */
export interface DeliverRequest
  extends Omit<DecideRequest, "trackingId" | "isNewId" | "userId" | "trace" | "heldOutId"> {
  /** The recipient's address; also the user of the decision. */
  readonly email: UserId
  /** Earliest time. Unix milliseconds; undefined: now. */
  readonly sendAt: number | undefined
  /** Whether to send at the best time for this recipient, from `sendAt` on. */
  readonly optimizeSendTime: boolean
  /** Latest time; later than `sendAt`. Unix milliseconds; undefined: the message does not expire. */
  readonly expiresAt: number | undefined
  /** At most 255 characters; the same key and body within 24 hours is the same delivery. */
  readonly idempotency: Idempotency | undefined
  /** Default: transactional if the template sends to people who have unsubscribed, else bulk. */
  readonly priority?: Priority | undefined
}

/** The caller's key of a request, and a digest of its body. */
export interface Idempotency {
  readonly key: string
  readonly digest: string
}

/** A message that is durably queued. */
export interface Queued {
  readonly id: string
  /** An earlier request with the same idempotency key queued it. */
  readonly repeated: boolean
  /** The warnings of the answer that the message was made from. */
  readonly warnings?: ReadonlyArray<string> | undefined
}
