import { Effect } from "effect"
import { createServer } from "node:http"

// deno-lint-ignore no-explicit-any -- what a test reads of what was sent it also asserts
type Json = any

/** A span as it was sent. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** 0: not said, 1: went well, 2: failed. */
  readonly status: { readonly code: number }
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
  /** Resource attributes of the process. */
  readonly resource: Readonly<Record<string, unknown>>
}

/** The `traceparent` of a caller that has a trace of its own, or wants none. */
export const traceparent = (traceId: string, sampled: boolean) =>
  `00-${traceId}-${"b".repeat(16)}-${sampled ? "01" : "00"}`

/** The spans from the first of a trace that a service made to this one. */
export const lineOf = (spans: ReadonlyArray<Span>, span: Span): ReadonlyArray<Span> => {
  const parent = spans.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId)
  return parent === undefined ? [span] : [...lineOf(spans, parent), span]
}

/** An OpenTelemetry collector that keeps received data as JSON. */
export interface Collector {
  readonly url: string
  /** Everything it was sent, as it came. */
  readonly text: () => string
  /** The headers of the first request. */
  readonly headers: () => Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly spans: () => ReadonlyArray<Span>
  /** Of each log record its text and attributes. */
  readonly logs: () => ReadonlyArray<Readonly<Record<string, unknown>>>
  /** The names of metrics. */
  readonly metrics: () => ReadonlySet<string>
  /** The resource attributes of all data. */
  readonly resource: () => Readonly<Record<string, unknown>>
}

const attributesOf = (list: Json): Record<string, unknown> =>
  Object.fromEntries((list ?? []).map(({ key, value }: Json) => [key, Object.values(value)[0]]))

/** Listens until the scope closes. With `hangs`, it receives data and never answers. */
export const startCollector = (hangs = false) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<Collector & { readonly close: () => void }>((resolve) => {
        const bodies: Array<{ readonly path: string; readonly text: string; readonly json: Json }> = []
        let headers: Json
        const server = createServer((request, response) => {
          const chunks: Array<Uint8Array> = []
          headers ??= request.headers
          request.on("data", (chunk: Uint8Array) => chunks.push(chunk))
          request.on("end", () => {
            const text = new TextDecoder().decode(Buffer.concat(chunks))
            bodies.push({ path: request.url!, text, json: text.startsWith("{") ? JSON.parse(text) : undefined })
            if (!hangs) response.writeHead(200, { "content-type": "application/json" }).end("{}")
          })
        })
        const sent = (path: string) =>
          bodies.filter((body) => body.path === path && body.json !== undefined).map(({ json }) => json)
        const within = (path: string, resources: string, scopes: string, items: string): ReadonlyArray<Json> =>
          sent(path).flatMap((json: Json) =>
            json[resources].flatMap((one: Json) =>
              one[scopes].flatMap((scope: Json) =>
                scope[items].map((item: Json) => ({ ...item, resource: one.resource.attributes }))
              )
            )
          )
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as { port: number }
          resolve({
            url: `http://127.0.0.1:${port}`,
            text: () => bodies.map(({ text }) => text).join("\n"),
            headers: () => headers,
            spans: () =>
              within("/v1/traces", "resourceSpans", "scopeSpans", "spans").map((span) => ({
                ...span,
                attributes: attributesOf(span.attributes),
                resource: attributesOf(span.resource),
              })),
            logs: () =>
              within("/v1/logs", "resourceLogs", "scopeLogs", "logRecords").map((record) => ({
                ...attributesOf(record.attributes),
                body: JSON.stringify(record.body),
                traceId: record.traceId,
              })),
            metrics: () =>
              new Set(
                within("/v1/metrics", "resourceMetrics", "scopeMetrics", "metrics").map(({ name }) => name as string),
              ),
            resource: () => attributesOf(sent("/v1/traces")[0]?.resourceSpans[0].resource.attributes),
            close: () => {
              server.closeAllConnections()
              server.close()
            },
          })
        })
      })
    ),
    ({ close }) => Effect.sync(close),
  )
