import { type Clock, Result } from "effect"
import { Buffer } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Grant, KeyAuth } from "../../auth/KeyAuth.ts"
import type { Answer } from "../../decide/Answer.ts"
import type { Decider } from "../../decide/Decider.ts"
import { keyOf } from "../admission/KeyRequired.ts"
import { waitedMillis } from "../admission/LoadGate.ts"
import { chargeEarly, headersOfWindow } from "../admission/RateLimits.ts"
import { noteRequestId } from "../ApiPaths.ts"
import type { Access } from "../../telemetry/AccessLog.ts"
import * as Body from "../server/Body.ts"
import type { DirectPost } from "../server/DirectRoutes.ts"
import { requestIdOf } from "../server/Envelope.ts"
import { measure } from "../server/RequestMetrics.ts"
import { contentType, headersOf, toWire } from "./GenerateAnswer.ts"
import { generateBody, type GenerateRequest } from "./GenerateWire.ts"

// Generate by POST for nearly every request: with a known key and a small body without faults, and with a decision as its
// answer. It runs from the body to the response without a fiber, for two thirds of the processor time. The router takes
// every other request, so that this module knows no refusals.

const prefix = "/api/generate/"

/** The grant of the request's key for its organization; undefined where the router has to look closer. */
const grantOf = (keys: KeyAuth["Service"], url: string, headers: Body.RequestHeaders): Grant | undefined => {
  const key = keyOf(headers)
  const grant = key === undefined ? undefined : keys.known(key)
  return grant !== undefined && url.slice(prefix.length) === grant.org && grant.scopes.has("generate")
    ? grant
    : undefined
}

/** The request in a body; undefined for one with faults, or with members that are unknown. */
const requestIn = (body: Uint8Array): GenerateRequest | undefined => {
  let json: unknown
  try {
    json = Body.parse(body)
  } catch {
    return undefined
  }
  const decoded = generateBody(json)
  return Result.isSuccess(decoded) && generateBody.unknownMembers!(json).length === 0 ? decoded.success : undefined
}

/** Writes the response to a decision. Closes the connection where that fails: an exception would end the group commit. */
const respond = (response: ServerResponse, answer: Answer, requestId: string, window: Grant["window"]): void => {
  try {
    write(response, answer, requestId, window)
  } catch {
    response.destroy()
  }
}

const write = (response: ServerResponse, answer: Answer, requestId: string, window: Grant["window"]): void => {
  const text = JSON.stringify(toWire(answer))
  const headers = {
    ...headersOf([answer]),
    "content-type": contentType,
    "content-length": Buffer.byteLength(text),
    "x-request-id": requestId,
  }
  response.writeHead(200, window?.isAnnounced === true ? { ...headers, ...headersOfWindow(window, 0) } : headers)
  response.end(text)
}

/** Generate by POST, directly where that is possible. */
export const generateDirectly = (
  keys: KeyAuth["Service"],
  decider: Decider["Service"],
  clock: Clock.Clock,
  logAccess?: (access: Access) => void,
): DirectPost => {
  const decide = (
    request: IncomingMessage,
    response: ServerResponse,
    grant: Grant,
    asked: GenerateRequest,
    pass: () => void,
  ) => {
    const begun = clock.currentTimeMillisUnsafe() - waitedMillis(request)
    const requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
    noteRequestId(request, requestId)
    decider.whenDecided(grant.dataOrg, asked, (answer) => {
      if (answer === undefined) return pass()
      // The client has gone, or its connection was closed.
      if (response.destroyed) return
      respond(response, answer, requestId, grant.window)
      const millis = clock.currentTimeMillisUnsafe() - begun
      measure("generate", 200, millis)
      logAccess?.({ method: "POST", route: `${prefix}:org`, status: 200, millis, org: grant.org, requestId })
    })
  }

  return (request, response, pass) => {
    const headers = request.headers as Body.RequestHeaders
    const grant = grantOf(keys, request.url!, headers)
    if (grant === undefined || !Body.isPlain(headers)) return false
    Body.read(request, response, Body.maxBodyBytes, (body) => {
      const passOn = () => {
        Body.keep(request, body)
        pass(request, response)
      }
      const asked = body instanceof Uint8Array ? requestIn(body) : undefined
      if (asked === undefined || !chargeEarly(request, grant.window)) return passOn()
      decide(request, response, grant, asked, passOn)
    })
    return true
  }
}
