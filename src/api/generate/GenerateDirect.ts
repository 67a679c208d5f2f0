import { Result } from "effect"
import type { BatchAnswers } from "../../decide/DecideBatch.ts"
import type { Decider } from "../../decide/Decider.ts"
import type { Decided } from "../../decide/Plan.ts"
import type { Decode } from "../../domain/Faults.ts"
import { chargeEarly } from "../admission/RateLimits.ts"
import * as Body from "../server/Body.ts"
import { type CallOf, type CallServices, directPost } from "../server/DirectCalls.ts"
import { directBatchHeadersOf, directHeadersOf, toWire, toWireBatch } from "./GenerateAnswer.ts"
import { batchBody, type BatchGenerateRequest, generateBody, type GenerateRequest } from "./GenerateWire.ts"

// Generate and Batch generate by POST for nearly every request: with a body without faults, and with decisions as its answer.
// They run from the body to the response without a fiber.

/** The request in a body; undefined for one with faults, or with members that are unknown. */
const decodeWith = <A>(decode: Decode<A>) => (body: Uint8Array): A | undefined => {
  const json = Body.parse(body)
  if (json === undefined) return undefined
  const decoded = decode(json)
  return Result.isSuccess(decoded) && decode.unknownMembers!(json).length === 0 ? decoded.success : undefined
}

const generate = ({ whenDecided }: Decider["Service"]): CallOf<GenerateRequest, Decided> => ({
  method: "POST",
  prefix: "/api/generate/",
  scope: "generate",
  answer: whenDecided,
  ready: (answer) => ({ headers: directHeadersOf(answer), json: toWire(answer) }),
})

const batchGenerate = ({ whenBatchDecided }: Decider["Service"]): CallOf<BatchGenerateRequest, BatchAnswers> => ({
  method: "POST",
  prefix: "/api/batch-generate/",
  scope: "generate",
  // Every item is a request. The router answers an only item that may be in conflict with its decision, and charges it.
  isCharged: (request, { items }, window) =>
    !(items.length === 1 && items[0]!.copyId !== undefined && items[0]!.trackingId !== undefined) &&
    (window === undefined || (items.length === 1 && chargeEarly(request, window))),
  answer: whenBatchDecided,
  ready: (answers) => ({ headers: directBatchHeadersOf(answers), json: toWireBatch(answers) }),
})

/** Direct calls of Generate and Batch generate by POST. */
export const directCalls = (services: CallServices, decider: Decider["Service"]) => {
  const made = <A, R>(call: CallOf<A, R>, decode: Decode<A>) =>
    [call.method, call.prefix, directPost(services, call, decodeWith(decode))] as const
  return [made(generate(decider), generateBody), made(batchGenerate(decider), batchBody)]
}
