import { type Clock, Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import type { DecideRequest } from "../decide/DecideRequest.ts"
import type { Decider } from "../decide/Decider.ts"
import type { Answer } from "../decide/Answer.ts"
import { localeTexts } from "../decide/PersonLocale.ts"
import { answerPlan, type Plan, planExisting } from "../decide/Plan.ts"
import { insertClaim, type StickyChoice, type StickyChoices, type StickyClaim } from "../decide/StickyChoices.ts"
import type { SendTime } from "../sendtime/SendTime.ts"
import { TemplateArchived, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type { CopyId, OrgSlug } from "../domain/Ids.ts"
import type { NoMessageReason } from "../journal/decisions/Decision.ts"
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
  SendNothing,
} from "./EnqueueErrors.ts"
import {
  type ExistingRequest,
  type RequestFacts,
  type RequestKeys,
  unsentKeyId,
  unsentReason,
} from "./KnownRequests.ts"
import { claimKeys, insertMessages, type NewMessage, type StoreResult } from "./NewMessages.ts"

// The steps of queueing a message: refuse repetitions and suppressed recipients, plan the decision, store both.

/** Services of the process that queueing a message uses. */
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
  /** Reads earlier requests and suppressions. */
  readonly known: (request: RequestKeys) => Effect.Effect<RequestFacts, GroupCommit.BufferFull>
  readonly commit: GroupCommit.GroupCommit<NewMessage, StoreResult>
}

/** A message with an id, before its content is decided. */
interface Draft {
  readonly org: OrgSlug
  readonly id: string
  readonly request: DeliverRequest
  readonly tracking: MessageTracking
  readonly traceparent: string | undefined
}

type Chosen = Extract<Answer, { readonly _tag: "Chosen" }>

/** Rolls back the transaction of a message whose idempotency key is in use. */
class Repetition extends Schema.TaggedError<Repetition>()("Repetition", {
  result: Schema.Literals(["repeated", "reused"]),
}) {}

/** Returns the error for a request that gets no message. */
const unsentError = (reason: NoMessageReason, templateId: string) =>
  reason === "held-out" ? new HeldOut({ templateId }) : new SendNothing({ templateId })

/**
 * Returns the id of the message with this idempotency key, if any. Fails with `KeyReused` if that request had another
 * body, and with its error if it got no message.
 */
const findMessage = Effect.fnUntraced(function* (
  found: ExistingRequest | undefined,
  { digest, key }: Idempotency,
  templateId: string,
) {
  if (found === undefined) return undefined
  if (found.digest !== digest) return yield* new KeyReused({ key })
  const reason = unsentReason(found)
  return reason === undefined ? found.deliveryId : yield* unsentError(reason, templateId)
})

/**
 * Returns the id of the earlier message that the request repeats, or undefined. Fails if the recipient is suppressed.
 * Runs before the decision, because suppressed people must not enter the holdout: they would be compared with people
 * who receive messages.
 */
const findEarlier = Effect.fnUntraced(function* (
  { addressKeys, known, templateCache }: EnqueueServices,
  org: OrgSlug,
  { email, idempotency, templateId }: DeliverRequest,
) {
  yield* templateCache.lookUp(org, templateId)
  const view = templateCache.template(org, templateId)
  // If the template is not active, the plan refuses the request and states that reason.
  const isChecked = view !== undefined && !view.archived && view.org.suppression
  if (idempotency === undefined && !isChecked) return undefined
  const found = yield* known({
    org,
    key: idempotency?.key,
    addressKeys: isChecked ? yield* addressKeys.of(email) : [],
  })
  const earlier = idempotency && (yield* findMessage(found.existing, idempotency, templateId))
  if (earlier !== undefined) return earlier
  const suppression = suppressionFor(found.suppressions, view?.ignoresUnsubscribes === true)
  return suppression === undefined ? undefined : yield* new RecipientSuppressed(suppression)
})

/**
 * The send time: the recipient's best allowed time before the message expires. Without an allowed time before, the
 * earliest requested time.
 */
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
      ...(expiresAt === Infinity ? {} : { before: expiresAt }),
    }).pipe(
      Effect.map(({ at }) => at < expiresAt ? at : sendAt),
      // The variant was removed after the decision, so it has no send times.
      Effect.catch(() => Effect.succeed(sendAt)),
    )
    : Effect.succeed(sendAt)

/** The rendered variables with tracked links and the pixel, according to the settings of template and organization. */
const trackLinks = (
  { connections, templateCache }: EnqueueServices,
  { org, request: { fields, templateId }, tracking }: Draft,
  { copyId, locale, vars }: Chosen,
): Pick<NewMessage, "formats" | "own" | "shared" | "vars"> => {
  const view = templateCache.template(org, templateId)
  const variant = view?.variantsById.get(copyId)
  // The template was removed after the decision.
  if (view === undefined || variant === undefined) return { formats: {}, own: [], shared: new Map(), vars }
  const { formats } = variant
  const parts = linkParts({ formats, vars }, connections.active(org)?.variables)
  const sources = locale === undefined || view.locale === null
    ? variant.vars
    : localeTexts(view.locale, variant, [locale]).vars
  return { formats, ...tracking.apply({ view, sources, vars, parts, kept: [fields["unsubscribe_url"]] }) }
}

