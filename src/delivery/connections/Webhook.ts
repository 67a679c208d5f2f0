import { Clock, Effect, Schema, type Scope } from "effect"
import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import { nameOf } from "../../domain/EventKeys.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import type { Connection, Message } from "../Connection.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import { accepted, exchange, objectOf, type Peer, probe, sortStatus } from "./Answers.ts"
import { entry, HttpUrl } from "./Entry.ts"

const bytesOf = (secret: string): Buffer | undefined => {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  const bytes = encoded === undefined ? undefined : Buffer.from(encoded, "base64")
  return bytes !== undefined && bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined
}

/** Settings of a connection to the organization's own server. */
export const Settings = Schema.Struct({
  /** URL to which messages are posted. */
  url: HttpUrl,
  /** Whether the receiver sends a message once even if it receives a `webhook-id` several times. Default: false. */
  deduplicates: Schema.optionalKey(Schema.Boolean),
})

/** Secrets of a connection to the organization's own server. */
export const Secrets = Schema.Struct({
  /** `whsec_` followed by 24 to 64 random bytes in Base64, as in Standard Webhooks. */
  signing_secret: Schema.String.check(
    Schema.makeFilter<string>((text) =>
      bytesOf(text) === undefined ? "must be whsec_ and 24 to 64 bytes in Base64" : undefined
    ),
  ),
})

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets)

const name = "The webhook"

/**
 * Returns the posted body, of type `message.send`. Times are ISO 8601:
 *
 *     { "type": "message.send", "timestamp": when it was queued,
 *       "data": { "tracking_id", "org", "template_id", "copy_id", "email", "vars": {name: text},
 *                 "formats": {name: "text" | "html"}, "unsubscribe_url", "attempt": 1 and up, "queued_at" } }
 *
 * `tracking_id` is also the `webhook-id`. It is equal in every attempt, and reported events must contain it.
 */
const bodyOf = (message: Message): string => {
  const queuedAt = new Date(message.queuedAt).toISOString()
  return JSON.stringify({
    type: "message.send",
    timestamp: queuedAt,
    data: {
      tracking_id: message.id,
      org: message.org,
      template_id: message.templateId,
      copy_id: message.copyId,
      email: message.email,
      vars: message.vars,
      formats: message.formats,
      unsubscribe_url: message.unsubscribe?.url,
      attempt: message.attempt,
      queued_at: queuedAt,
    },
  })
}

/** Returns the headers of Standard Webhooks 1.0.0 for a body. `now` is in Unix milliseconds. */
export const signed = (secret: string, id: string, body: string, now: number): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac("sha256", bytesOf(secret)!).update(`${id}.${timestamp}.${body}`).digest("base64")
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  }
}

/**
 * Posts each message as JSON to the organization's own server, signed according to Standard Webhooks 1.0.0. The message
 * id is `webhook-id` and `Idempotency-Key`. A 2xx status accepts the message; a `message_id` in a JSON answer is stored
 * for display. 410 stops the connection.
 */
export const make = (
  { deduplicates, url: address }: typeof Settings.Type,
  { signing_secret: secret }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard> =>
  Effect.map(OutboundHttp.make, (http) => {
    const url = new URL(address)
    const peer: Peer = { name, http, secrets: [secret, secret.slice("whsec_".length)] }
    const sort = (answer: OutboundHttp.OutboundResponse, now: number) =>
      answer.status >= 200 && answer.status <= 299
        ? accepted(nameOf(objectOf(answer)?.["message_id"]))
        : sortStatus(name, answer, peer.secrets, now)
    return {
      send: (message) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const body = bodyOf(message)
          const headers = { ...signed(secret, message.id, body, now), "idempotency-key": message.id }
          return exchange(peer, { method: "POST", url, headers, body }, sort)
        }),
      test: Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const body = JSON.stringify({ type: "connection.test", timestamp: new Date(now).toISOString(), data: {} })
        const headers = signed(secret, `test-${now}`, body, now)
        return probe(peer, { method: "POST", url, headers, body }, ({ status }) =>
          status >= 200 && status <= 299
            ? `The webhook answered ${status} to a signed connection.test. Whether it checked the signature cannot be seen.`
            : undefined)
      }),
      concurrency: 20,
      idempotent: deduplicates ?? false,
    }
  })
