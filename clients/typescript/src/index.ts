/**
 * Client for Parlance, the content personalization service. It has no dependencies and uses `fetch`, so that it runs on
 * Node 20.3 and later, Deno, Bun and edge runtimes. Requests and answers have the members of the HTTP API.
 */
export { Parlance } from "./client.ts"
export type { ParlanceOptions } from "./client.ts"
export { isProblem, ParlanceInvalidValue, ParlanceProblem, ParlanceUnavailable } from "./errors.ts"
export type { Fault, ProblemType } from "./errors.ts"
export type {
  Attributes,
  BatchRequest,
  CallOptions,
  DelayRequest,
  DelayTime,
  DeliverOptions,
  DeliverRequest,
  Delivery,
  DeliveryState,
  Event,
  EventAnswer,
  EventVerdict,
  Generated,
  GenerateOptions,
  GenerateRequest,
  Queued,
} from "./types.ts"
export { verifyWebhook } from "./webhooks.ts"
export type { WebhookBatch } from "./webhooks.ts"
