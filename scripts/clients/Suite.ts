import type { Examples } from "../../src/api/openapi/Examples.ts"
import type { PublicDocument } from "./PublicDocument.ts"

// The contract suite of the clients as data: for each case a call, the requests that it must send, and the answers.

/** The arguments of a call, by the place that they have in its request. */
export interface Input {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A request that a client must send, and the answer to it. */
export interface Exchange {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly query?: Readonly<Record<string, string>>
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
  }
  readonly response: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    /** The answer as JSON. */
    readonly body?: unknown
    /** The answer as a text. */
    readonly text?: string
    /** Whether the connection is closed without an answer, or after `text` and before the end of the body. */
    readonly isCut?: boolean
  }
}

/** How a call ends: with an answer, the rows of all pages, a problem, or without an answer. */
export type Outcome =
  | { readonly answer: unknown }
  | { readonly rows: ReadonlyArray<unknown> }
  | { readonly problem: Readonly<Record<string, unknown>> }
  | { readonly unavailable: string }

/** One case of the suite. */
export interface Case {
  readonly name: string
  readonly operation: string
  readonly input: Input
  readonly exchanges: ReadonlyArray<Exchange>
  readonly outcome: Outcome
}

/** Responses of these operations have rows as NDJSON. */
const isExport = (operation: string): boolean => operation.startsWith("export")

/** Headers of responses that examples do not have. */
const responseHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deliver: { "parlance-delivery-id": "delivery-1", "parlance-tracking-id": "tracking-1" },
}

type Members = Readonly<Record<string, unknown>>

/** Adds the ids that a client would make, so that the request of a case is always the same. */
const withIds = (operation: string, body: unknown, response: unknown): unknown => {
  if (operation === "generate") return { ...body as Members, tracking_id: (response as Members)["tracking_id"] }
  if (operation !== "batchGenerate") return body
  const { requests, ...shared } = body as { readonly requests: ReadonlyArray<{ readonly template_id: string }> }
  const answers = response as Readonly<Record<string, Members>>
  return {
    ...shared,
    requests: requests.map((one) => ({ ...one, tracking_id: answers[one.template_id]!["tracking_id"] })),
  }
}

const groupOf = (names: ReadonlyArray<string>, values: Readonly<Record<string, string>>) => {
  const found = names.flatMap((name) => values[name] === undefined ? [] : [[name, values[name]] as const])
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

const outcomeOf = (operation: string, response: unknown): Outcome => {
  if (isExport(operation)) return { rows: [] }
  const lists = ["listTemplates", "listOwnDeliveries", "listKeys"]
  if (!lists.includes(operation)) return { answer: response ?? null }
  return { rows: Object.values(response as Members).find(Array.isArray) as ReadonlyArray<unknown> }
}

/** Returns a case for each operation of the document, by the recorded examples. */
export const casesOf = (document: PublicDocument, examples: Examples): ReadonlyArray<Case> =>
  document.operations.map(({ id, method, parameters, path }) => {
    const example = examples[id]!
    const values = { ...example.parameters }
    if (parameters.header.includes("idempotency-key")) values["idempotency-key"] ??= "cart-1"
    const body = withIds(id, example.request, example.response)
    const input: Input = JSON.parse(JSON.stringify({
      path: groupOf(parameters.path.filter((name) => name !== "org"), values),
      query: groupOf(parameters.query, values),
      headers: groupOf(parameters.header, values),
      body,
    }))
    const written = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]!))
    const exports = isExport(id)
    return {
      name: id,
      operation: id,
      input,
      exchanges: [{
        request: {
          method: method.toUpperCase(),
          path: written,
          ...(input.query === undefined ? {} : { query: input.query }),
          headers: { "x-api-key": "plk_EXAMPLE", ...input.headers },
          ...(body === undefined ? {} : { body }),
        },
        response: {
          status: example.status,
          headers: exports ? { "parlance-cursor": "CURSOR", "parlance-more": "false" } : responseHeaders[id] ?? {},
          ...(exports || example.status === 204 ? { text: "" } : { body: lastPage(example.response) }),
        },
      }],
      outcome: outcomeOf(id, example.response),
    }
  })

/** Returns a response without a following page. */
const lastPage = (response: unknown): unknown =>
  typeof response === "object" && response !== null && "next_cursor" in response
    ? { ...response, next_cursor: null, next: null }
    : response
