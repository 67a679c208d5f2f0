import { Effect, Result, Schema, type Scope } from "effect"
import { messageKeyOf, nameOf } from "../../domain/EventKeys.ts"
import type { AddressGuard } from "../AddressGuard.ts"
import type { Connection, Message } from "../Connection.ts"
import { htmlOf } from "../../domain/Email.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import { accepted, exchange, objectOf, odd, type Peer, posting, probe, sortStatus, unfit } from "./Answers.ts"
import { contentOf } from "./Content.ts"
import { Address, DisplayName, Endpoint, entry, PlatformId, Token, under, Variables } from "./Entry.ts"
import { literal } from "./Liquid.ts"

/** Settings of Braze. */
export const Settings = Schema.Struct({
  /** The REST endpoint of the instance, such as `https://rest.iad-01.braze.com`. */
  endpoint: Endpoint,
  /**
   * Braze addresses users, not addresses. `email_alias`: the user with the address as an alias; `external_id`: the user
   * whose external id is the address. Default `email_alias`.
   */
  recipient: Schema.optionalKey(Schema.Literals(["email_alias", "external_id"])),
  /** Label of those aliases. Default `email`. */
  alias_label: Schema.optionalKey(PlatformId),
  /** Set: messages go through this API-triggered transactional campaign, whose content is our variables. */
  transactional_campaign_id: Schema.optionalKey(PlatformId),
  /** The app that sends. Required without `transactional_campaign_id`, as is `from`. */
  app_id: Schema.optionalKey(PlatformId),
  from: Schema.optionalKey(Address),
  from_name: Schema.optionalKey(DisplayName),
  reply_to: Schema.optionalKey(Address),
  /** An API campaign that statistics are kept under, and which of its messages. */
  campaign_id: Schema.optionalKey(PlatformId),
  message_variation_id: Schema.optionalKey(PlatformId),
  /** `subscribed` unless set: who opted out gets nothing. */
  subscription_state: Schema.optionalKey(Schema.Literals(["opted_in", "subscribed", "all"])),
  variables: Schema.optionalKey(Variables),
})
type Settings = typeof Settings.Type

/** Secrets of Braze: a REST API key with the permission `messages.send`, or `transactional.send`. */
export const Secrets = Schema.Struct({ api_key: Token })

export const decode = entry(Settings, Secrets, (settings) => {
  if (settings.transactional_campaign_id !== undefined) {
    return (["app_id", "from", "from_name", "reply_to", "campaign_id", "message_variation_id", "variables"] as const)
      .filter((name) => settings[name] !== undefined)
      .map((name) => ({
        pointer: `/settings/${name}`,
        detail: "is not used with transactional_campaign_id, whose campaign has the content",
      }))
  }
  return (["app_id", "from"] as const)
    .filter((name) => settings[name] === undefined)
    .map((name) => ({ pointer: `/settings/${name}`, detail: "is required without transactional_campaign_id" }))
})

const name = "Braze"

const personOf = ({ alias_label: label = "email", recipient = "email_alias" }: Settings, email: string) =>
  recipient === "external_id"
    ? { externalId: email, alias: undefined }
    : { externalId: undefined, alias: { alias_name: email, alias_label: label } }

/** The body of `POST /messages/send`, or a text that names the missing part of the message. */
const messageBody = (settings: Settings, message: Message) =>
  Result.map(contentOf(message, settings.variables), ({ html, preheader, subject, text }) => {
    const { alias, externalId } = personOf(settings, message.email)
    const from = settings.from!
    return {
      ...(alias === undefined ? { external_user_ids: [externalId] } : { user_aliases: [alias] }),
      ...(settings.campaign_id === undefined ? {} : { campaign_id: settings.campaign_id }),
      recipient_subscription_state: settings.subscription_state ?? "subscribed",
      messages: {
        email: {
          app_id: settings.app_id,
          from: settings.from_name === undefined ? from : `${quoted(settings.from_name)} <${from}>`,
          ...(settings.reply_to === undefined ? {} : { reply_to: settings.reply_to }),
          subject: literal(subject),
          ...(preheader === undefined ? {} : { preheader: literal(preheader) }),
          // Currents repeats this tag with each event of the message; `extras` goes to the mail provider only.
          body: `${literal(html ?? htmlOf(text ?? ""))}{% message_extras :key tracking_id :value ${message.id} %}`,
          ...(text === undefined ? {} : { plaintext_body: literal(text) }),
          ...(settings.message_variation_id === undefined
            ? {}
            : { message_variation_id: settings.message_variation_id }),
          headers: { "X-Tracking-Id": message.id },
          extras: { tracking_id: message.id },
        },
      },
    }
  })

/** A display name as RFC 5322 has it where it is more than words. */
const quoted = (text: string) => /^[\p{L}\p{N} ]+$/u.test(text) ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`

/** The body of the transactional endpoint, whose campaign renders our variables as `api_trigger_properties`. */
const triggerBody = (settings: Settings, message: Message) => {
  const { alias, externalId } = personOf(settings, message.email)
  return {
    external_send_id: message.id,
    trigger_properties: { ...message.vars, tracking_id: message.id },
    recipient: alias === undefined ? { external_user_id: externalId } : { user_alias: alias },
  }
}

const sort =
  ({ name, secrets }: Peer, isTransactional: boolean) => (answer: OutboundHttp.OutboundResponse, now: number) => {
    const { status } = answer
    if (status < 200 || status > 299) return sortStatus(name, answer, secrets, now)
    const said = objectOf(answer)
    const dispatchId = nameOf(said?.["dispatch_id"])
    if (isTransactional) {
      if (dispatchId === undefined) return odd(name, answer, "dispatch_id", secrets)
      const messageKey = messageKeyOf(dispatchId)
      return accepted(dispatchId, messageKey === undefined ? [] : [{ source: "provider_a", messageKey }])
    }
    const { message } = said ?? {}
    if (message !== "success" && message !== "queued") return odd(name, answer, 'message "success"', secrets)
    // Events of these sends are told by dispatch id and Braze's own id of the user, which the answer does not have: they are
    // matched by the tracking id they carry.
    return accepted(dispatchId)
  }

/**
 * Braze by `POST /messages/send`, or with `transactional_campaign_id` by the transactional endpoint, which takes the
 * delivery's id as `external_send_id` and sends once under it within 24 hours. Source: `providers.md` 9.1.
 */
export const make = (
  settings: Settings,
  { api_key: key }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard> =>
  Effect.map(OutboundHttp.make, (http) => {
    const peer: Peer = { name, http, secrets: [key] }
    const { transactional_campaign_id: campaign } = settings
    const isTransactional = campaign !== undefined
    const url = under(
      settings.endpoint,
      isTransactional ? `/transactional/v1/campaigns/${encodeURIComponent(campaign)}/send` : "/messages/send",
    )
    const headers = { authorization: `Bearer ${key}` }
    const sorted = sort(peer, isTransactional)
    return {
      send: (message) => {
        if (isTransactional) return exchange(peer, posting(url, headers, triggerBody(settings, message)), sorted)
        const body = messageBody(settings, message)
        return Result.isFailure(body)
          ? Effect.succeed(unfit(`The message ${body.failure}`))
          : exchange(peer, posting(url, headers, body.success), sorted)
      },
      // Without recipients nothing can be sent: a key that is right is told so with 400, one that is not with 401.
      test: probe(peer, posting(url, headers, {}), ({ status }) =>
        status === 400
          ? "Braze took the API key and its permission to send. The app, the sender and the campaign were not tried."
          : undefined),
      concurrency: 20,
      idempotent: isTransactional,
    }
  })
