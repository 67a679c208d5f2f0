import { Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import type { Answer } from "../../decide/Answer.ts"
import type { BatchAnswers } from "../../decide/DecideBatch.ts"
import { Decider } from "../../decide/Decider.ts"
import type { Decode } from "../../domain/Faults.ts"
import * as Errors from "../../domain/Errors.ts"
import type { BufferFull } from "../../store/GroupCommit.ts"
import { step } from "../../telemetry/Tracing.ts"
import * as Problems from "../Problems.ts"
import { unmatched } from "../http/Envelope.ts"
import { type CallResponse, type Decoded, type PublicCall, type RequestParts, responding } from "../http/PublicCall.ts"
import { PublicCalls } from "../http/PublicCalls.ts"
import { bodyIn, invalid, queryIn } from "../http/Requests.ts"
import { notRendered } from "../http/DomainProblems.ts"
import { ofParameters, ofQuery } from "../http/Warnings.ts"
import { headersOf, reused, toWire, toWireBatch, warningsOfBatch } from "./GenerateAnswer.ts"
import {
  batchBody,
  type BatchGenerateRequest,
  generateBody,
  generateQuery,
  type GenerateRequest,
  isGenerateParameter,
  opaque,
} from "./GenerateWire.ts"

type Refused =
  | Problems.InvalidRequest
  | Problems.PayloadTooLarge
  | Problems.TemplateArchived
  | Problems.TemplateNotFound
  | Problems.TrackingIdReused
  | Problems.Unavailable
  | Problems.Unprocessable
  | Problems.UnsupportedMediaType

/** Decodes a body. Warns about query parameters, which have no effect in a request with a body. */
const bodyOf = <A>(decode: Decode<A>) => (parts: RequestParts): Decoded<A, Refused> => {
  const { input, warnings } = bodyIn(parts, decode, opaque)
  const ofUrl = ofQuery(parts)
  return ofUrl.length === 0 ? { input, warnings } : { input, warnings: [...ofUrl, ...warnings] }
}

const queryOf = (parts: RequestParts): Decoded<GenerateRequest, Refused> => {
  const readable = queryIn(parts)
  if (Result.isFailure(readable)) return { input: Result.fail(readable.failure), warnings: [] }
  const given = readable.success
  const input = generateQuery(given)
  if (Result.isFailure(input)) return { input: Result.fail(invalid(input.failure)), warnings: [] }
  // Repeated keys form an array, so only unknown parameters cause warnings.
  const unknown = ofParameters(
    new URLSearchParams([...new Set(given.keys())].map((name) => [name, ""])),
    isGenerateParameter,
  )
  return { input: Result.succeed(input.success), warnings: unknown }
}

const refuse = (): CallResponse<Refused> => ({
  body: Result.fail(
    new Problems.Unavailable({ detail: "The database cannot store decisions now, and the buffer for them is full" }),
  ),
})

/** Returns the problem of an outcome that is a refusal. Undefined for other outcomes. */
const refusalOf = (outcome: Answer, { templateId }: GenerateRequest): Refused | undefined => {
  if (outcome._tag === "NotRendered") return notRendered(outcome.error)
  if (outcome._tag === "None" && outcome.reason === "template-not-found") {
    return new Problems.TemplateNotFound({ detail: `There is no template ${JSON.stringify(templateId)} here.` })
  }
  if (outcome._tag === "None" && outcome.reason === "template-archived") {
    return new Problems.TemplateArchived({ detail: new Errors.TemplateArchived({ id: templateId }).message })
  }
  return undefined
}

const respond = (outcome: Answer, input: GenerateRequest): CallResponse<Refused> => {
  const { warnings } = outcome
  const refused = refusalOf(outcome, input)
  return refused === undefined
    ? { body: Result.succeed(toWire(outcome)), headers: headersOf([outcome]), warnings }
    : { body: Result.fail(refused), warnings }
}

/** Responds to a batch. If its only item reuses a tracking id for another variant, the response is a 409. */
const respondToBatch = (outcomes: BatchAnswers): CallResponse<Refused> => {
  const warnings = warningsOfBatch(outcomes)
  const [[, only] = [], ...others] = outcomes
  if (only?._tag === "Reused" && others.length === 0) {
    return { body: Result.fail(new Problems.TrackingIdReused({ detail: reused(only).detail })), warnings }
  }
  return {
    body: Result.succeed(toWireBatch(outcomes)),
    headers: headersOf(outcomes.map(([, outcome]) => outcome)),
    warnings,
  }
}

const generate = (
  method: "GET" | "POST",
  decode: (parts: RequestParts) => Decoded<GenerateRequest, Refused>,
  decider: Decider["Service"],
): PublicCall<GenerateRequest, Answer, BufferFull, Refused> => ({
  method,
  path: "/api/generate/:org",
  scope: "generate",
  takesBody: method === "POST",
  decode,
  answer: (org, input) => step("decide")(decider.decide(org, input)),
  respond,
  refuse,
})

const batchGenerate = (
  decider: Decider["Service"],
): PublicCall<BatchGenerateRequest, BatchAnswers, BufferFull, Refused> => ({
  method: "POST",
  path: "/api/batch-generate/:org",
  scope: "generate",
  takesBody: true,
  decode: bodyOf(batchBody),
  // Each item counts as one request.
  requestsIn: ({ items }) => Math.max(1, items.length),
  answer: (org, input) => step("decide", { items: input.items.length })(decider.decideBatch(org, input)),
  respond: respondToBatch,
  refuse,
})

/** Generate by POST and GET, and Batch generate. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const decider = yield* Decider
  const { add } = yield* PublicCalls
  yield* add(router, responding(keys, generate("POST", bodyOf(generateBody), decider)))
  yield* add(router, responding(keys, batchGenerate(decider)))
  const byQuery = responding(keys, generate("GET", queryOf, decider))
  yield* add(router, {
    ...byQuery,
    // The router treats HEAD as GET, but HEAD must not record a decision.
    response: Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) => request.method === "HEAD" ? unmatched(request) : byQuery.response,
    ),
  })
}))
