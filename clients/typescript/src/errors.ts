/** One fault of a request. */
export interface Fault {
  /** A JSON pointer into the body, or the name of a query parameter. */
  readonly pointer: string
  readonly detail: string
}

const isFault = (value: unknown): value is Fault =>
  typeof value === "object" && value !== null && "pointer" in value && typeof value.pointer === "string" &&
  "detail" in value && typeof value.detail === "string"

/** The kinds of problems that calls of this client meet. The service documents each at `/problems/<type>`. */
export type ProblemType =
  | "invalid-request"
  | "unauthorized"
  | "forbidden"
  | "template-not-found"
  | "template-archived"
  | "variant-not-found"
  | "delivery-not-found"
  | "delivery-fixed"
  | "idempotency-key-reused"
  | "payload-too-large"
  | "unprocessable"
  | "held-out"
  | "recipient-suppressed"
  | "rate-limited"
  | "too-many-connections"
  | "quota-exceeded"
  | "internal-error"
  | "unavailable"

/** The service refused a request, and said why (RFC 9457). */
export class ParlanceProblem extends Error {
  override readonly name = "ParlanceProblem"
  /** The kind of problem, without the path `/problems/`. */
  readonly type: ProblemType | (string & Record<never, never>)
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  /** Every fault of the request, where the problem is one of its content. */
  readonly errors: ReadonlyArray<Fault>
  /** How long to wait before another attempt, in milliseconds. */
  readonly retryAfter: number | undefined
  /** Members that this kind of problem has beside those above, such as `reason` of `recipient-suppressed`. */
  readonly members: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, retryAfter: number | undefined) {
    const { detail, errors, status: _, title, type, ...members } = body
    // A proxy on the way may answer JSON of another form.
    const faults = Array.isArray(errors) ? errors.filter(isFault) : []
    const heading = typeof title === "string" ? title : `The service answered ${status}`
    const reasons = [
      ...(typeof detail === "string" ? [detail] : []),
      ...faults.map((fault) => `${fault.pointer} ${fault.detail}`),
    ]
    super([heading, ...reasons].join(": "))
    this.type = typeof type === "string" ? type.replace(/^.*\/problems\//, "") : "unknown"
    this.status = status
    this.title = heading
    this.detail = typeof detail === "string" ? detail : undefined
    this.errors = faults
    this.retryAfter = retryAfter
    this.members = members
  }
}

/** No answer came in time, or the connection failed, in every attempt. `cause` is the failure of the last one. */
export class ParlanceUnavailable extends Error {
  override readonly name = "ParlanceUnavailable"
}

/** Whether an error is a problem, of the given kind if one is named. */
export const isProblem = (error: unknown, type?: ProblemType): error is ParlanceProblem =>
  error instanceof ParlanceProblem && (type === undefined || error.type === type)
