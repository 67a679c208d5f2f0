import { type Answer, type Call, isObject, isPassing, send, type Transport } from "./http.ts"
import { ParlanceInvalidValue, ParlanceProblem, type ParlanceUnavailable } from "./errors.ts"
import { type Exports, type Keys, management, type Templates, type Variants } from "./management.ts"
import { type List, listOf } from "./pages.ts"
import { members, parameter, queryOf, segment } from "./values.ts"
import type {
  BatchRequest,
  CallOptions,
  CancelFilter,
  DelayRequest,
  DelayTime,
  DeliverOptions,
  DeliverRequest,
  Delivery,
  DeliveryFilter,
  DeliveryPage,
  Event,
  EventAnswer,
  Generated,
  GenerateOptions,
  GenerateRequest,
  Queued,
} from "./types.ts"

export interface ParlanceOptions {
  /** The address of the service, such as `https://parlance.example.com`. */
  readonly url: string
  /** The slug of the organization, as in paths of the API. */
  readonly org: string
  /** An API key with the scopes that the calls require. */
  readonly apiKey: string
  /** Timeout of each attempt. Default: 2,000. Unit: milliseconds. */
  readonly timeout?: number
  /**
   * Maximum number of retries of a call that got no answer, or an answer after which a retry may succeed. Default: 2.
   */
  readonly retries?: number
  /** Replaces the runtime's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Throws a `TypeError` for options with which every request would fail. Otherwise a fallback would hide the mistake.
 */
const checkOptions = ({ apiKey, org, url }: ParlanceOptions): void => {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw new TypeError(`url must be the address of the service, such as https://parlance.example.com, not ${url}`)
  }
  if (typeof org !== "string" || org === "") throw new TypeError("org must be the organization, as it stands in paths")
  if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("apiKey must be the text of an API key, without spaces or line breaks")
  }
}

/**
 * Whether the fallback replaces the content: the service is unavailable, cannot render a variant with these fields
 * (422), or a value cannot be sent.
 */
const hasNoContent = (error: unknown): error is ParlanceInvalidValue | ParlanceProblem | ParlanceUnavailable =>
  isPassing(error) || error instanceof ParlanceInvalidValue ||
  (error instanceof ParlanceProblem && error.status === 422)

/** Maximum number of requests in one batch. */
const batchSize = 20

const groupsOf = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size))

interface WireContent {
  readonly tracking_id: string
  readonly copy: { readonly id?: string; readonly vars?: Readonly<Record<string, string>> }
  readonly message?: string
  readonly held_out?: boolean
  readonly send_nothing?: boolean
}

const isContent = (value: unknown): boolean =>
  isObject(value) && typeof value["tracking_id"] === "string" && isObject(value["copy"])

const generatedOf = ({ copy, held_out, message, send_nothing, tracking_id }: WireContent): Generated => ({
  tracking_id,
  copy_id: copy.id,
  vars: copy.vars ?? {},
  message,
  held_out: held_out === true,
  send_nothing: send_nothing === true,
  fallback: undefined,
})

const isDelayTime = (value: unknown): boolean => isObject(value) && typeof value["delay_time"] === "string"

const isDelivery: Call["isAnswer"] = ({ id }) => typeof id === "string"

/** Returns an idempotency key as a header, by default a new one. Refuses characters that a header cannot have. */
const keyOf = (idempotencyKey: unknown): string => {
  const key = parameter(idempotencyKey ?? crypto.randomUUID(), "idempotencyKey")
  if (/^[\x20-\x7e]+$/.test(key)) return key
  throw new ParlanceInvalidValue("idempotencyKey", "must have only letters, digits and signs of ASCII")
}

/** Returns items as JSON objects. `path` names the list in errors. */
const objectsOf = <A extends object>(items: Iterable<A>, path: string): ReadonlyArray<A> => {
  if (typeof items?.[Symbol.iterator] !== "function") throw new ParlanceInvalidValue(path, "must be a list")
  return Array.from(items, (item, index) => members(item, `${path}[${index}]`))
}

