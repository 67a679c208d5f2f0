import { Effect, Schema, type Scope } from "effect"
import { nameOf } from "../../domain/EventKeys.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import type { Connection, SendResult } from "../Connection.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import {
  accepted,
  broken,
  exchange,
  messageWaitOf,
  objectOf,
  odd,
  ofRecipient,
  type Peer,
  posting,
  probe,
  reasonOf,
  refused,
  retry,
  slowDown,
  sortStatus,
  waitOf,
} from "./Answers.ts"
import { Endpoint, entry, Token, under } from "./Entry.ts"

const endpoints = { us: "https://api.iterable.com", eu: "https://api.eu.iterable.com" } as const

/** Settings of an Iterable connection. */
export const Settings = Schema.Struct({
  /** The triggered campaign whose template renders our variables: `{{subject}}`, `{{{body}}}` and so on. */
  campaign_id: Schema.Int.check(Schema.isGreaterThan(0)),
  /** Data centre. Default: `us`. */
  region: Schema.optionalKey(Schema.Literals(["us", "eu"])),
  /** Replaces the URL of the region. */
  endpoint: Schema.optionalKey(Endpoint),
  /** False: each person receives at most one message of this campaign. Default: true. */
  allow_repeats: Schema.optionalKey(Schema.Boolean),
})

/** Secrets of an Iterable connection: a server-side API key. */
export const Secrets = Schema.Struct({ api_key: Token })

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets)

const name = "Iterable"

/** Error codes that are more specific than their status. */
const codes: ReadonlyMap<string, "retry" | "refused" | "broken" | "slow-down"> = new Map([
  ["ratelimitexceeded", "slow-down"],
  ["databaseerror", "retry"],
  ["genericerror", "retry"],
  ["queueemailerror", "retry"],
  ["badapikey", "broken"],
  ["forbidden", "broken"],
  ["badparams", "refused"],
  ["badjsonbody", "refused"],
  ["requestfieldstypesmismatched", "refused"],
  ["notfound", "refused"],
  ["invalidemailaddresserror", "refused"],
  ["unknownemailerror", "refused"],
  ["forgottenusererror", "refused"],
])

const sort = (secrets: ReadonlyArray<string>) => (answer: OutboundHttp.OutboundResponse, now: number): SendResult => {
  const code = nameOf(objectOf(answer)?.["code"])?.toLowerCase()
  if (answer.status === 200 && code === "success") return accepted()
  const reason = reasonOf(name, answer, secrets)
  switch (code === undefined ? undefined : codes.get(code)) {
    case "slow-down":
      return slowDown(reason, waitOf(answer, now))
    case "retry":
      return code === "queueemailerror"
        ? ofRecipient(retry(reason, false, messageWaitOf(answer, now)))
        : retry(reason, false, messageWaitOf(answer, now))
    case "broken":
      return broken(reason)
    case "refused":
      return refused(reason)
  }
  return answer.status >= 200 && answer.status <= 299
    ? odd(name, answer, 'code "Success"', secrets)
    : sortStatus(name, answer, secrets, now)
}

/**
 * Sends through Iterable by `POST /api/email/target`: the campaign's template renders our variables. Its send events
 * carry `tracking_id` in `transactionalData`. The answer does not identify the message. Iterable has no idempotency
 * key, so a repeated request sends the message twice. Facts: `docs/integrations/facts/iterable.md`.
 */
export const make = (
  settings: typeof Settings.Type,
  { api_key: key }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard> =>
  Effect.map(OutboundHttp.make, (http) => {
    const peer: Peer = { name, http, secrets: [key] }
    const endpoint = settings.endpoint ?? endpoints[settings.region ?? "us"]
    const headers = { "api-key": key }
    const url = under(endpoint, "/api/email/target")
    const sorted = sort(peer.secrets)
    return {
      send: (message) =>
        exchange(
          peer,
          posting(url, headers, {
            campaignId: settings.campaign_id,
            recipientEmail: message.email,
            dataFields: { ...message.vars, tracking_id: message.id },
            metadata: { tracking_id: message.id, template_id: message.templateId },
            allowRepeatMarketingSends: settings.allow_repeats ?? true,
          }),
          sorted,
        ),
      test: probe(peer, { method: "GET", url: under(endpoint, "/api/lists"), headers }, ({ status }) =>
        status === 200 ? "Iterable took the API key. The campaign was not tried." : undefined),
      concurrency: 20,
      idempotent: false,
    }
  })
