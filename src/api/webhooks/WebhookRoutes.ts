import { Clock, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { listOfSources, type SourceId, sourceIdOf } from "../../domain/Source.ts"
import { isCloudEvents } from "../../intake/CloudEvents.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Inbox } from "../../journal/inbox/Inbox.ts"
import { countItems } from "../../intake/ItemCount.ts"
import { maySuppress } from "../../intake/MaySuppress.ts"
import { PromptIntake } from "../../intake/PromptIntake.ts"
import { Judging } from "../../intake/Judging.ts"
import { KnownEvents } from "../../journal/events/KnownEvents.ts"
import { UntimelyEvents } from "../../journal/events/UntimelyEvents.ts"
import { eventsOf, faultsOf, unreadIn, verdictsOf } from "../../intake/Verdicts.ts"
import { type QuotaReached, WebhookQuota } from "../../intake/WebhookQuota.ts"
import { SenderChecks } from "../../intake/SenderChecks.ts"
import { traceHeader } from "../../intake/senders/Postmark.ts"
import { handshakeOf } from "../../intake/signatures/SfmcSignature.ts"
import { idHeaders, isSigned } from "../../intake/signatures/StandardWebhooks.ts"
import type { SignatureVerdict } from "../../intake/signatures/Verdict.ts"
import { WebhookSources } from "../../intake/WebhookSources.ts"
import { carried, step } from "../../telemetry/Tracing.ts"
import * as Body from "../http/Body.ts"
import { authorize } from "../admission/KeyRequired.ts"
import { PathNotFound, QuotaExceeded, Unauthorized, Unavailable } from "../Problems.ts"
import { Refusals } from "../admission/Refusals.ts"
import { separatorFaults } from "../http/QueryFaults.ts"
import { invalid, lookedUp, query } from "../http/Requests.ts"
import { ofMembers, ofParameters, ofUnread, warn } from "../http/Warnings.ts"

/** Maximum number of items in one body of custom events. Senders split longer lists into several requests. */
const maxItems = 10_000

/** Headers that the adapters of platforms read. */
const platformHeaders = new Set(["content-type", traceHeader, ...idHeaders])

/**
 * Whether a header of custom events is stored with the body: headers of CloudEvents, and headers that a mapping may
 * name, except headers that may contain a credential.
 */
const isKept = (name: string) =>
  platformHeaders.has(name) || name.startsWith("ce-") ||
  (name.startsWith("x-") && !/key|auth|token|secret|signature|forwarded|real-ip/.test(name))

/** Maximum length of a stored header value. Unit: characters. */
const keptCharacters = 1000

const headersOf = (request: HttpServerRequest.HttpServerRequest, sourceId: SourceId): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      // A platform may send its token in a header of any name, so only known headers of platforms are stored.
      typeof value === "string" && (sourceId === "events" ? isKept(name) : platformHeaders.has(name))
        ? [[name, value.slice(0, keptCharacters)]]
        : []
    ).slice(0, 50),
  )

const charactersOf = (headers: Readonly<Record<string, string>>): number => {
  let characters = 0
  for (const name in headers) characters += name.length + headers[name]!.length
  return characters
}

/** Returns the 429 of an organization that has reached its daily quota. */
const overQuota = (error: QuotaReached) =>
  Effect.map(
    HttpServerRespondable.toResponse(new QuotaExceeded({ detail: error.message })),
    HttpServerResponse.setHeader("retry-after", String(error.retryAfterSeconds)),
  )

const storeIsDown = () =>
  new Unavailable({
    detail: "The database cannot store events now. Send the request again; an event that arrives twice counts once",
  })

/**
 * Whether a request asks for verdicts only. Fails if `validate` is faulty, so that events of a trial are never stored
 * by mistake.
 */
const asksForVerdicts = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const given = query(request)
  const values = given.getAll("validate")
  const faults = [
    ...separatorFaults(given),
    ...(values.length > 1
      ? [{ pointer: "validate", detail: "is given more than once" }]
      : values.every((value) => value === "true" || value === "false")
      ? []
      : [{ pointer: "validate", detail: "must be true or false" }]),
  ]
  if (faults.length > 0) return yield* invalid(faults)
  yield* warn(request, ofParameters(given, (name) => name === "validate"))
  return values[0] === "true"
})

/**
 * Minimum interval between stored handshakes of an organization, because anyone can send handshakes. Unit:
 * milliseconds.
 */
const handshakeEvery = 60_000

const noBytes = new Uint8Array(0)

const noSignedEvents = "No secret for signed events has been set up here"

/**
 * Reason of a refusal, also for unknown organizations, so that the response does not reveal which organizations exist.
 */
const notSetUp = "This source is not set up for this organization, or is disabled"

/**
 * Returns a function that stores a body within the quota of its organization, and responds with `answer`. If the body
 * may suppress addresses, its events take effect before the response.
 */
