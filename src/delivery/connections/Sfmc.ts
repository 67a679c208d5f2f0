import { Clock, Effect, Result, Schema, type Scope, Semaphore } from "effect"
import { nameOf } from "../../domain/EventKeys.ts"
import { t } from "../../languages/Language.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import type { Connection, Message, SendResult } from "../Connection.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import {
  accepted,
  excerpt,
  exchange,
  fails,
  objectOf,
  odd,
  type Peer,
  posting,
  reasonOf,
  refused,
  slowDown,
  sortNoAnswer,
  sortStatus,
  waitOf,
  works,
} from "./Answers.ts"
import { Endpoint, entry, PlatformId, Secret, under } from "./Entry.ts"

const Subdomain = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    /^[a-z0-9-]{1,63}$/i.test(text) ? undefined : "must be the subdomain of the tenant: letters, digits and hyphens"
  ),
)

/** Settings of a Salesforce Marketing Cloud connection. */
export const Settings = Schema.Struct({
  /**
   * The tenant's subdomain, as in `https://<subdomain>.rest.marketingcloudapis.com`. Required unless both endpoints are
   * set.
   */
  subdomain: Schema.optionalKey(Subdomain),
  /** Replace the URLs of the subdomain. */
  auth_endpoint: Schema.optionalKey(Endpoint),
  rest_endpoint: Schema.optionalKey(Endpoint),
  /** Business unit (MID) to send from. Default: the business unit of the installed package. */
  account_id: Schema.optionalKey(PlatformId),
  /** Key of the send definition, whose e-mail renders our variables: `%%=v(@subject)=%%` and so on. */
  definition_key: PlatformId,
})
type Settings = typeof Settings.Type

/** Secrets of a Marketing Cloud connection: a server-to-server installed package with the scope `email_send`. */
export const Secrets = Schema.Struct({ client_id: Secret, client_secret: Secret })

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(
  Settings,
  Secrets,
  (settings) => {
    if (settings.subdomain !== undefined) return []
    const missing = (["auth_endpoint", "rest_endpoint"] as const).filter((name) => settings[name] === undefined)
    return missing.length === 2
      ? [{ pointer: "/settings/subdomain", detail: "is required, or both auth_endpoint and rest_endpoint" }]
      : missing.map((name) => ({ pointer: `/settings/${name}`, detail: "is required without subdomain" }))
  },
)

const name = "Marketing Cloud"

/** A token is replaced this long before it expires. Unit: milliseconds. */
const tokenMargin = 60_000

interface Token {
  readonly value: string
  readonly until: number
}

/**
 * Whether an answer refuses a repeated message key. Recognized by its words, because the error code is not documented.
 */
const isRepeat = (said: string) => /message ?key/i.test(said) && /already|duplicate|unique|exists|in use/i.test(said)

/** Whether an accepted request refuses its only recipient: the recipient's error code is not 0. */
const isRecipientRefused = (said: Readonly<Record<string, unknown>>): boolean => {
  const responses = said["responses"]
  return Array.isArray(responses) &&
    responses.some((one: { readonly errorcode?: unknown } | null) => Number(one?.errorcode ?? 0) !== 0)
}

const attributesOf = (message: Message) => ({ ...message.vars, tracking_id: message.id })

/** Requests a token with the grant. Fails with the result of a message that could not be sent without it. */
const newToken = Effect.fnUntraced(function* (
  { http, secrets }: Peer,
  auth: string,
  grant: Readonly<Record<string, string>>,
): Effect.fn.Return<Token, SendResult> {
  const result = yield* Effect.result(http.request(posting(under(auth, "/v2/token"), {}, grant)))
  // Without a token, no message was sent.
  if (Result.isFailure(result)) {
    const sorted = sortNoAnswer(`${name}'s token endpoint`, result.failure, secrets)
    return yield* Effect.fail(sorted._tag === "retry" ? { ...sorted, uncertain: false } : sorted)
  }
  const answer = result.success
  const now = yield* Clock.currentTimeMillis
  const said = objectOf(answer)
  const value = bearerOf(said?.["access_token"])
  const seconds = Number(said?.["expires_in"])
  if (answer.status === 200 && value !== undefined) {
    return { value, until: now + (Number.isFinite(seconds) ? seconds * 1_000 : 0) - tokenMargin }
  }
  // The endpoint answers wrong credentials with 400 and an OAuth error.
  const sorted = sortStatus(`${name}'s token endpoint`, answer, secrets, now)
  return yield* Effect.fail<SendResult>(
    sorted._tag === "refused"
      ? { _tag: "broken", reason: `${sorted.reason}. Check client_id and client_secret` }
      : sorted,
  )
})

