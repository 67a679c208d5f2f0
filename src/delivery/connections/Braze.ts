import { Effect, Result, Schema, type Scope } from "effect"
import { messageKeyOf, nameOf } from "../../domain/EventKeys.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import type { Connection, Message } from "../Connection.ts"
import { htmlOf, mailboxText } from "../../text/Email.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import { accepted, exchange, objectOf, odd, type Peer, posting, probe, sortStatus, unfit } from "./Answers.ts"
import { contentOf } from "./Content.ts"
import { Address, DisplayName, Endpoint, entry, PlatformId, Token, under, Variables } from "./Entry.ts"
import { literal } from "./Liquid.ts"

/** Settings of a Braze connection. */
export const Settings = Schema.Struct({
  /** The REST endpoint of the instance, such as `https://rest.iad-01.braze.com`. */
  endpoint: Endpoint,
  /**
   * How a recipient is identified, because Braze sends to users, not to addresses. `email_alias`: the user who has the
   * address as an alias. `external_id`: the user whose external id is the address. Default: `email_alias`.
   */
  recipient: Schema.optionalKey(Schema.Literals(["email_alias", "external_id"])),
  /** Label of the aliases. Default: `email`. */
  alias_label: Schema.optionalKey(PlatformId),
  /** If set, messages are sent through this API-triggered transactional campaign, whose content uses our variables. */
  transactional_campaign_id: Schema.optionalKey(PlatformId),
  /** The sending app. `app_id` and `from` are required unless `transactional_campaign_id` is set. */
  app_id: Schema.optionalKey(PlatformId),
  from: Schema.optionalKey(Address),
  from_name: Schema.optionalKey(DisplayName),
  reply_to: Schema.optionalKey(Address),
  /** An API campaign that collects the statistics, and one of its message variations. */
  campaign_id: Schema.optionalKey(PlatformId),
  message_variation_id: Schema.optionalKey(PlatformId),
  /**
   * Which users receive messages, by their subscription state. Default: `subscribed`, which excludes users who opted
   * out.
   */
  subscription_state: Schema.optionalKey(Schema.Literals(["opted_in", "subscribed", "all"])),
  variables: Schema.optionalKey(Variables),
})
type Settings = typeof Settings.Type

/** Secrets of a Braze connection: a REST API key with the permission `messages.send` or `transactional.send`. */
export const Secrets = Schema.Struct({ api_key: Token })

/** Validates an administrator's input for this platform: see `entry`. */
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

/** Returns the body of `POST /messages/send`, or a text that names the missing part of the message. */
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
          from: mailboxText({ email: from, name: settings.from_name }),
          ...(settings.reply_to === undefined ? {} : { reply_to: settings.reply_to }),
          subject: literal(subject),
          ...(preheader === undefined ? {} : { preheader: literal(preheader) }),
          // Currents includes this tag in the send events of the message. `extras` goes only to the mail provider.
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

/** Returns the body for the transactional endpoint. Its campaign renders our variables as `api_trigger_properties`. */
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
    // Braze reports events of these sends by dispatch id and its own user id. The answer does not contain that user id,
    // so the events are matched by their tracking id.
    return accepted(dispatchId)
  }

/**
 * Sends through Braze by `POST /messages/send`. With `transactional_campaign_id`, uses the transactional endpoint
 * instead: the delivery's id is its `external_send_id`, and Braze sends once for this id within 24 hours. Facts:
 * `docs/integrations/facts/braze.md`.
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
      // A request without recipients sends nothing. Braze answers 400 if the key is valid, and 401 if it is not.
      test: probe(peer, posting(url, headers, {}), ({ status }) =>
        status === 400
          ? "Braze took the API key and its permission to send. The app, the sender and the campaign were not tried."
          : undefined),
      concurrency: 20,
      idempotent: isTransactional,
    }
  })
