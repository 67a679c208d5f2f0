import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DeliveryNotFound } from "../../domain/Errors.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import {
  type SinkMessage as Message,
  SinkMessages,
  type SinkSummary as Summary,
} from "../../delivery/sandbox/SinkMessages.ts"
import { ServedApi } from "../Api.ts"
import { existing, lookedUp, toProblems } from "../server/Requests.ts"
import type { SinkMessageResource, SinkSummaryResource } from "./SandboxApi.ts"

const summaryToWire = (
  { copyId, email, fault, id, isTest, receivedAt, sender, subject, templateId }: Summary,
): SinkSummaryResource => ({
  id,
  test: isTest,
  template_id: templateId,
  copy_id: copyId,
  email,
  from: sender,
  subject,
  fault,
  received_at: receivedAt.toISOString(),
})

const messageToWire = (message: Message): SinkMessageResource => ({
  ...summaryToWire(message),
  html: message.html,
  text: message.plain,
  headers: message.headers,
  links: message.links,
  vars: message.vars,
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "sandbox",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const messages = yield* SinkMessages
    return handlers
      .handle("listSinkMessages", ({ params }) =>
        existing(organizations, params).pipe(
          Effect.flatMap(messages.list),
          Effect.map((all) => ({ messages: all.map(summaryToWire) })),
          toProblems,
        ))
      .handle("getSinkMessage", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const message = yield* messages.get(org, lookedUp(params.message))
          return messageToWire(message ?? (yield* new DeliveryNotFound({ id: params.message.slice(0, 100) })))
        }).pipe(toProblems))
      .handle("clearSinkMessages", ({ params }) =>
        existing(organizations, params).pipe(
          Effect.flatMap(messages.clear),
          Effect.map((removed) => ({ removed })),
          toProblems,
        ))
  }),
)
