import { Context } from "effect"
import { randomUUID } from "node:crypto"
import { performance } from "node:perf_hooks"
import { kindOf, type RequestKind } from "../admission/LoadGate.ts"
import { headersOf, type RequestHeaders } from "./Head.ts"
import { withPlainPath } from "./PathText.ts"

/** The request id: the caller's `X-Request-Id` if that is 1 to 128 printable ASCII characters, otherwise a new UUID. */
export const requestIdOf = (given: string | null | undefined): string =>
  given !== undefined && given !== null && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()

/** The path of a request and its query. `Deno.serve` gives the whole address, with the `Host` header as it came. */
const targetOf = (address: string): string => {
  const host = address.indexOf("//") + 2
  const path = address.indexOf("/", host)
  const query = address.indexOf("?", host)
  // The path may be absent: `http://host?a=/b`.
  if (query !== -1 && (path === -1 || query < path)) return `/${address.slice(query)}`
  return path === -1 ? "/" : withPlainPath(address.slice(path))
}

/** What the server knows of a request before it is routed. Names of work in progress are made from it. */
export class RequestArrival {
  readonly method: string
  /** The path and the query. */
  readonly url: string
  readonly headers: RequestHeaders
  readonly kind: RequestKind
  readonly requestId: string
  /** Of the connection: a proxy's, if there is one. */
  readonly peer: string
  /** When it is too late for its body. Unit: milliseconds of the process's clock. */
  readonly deadline: number
  /** How long it waited for admission. Unit: milliseconds. */
  waitedMillis = 0
  /** Whether its body is on its way. It causes no work meanwhile. */
  isArriving = false
  /** Reads its body, of which a rest is still to come. */
  unread: ReadableStreamDefaultReader<Uint8Array> | undefined
  /** When work on it began. Unit: Unix milliseconds. */
  begun: number | undefined
  /** Takes the response that a fiber has made. */
  respond: (response: Response) => void = () => {}

  /** `isEnding`: whether the server that it came to ends. */
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
export class CurrentArrival extends Context.Service<CurrentArrival, RequestArrival>()("parlance/http/CurrentArrival") {}