/** The result of a message by the answer of Marketing Cloud. */
const sort = (secrets: ReadonlyArray<string>) => (answer: OutboundHttp.OutboundResponse, now: number): SendResult => {
  const { status } = answer
  const said = objectOf(answer)
  if (status >= 200 && status <= 299) {
    const requestId = nameOf(said?.["requestId"])
    const code = said?.["errorcode"] ?? 0
    if (said === undefined || (requestId === undefined && said["responses"] === undefined)) {
      return odd(name, answer, "requestId", secrets)
    }
    return code === 0 && !isRecipientRefused(said) ? accepted(requestId) : refused(reasonOf(name, answer, secrets))
  }
  if (status === 400 && isRepeat(answer.body)) return accepted()
  const code = Number(said?.["errorcode"])
  if (code === 50_100 || code === 50_200) return slowDown(reasonOf(name, answer, secrets), waitOf(answer, now))
  return sortStatus(name, answer, secrets, now)
}

/**
 * Sends through Marketing Cloud by `POST /messaging/v1/email/messages/{messageKey}`, with the delivery's id as the key.
 * Marketing Cloud refuses a repeated key, which counts as accepted. Its events carry the key. The contact key is the
 * address. Facts: `docs/integrations/facts/marketing-cloud.md`.
 */
export const make = (
  settings: Settings,
  { client_id: clientId, client_secret: clientSecret }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard> =>
  Effect.gen(function* () {
    const http = yield* OutboundHttp.make
    const turn = yield* Semaphore.make(1)
    const auth = settings.auth_endpoint ?? `https://${settings.subdomain}.auth.marketingcloudapis.com`
    const rest = settings.rest_endpoint ?? `https://${settings.subdomain}.rest.marketingcloudapis.com`
    const peer: Peer = { name, http, secrets: [clientSecret, clientId] }
    let token: Token | undefined

    const requestToken = newToken(peer, auth, {
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
      ...(settings.account_id === undefined ? {} : { account_id: settings.account_id }),
    })

    /**
     * Returns the current token, or a new token if the current one is missing, expired or equal to `rejected`.
     * Concurrent calls share one request.
     */
    const tokenFor = (rejected: string | undefined): Effect.Effect<string, SendResult> =>
      turn.withPermits(1)(Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (token === undefined || token.until <= now || token.value === rejected) token = yield* requestToken
        return token.value
      }))

    const attempt = (message: Message, bearer: string) => {
      // The token is also a secret until it expires.
      const secrets = [...peer.secrets, bearer]
      const url = under(rest, `/messaging/v1/email/messages/${encodeURIComponent(message.id)}`)
      let unauthorized = false
      const sorted = sort(secrets)
      const sent = exchange(
        { ...peer, secrets },
        posting(url, { authorization: `Bearer ${bearer}` }, {
          definitionKey: settings.definition_key,
          recipient: { contactKey: message.email, to: message.email, attributes: attributesOf(message) },
        }),
        (answer, now) => {
          unauthorized = answer.status === 401
          return sorted(answer, now)
        },
      )
      return Effect.map(sent, (result) => ({ result, unauthorized }))
    }

    return {
      send: (message) =>
        Effect.gen(function* () {
          const bearer = yield* tokenFor(undefined)
          const first = yield* attempt(message, bearer)
          if (!first.unauthorized) return first.result
          return (yield* attempt(message, yield* tokenFor(bearer))).result
        }).pipe(Effect.catch((result) => Effect.succeed(result))),
      test: Effect.match(requestToken, {
        onFailure: (result) => fails("reason" in result ? excerpt(result.reason, peer.secrets) : "No token was given"),
        onSuccess: () => works(t`Marketing Cloud issued a token. The send definition was not tried.`),
      }),
      concurrency: 20,
      idempotent: true,
    }
  })

/** Returns a token if the value is a text without spaces. */
const bearerOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? value : undefined
