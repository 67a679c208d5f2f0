import { type Answer, type Call, isObject, send, type Transport } from "./http.ts"
import { type List, listOf } from "./pages.ts"
import type {
  ApiKey,
  CallOptions,
  CreatedKey,
  ExportedRow,
  ExportOptions,
  KeyInput,
  ResultsWindow,
  Template,
  TemplateInput,
  TemplatePage,
  TemplateResults,
  Variant,
  VariantInput,
  WaitingChange,
} from "./types.ts"
import { members, queryOf, segment } from "./values.ts"

// Calls of the management API. Each needs a scope of it, such as `templates:read`.

type Send = (
  method: Call["method"],
  path: string,
  call?: Partial<Pick<Call, "body" | "isAnswer" | "isOnce" | "parse">>,
  options?: CallOptions,
) => Promise<Answer>

/** Returns the function that sends calls about one organization. */
const sender = (transport: Transport, org: string): Send => (method, path, call = {}, options = {}) =>
  send(transport, { method, path: `/console/api/organizations/${org}${path}`, isAnswer: isObject, ...call }, options)

const hasId: Call["isAnswer"] = ({ id }) => typeof id === "string"

/** A change that is live, or a change that waits for approval. */
const isChange: Call["isAnswer"] = (body) => hasId(body) || Array.isArray(body["proposals"])

const hasList = (name: string): Call["isAnswer"] => (body) => Array.isArray(body[name])

/** Templates: `client.templates`. */
export class Templates {
  readonly #send: Send

  constructor(send: Send) {
    this.#send = send
  }