/** The API of the service for one organization, with one API key. */
export class Parlance {
  readonly #transport: Transport
  readonly #org: string
  readonly templates: Templates
  readonly variants: Variants
  readonly keys: Keys
  readonly exports: Exports

  /** Throws a `TypeError` for a URL, an organization or a key with which every request would fail. */
  constructor(options: ParlanceOptions) {
    checkOptions(options)
    const { apiKey, fetch = globalThis.fetch, org, retries = 2, timeout = 2_000, url } = options
    this.#transport = { url: url.replace(/\/+$/, ""), apiKey, timeout, retries, fetch: fetch.bind(globalThis) }
    this.#org = encodeURIComponent(org)
    const { exports, keys, templates, variants } = management(this.#transport, this.#org)
    this.templates = templates
    this.variants = variants
    this.keys = keys
    this.exports = exports
  }

  #post(
    path: string,
    body: unknown,
    call: Pick<Call, "headers" | "isAnswer" | "longestPause">,
    options?: CallOptions,
  ): Promise<Answer> {
    return send(this.#transport, { method: "POST", path, body, ...call }, options)
  }

  #get(path: string, isAnswer: Call["isAnswer"], options?: CallOptions): Promise<Answer> {
    return send(this.#transport, { method: "GET", path, isAnswer }, options)
  }

  /**
   * Selects and renders the variant that works best for this user. Requires the scope `generate`. Fails with
   * `ParlanceProblem` or `ParlanceUnavailable`. With `fallback`, returns the fallback if the service is unavailable or
   * has no variant that it can render, or if a value cannot be sent, and waits at most `timeout` before a retry, even if
   * `Retry-After` is longer.
   */
  async generate(request: GenerateRequest, { fallback, ...options }: GenerateOptions = {}): Promise<Generated> {
    const tracking_id = request?.tracking_id ?? crypto.randomUUID()
    const instead = (reason: Error, message?: string): Generated => ({
      tracking_id,
      copy_id: undefined,
      vars: fallback ?? {},
      message,
      held_out: false,
      send_nothing: false,
      fallback: reason,
    })
    try {
      const patience = fallback === undefined ? {} : { longestPause: options.timeout ?? this.#transport.timeout }
      const call = { isAnswer: isContent, ...patience }
      const body = members({ ...request, tracking_id })
      const answer = await this.#post(`/api/generate/${this.#org}`, body, call, options)
      const generated = generatedOf(answer.body as unknown as WireContent)
      const isFinal = generated.copy_id !== undefined || generated.held_out || generated.send_nothing
      if (fallback === undefined || isFinal) return generated
      return instead(new Error(generated.message), generated.message)
    } catch (error) {
      if (fallback === undefined || !hasNoContent(error)) throw error
      return instead(error)
    }
  }

  /**
   * Selects and renders variants of several templates for one user. Returns contents by template id. Requires the scope
   * `generate`. Throws a `TypeError` if a template is requested twice.
   */
  async generateBatch(
    { requests, ...shared }: BatchRequest,
    options?: CallOptions,
  ): Promise<Readonly<Record<string, Generated>>> {
    const common = members(shared)
    const named = objectsOf(requests, "requests").map((item) => ({
      ...item,
      tracking_id: item.tracking_id ?? crypto.randomUUID(),
    }))
    if (new Set(named.map((item) => item.template_id)).size < named.length) {
      throw new TypeError("A batch must name each template once, because its result has one entry for each")
    }
    const answers = await Promise.all(
      groupsOf(named, batchSize).map((group) => {
        const isAnswer: Call["isAnswer"] = (body) => group.every(({ template_id }) => isContent(body[template_id]))
        return this.#post(`/api/batch-generate/${this.#org}`, { ...common, requests: group }, { isAnswer }, options)
      }),
    )
    return Object.fromEntries(
      answers.flatMap(({ body }) =>
        Object.entries(body).map(([template, content]) => [template, generatedOf(content as WireContent)])
      ),
    )
  }

  /** Returns the recommended send time of a message to this person. Requires the scope `generate`. */
  async delay(request: DelayRequest, options?: CallOptions): Promise<DelayTime> {
    // The setting SERVICE_WORDS of the service names the member.
    const isAnswer: Call["isAnswer"] = (body) => Object.values(body).some(isDelayTime)
    const { body } = await this.#get(`/api/delay/${this.#org}${queryOf(request)}`, isAnswer, options)
    return Object.values(body).find(isDelayTime) as DelayTime
  }

  /**
   * Queues one e-mail. Requires the scope `deliver`. Fails with a `ParlanceProblem` if the service refuses the message:
   * with the type `recipient-suppressed` for an address on the suppression list, and `held-out` or
   * `send-nothing` for a person who gets no messages.
   */
  async deliver(request: DeliverRequest, { idempotencyKey, ...options }: DeliverOptions = {}): Promise<Queued> {
    const { headers } = await this.#post(`/api/deliver/${this.#org}`, members(request), {
      headers: { "idempotency-key": keyOf(idempotencyKey) },
      isAnswer: ({ status }) => status === "ok",
    }, options)
    return {
      delivery_id: headers.get("parlance-delivery-id") ?? "",
      tracking_id: headers.get("parlance-tracking-id") ?? "",
      repeated: headers.get("idempotent-replayed") === "true",
    }
  }