const makeStore = Effect.gen(function* () {
  const inbox = yield* Inbox
  const promptIntake = yield* PromptIntake
  const quota = yield* WebhookQuota
  const store = (
    request: HttpServerRequest.HttpServerRequest,
    org: string,
    source: SourceId,
    body: Uint8Array,
    answer: Record<string, unknown>,
    suppresses: boolean,
    ownHeaders: Readonly<Record<string, string>> = {},
  ) =>
    carried.pipe(
      Effect.flatMap((traceparent) => {
        const headers = { ...headersOf(request, source), ...ownHeaders }
        // The trace context is stored with the body, so that the trace of the request includes the processing of the
        // body.
        if (traceparent !== undefined) headers["traceparent"] = traceparent
        const received = { org: org as OrgSlug, source, headers, body }
        const storing = Effect.mapError(
          suppresses ? promptIntake.take(received) : inbox.store(received),
          storeIsDown,
        )
        return quota.check(org).pipe(
          Effect.andThen(storing),
          Effect.tap(() => Effect.sync(() => quota.add(org, body.byteLength + charactersOf(headers)))),
        )
      }),
      step("store"),
      Effect.as(HttpServerResponse.jsonUnsafe(answer)),
    )
  return store
})

/**
 * Verifies a signature of the decoded body, because most senders sign the body before they compress it. If that fails,
 * verifies the received bytes, which gateways sign.
 */
const makeVerify = (checks: SenderChecks["Service"]) =>
  Effect.fnUntraced(
    function* (
      org: string,
      sourceId: SourceId,
      headers: Record<string, string>,
      { bytes, received }: Body.WebhookBody,
    ) {
      const verdict = yield* checks.verify(org, sourceId, headers, bytes)
      return verdict?.ok === false && received !== bytes
        ? yield* checks.verify(org, sourceId, headers, received)
        : verdict
    },
    Effect.mapError(({ message }) => new Unavailable({ detail: message })),
  )

/** Returns the currency in which an organization counts revenue. Null if it has no currency or cannot be read. */
const makeCurrencyOf = Effect.map(
  Organizations,
  (organizations) => (org: string) =>
    organizations.get(org as OrgSlug).pipe(
      Effect.map(({ currency }) => currency),
      Effect.catchCause(() => Effect.succeed(null)),
    ),
)

/** Counts a refused signature, and returns the problem with the reason. */
const makeRefusal = (refusals: Refusals["Service"]) =>
(
  request: HttpServerRequest.HttpServerRequest,
  org: string,
  sourceId: SourceId,
  verdict: Exclude<SignatureVerdict, { readonly ok: true }> | undefined,
  otherwise: string,
): Unauthorized => {
  refusals.count(request, "bad_signature", { org, subject: sourceId })
  return new Unauthorized({ detail: verdict?.reason ?? otherwise })
}

/**
 * Answers the handshake of CloudEvents, by which a sender requests permission to deliver. The permission is always
 * granted, because each delivery is authenticated.
 */
const answerHandshake = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
  const origin = headers["webhook-request-origin"]
  return HttpServerResponse.empty({
    status: 204,
    headers: {
      allow: "OPTIONS, POST",
      ...(origin === undefined || !/^[\x21-\x7e]{1,253}$/.test(origin)
        ? {}
        : { "webhook-allowed-origin": origin, "webhook-allowed-rate": "*" }),
    },
  })
})