  /** Lists templates with their variants, sorted by id. Requires the scope `templates:read`. */
  list(
    { cursor, ...query }: {
      /** `false` (default): templates in use, `true`: archived templates, `all`: both. */
      readonly archived?: "false" | "true" | "all"
      /** Rows of a page, 1 to 1,000. Default: 100. */
      readonly limit?: number
      readonly cursor?: string
    } = {},
    options?: CallOptions,
  ): List<TemplatePage, Template> {
    const call = { isAnswer: hasList("templates") }
    return listOf(
      async (cursor) =>
        (await this.#send(
          "GET",
          `/templates${queryOf({ ...query, cursor })}`,
          call,
          options,
        )).body as never as TemplatePage,
      ({ templates }) => templates,
      cursor,
    )
  }

  /** Returns one template. Fails with a `ParlanceProblem` of the type `template-not-found` if it does not exist. */
  async get(id: string, options?: CallOptions): Promise<Template> {
    return (await this.#send("GET", `/templates/${segment(id)}`, { isAnswer: hasId }, options)).body as never
  }

  /** Creates a template, with variants if given. Requires the scope `templates:write`. */
  async create(template: TemplateInput, options?: CallOptions): Promise<Template | WaitingChange> {
    const call = { body: members(template), isAnswer: isChange, isOnce: true }
    return (await this.#send("POST", "/templates", call, options))
      .body as never
  }

  /** Changes a template. Absent members stay unchanged. Requires the scope `templates:write`. */
  async update(id: string, change: Partial<TemplateInput>, options?: CallOptions): Promise<Template | WaitingChange> {
    const call = { body: members(change), isAnswer: isChange }
    return (await this.#send("PATCH", `/templates/${segment(id)}`, call, options)).body as never
  }

  /** Returns the results of the variants, with the winner if there is one. Requires the scope `results:read`. */
  async results(id: string, window: ResultsWindow = {}, options?: CallOptions): Promise<TemplateResults> {
    const path = `/templates/${segment(id)}/results${queryOf(window)}`
    return (await this.#send("GET", path, { isAnswer: hasList("variants") }, options)).body as never
  }
}

/** Variants of templates: `client.variants`. */
export class Variants {
  readonly #send: Send

  constructor(send: Send) {
    this.#send = send
  }

  /** Creates a variant. Requires the scope `templates:write`. */
  async create(template: string, variant: VariantInput, options?: CallOptions): Promise<Variant | WaitingChange> {
    const call = { body: members(variant), isAnswer: isChange, isOnce: true }
    return (await this.#send("POST", `/templates/${segment(template)}/variants`, call, options)).body as never
  }

  /** Changes a variant. Absent members stay unchanged. Requires the scope `templates:write`. */
  async update(
    template: string,
    id: string,
    change: Partial<VariantInput>,
    options?: CallOptions,
  ): Promise<Variant | WaitingChange> {
    const call = { body: members(change), isAnswer: isChange }
    const path = `/templates/${segment(template)}/variants/${segment(id)}`
    return (await this.#send("PATCH", path, call, options)).body as never
  }
}

/** API keys: `client.keys`. Each call requires the scope `admin`. */
export class Keys {
  readonly #send: Send

  constructor(send: Send) {
    this.#send = send
  }

  /** Returns the keys without their secrets. */
  async list(options?: CallOptions): Promise<ReadonlyArray<ApiKey>> {
    return (await this.#send("GET", "/keys", { isAnswer: hasList("keys") }, options)).body["keys"] as never
  }

  /** Creates a key. Only this answer contains the secret, as `key`. */
  async create(key: KeyInput, options?: CallOptions): Promise<CreatedKey> {
    const isAnswer: Call["isAnswer"] = ({ key }) => typeof key === "string"
    return (await this.#send("POST", "/keys", { body: members(key), isAnswer, isOnce: true }, options)).body as never
  }

  /** Revokes a key on all nodes within 5 seconds. */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#send("DELETE", `/keys/${segment(id)}`, { parse: () => ({}) }, options)
  }
}

/** Timeout of each page of an export, unless the client has a longer one. Unit: milliseconds. */
const exportTimeout = 30_000

const parseRows = (text: string): { readonly rows: ReadonlyArray<unknown> } | undefined => {
  try {
    return { rows: text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)) }
  } catch {
    return undefined
  }
}

/** The rows of an export, read page by page. */
export class ExportedRows implements AsyncIterable<ExportedRow> {
  /** Continues the export after the last page whose rows were all read. Store it for the next run. */
  cursor: string | undefined
  readonly #page: (cursor: string | undefined) => Promise<Answer>

  constructor(page: (cursor: string | undefined) => Promise<Answer>, cursor: string | undefined) {
    this.#page = page
    this.cursor = cursor
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExportedRow> {
    for (let hasMore = true; hasMore;) {
      const { body, headers } = await this.#page(this.cursor)
      yield* body["rows"] as ReadonlyArray<ExportedRow>
      this.cursor = headers.get("parlance-cursor") ?? this.cursor
      hasMore = headers.get("parlance-more") === "true"
    }
  }
}

/** Exports for a warehouse: `client.exports`. Each call requires the scope `results:read`. */
export class Exports {
  readonly #send: Send
  readonly #timeout: number

  constructor(send: Send, timeout: number) {
    this.#send = send
    this.#timeout = Math.max(timeout, exportTimeout)
  }

  #export(stream: string, { cursor, limit, since, ...options }: ExportOptions): ExportedRows {
    const page = (cursor: string | undefined) => {
      const path = `/exports/${stream}${queryOf({ cursor, limit, since: cursor === undefined ? since : undefined })}`
      return this.#send("GET", path, { parse: parseRows }, { timeout: this.#timeout, ...options })
    }
    return new ExportedRows(page, cursor)
  }

  /** Reads decisions: one row for each selected variant. */
  decisions(options: ExportOptions = {}): ExportedRows {
    return this.#export("decisions", options)
  }

  /** Reads events: one row for each event and decision. */
  events(options: ExportOptions = {}): ExportedRows {
    return this.#export("events", options)
  }

  /** Reads deliveries: one row for each queued message. */
  deliveries(options: ExportOptions = {}): ExportedRows {
    return this.#export("deliveries", options)
  }
}

/** Returns the calls of the management API for one organization. `org` is escaped. */
export const management = (transport: Transport, org: string) => {
  const send = sender(transport, org)
  return {
    templates: new Templates(send),
    variants: new Variants(send),
    keys: new Keys(send),
    exports: new Exports(send, transport.timeout),
  }
}