  /**
   * Lists the organization's deliveries, latest first. `await` returns the first page, `for await` reads the deliveries
   * of all pages.
   */
  deliveries({ cursor, ...filter }: DeliveryFilter = {}, options?: CallOptions): List<DeliveryPage, Delivery> {
    const isAnswer: Call["isAnswer"] = ({ deliveries }) => Array.isArray(deliveries)
    return listOf(
      async (cursor) => {
        const path = `/api/deliveries/${this.#org}${queryOf({ ...filter, cursor })}`
        return (await this.#get(path, isAnswer, options)).body as unknown as DeliveryPage
      },
      ({ deliveries }) => deliveries,
      cursor,
    )
  }

  /** Returns one delivery. Fails with a `ParlanceProblem` of the type `delivery-not-found` if it does not exist. */
  async delivery(id: string, options?: CallOptions): Promise<Delivery> {
    const path = `/api/deliveries/${segment(id)}/${this.#org}`
    return (await this.#get(path, isDelivery, options)).body as Delivery
  }

  /**
   * Cancels a queued delivery. Fails with a `ParlanceProblem` of the type `delivery-fixed` if it is no longer queued.
   */
  async cancelDelivery(id: string, options?: CallOptions): Promise<Delivery> {
    const path = `/api/deliveries/${segment(id)}/cancel/${this.#org}`
    return (await this.#post(path, undefined, { isAnswer: isDelivery }, options)).body as Delivery
  }

  /**
   * Cancels all queued deliveries that match a filter. Returns the action, which may still run: repeat the call with the
   * same `idempotencyKey` for its progress.
   */
  async cancelDeliveries(
    filter: CancelFilter,
    { idempotencyKey, ...options }: DeliverOptions = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.#post(
      `/api/deliveries/cancel/${this.#org}`,
      members(filter),
      { headers: { "idempotency-key": keyOf(idempotencyKey) }, isAnswer: (body) => "action" in body },
      options,
    )
    return body
  }

  /**
   * Reports up to 10,000 events. Returns a verdict on each event. Requires the scope `events`. An event counts once,
   * even if it is sent several times with the same `event_id`. If all events are faulty, fails with a `ParlanceProblem`
   * that lists the faults.
   */
  async sendEvents(events: ReadonlyArray<Event>, options?: CallOptions): Promise<EventAnswer> {
    const named = objectsOf(events, "events").map((event) => ({
      ...event,
      event_id: event.event_id ?? crypto.randomUUID(),
    }))
    const isAnswer: Call["isAnswer"] = ({ items }) => Array.isArray(items)
    const { body } = await this.#post(`/api/webhook/events/${this.#org}`, named, { isAnswer }, options)
    return body as unknown as EventAnswer
  }
}
