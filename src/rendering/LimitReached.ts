/** Thrown when work would cost more than a budget has left. Caught where the work begins, and never seen outside. */
export class LimitReached extends Error {
  /** `limit` names the limit that was reached, such as `500,000 steps`. */
  constructor(message: string, readonly limit?: string) {
    super(message)
  }
}
