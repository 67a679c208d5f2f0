/**
 * Client for Parlance, the content personalization service. It has no dependencies and uses `fetch`, so that it runs on
 * Node 20.3 and later, Deno, Bun and edge runtimes. Requests and answers have the members of the HTTP API.
 */
export { Parlance } from "./client.ts"
export type { ParlanceOptions } from "./client.ts"
export {
  isProblem,
  ParlanceInvalidValue,
  ParlanceProblem,
  ParlanceUnavailable,
  ParlanceWebhookError,
} from "./errors.ts"
export type { Fault, ProblemType, UnavailableReason, WebhookFault } from "./errors.ts"
export type { ExportedRows, Exports, Keys, Templates, Variants } from "./management.ts"
export type { List, Page } from "./pages.ts"
export type {
  ApiKey,
  Attributes,
  BatchRequest,
  CallOptions,
  CancelFilter,
  CreatedKey,
  DelayRequest,
  DelayTime,
  DeliverOptions,
  DeliverRequest,
  Delivery,
  DeliveryFilter,
  DeliveryPage,
  DeliveryState,
  Event,
  EventAnswer,
  EventVerdict,
  ExportedRow,
  ExportOptions,
  Generated,
  GenerateOptions,
  GenerateRequest,
  KeyInput,
  Queued,
  ResultsWindow,
  Template,
  TemplateInput,
  TemplatePage,
  TemplateResults,
  Variant,
  VariantInput,
  WaitingChange,
} from "./types.ts"
export { version } from "./version.ts"
export { verifyWebhook } from "./webhooks.ts"
export type { WebhookBatch, WebhookEvent, WebhookSingle } from "./webhooks.ts"