/**
 * Receives webhooks of messaging platforms and custom events of callers. Each body is stored unchanged before the
 * response.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const sources = yield* WebhookSources
  const quota = yield* WebhookQuota
  const judging = yield* Judging
  const known = yield* KnownEvents
  const untimely = yield* UntimelyEvents
  const clock = yield* Clock.Clock
  const currencyOf = yield* makeCurrencyOf
  /** Time and result of the last handshake of each organization. */
  const shaken = new Map<string, {
    readonly at: number
    readonly answer: Effect.Effect<HttpServerResponse.HttpServerResponse, QuotaReached | Unavailable>
  }>()

  const refusal = makeRefusal(yield* Refusals)
  const store = yield* makeStore
  const checks = yield* SenderChecks
  const verify = makeVerify(checks)

  /**
   * Judges the items of a body. Stores the body unless all items are faulty or the caller requests only the verdicts.
   */
  const judgeAndStore = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    org: string,
    bytes: Uint8Array,
    received: number,
  ) {
    const isTrial = yield* asksForVerdicts(request)
    const judged = yield* judging.judge(org as OrgSlug, bytes, headersOf(request, "events")).pipe(
      Effect.mapError(({ message }) => new Unavailable({ detail: message })),
      step("judge"),
    )
    if ("reason" in judged) return yield* invalid([{ pointer: "", detail: judged.reason }])
    const { items, unknown = [] } = judged
    if (items.length > 0 && items.every((item) => "status" in item && item.status === "rejected")) {
      return yield* invalid(faultsOf(items))
    }
    yield* warn(request, [...ofMembers(unknown), ...ofUnread(unreadIn(items))])
    const receivedAt = clock.currentTimeMillisUnsafe()
    const events = eventsOf(items).map((event) => ({ ...event, org, source: "events", receivedAt }))
    const { forget, keys } = yield* Effect.mapError(known.find(events, { enter: !isTrial }), storeIsDown)
    const late = yield* step("compare times")(untimely.find(events))
    const currency = items.some((item) => "currency" in item) ? yield* currencyOf(org) : null
    const answer = { status: "ok", received, items: verdictsOf(items, keys, late, currency) }
    if (isTrial) return HttpServerResponse.jsonUnsafe(answer)
    const storing = store(request, org, "events", bytes, answer, items.some((item) => "suppresses" in item))
    return yield* Effect.onError(storing, () => forget)
  })

  /** Receives custom events, authenticated by an API key or by a Standard Webhooks signature. */
  const receiveEvents = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, named: string) {
    let org = named
    const { headers } = request
    const signed = isSigned(headers as Record<string, string>) && headers["x-api-key"] === undefined &&
      headers["authorization"] === undefined
    if (!signed) {
      org = (yield* step("auth")(authorize(keys, request, named, "events"))).dataOrg
      // Checked first, because a body over the quota need not be read.
      yield* quota.check(org)
    } // Without a secret, no signature is valid, so the body is not read.
    else if (sources.readsBody(org, "events") === undefined) {
      return yield* refusal(request, org, "events", undefined, noSignedEvents)
    }
    // A binary CloudEvent has its attributes in headers, and its body may have any type.
    const binary = headers["ce-specversion"] !== undefined && isCloudEvents(headers as Record<string, string>)
    const body = yield* Body.ofWebhook(request, { ofJson: !signed && !binary })
    const { bytes } = body
    if (signed) {
      const verdict = yield* verify(org, "events", headers as Record<string, string>, body)
      if (verdict?.ok !== true) return yield* refusal(request, org, "events", verdict, noSignedEvents)
    }
    const counted = binary ? { items: 1 } : yield* countItems(bytes)
    // The sender is the caller's own code, whose author can act on a 400.
    if ("reason" in counted) return yield* invalid([{ pointer: "", detail: counted.reason }])
    const { items } = counted
    if (items > maxItems) {
      return yield* invalid([{ pointer: "", detail: `has ${items} items; send at most ${maxItems} in one request` }])
    }
    return yield* judgeAndStore(request, org, bytes, items)
  })

  /**
   * Receives a platform's webhook. An authentic body is stored even if its content is faulty, because platforms disable
   * webhooks that return errors.
   */
  const receive = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    org: string,
    sourceId: Exclude<SourceId, "events">,
  ) {
    const headers = request.headers as Record<string, string>
    const readsBody = sources.readsBody(org, sourceId)
    if (readsBody !== true) {
      const verdict = sources.verify(org, sourceId, headers, noBytes)
      // Checked first, so that a refused body is not read.
      if (verdict?.ok !== true) return yield* refusal(request, org, sourceId, verdict, notSetUp)
      yield* quota.check(org)
    }
    const body = yield* Body.ofWebhook(request, { ofJson: false })
    const { bytes } = body
    if (sourceId === "provider_e" && handshakeOf(headers, bytes) !== undefined) {
      const now = clock.currentTimeMillisUnsafe()
      const last = shaken.get(org)
      if (last !== undefined && now - last.at < handshakeEvery) return yield* last.answer
      const answer = yield* store(request, org, sourceId, bytes, { status: "ok", received: 0 }, false).pipe(
        Effect.tap((stored) => Effect.sync(() => shaken.set(org, { at: now, answer: Effect.succeed(stored) }))),
        Effect.onError(() => Effect.sync(() => shaken.delete(org))),
        Effect.cached,
      )
      // Set before the handshake is stored, so that concurrent handshakes store a single body and share its response.
      shaken.set(org, { at: now, answer })
      return yield* answer
    }
    if (readsBody === true) {
      const verdict = yield* verify(org, sourceId, headers, body)
      if (verdict?.ok !== true) return yield* refusal(request, org, sourceId, verdict, notSetUp)
    }
    const counted = bytes.length === 0 ? { items: 0 } : yield* countItems(bytes)
    // A body that is not JSON counts as one faulty item.
    const received = "reason" in counted ? 1 : counted.items
    const ownHeaders = yield* checks.confirm(sourceId, bytes)
    return yield* store(request, org, sourceId, bytes, { status: "ok", received }, maySuppress(bytes), ownHeaders)
  })

  yield* router.add(
    "POST",
    "/api/webhook/:segment/:org",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { org = "", segment: name = "" } = yield* HttpRouter.params
      const sourceId = sourceIdOf(name)
      if (sourceId === undefined) {
        return yield* new PathNotFound({
          detail: `There is no webhook ${JSON.stringify(name.slice(0, 50))}. There are ${listOfSources}`,
        })
      }
      return yield* sourceId === "events"
        ? receiveEvents(request, lookedUp(org))
        : receive(request, lookedUp(org), sourceId)
    }).pipe(Effect.catchTag("QuotaReached", overQuota)),
  )

  yield* router.add(
    "OPTIONS",
    "/api/webhook/events/:org",
    answerHandshake,
  )
}))
