/** Values for targeting: compared in lowercase by the service. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | null | ReadonlyArray<string | number | boolean>>
>

/** Options of every call. They override those of the client. */
export interface CallOptions {
  /** Ends the call, including further attempts. */
  readonly signal?: AbortSignal
  /** Time for each attempt, in milliseconds. */
  readonly timeout?: number
  /** Further attempts after the first one. */
  readonly retries?: number
}

export interface GenerateRequest {
  readonly template_id: string
  /** The end user: for targeting by what is known of them, sticky choices and attribution. */
  readonly user_id?: string
  /** Names the decision. Made by the client if absent, so that a repeated attempt gets the same decision. */
  readonly tracking_id?: string
  /** Values for the Liquid placeholders of the variant. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly attrs?: Attributes
}

export interface GenerateOptions extends CallOptions {
  /**
   * Variables to use when the service cannot be reached, or has no candidate for this request. With it, `generate` fails only for
   * requests that are refused as faulty or unauthorized, and for an aborted `signal`.
   */
  readonly fallback?: Readonly<Record<string, string>>
}

/** Content for one message. */
export interface Generated {
  /** Report it with events, so that they are attributed to this decision. */
  readonly tracking_id: string
  /** The selected variant; undefined when `message` says why there is none, and in a fallback. */
  readonly copy_id: string | undefined
  /** Rendered variables by name; those of the fallback where one is used; empty without either. */
  readonly vars: Readonly<Record<string, string>>
  /** Why there is no variant, such as `No candidates found`. */
  readonly message: string | undefined
  /** True: this user is in the holdout without messages. Send nothing; a fallback is not used. */
  readonly held_out: boolean
  /** Why the fallback is used; undefined where it is not. */
  readonly fallback: Error | undefined
}

export interface BatchRequest {
  /** Requests for different templates. More than 20 are sent in several batches. */
  readonly requests: ReadonlyArray<{
    readonly template_id: string
    readonly copy_id?: string
    readonly tracking_id?: string
  }>
  readonly user_id?: string
  readonly fields?: Readonly<Record<string, unknown>>
  readonly attrs?: Attributes
  readonly lookback_days?: number
  readonly offset_days?: number
  readonly use_cache?: boolean
  readonly epsilon?: number
}

export interface DelayRequest {
  /** The variant: `copy_id` of a generated content. */
  readonly delay_id: string
  readonly template_id?: string
  readonly user_id?: string
  readonly email?: string
}

export interface DelayTime {
  readonly delay_id: string
  /** When to send, ISO 8601. */
  readonly delay_time: string
}

export interface DeliverRequest {
  readonly template_id: string
  readonly email: string
  readonly copy_id?: string
  readonly fields?: Readonly<Record<string, unknown>>
  readonly attrs?: Attributes
  readonly lookback_days?: number
  readonly offset_days?: number
  readonly use_cache?: boolean
  readonly epsilon?: number
  /** Not before then: ISO 8601 with an offset, at most 7 days ahead. */
  readonly send_at?: string
  readonly optimize_send_time?: boolean
  /** Not after then: ISO 8601 with an offset. A message that was not sent by then fails. */
  readonly expires_at?: string
  /** `transactional` goes ahead of all `bulk` messages. */
  readonly priority?: "transactional" | "bulk"
}

export interface DeliverOptions extends CallOptions {
  /**
   * Names the message for 24 hours: the same key and request is the same message. Made by the client if absent, which
   * protects against repeated attempts of one call. Give one of your own, such as the id of an order, to protect against repeated
   * calls as well.
   */
  readonly idempotencyKey?: string
}

export interface Queued {
  readonly delivery_id: string
  readonly tracking_id: string
  /** True if a message of this idempotency key had been queued before; no further one was. */
  readonly repeated: boolean
}

export type DeliveryState = "queued" | "sending" | "sent" | "failed" | "cancelled"

/** A queued or finished message. Members that later versions add are kept. */
export interface Delivery {
  readonly id: string
  readonly template_id: string
  readonly copy_id: string
  /** Null once the person has been erased. */
  readonly email: string | null
  readonly state: DeliveryState
  readonly due_at: string
  readonly queued_at: string
  readonly attempts: number
  /** Why the last attempt failed. */
  readonly reason: string | null
  readonly finished_at: string | null
  readonly [member: string]: unknown
}

export interface Event {
  /** `open`, `click`, `conversion`, `unsubscribe` and others, or a declared name of a conversion. */
  readonly event: string
  readonly tracking_id?: string
  readonly user_id?: string
  /** Makes a repeated event count once. Made by the client if absent, which protects repeated attempts of one call. */
  readonly event_id?: string
  /** When it happened: ISO 8601. */
  readonly occurred_at?: string
  readonly [member: string]: unknown
}

export interface EventVerdict {
  /** Place of the event in the list that was sent. */
  readonly index: number
  readonly status: "accepted" | "incomplete" | "duplicate" | "ignored" | "rejected"
  readonly pointer?: string
  readonly reason?: string
}

export interface EventAnswer {
  readonly received: number
  readonly items: ReadonlyArray<EventVerdict>
}
