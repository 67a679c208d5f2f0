import { Context, Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Settings } from "../Settings.ts"
import { absoluteMillis, type Client } from "./Sessions.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The cookie of console sessions: `__Host-` and `Secure` where `PUBLIC_URL` is https. */
export class SessionCookie extends Context.Service<SessionCookie, {
  /** The token in the request's cookie; undefined without one. */
  readonly read: (request: Request) => string | undefined
  /** `Set-Cookie` for a new session. */
  readonly set: (token: string) => string
  /** `Set-Cookie` that ends it. */
  readonly clear: string
  /** Attributes of every cookie of ours but its age. */
  readonly attributes: string
  /** Whether a request that changes something comes from a page of ours; a browser says so, others need not. */
  readonly isSameOrigin: (request: Request) => boolean
  /** Under which address people reach the console, as far as `PUBLIC_URL` or the request says; without a slash at the end. */
  readonly originOf: (request: Request) => string
}>()("parlance/accounts/SessionCookie") {
  static readonly layer = Layer.effect(
    SessionCookie,
    Effect.gen(function* () {
      const publicUrl = Option.getOrUndefined((yield* Settings).publicUrl)
      const secure = publicUrl?.protocol === "https:"
      const name = secure ? "__Host-parlance_session" : "parlance_session"
      const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`
      return SessionCookie.of({
        attributes,
        read: (request) => request.cookies[name],
        set: (token) => `${name}=${token}; ${attributes}; Max-Age=${absoluteMillis / 1000}`,
        clear: `${name}=; ${attributes}; Max-Age=0`,
        isSameOrigin: ({ headers }) => {
          const site = headers["sec-fetch-site"]
          if (site !== undefined && site !== "same-origin" && site !== "none") return false
          const origin = headers["origin"]
          if (origin === undefined) return true
          try {
            return new URL(origin).host === headers["host"] || origin === publicUrl?.origin
          } catch {
            return false
          }
        },
        originOf: ({ headers }) =>
          publicUrl === undefined
            // A header that is still there comes from a proxy that is trusted (see TrustedProxies).
            ? `${headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${headers["host"] ?? "127.0.0.1"}`
            : publicUrl.href.replace(/\/$/, ""),
      })
    }),
  )
}

/** Where a request comes from, for the list of sessions and the limits of attempts. */
export const clientOf = (request: Request): Client => ({
  userAgent: request.headers["user-agent"] ?? "",
  address: Option.getOrElse(request.remoteAddress, () => "unknown"),
})
