import { type Clock, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import type { DecideRequest } from "../decide/DecideRequest.ts"
import type { Decider } from "../decide/Decider.ts"
import type { Answer } from "../decide/Answer.ts"
import { answerPlan, type Plan, planExisting } from "../decide/Plan.ts"
import { insertClaim, type StickyChoice, type StickyChoices, type StickyClaim } from "../decide/StickyChoices.ts"
import type { SendTime } from "../sendtime/SendTime.ts"
import { TemplateArchived, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type { CopyId, OrgSlug } from "../domain/Ids.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import type { AddressKeys } from "../suppressions/AddressKeys.ts"
import { suppressionFor } from "../suppressions/Suppression.ts"
import { carried } from "../telemetry/Tracing.ts"
import type { TemplateCache } from "../templates/TemplateCache.ts"
import type { Targets } from "../tracking/Targets.ts"
import type { MessageTracking, Tracking } from "../tracking/Tracking.ts"
import type { Connections } from "./Connections.ts"
import { linkParts } from "./connections/Content.ts"
import type { DeliverRequest, Idempotency, Queued } from "./DeliverRequest.ts"
import {
  type EnqueueError,
  HeldOut,
  KeyReused,
  MessageExpired,
  NoCandidate,
  NotEnabled,
  RecipientSuppressed,
} from "./EnqueueErrors.ts"
import type { RequestFacts, RequestKeys, StandingRequest } from "./KnownRequests.ts"
import { insertMessages, type NewMessage, type StoreResult } from "./NewMessages.ts"

// The steps of queueing a message: refuse repetitions and suppressed recipients, plan the decision, store both.

export interface EnqueueServices {
  readonly sql: SqlClient.SqlClient
  readonly clock: Clock.Clock
  readonly decider: Decider["Service"]
  readonly sticky: StickyChoices["Service"]
  readonly templateCache: TemplateCache["Service"]
  readonly connections: Connections["Service"]
  readonly sendTime: SendTime["Service"]
  readonly addressKeys: AddressKeys["Service"]
  readonly tracking: Tracking["Service"]
  readonly targets: Targets["Service"]
  /** Looks up earlier requests and suppressions. */
  readonly known: (asked: RequestKeys) => Effect.Effect<RequestFacts, GroupCommit.BufferFull>
  readonly commit: GroupCommit.GroupCommit<NewMessage, StoreResult>
}

/** A message that has an id and no content yet. */
interface Draft {
  readonly org: OrgSlug
  readonly id: string
  readonly request: DeliverRequest
  readonly tracking: MessageTracking
  readonly traceparent: string | undefined
}

type Chosen = Extract<Answer, { readonly _tag: "Chosen" }>

/** Ends the transaction of a message whose idempotency key is in use. */
class Repetition extends Schema.TaggedError<Repetition>()("Repetition", {
  result: Schema.Literals(["repeated", "reused"]),
}) {}

/** The message of an idempotency key that was used before. Fails with `KeyReused` if it came with another body. */
const findMessage = (found: StandingRequest | undefined, { digest, key }: Idempotency) =>
  found === undefined || found.digest === digest
    ? Effect.succeed(found?.deliveryId)
    : Effect.fail(new KeyReused({ key }))

/**
 * The earlier message that the request repeats. Fails if the recipient is suppressed. Runs before the decision:
 * suppressed people must not enter the holdout either, because they would be compared with people who get messages.
 */
const findEarlier = Effect.fnUntraced(function* (
  { addressKeys, known, templateCache }: EnqueueServices,
  org: OrgSlug,
  { email, idempotency, templateId }: DeliverRequest,
) {
  yield* templateCache.lookUp(org, templateId)
  const view = templateCache.template(org, templateId)
  // Without an active template, the plan refuses the request for that reason.
  const isChecked = view !== undefined && !view.archived && view.org.suppression
  if (idempotency === undefined && !isChecked) return undefined
  const found = yield* known({
    org,
    key: idempotency?.key,
    addressKeys: isChecked ? yield* addressKeys.of(email) : [],
  })
  const earlier = idempotency && (yield* findMessage(found.standing, idempotency))
  if (earlier !== undefined) return earlier
  const suppression = suppressionFor(found.suppressions, view?.ignoresUnsubscribes === true)
  return suppression === undefined ? undefined : yield* new RecipientSuppressed(suppression)
})

/** The send time. If the recipient's best time is too late, the earliest allowed time. */
const adviseSendAt = (
  { sendTime }: EnqueueServices,
  { org, request: { email, expiresAt = Infinity, optimizeSendTime, sendAt, templateId } }: Draft,
  copyId: CopyId,
): Effect.Effect<number | undefined> =>
  optimizeSendTime
    ? sendTime.advise({
      org,
      templateId,
      copyId,
      userId: undefined,
      email,
      trace: false,
      ...(sendAt === undefined ? {} : { notBefore: sendAt }),
    }).pipe(
      Effect.map(({ at }) => at < expiresAt ? at : sendAt),
      // The variant was removed a moment ago, so there are no send times for it.
      Effect.catch(() => Effect.succeed(sendAt)),
    )
    : Effect.succeed(sendAt)

/** The rendered variables with tracked links and pixel, according to template and organization. */
const trackLinks = (
  { connections, templateCache }: EnqueueServices,
  { org, request: { fields, templateId }, tracking }: Draft,
  { copyId, vars }: Chosen,
): Pick<NewMessage, "formats" | "own" | "shared" | "vars"> => {
  const view = templateCache.template(org, templateId)
  const variant = view?.variantsById.get(copyId)
  // The template was removed a moment ago.
  if (view === undefined || variant === undefined) return { formats: {}, own: [], shared: new Map(), vars }
  const { formats } = variant
  const parts = linkParts({ formats, vars }, connections.active(org)?.variables)
  return { formats, ...tracking.apply({ view, variant, vars, parts, kept: [fields["unsubscribe_url"]] }) }
}

/** The rows of a message and of its plan, except a claim, which is stored before. */
const makeMessage = (
  services: EnqueueServices,
  draft: Draft,
  plan: Plan,
  answer: Chosen,
  sendAt: number | undefined,
): NewMessage => {
  const { id, org, request, traceparent } = draft
  return {
    ...trackLinks(services, draft, answer),
    id,
    org,
    decision: plan._tag === "Decision" && plan.claim === undefined ? plan.decision : undefined,
    alias: plan._tag === "Alias" ? plan.alias : undefined,
    templateId: request.templateId,
    copyId: answer.copyId,
    email: request.email,
    sendAt,
    expiresAt: request.expiresAt,
    isTransactional: request.priority === undefined
      ? services.templateCache.template(org, request.templateId)?.ignoresUnsubscribes === true
      : request.priority === "transactional",
    idempotency: request.idempotency,
    traceparent,
  }
}

/** The error for an outcome without a message. */
const refusalOf = (request: DeliverRequest, outcome: Exclude<Answer, Chosen>) => {
  if (outcome._tag === "NotRendered") return outcome.error
  if (outcome._tag === "HeldOut") return new HeldOut({ templateId: request.templateId })
  if (outcome._tag === "Reused") throw new Error("The new tracking id of a message has a decision already")
  switch (outcome.reason) {
    case "no-candidate":
      return new NoCandidate({ templateId: request.templateId })
    case "template-not-found":
      return new TemplateNotFound({ id: request.templateId })
    case "template-archived":
      return new TemplateArchived({ id: request.templateId })
    case "variant-not-found":
      return new VariantNotFound({ id: request.copyId ?? "" })
  }
}

/** Stores a message in a commit that it shares with others. */
const storeInGroup = Effect.fnUntraced(function* ({ commit }: EnqueueServices, message: NewMessage) {
  const ticket = commit.submit(message)
  if (ticket === undefined) return yield* new GroupCommit.BufferFull()
  const committed = yield* commit.settled(ticket)
  if (!committed.durable) return yield* new GroupCommit.BufferFull()
  return committed.value
})

/**
 * Stores a message together with its claim of a sticky choice, in one transaction. Stores nothing, and returns the
 * existing choice, if another choice stands. Stores nothing either if the idempotency key is in use.
 */
const storeClaimed = (
  { clock, sql, sticky, targets }: EnqueueServices,
  message: NewMessage,
  claim: StickyClaim,
): Effect.Effect<StoreResult | StickyChoice, GroupCommit.BufferFull> =>
  Effect.gen(function* () {
    const isOwn = (standing: StickyChoice) => standing.trackingId === claim.decision.trackingId
    const standing = yield* sql.withTransaction(Effect.gen(function* () {
      const standing = yield* insertClaim(sql, claim)
      if (!isOwn(standing)) return standing
      const [result = "queued"] = yield* insertMessages(sql, targets, [message], clock.currentTimeMillisUnsafe())
      // Rolls back: the first request's choice and message stand.
      return result === "queued" ? standing : yield* new Repetition({ result })
    }))
    yield* sticky.committed(claim, standing)
    if (!isOwn(standing)) return standing
    yield* targets.remember([message])
    return "queued" as const
  }).pipe(
    Effect.catchTag("Repetition", ({ result }) => Effect.succeed(result)),
    Effect.catchTag("SqlError", () => Effect.fail(new GroupCommit.BufferFull())),
  )

/** The outcome of queueing a message, and the warnings of the answer that it was made from. */
interface Stored extends Pick<Queued, "warnings"> {
  readonly result: StoreResult
}

/**
 * Stores a plan with its message and counts the outcome. A claim that another request won is planned again with the choice
 * that stands, which needs no claim.
 */
const storePlanned: (
  services: EnqueueServices,
  draft: Draft,
  plan: Plan,
) => Effect.Effect<Stored, EnqueueError> = Effect.fnUntraced(function* (services, draft, plan) {
  const { answer } = plan
  const finish = <A extends Answer>(outcome: A) => services.decider.finish(draft.org, draft.request, outcome)
  if (answer._tag === "HeldOut" && plan._tag !== "Answer") {
    // There is no message to store it with. Usually the result is the same and refuses the request.
    return yield* storePlanned(services, draft, answerPlan(yield* services.decider.store(plan)))
  }
  if (answer._tag !== "Chosen") return yield* refusalOf(draft.request, finish(answer))
  if (!answer.durable) return yield* new GroupCommit.BufferFull()
  const sendAt = yield* adviseSendAt(services, draft, answer.copyId)
  const message = makeMessage(services, draft, plan, answer, sendAt)
  if (plan._tag !== "Decision" || plan.claim === undefined) {
    const result = yield* storeInGroup(services, message)
    return { result, warnings: finish(answer).warnings }
  }
  const stored = yield* storeClaimed(services, message, plan.claim)
  if (typeof stored !== "string") return yield* storePlanned(services, draft, planExisting(plan, stored))
  return { result: stored, warnings: finish(answer).warnings }
})

/**
 * The tracking id of a decision without a message. As no message has the idempotency key, this id identifies a repeated
 * request: the decision is recorded once under it.
 */
const heldOutIdOf = ({ digest, key }: Idempotency) => `held-out:${hash("sha256", JSON.stringify([key, digest]))}`

/** The request for the decision on a message. */
const decideRequestOf = ({ id, request, tracking }: Draft): DecideRequest => ({
  ...request,
  // An unsubscribe link of the caller takes precedence.
  fields: { unsubscribe_url: tracking.unsubscribeUrl, ...request.fields },
  trackingId: id,
  isNewId: true,
  userId: request.email,
  heldOutId: request.idempotency && heldOutIdOf(request.idempotency),
})

/** Queues a message, unless the request is a repetition or must be refused. */
export const enqueue = Effect.fnUntraced(function* (
  services: EnqueueServices,
  org: OrgSlug,
  request: DeliverRequest,
): Effect.fn.Return<Queued, EnqueueError> {
  const { clock, connections, decider, known, tracking } = services
  const { expiresAt, idempotency } = request
  if (connections.active(org) === undefined) return yield* new NotEnabled({ org })
  const earlier = yield* findEarlier(services, org, request)
  if (earlier !== undefined) return { id: earlier, repeated: true }
  if (expiresAt !== undefined && expiresAt <= clock.currentTimeMillisUnsafe()) {
    return yield* new MessageExpired({ expiresAt: new Date(expiresAt) })
  }
  const id = SecureRandom.uuidV7Unsafe()
  const draft: Draft = {
    org,
    id,
    request,
    tracking: yield* Effect.mapError(tracking.forMessage(org, id), () => new GroupCommit.BufferFull()),
    traceparent: yield* carried,
  }
  const { result, warnings } = yield* storePlanned(services, draft, yield* decider.plan(org, decideRequestOf(draft)))
  if (result === "queued") return { id, repeated: false, warnings }
  if (result === "reused") return yield* new KeyReused({ key: idempotency!.key })
  const { standing } = yield* known({ org, key: idempotency!.key, addressKeys: [] })
  return { id: (yield* findMessage(standing, idempotency!)) ?? id, repeated: true }
})
