/** One fault of a request. */
export interface Fault {
  /** A JSON pointer into the body, or the name of a query parameter. */
  readonly pointer: string
  readonly detail: string
}

const isFault = (value: unknown): value is Fault =>
  typeof value === "object" && value !== null && "pointer" in value && typeof value.pointer === "string" &&
  "detail" in value && typeof value.detail === "string"

/**
 * The types of problems with which calls of this client can fail. The service documents each type at
 * `/problems/<type>`.
 */
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
  | "send-nothing"
  | "recipient-suppressed"
  | "rate-limited"
  | "too-many-connections"
  | "quota-exceeded"
  | "internal-error"
  | "unavailable"

/** The service refused a request. Contains the problem of the response (RFC 9457). */
export class ParlanceProblem extends Error {
  override readonly name = "ParlanceProblem"
  /** The type of the problem, without the path `/problems/`. */
  readonly type: ProblemType | (string & Record<never, never>)
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  /** Every fault in the content of the request. Empty for other problems. */
  readonly errors: ReadonlyArray<Fault>
  /** The time to wait before a retry. Undefined if the response has no `Retry-After`. Unit: milliseconds. */
  readonly retryAfter: number | undefined
  /** Id of the request in the logs of the service. Undefined if the response does not come from the service. */
  readonly requestId: string | undefined
  /** Additional members of this type of problem, such as `reason` of `recipient-suppressed`. */
  readonly members: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    body: Readonly<Record<string, unknown>>,
    retryAfter: number | undefined,
    requestId?: string,
  ) {
    const { detail, errors, status: _, title, type, ...members } = body
    // A proxy may respond with JSON of another form.
    const faults = Array.isArray(errors) ? errors.filter(isFault) : []
    const heading = typeof title === "string" ? title : `The service answered ${status}`
    const reasons = [
      ...(typeof detail === "string" ? [detail] : []),
      ...faults.map((fault) => `${fault.pointer} ${fault.detail}`),
    ]
    super(
      [heading, ...reasons].join(": ") +
        (requestId === undefined ? "" : ` (request ${requestId})`),
    )
    this.type = typeof type === "string" ? type.replace(/^.*\/problems\//, "") : "unknown"
    this.status = status
    this.title = heading
    this.detail = typeof detail === "string" ? detail : undefined
    this.errors = faults
    this.retryAfter = retryAfter
    this.requestId = requestId
    this.members = members
  }
}

/**
 * Why no answer arrived. `timeout`: not in time. `refused`: nothing listens at the address. `dns`: the host has no
 * address. `tls`: the certificate was not accepted, or the service has no TLS. `network`: the connection failed.
 * `answer`: the answer does not come from Parlance, such as the page of a proxy.
 */
export type UnavailableReason =
  | "timeout"
  | "refused"
  | "dns"
  | "tls"
  | "network"
  | "answer"

/** Every attempt failed without an answer of the service. `cause` is the failure of the last attempt. */
export class ParlanceUnavailable extends Error {
  override readonly name = "ParlanceUnavailable"
  readonly reason: UnavailableReason

  constructor(message: string, reason: UnavailableReason, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Why a webhook request is not accepted. */
export type WebhookFault =
  | "headers"
  | "timestamp"
  | "secret"
  | "signature"
  | "body"

/** Parlance did not sign a webhook request, or its body has no event. Respond with a status from 400 to 499. */
export class ParlanceWebhookError extends Error {
  override readonly name = "ParlanceWebhookError"
  readonly fault: WebhookFault

  constructor(fault: WebhookFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** A request contains a value that has no form in JSON. The client sent no request. */
export class ParlanceInvalidValue extends Error {
  override readonly name = "ParlanceInvalidValue"
  /** The place of the value in the request, such as `fields.price` or `events[0].value`. */
  readonly path: string
  readonly detail: string

  constructor(path: string, detail: string, options?: ErrorOptions) {
    super(`${path} ${detail}`, options)
    this.path = path
    this.detail = detail
  }
}

/** Whether an error is a problem. With `type`, the problem must have this type. */
export const isProblem = (error: unknown, type?: ProblemType): error is ParlanceProblem =>
  error instanceof ParlanceProblem && (type === undefined || error.type === type)
