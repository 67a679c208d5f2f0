import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { note } from "../../accounts/Audit.ts"
import { DkimKeyChange, DkimKeys, type DkimKeyView, NewDkimKey } from "../../delivery/dkim/DkimKeys.ts"
import { TestMessageRequest, TestMessages } from "../../delivery/receivers/TestMessages.ts"
import { decoder } from "../../domain/Faults.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { ServedApi } from "../Api.ts"
import type * as Wire from "./DeliverabilityApi.ts"
import { RecipientSuppressed, TooManyTestMessages, Unprocessable } from "../Problems.ts"
import { body, existing, lookedUp, toProblems } from "../server/Requests.ts"
import { retryLater } from "../admission/RetryAfter.ts"

const decodeKey = decoder(NewDkimKey)
const decodeChange = decoder(DkimKeyChange)
const decodeAsk = decoder(TestMessageRequest)

/** A DKIM key as the API shows it. */
const keyToWire = ({ bits, createdAt, domain, isSigning, record, selector }: DkimKeyView): Wire.DkimKeyResource => ({
  domain,
  selector,
  bits,
  signing: isSigning,
  record,
  created_at: createdAt.toISOString(),
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "deliverability",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const keys = yield* DkimKeys
    const tests = yield* TestMessages

    return handlers
      .handle("listDkimKeys", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return { keys: (yield* keys.list(org, lookedUp(params.connection))).map(keyToWire) }
        }).pipe(toProblems))
      .handleRaw("createDkimKey", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, decodeKey)
          const org = yield* existing(organizations, params)
          return keyToWire(yield* keys.add(org, lookedUp(params.connection), input))
        }).pipe(toProblems))
      .handleRaw("updateDkimKey", ({ params, request }) =>
        Effect.gen(function* () {
          const change = yield* body(request, decodeChange)
          const org = yield* existing(organizations, params)
          return keyToWire(yield* keys.change(org, lookedUp(params.connection), lookedUp(params.selector), change))
        }).pipe(
          Effect.catchTag("DkimKeyNotPublished", ({ message }) => Effect.fail(new Unprocessable({ detail: message }))),
          toProblems,
        ))
      .handle("deleteDkimKey", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          yield* keys.remove(org, lookedUp(params.connection), lookedUp(params.selector))
        }).pipe(toProblems))
      .handleRaw("sendTestMessage", ({ params, request }) =>
        Effect.gen(function* () {
          const ask = yield* body(request, decodeAsk)
          // Values of placeholders may be about a person.
          const { fields: _, ...noted } = ask
          yield* note(noted)
          const org = yield* existing(organizations, params)
          const { messageId, ...result } = yield* tests.send(org, lookedUp(params.connection), ask)
          return { ...result, message_id: messageId } satisfies Wire.TestMessageReport
        }).pipe(
          Effect.catchTags({
            TestRecipientSuppressed: (refused) => Effect.fail(RecipientSuppressed.of(refused)),
            TooManyTestMessages: ({ message, retryAfterSeconds }) =>
              Effect.fail(retryLater(request, retryAfterSeconds, new TooManyTestMessages({ detail: message }))),
          }),
          toProblems,
        ))
  }),
)
