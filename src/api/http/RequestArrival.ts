import { Context } from "effect"
import { randomUUID } from "node:crypto"
import { performance } from "node:perf_hooks"
import { kindOf, type RequestKind } from "../admission/LoadGate.ts"
import { withPlainPath } from "./PathText.ts"

/** Request headers by lowercase name. */
export type RequestHeaders = Readonly<Record<string, string>>

/** Returns the headers of a request. Values of a repeated header are joined. */
const headersOf = (headers: Headers): RequestHeaders => {
  const all: Record<string, string> = Object.create(null)
  // `forEach` is faster than a loop over the entries.
  headers.forEach((value, name) => all[name] = value)
  return all
}

/** The request id: the caller's `X-Request-Id` if that is 1 to 128 printable ASCII characters, otherwise a new UUID. */
const requestIdOf = (given: string | undefined): string =>
  given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()

/**
 * Returns the path and the query of a request. `Deno.serve` provides the whole address, which contains the `Host`
 * header unchecked.
 */
const targetOf = (address: string): string => {
  const host = address.indexOf("//") + 2
  const path = address.indexOf("/", host)
  const query = address.indexOf("?", host)
  // The path may be absent: `http://host?a=/b`.
  if (query !== -1 && (path === -1 || query < path)) return `/${address.slice(query)}`
  return path === -1 ? "/" : withPlainPath(address.slice(path))
}

/**
 * A request before it is routed. The monitor of the event loop reports work in progress under the name of its request.
 */
export class RequestArrival {
  readonly method: string
  /** The path and the query. */
  readonly url: string
  readonly headers: RequestHeaders
  readonly kind: RequestKind
  readonly requestId: string
  /** The address of the connection, which is the proxy's behind a proxy. */
  readonly peer: string
  /** The time by which its body must have arrived. Unit: milliseconds of the process's clock. */
  readonly deadline: number
  /** The time that it spent in the queue for admission. Unit: milliseconds. */
  waitedMillis = 0
  /** Whether its body is still arriving. The request causes no work until then. */
  isArriving = false
  /** The reader of a body that has not been read completely. */
  unread: ReadableStreamDefaultReader<Uint8Array> | undefined
  /** Time at which work on the request began. Unit: Unix milliseconds. */
  begun: number | undefined
  /** Sends the response that a fiber made. */
  respond: (response: Response) => void = () => {}

  /** `isEnding`: whether the server that received it is shutting down. */
  constructor(
    readonly request: Request,
    peer: string,
    requestTimeoutMillis: number,
    readonly isEnding: () => boolean = () => false,
  ) {
    this.method = request.method
    this.url = targetOf(request.url)
    this.headers = headersOf(request.headers)
    this.kind = kindOf(this.url)
    this.requestId = requestIdOf(this.headers["x-request-id"])
    this.peer = peer
    this.deadline = performance.now() + requestTimeoutMillis
  }
}

/** The arrival of the request that a fiber answers. */
export class CurrentArrival
  extends Context.Service<CurrentArrival, RequestArrival>()("parlance/api/http/CurrentArrival") {}
