import { type Clock, Result } from "effect"
import { Buffer } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Grant, KeyAuth } from "../../auth/KeyAuth.ts"
import type { Answer } from "../../decide/Answer.ts"
import type { Decider } from "../../decide/Decider.ts"
import type { Decode } from "../../domain/Faults.ts"
import { keyOf } from "../admission/KeyRequired.ts"
import { waitedMillis } from "../admission/LoadGate.ts"
import { chargeEarly, headersOfWindow } from "../admission/RateLimits.ts"
import { noteRequestId } from "../ApiPaths.ts"
import type { Access } from "../../telemetry/AccessLog.ts"
import * as Body from "../server/Body.ts"
import type { DirectPost } from "../server/DirectRoutes.ts"
import { requestIdOf } from "../server/Envelope.ts"
import { kindOf, measure } from "../server/RequestMetrics.ts"
import { contentType, headersOf, toWire, toWireBatch } from "./GenerateAnswer.ts"
import { batchBody, type BatchGenerateRequest, generateBody, type GenerateRequest } from "./GenerateWire.ts"

// Generate and Batch generate by POST for nearly every request: with a known key and a small body without faults, and with
// decisions as its answer. It runs from the body to the response without a fiber, for two thirds of the processor time. The
// router takes every other request, so that this module knows no refusals.

/** A response before it is written. */
interface Ready {
  readonly answers: ReadonlyArray<Answer>
  readonly json: unknown
}

/** One of the two routes. */
interface Route<A> {
  readonly prefix: string
  readonly decode: Decode<A>
  /** Whether the key of a request can be charged here. The router charges the others. */
  readonly isCharged: (request: IncomingMessage, asked: A, window: Grant["window"]) => boolean
  /** Calls `done` once: with undefined where the router has to answer. */
  readonly decide: (org: string, asked: A, done: (ready: Ready | undefined) => void) => void
}

/** The grant of the request's key for its organization; undefined where the router has to look closer. */
const grantOf = (
  keys: KeyAuth["Service"],
  prefix: string,
  url: string,
  headers: Body.RequestHeaders,
): Grant | undefined => {
  const key = keyOf(headers)
  const grant = key === undefined ? undefined : keys.known(key)
  return grant !== undefined && url.slice(prefix.length) === grant.org && grant.scopes.has("generate")
    ? grant
    : undefined
}

/** The request in a body; undefined for one with faults, or with members that are unknown. */
const requestIn = <A>(body: Uint8Array, decode: Decode<A>): A | undefined => {
  let json: unknown
  try {
    json = Body.parse(body)
  } catch {
    return undefined
  }
  const decoded = decode(json)
  return Result.isSuccess(decoded) && decode.unknownMembers!(json).length === 0 ? decoded.success : undefined
}

/** Writes a response. Closes the connection where that fails: an exception would end the group commit. */
const respond = (response: ServerResponse, ready: Ready, requestId: string, window: Grant["window"]): void => {
  try {
    write(response, ready, requestId, window)
  } catch {
    response.destroy()
  }
}

const write = (
  response: ServerResponse,
  { answers, json }: Ready,
  requestId: string,
  window: Grant["window"],
): void => {
  const text = JSON.stringify(json)
  const headers = {
    ...headersOf(answers),
    "content-type": contentType,
    "content-length": Buffer.byteLength(text),
    "x-request-id": requestId,
  }
  response.writeHead(200, window?.isAnnounced === true ? { ...headers, ...headersOfWindow(window, 0) } : headers)
  response.end(text)
}

const post = <A>(
  { decide, decode, isCharged, prefix }: Route<A>,
  keys: KeyAuth["Service"],
  clock: Clock.Clock,
  logAccess: ((access: Access) => void) | undefined,
): DirectPost => {
  const kind = kindOf(prefix)
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    grant: Grant,
    asked: A,
    pass: () => void,
  ) => {
    const begun = clock.currentTimeMillisUnsafe() - waitedMillis(request)
    const requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
    noteRequestId(request, requestId)
    decide(grant.dataOrg, asked, (ready) => {
      if (ready === undefined) return pass()
      // The client has gone, or its connection was closed.
      if (response.destroyed) return
      respond(response, ready, requestId, grant.window)
      const millis = clock.currentTimeMillisUnsafe() - begun
      measure(kind, 200, millis)
      logAccess?.({ method: "POST", route: `${prefix}:org`, status: 200, millis, org: grant.org, requestId })
    })
  }

  return (request, response, pass) => {
    const headers = request.headers as Body.RequestHeaders
    const grant = grantOf(keys, prefix, request.url!, headers)
    if (grant === undefined || !Body.isPlain(headers)) return false
    Body.read(request, response, Body.maxBodyBytes, (body) => {
      const passOn = () => {
        Body.keep(request, body)
        pass(request, response)
      }
      const asked = body instanceof Uint8Array ? requestIn(body, decode) : undefined
      if (asked === undefined || !isCharged(request, asked, grant.window)) return passOn()
      answer(request, response, grant, asked, passOn)
    })
    return true
  }
}

const generate = (decider: Decider["Service"]): Route<GenerateRequest> => ({
  prefix: "/api/generate/",
  decode: generateBody,
  isCharged: (request, _, window) => chargeEarly(request, window),
  decide: (org, asked, done) =>
    decider.whenDecided(
      org,
      asked,
      (answer) => done(answer === undefined ? undefined : { answers: [answer], json: toWire(answer) }),
    ),
})

const batchGenerate = (decider: Decider["Service"]): Route<BatchGenerateRequest> => ({
  prefix: "/api/batch-generate/",
  decode: batchBody,
  // Every item is a request.
  isCharged: (request, { items }, window) =>
    window === undefined || (items.length === 1 && chargeEarly(request, window)),
  decide: (org, asked, done) =>
    decider.whenBatchDecided(
      org,
      asked,
      (answers) =>
        done(
          answers === undefined
            ? undefined
            : { answers: answers.map(([, answer]) => answer), json: toWireBatch(answers) },
        ),
    ),
})

/** Direct routes of Generate and Batch generate by POST, by the prefixes of their addresses. */
export const directPosts = (
  keys: KeyAuth["Service"],
  decider: Decider["Service"],
  clock: Clock.Clock,
  logAccess?: (access: Access) => void,
): ReadonlyArray<readonly [prefix: string, route: DirectPost]> => {
  const made = <A>(route: Route<A>) => [route.prefix, post(route, keys, clock, logAccess)] as const
  return [made(generate(decider)), made(batchGenerate(decider))]
}
