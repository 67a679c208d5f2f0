import { Context, Effect, Layer, Option } from "effect"
import { Cookies, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Settings } from "../settings/Settings.ts"
import { PasskeysOff } from "./AccountErrors.ts"
import { knownMillis } from "./Devices.ts"
import { absoluteMillis, type Client } from "./Sessions.ts"
import type { Entered } from "./SignIn.ts"
import { type Site, siteOf } from "./WebAuthn.ts"

/** Adds texts of `Set-Cookie` to a response. */
export const withCookies = (
  response: HttpServerResponse.HttpServerResponse,
  texts: ReadonlyArray<string>,
): HttpServerResponse.HttpServerResponse => HttpServerResponse.mergeCookies(response, Cookies.fromSetCookie(texts))

type Request = HttpServerRequest.HttpServerRequest

/** The cookie of console sessions. It has the prefix `__Host-` and the attribute `Secure` if `PUBLIC_URL` is https. */
export class SessionCookie extends Context.Service<SessionCookie, {
  /** Returns the token in the request's cookie. Undefined without one. */
  readonly read: (request: Request) => string | undefined
  /** Returns `Set-Cookie` for a session that begins, and for its device. */
  readonly of: (entered: Pick<Entered, "token" | "device">) => ReadonlyArray<string>
  /** Returns the client of a request, for the list of sessions and the limits of attempts. */
  readonly clientOf: (request: Request) => Client
  /** Returns the first step of a sign-in that awaits its second factor. Undefined without one. */
  readonly readPending: (request: Request) => string | undefined
  /** `Set-Cookie` that stores the first step, and that removes it. */
  readonly setPending: (pending: string) => string
  readonly clearPending: string
  /** `Set-Cookie` that ends a session. */
  readonly clear: string
  /** Attributes of every cookie of the service, except its age. */
  readonly attributes: string
  /**
   * Whether a request that changes something comes from one of our pages. Browsers send this information, other clients
   * need not.
   */
  readonly isSameOrigin: (request: Request) => boolean
  /**
   * Returns the URL under which people reach the console, according to `PUBLIC_URL` or the request. Without a slash at
   * the end.
   */
  readonly originOf: (request: Request) => string
  /** Returns the site of that URL, to which passkeys belong. Fails with `PasskeysOff` if browsers accept none there. */
  readonly siteOf: (request: Request) => Effect.Effect<Site, PasskeysOff>
}>()("parlance/accounts/SessionCookie") {
  static readonly layer = Layer.effect(
    SessionCookie,
    Effect.gen(function* () {
      const publicUrl = Option.getOrUndefined((yield* Settings).publicUrl)
      const secure = publicUrl?.protocol === "https:"
      const prefix = secure ? "__Host-" : ""
      const name = `${prefix}parlance_session`
      const deviceName = `${prefix}parlance_device`
      const pendingName = `${prefix}parlance_pending`
      const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`
      const originOf = ({ headers }: Request) =>
        publicUrl === undefined
          // Such a header is only present if it comes from a trusted proxy (see TrustedProxies).
          ? `${headers["x-forwarded-proto"] === "https" ? "https" : "http"}://${headers["host"] ?? "127.0.0.1"}`
          : publicUrl.href.replace(/\/$/, "")
      return SessionCookie.of({
        attributes,
        read: (request) => request.cookies[name],
        of: ({ device, token }) => [
          `${name}=${token}; ${attributes}; Max-Age=${absoluteMillis / 1000}`,
          `${deviceName}=${device}; ${attributes}; Max-Age=${knownMillis / 1000}`,
        ],
        clientOf: (request) => ({
          userAgent: request.headers["user-agent"] ?? "",
          address: Option.getOrElse(request.remoteAddress, () => "unknown"),
          deviceCookie: request.cookies[deviceName],
        }),
        readPending: (request) => request.cookies[pendingName],
        setPending: (pending) => `${pendingName}=${pending}; ${attributes}; Max-Age=600`,
        clearPending: `${pendingName}=; ${attributes}; Max-Age=0`,
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
        originOf,
        siteOf: (request) => {
          const site = siteOf(originOf(request))
          return site === undefined ? new PasskeysOff() : Effect.succeed(site)
        },
      })
    }),
  )
}
