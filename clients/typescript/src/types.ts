/** A value for targeting. */
type Attribute = string | number | bigint | boolean | Date | URL

/** Values for targeting: compared in lowercase by the service. */
export type Attributes = Readonly<Record<string, Attribute | null | undefined | ReadonlyArray<Attribute>>>

/** Options of every call. They override the options of the client. */
export interface CallOptions {
  /** Aborts the call and its retries. */
  readonly signal?: AbortSignal
  /** Timeout of each attempt. Unit: milliseconds. */
  readonly timeout?: number
  /** Maximum number of retries. */
  readonly retries?: number
}

export interface GenerateRequest {
  readonly template_id: string
  /** The end user, for targeting by known traits, for sticky choices and for attribution. */
  readonly user_id?: string
  /** Id of the decision. Default: a new id, so that retries of this call get the same decision. */
  readonly tracking_id?: string
  /** Values for the Liquid placeholders of the variant. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly attrs?: Attributes
}

export interface GenerateOptions extends CallOptions {
  /**
   * Variables to use if the service is unavailable, or has no variant for this request or cannot render it. With a
   * fallback, `generate` fails only if the request is faulty or unauthorized, or if `signal` is aborted.
   */
  readonly fallback?: Readonly<Record<string, string>>
}

/** Content for one message. */
export interface Generated {
  /** Id of the decision. Events that contain it are attributed to this decision. */
  readonly tracking_id: string
  /** The selected variant. Undefined in a fallback, and if `message` states why no variant was selected. */
  readonly copy_id: string | undefined
  /** Rendered variables by name, or the variables of the fallback. Empty without a variant and without a fallback. */
  readonly vars: Readonly<Record<string, string>>
  /** The reason why no variant was selected, such as `No candidates found`. */
  readonly message: string | undefined
  /** True if this user is in the holdout without messages. Send nothing. The fallback does not apply. */
  readonly held_out: boolean
  /** True if the service chose to send nothing to this user. Send nothing. The fallback does not apply. */
  readonly send_nothing: boolean
  /** The reason why the fallback is used. Undefined if it is not used. */
  readonly fallback: Error | undefined
}

export interface BatchRequest {
  /** Requests for different templates. The client sends more than 20 requests in several batches. */
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
  /** Recommended send time, ISO 8601. */
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
  /** Earliest time to send: ISO 8601 with an offset, at most 7 days ahead. */
  readonly send_at?: string | Date
  readonly optimize_send_time?: boolean
  /** Latest time to send: ISO 8601 with an offset. A message that was not sent by then fails. */
  readonly expires_at?: string | Date
  /** `transactional` messages are sent before all `bulk` messages. */
  readonly priority?: "transactional" | "bulk"
}

export interface DeliverOptions extends CallOptions {
  /**
   * Identifies the message for 24 hours: a request with the same key and content queues no second message. The default
   * is a new key, which covers retries of this call. Set your own key, such as the id of an order, to cover repeated
   * calls as well.
   */
  readonly idempotencyKey?: string
}

export interface Queued {
  readonly delivery_id: string
  readonly tracking_id: string
  /**
   * Whether an earlier request with this idempotency key queued the message, so that this call queued no second
   * message.
   */
  readonly repeated: boolean
}

export type DeliveryState =
  | "queued"
  | "sending"
  | "sent"
  | "failed"
  | "cancelled"

/** A queued or finished message. Contains also members that later versions of the API add. */
export interface Delivery {
  readonly id: string
  readonly template_id: string
  readonly copy_id: string
  /** The recipient. Null after the person has been erased. */
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
  /** Id of the event: each id counts once. Default: a new id, which covers retries of this call. */
  readonly event_id?: string
  /** Time of the event, ISO 8601. */
  readonly occurred_at?: string | Date
  readonly [member: string]: unknown
}

/** Which deliveries a list contains. */
export interface DeliveryFilter {
  readonly state?: DeliveryState
  readonly email?: string
  readonly cursor?: string
  /** Rows of a page, 1 to 500. Default: 50. */
  readonly limit?: number
}

/** A page of deliveries. */
export interface DeliveryPage {
  readonly deliveries: ReadonlyArray<Delivery>
  readonly next_cursor: string | null
  /** Earlier form of `next_cursor`. */
  readonly next: string | null
}

/** Which queued deliveries are cancelled. OpenAPI describes all members. */
export interface CancelFilter {
  readonly template_id?: string
  readonly connection?: string
  /** Only counts the deliveries. */
  readonly dry_run?: boolean
  readonly [member: string]: unknown
}

export interface EventVerdict {
  /** Index of the event in the list that was sent. */
  readonly index: number
  readonly status:
    | "accepted"
    | "incomplete"
    | "duplicate"
    | "ignored"
    | "rejected"
  readonly pointer?: string
  readonly reason?: string
}

export interface EventAnswer {
  readonly received: number
  readonly items: ReadonlyArray<EventVerdict>
}

/** A variant of a template. */
export interface Variant {
  readonly id: string
  readonly name: string
  readonly vars: Readonly<Record<string, string>>
  readonly active: boolean
  readonly [member: string]: unknown
}

/** A variant to store. OpenAPI describes all members. */
export interface VariantInput {
  /** Default: a new id. */
  readonly id?: string
  readonly name?: string
  readonly vars: Readonly<Record<string, string>>
  readonly active?: boolean
  readonly targeting?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly [member: string]: unknown
}

/** A template with its variants. */
export interface Template {
  readonly id: string
  readonly name: string
  readonly objective: unknown
  readonly variants: ReadonlyArray<Variant>
  /** Rises with each change. */
  readonly revision: number
  readonly [member: string]: unknown
}

/** A template to store. OpenAPI describes all members. */
export interface TemplateInput {
  /** Default: a new id. */
  readonly id?: string
  readonly name: string
  readonly variants?: ReadonlyArray<VariantInput>
  readonly [member: string]: unknown
}

/** A page of templates. */
export interface TemplatePage {
  readonly templates: ReadonlyArray<Template>
  readonly next_cursor: string | null
}

/** The answer to a change that needs approval before it is live. */
export interface WaitingChange {
  readonly detail: string
  readonly proposals: ReadonlyArray<
    { readonly id: number; readonly template_id: string }
  >
  readonly [member: string]: unknown
}

/** The send times that results count. Default: all of the last 180 days. */
export interface ResultsWindow {
  readonly lookback_days?: number
  readonly offset_days?: number
}

/** Results of a template. OpenAPI describes all members. */
export interface TemplateResults {
  readonly objective: unknown
  readonly variants: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly [member: string]: unknown
}

/** An API key without its secret. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly kind: "live" | "test"
  readonly scopes: ReadonlyArray<string>
  readonly revoked_at: string | null
  readonly [member: string]: unknown
}

/** A key to create. */
export interface KeyInput {
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  /** Default: `live`. */
  readonly kind?: "live" | "test"
  readonly [member: string]: unknown
}

/** A new key. `key` is the secret. */
export interface CreatedKey extends ApiKey {
  readonly key: string
}

/** Where an export begins. */
export interface ExportOptions extends CallOptions {
  /** The `cursor` of an earlier run, from the last 30 days. */
  readonly cursor?: string
  /** Without `cursor`: begin here. Default: all rows that are kept. */
  readonly since?: Date | string
  /** Rows of a page, 1 to 5,000. Default: 1,000. */
  readonly limit?: number
}

/** A row of an export: values by column. */
export type ExportedRow = Readonly<Record<string, unknown>>