/** The rows of a message and of its plan. A sticky claim is not included: it is stored first. */
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

/** Returns the error for an answer without a message. */
const refusalOf = (request: DeliverRequest, outcome: Exclude<Answer, Chosen>) => {
  if (outcome._tag === "NotRendered") return outcome.error
  if (outcome._tag === "NoMessage") return unsentError(outcome.reason, request.templateId)
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

/**
 * Stores a message and its claim of a sticky choice in one transaction. If the user already has another choice, stores
 * nothing and returns that choice. Also stores nothing if the idempotency key is in use.
 */
const storeClaimed = (
  { clock, sql, sticky, targets }: EnqueueServices,
  message: NewMessage,
  claim: StickyClaim,
): Effect.Effect<StoreResult | StickyChoice, GroupCommit.BufferFull> =>
  Effect.gen(function* () {
    const isOwn = (existing: StickyChoice) => existing.trackingId === claim.decision.trackingId
    const existing = yield* sql.withTransaction(Effect.gen(function* () {
      const existing = yield* insertClaim(sql, claim)
      if (!isOwn(existing)) return existing
      const [result = "queued"] = yield* insertMessages(sql, targets, [message], clock.currentTimeMillisUnsafe())
      // Rolls back the claim, so that the choice and the message of the first request stay.
      return result === "queued" ? existing : yield* new Repetition({ result })
    }))
    yield* sticky.committed(claim, existing)
    if (!isOwn(existing)) return existing
    yield* targets.remember([message])
    return "queued" as const
  }).pipe(
    Effect.catchTag("Repetition", ({ result }) => Effect.succeed(result)),
    Effect.catchTag("SqlError", () => Effect.fail(new GroupCommit.BufferFull())),
  )

/** Claims the idempotency key of a request that gets no message. Fails with `KeyReused` if another body has it. */
const claimUnsent = (
  { sql }: EnqueueServices,
  { org, request: { idempotency } }: Draft,
  reason: NoMessageReason,
): Effect.Effect<void, GroupCommit.BufferFull | KeyReused> => {
  if (idempotency === undefined) return Effect.void
  const claim = { id: unsentKeyId(reason, idempotency.digest), idempotency, org }
  return Effect.matchEffect(claimKeys(sql, [claim]), {
    onFailure: () => Effect.fail(new GroupCommit.BufferFull()),
    onSuccess: (refused) =>
      refused.get(claim) === "reused" ? Effect.fail(new KeyReused({ key: idempotency.key })) : Effect.void,
  })
}

/** The result of queueing a message, with the warnings of its decision. */
interface Stored extends Pick<Queued, "warnings"> {
  readonly result: StoreResult
}

/**
 * Stores a plan with its message, and counts the outcome. If another request has claimed the sticky choice first, makes
 * a new plan with that choice, which needs no claim.
 */
const storePlanned: (
  services: EnqueueServices,
  draft: Draft,
  plan: Plan,
) => Effect.Effect<Stored, EnqueueError> = Effect.fnUntraced(function* (services, draft, plan) {
  const { answer } = plan
  const finish = <A extends Answer>(outcome: A) => services.decider.finish(draft.org, draft.request, outcome)
  if (answer._tag === "NoMessage" && plan._tag !== "Answer") {
    // A decision without a message has no row to be stored with. The stored decision usually equals the planned one, and the
    // request is refused.
    return yield* storePlanned(services, draft, answerPlan(yield* services.decider.store(plan)))
  }
  if (answer._tag === "NoMessage") yield* claimUnsent(services, draft, answer.reason)
  if (answer._tag !== "Chosen") return yield* refusalOf(draft.request, finish(answer))
  if (!answer.durable) return yield* new GroupCommit.BufferFull()
  const sendAt = yield* adviseSendAt(services, draft, answer.copyId)
  const message = makeMessage(services, draft, plan, answer, sendAt)
  if (plan._tag !== "Decision" || plan.claim === undefined) {
    const result = yield* GroupCommit.commitWith(services.commit, message)
    return { result, warnings: finish(answer).warnings }
  }
  const stored = yield* storeClaimed(services, message, plan.claim)
  if (typeof stored !== "string") return yield* storePlanned(services, draft, planExisting(plan, stored))
  return { result: stored, warnings: finish(answer).warnings }
})

/**
 * The tracking id of a decision without a message, derived from the idempotency key. A request that is repeated before its
 * key is claimed is recognized by this id, so that its decision is recorded once.
 */
const unsentIdOf = ({ digest, key }: Idempotency) => `held-out:${hash("sha256", JSON.stringify([key, digest]))}`

/** Returns the request for the decision on a message. */
const decideRequestOf = ({ id, request, tracking }: Draft): DecideRequest => ({
  ...request,
  // The caller's `unsubscribe_url` takes precedence.
  fields: { unsubscribe_url: tracking.unsubscribeUrl, ...request.fields },
  trackingId: id,
  isNewId: true,
  userId: request.email,
  unsentId: request.idempotency && unsentIdOf(request.idempotency),
})

/** Queues a message. Returns the earlier message if the request repeats one. Fails with an `EnqueueError`. */
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
  const { existing } = yield* known({ org, key: idempotency!.key, addressKeys: [] })
  return { id: (yield* findMessage(existing, idempotency!, request.templateId)) ?? id, repeated: true }
})
