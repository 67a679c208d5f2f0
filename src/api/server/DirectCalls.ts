import type { Clock } from "effect"
import { Buffer } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Grant, KeyAuth, PresentedKey } from "../../auth/KeyAuth.ts"
import type { Scope } from "../../domain/ApiKey.ts"
import type { Access } from "../../telemetry/AccessLog.ts"
import { keyOf } from "../admission/KeyRequired.ts"
import { waitedMillis } from "../admission/LoadGate.ts"
import { chargeEarly, headersOfWindow } from "../admission/RateLimits.ts"
import { noteRequestId } from "../ApiPaths.ts"
import * as Body from "./Body.ts"
import type { DirectCall, DirectReply, DirectRequest, Pass } from "./DirectRoutes.ts"
import { requestIdOf } from "./Envelope.ts"
import { kindOf, measure } from "./RequestMetrics.ts"

// Calls of the API with a key, without the layers of the router, for two thirds of the processor time. The router takes every
// call that is refused or unusual, so that this module knows no refusals.

/** A response with status 200 before it is written. */
export interface Ready {
  /** By lowercase name. */
  readonly headers: Readonly<Record<string, string>>
  readonly json: unknown
}

/** A kind of call. `A`: a decoded request, `R`: its result, from which the response is made. */
export interface CallOf<A, R> {
  readonly method: "GET" | "POST"
  /** The address, up to the organization. */
  readonly prefix: string
  readonly scope: Scope
  /** Whether the key can be charged here; the router charges the others. Default: for one request. */
  readonly isCharged?: (request: DirectRequest, asked: A, window: Grant["window"]) => boolean
  /**
   * Calls `done` once, which may be at once: with undefined where the router has to answer. `org`: where decisions, events and
   * messages of the key are kept.
   */
  readonly answer: (org: string, asked: A, done: (result: R | undefined) => void, request: DirectRequest) => void
  /** Makes the response from the result. */
  readonly ready: (result: R, asked: A) => Ready
}

export interface CallServices {
  readonly keys: KeyAuth["Service"]
  readonly clock: Clock.Clock
  readonly logAccess: ((access: Access) => void) | undefined
}

/** The last key of each connection. */
const presented = new WeakMap<object, PresentedKey>()

const presentedBy = ({ socket }: DirectRequest): PresentedKey => {
  let last = presented.get(socket)
  if (last === undefined) presented.set(socket, last = {})
  return last
}

/** The grant of the request's key for the organization; undefined where the router has to look closer. */
const grantOf = (
  { keys }: CallServices,
  { prefix, scope }: Pick<CallOf<never, never>, "prefix" | "scope">,
  request: DirectRequest,
  path: string,
): Grant | undefined => {
  const key = keyOf(request.headers as Body.RequestHeaders)
  const grant = key === undefined ? undefined : keys.known(key, presentedBy(request))
  return grant !== undefined && path.length === prefix.length + grant.org.length && path.endsWith(grant.org) &&
      grant.scopes.has(scope)
    ? grant
    : undefined
}

/** Writes the response to a request. Closes the connection where that fails: an exception would end the group commit. */
const respond = <A, R>(
  { ready }: CallOf<A, R>,
  result: R,
  asked: A,
  response: DirectReply,
  requestId: string,
  window: Grant["window"],
): void => {
  try {
    const { headers: own, json } = ready(result, asked)
    const text = JSON.stringify(json)
    const headers = { ...own, "content-length": Buffer.byteLength(text), "x-request-id": requestId }
    response.writeHead(200, window?.isAnnounced === true ? { ...headers, ...headersOfWindow(window, 0) } : headers)
    response.end(text)
  } catch {
    response.destroy()
  }
}

/** Answers a call whose request is decoded, or passes it on. */
const answerCall = <A, R>(
  { clock, logAccess }: CallServices,
  call: CallOf<A, R>,
  grant: Grant,
  request: DirectRequest,
  response: DirectReply,
  asked: A | undefined,
  pass: Pass,
): void => {
  if (asked === undefined) return pass(request, response)
  if (!(call.isCharged?.(request, asked, grant.window) ?? chargeEarly(request, grant.window))) {
    return pass(request, response)
  }
  const begun = clock.currentTimeMillisUnsafe() - waitedMillis(request)
  const requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
  noteRequestId(request, requestId)
  call.answer(grant.dataOrg, asked, (result) => {
    if (result === undefined) return pass(request, response)
    // The client has gone, or its connection was closed.
    if (response.destroyed) return
    respond(call, result, asked, response, requestId, grant.window)
    const { method, prefix } = call
    const millis = clock.currentTimeMillisUnsafe() - begun
    measure(kindOf(prefix), 200, millis)
    logAccess?.({ method, route: `${prefix}:org`, status: 200, millis, org: grant.org, requestId })
  }, request)
}

/** A call by POST. `decode`: undefined for a body with faults, or that deserves a warning. */
export const directPost = <A, R>(
  services: CallServices,
  call: CallOf<A, R>,
  decode: (body: Uint8Array, request: DirectRequest) => A | undefined,
): DirectCall => {
  const take = (grant: Grant, request: DirectRequest, response: DirectReply, body: Body.Arrived, pass: Pass) => {
    const asked = body instanceof Uint8Array ? decode(body, request) : undefined
    answerCall(services, call, grant, request, response, asked, pass)
  }
  const read = (grant: Grant, request: DirectRequest, response: DirectReply, pass: Pass) =>
    void Body.read(request as IncomingMessage, response as ServerResponse, Body.maxBodyBytes, (body) => {
      // For the router, to which the request may still be passed.
      Body.keep(request, body)
      take(grant, request, response, body, pass)
    })
  return (request, response, pass) => {
    const grant = grantOf(services, call, request, request.url!)
    if (grant === undefined || !Body.isPlain(request.headers as Body.RequestHeaders)) return false
    const kept = Body.keptOf(request)
    if (kept === undefined) read(grant, request, response, pass)
    else take(grant, request, response, kept, pass)
    return true
  }
}

/** A call by GET. `decode`: undefined for parameters with faults, or that deserve a warning. */
export const directGet = <A, R>(
  services: CallServices,
  call: CallOf<A, R>,
  decode: (query: URLSearchParams) => A | undefined,
): DirectCall =>
(request, response, pass) => {
  const url = request.url!
  const at = url.indexOf("?")
  const grant = grantOf(services, call, request, at === -1 ? url : url.slice(0, at))
  const asked = grant === undefined ? undefined : decode(new URLSearchParams(at === -1 ? "" : url.slice(at + 1)))
  if (grant === undefined || asked === undefined) return false
  answerCall(services, call, grant, request, response, asked, pass)
  return true
}
