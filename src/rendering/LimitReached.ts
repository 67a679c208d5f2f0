/** Thrown if work would exceed the rest of a budget. Caught where the work begins, and never visible outside. */
export class LimitReached extends Error {
  /** `limit` names the limit that was reached, such as `500,000 steps`. */
  constructor(message: string, readonly limit?: string) {
    super(message)
  }
}
