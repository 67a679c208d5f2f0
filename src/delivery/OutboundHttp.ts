import { Duration, Effect, Schema, type Scope } from "effect"
import { Buffer } from "node:buffer"
import * as http from "node:http"
import * as https from "node:https"
import { AddressGuard, AddressRefused, guardCode } from "../settings/AddressGuard.ts"
import { MayBegin } from "./MayBegin.ts"

/** Timeout of opening a connection, including its TLS handshake. */
const connectTimeout = Duration.seconds(10)
/** Default timeout of a whole request. */
const totalTimeout = Duration.seconds(30)
/** Default of the maximum number of bytes of an answer that are read. */
const maxAnswer = 65_536
/** How long an idle connection is kept. Some platforms close idle connections after 5 seconds. Unit: milliseconds. */
const idleMillis = 4_000

/** The platform sent no answer. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  /**
   * `address`: the guard refused the address. `certificate`: TLS failed for good. `unreachable`: no connection could be
   * opened. `broken`: the connection ended early. `timeout`: the answer took too long. `withheld`: `MayBegin` did not
   * permit the request.
   */
  kind: Schema.Literals(["address", "certificate", "unreachable", "broken", "timeout", "withheld"]),
  /** The error as text, without the request's body and headers. */
  detail: Schema.String,
  /** Whether the request, or part of it, may have arrived. */
  sent: Schema.Boolean,
}) {}

/** A request to a server outside of this installation. */
export interface OutboundRequest {
  readonly method: "GET" | "POST" | "PUT"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The body. Text is sent as UTF-8. */
  readonly body?: string | Uint8Array
  /** Timeout of the whole request. Default: 30 seconds. */
  readonly timeout?: Duration.Duration
  /** Maximum size of the answer that is read. Default: 64 KiB. Unit: bytes. */
  readonly maxBytes?: number
}

/** A complete answer, whose body may be truncated. */
export interface OutboundResponse {
  /** 200 to 599. Redirects are not followed. */
  readonly status: number
  /** By lowercase name. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Up to the first 64 KiB, or `maxBytes`, as UTF-8. */
  readonly body: string
  /** The same part of the body as bytes. */
  readonly bytes: Uint8Array
}

/** Sends requests to servers outside of this installation. */
export interface OutboundHttp {
  /**
   * Sends a request, with a timeout of 30 seconds by default. Interruption ends the connection. Calls `MayBegin` after connecting.
   * Fails with `NoAnswer` if there is no complete answer.
   */
  readonly request: (request: OutboundRequest) => Effect.Effect<OutboundResponse, NoAnswer>
}

interface Progress {
  connected: boolean
  sent: boolean
}

const certificateWords = /certificate|self.signed|issuer|altname|ERR_TLS|CERT_|DEPTH_ZERO|hostname\/ip/i

const faultOf = (error: NodeJS.ErrnoException, { connected, sent }: Progress): NoAnswer => {
  const detail = error.message === "" ? error.code ?? "unknown" : error.message
  if (error instanceof AddressRefused || error.code === guardCode) {
    return new NoAnswer({ kind: "address", detail, sent: false })
  }
  if (certificateWords.test(`${error.code} ${error.message}`)) {
    return new NoAnswer({ kind: "certificate", detail, sent: false })
  }
  return new NoAnswer({ kind: connected ? "broken" : "unreachable", detail, sent })
}

/** Creates a client whose connections close with the scope. */
export const make: Effect.Effect<OutboundHttp, never, Scope.Scope | AddressGuard> = Effect.gen(function* () {
  const guard = yield* AddressGuard
  const options = { keepAlive: true, timeout: idleMillis, maxFreeSockets: 64 }
  // `lookup` is set on the agent, because Node ignores a request's own `lookup` if its agent has one.
  const secure = new https.Agent({ ...options, lookup: guard.lookup } as https.AgentOptions)
  const plain = new http.Agent({ ...options, lookup: guard.lookupListed } as http.AgentOptions)
  const open = new Set<http.ClientRequest>()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const request of open) request.destroy(new Error("The connection was closed here"))
      secure.destroy()
      plain.destroy()
    })
  )

  const attempt = (
    { body, headers, maxBytes = maxAnswer, method, url }: OutboundRequest,
    progress: Progress,
    mayBegin: MayBegin,
  ) =>
    Effect.callback<OutboundResponse, NoAnswer>((resume) => {
      const payload = typeof body === "string" ? Buffer.from(body, "utf8") : body
      const isSecure = url.protocol === "https:"
      let sockets = 0
      let answered = false
      const request = (isSecure ? https : http).request(url, {
        method,
        agent: isSecure ? secure : plain,
        headers: {
          "user-agent": "Parlance",
          accept: "application/json",
          ...headers,
          ...(payload === undefined ? {} : { "content-length": String(payload.length) }),
        },
      })
      open.add(request)
      const fail = (error: NodeJS.ErrnoException) => {
        if (answered) return
        answered = true
        resume(Effect.fail(faultOf(error, progress)))
      }
      request.on("close", () => open.delete(request))
      request.on("error", fail)
      request.on("socket", (socket) => {
        sockets++
        // If a kept connection breaks, the runtime repeats the request by itself, even if the request had arrived.
        if (sockets > 1) return request.destroy(new Error("The connection was reset after the request had been sent"))
        const ready = () => {
          progress.connected = true
          mayBegin((may) => {
            if (answered) return
            if (!may) {
              answered = true
              request.destroy()
              return resume(Effect.fail(new NoAnswer({ kind: "withheld", detail: "It was withheld", sent: false })))
            }
            progress.sent = true
            request.end(payload)
          })
        }
        if (socket.connecting) socket.once(isSecure ? "secureConnect" : "connect", ready)
        else ready()
      })
      request.on("response", (response) => {
        const chunks: Array<Buffer> = []
        let size = 0
        const finish = () => {
          if (answered) return
          answered = true
          const bytes = Buffer.concat(chunks).subarray(0, maxBytes)
          resume(Effect.succeed({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: bytes.toString("utf8"),
            bytes,
          }))
        }
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
          if (size < maxBytes) return
          finish()
          request.destroy()
        })
        response.on("error", fail)
        response.on("aborted", () => fail(new Error("The answer ended early")))
        // Ends with `close`, because the next request cannot use the connection before.
        response.on("close", () => response.complete ? finish() : fail(new Error("The answer ended early")))
      })
      return Effect.sync(() => {
        answered = true
        request.destroy()
      })
    })

  const timedOut = (detail: string, sent: boolean) => new NoAnswer({ kind: "timeout", detail, sent })

  return {
    request: (request) =>
      Effect.suspend(() => {
        // An IP address is never looked up, so it is checked here.
        const refusal = guard.urlRefusalOf(request.url)
        if (refusal !== undefined) return Effect.fail(new NoAnswer({ kind: "address", detail: refusal, sent: false }))
        const { timeout = totalTimeout } = request
        const progress: Progress = { connected: false, sent: false }
        const slowToConnect = Effect.suspend(() =>
          progress.connected
            ? Effect.never
            : Effect.fail(timedOut(`no connection within ${Duration.toSeconds(connectTimeout)} seconds`, false))
        )
        return Effect.flatMap(MayBegin, (mayBegin) => attempt(request, progress, mayBegin)).pipe(
          Effect.raceFirst(Effect.andThen(Effect.sleep(connectTimeout), slowToConnect)),
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () =>
              Effect.fail(timedOut(`no answer within ${Duration.toSeconds(timeout)} seconds`, progress.sent)),
          }),
        )
      }),
  }
})
