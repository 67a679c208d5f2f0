import { Effect, Result, Schema, type Scope } from "effect"
import { isIPv6 } from "node:net"
import { domainToASCII } from "node:url"
import { AddressGuard } from "../../settings/AddressGuard.ts"
import type { Connection, Message, SendResult } from "../Connection.ts"
import { Composer } from "../Composer.ts"
import { DkimSigning } from "../dkim/DkimSigning.ts"
import { messageKeyOfRecipient } from "../../domain/EventKeys.ts"
import { foreignSettings, idInReply, senderHeaders, senderNames, senderOf, senders } from "../../domain/Senders.ts"
import { type Composed, validateAddress } from "../../text/Email.ts"
import { t } from "../../languages/Language.ts"
import { accepted, fails, ofRecipient, retry, works } from "./Answers.ts"
import { emailFields, emailOf, messageIdOf, unsubscribeFaults } from "./ComposedEmail.ts"
import { entry, PlatformId, Secret, ServiceId, Variables } from "./Entry.ts"
import { makeOutbound } from "./OutboundMail.ts"
import { open } from "./SmtpLine.ts"
import { sortFault } from "./SmtpReplies.ts"
import { type AttemptEnd, makeSessions } from "./SmtpSessions.ts"
import { longestMillis, rfcTimes } from "./SmtpTimes.ts"

const Host = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text.length > 0 && text.length <= 253 && (/^[a-z0-9._-]+$/i.test(text) || isIPv6(text))
      ? undefined
      : "must be a host name or an IP address, without a port"
  ),
)

const BounceDomain = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    validateAddress(`bounce@${text}`) === undefined ? undefined : "must be a domain, such as bounces.shop.example"
  ),
)

/** Settings of an SMTP connection. */
export const Settings = Schema.Struct({
  host: Host,
  /** Default: 587, or 465 if `tls` is `tls`. */
  port: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))),
  /**
   * `starttls`: requires STARTTLS before login and messages. `tls`: encrypted from the start. `none`: unencrypted, only
   * for servers listed in `OUTBOUND_ALLOW`. Default: `starttls`.
   */
  tls: Schema.optionalKey(Schema.Literals(["starttls", "tls", "none"])),
  /** PEM certificates of trusted authorities, which replace the public authorities. */
  ca: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter<string>((text) =>
        text.length <= 65_536 && /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.test(text)
          ? undefined
          : "must be certificates in PEM form, 65,536 characters at most"
      ),
    ),
  ),
  /** Unset: no login. */
  user: Schema.optionalKey(PlatformId),
  ...emailFields,
  /**
   * The e-mail service behind the server. Messages get the headers that make the service report their tracking ids.
   * `none`: no such headers. Default: the service of the host, if it is known.
   */
  sender: Schema.optionalKey(Schema.Literals([...senderNames, "none"])),
  /** Configuration set of Amazon SES, which publishes the events. Default: the set of the sending identity. */
  configuration_set: Schema.optionalKey(ServiceId),
  /** Message stream of Postmark. Default: Postmark's transactional stream. */
  message_stream: Schema.optionalKey(ServiceId),
  /**
   * Domain of the return paths. If set, each message has its own return path, such as
   * `bounce+TOKEN@bounces.shop.example`, to which mail servers report bounces. Mail for the domain must reach a node
   * with `BOUNCE_LISTEN`. Default: the return path is `from`.
   */
  bounce_domain: Schema.optionalKey(BounceDomain),
  /** Name of this client in EHLO. Default: the machine's name. */
  client_name: Schema.optionalKey(Host),
  /** Maximum number of concurrent sessions. Default: 20. The server may allow fewer. */
  connections: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))),
  /**
   * Share of the sessions that messages to one recipient domain may use while messages to other domains are waiting; at
   * least one session. Default: 0.5.
   */
  domain_share: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.05, maximum: 1 }))),
  /**
   * Maximum number of messages per second to one recipient domain. Default: limited only by the organization's rate.
   */
  domain_rate: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: 10_000 }))),
  variables: Schema.optionalKey(Variables),
})
type Settings = typeof Settings.Type

/** Secrets of an SMTP connection. */
export const Secrets = Schema.Struct({ password: Schema.optionalKey(Secret) })

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets, ({ tls, unsubscribe, user, ...service }, { password }) => [
  ...foreignSettings(service).map(({ name, setting }) => ({
    pointer: `/settings/${setting}`,
    detail: `is a setting of ${senders[name].title}: set sender to "${name}", or leave it out`,
  })),
  ...(user !== undefined && password === undefined
    ? [{ pointer: "/secrets/password", detail: "is required with a user" }]
    : []),
  ...(user === undefined && password !== undefined
    ? [{ pointer: "/settings/user", detail: "is required with a password" }]
    : []),
  ...(user !== undefined && tls === "none"
    ? [{ pointer: "/settings/tls", detail: 'must be "starttls" or "tls" where a password is sent' }]
    : []),
  ...unsubscribeFaults(unsubscribe),
])

/** Sets the message's own return path if the connection has a bounce domain. */
const withReturnPath = ({ bounce_domain }: Settings, message: Message, mail: Composed): Composed => {
  if (bounce_domain === undefined) return mail
  const { returnPath } = message
  return returnPath === undefined ? mail : { ...mail, from: `${returnPath}@${domainToASCII(bounce_domain)}` }
}

/** Returns the result of a message that the server accepted, with the service's id of the message if `reply` has it. */
const acceptedBy = (settings: Settings, message: Message, reply: string): SendResult => {
  const source = senderOf(settings)
  const id = source === undefined ? undefined : idInReply(source, reply)
  const messageKey = messageKeyOfRecipient(id, message.email)
  return accepted(
    id ?? messageIdOf(settings, message),
    source === undefined || messageKey === undefined ? [] : [{ source, messageKey }],
  )
}

/** Returns the result of an attempt that the server did not accept. */
const resultOf = (end: Exclude<AttemptEnd, { readonly _tag: "sent" }>, secrets: ReadonlyArray<string>): SendResult => {
  switch (end._tag) {
    case "fault":
      return sortFault(end.fault, secrets)
    case "closed":
      return retry("The connection was closed here", end.progress.began)
    case "crowded":
      return {
        _tag: "yielded",
        reason: "The server grants no further session while others are open",
        keepsPlace: true,
      }
    case "left":
      return {
        _tag: "yielded",
        reason: "The connection was changed or paused before the message began",
        keepsPlace: true,
      }
    case "yielded":
      return {
        _tag: "yielded",
        reason: "The server was slow to answer for this recipient, and other messages needed the session",
      }
    case "late": {
      const result = retry("The SMTP server did not answer within the time of RFC 5321", end.progress.began)
      return end.progress.isReady ? ofRecipient(result) : result
    }
  }
}

/**
 * Sends through an SMTP server with persistent sessions. SMTP has no idempotency key: only the `Message-ID`, which is
 * equal in each attempt, marks a repeated message. Facts: `docs/integrations/facts/smtp.md`.
 */
export const make = (
  settings: Settings,
  { password }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard | Composer> =>
  Effect.gen(function* () {
    const guard = yield* AddressGuard
    const composing = yield* (yield* Composer).forConnection
    const dkim = yield* DkimSigning
    const { connections = 20, tls = "starttls", user } = settings
    const secrets = password === undefined ? [] : [password]
    const sender = senderOf(settings)
    const line = open(guard, {
      host: settings.host,
      port: settings.port ?? (tls === "tls" ? 465 : 587),
      tls,
      ca: settings.ca,
      auth: user === undefined || password === undefined ? undefined : { user, password },
      clientName: settings.client_name,
      times: rfcTimes,
    })

    const sessions = yield* makeSessions(line, connections, rfcTimes)

    const outbound = makeOutbound(composing, (message) =>
      Result.map(emailOf(settings, message), (email) => ({
        ...email,
        dkim,
        senderHeaders: senderHeaders(settings, message.id),
      })))

    return {
      compose: outbound.compose,
      prepare: outbound.prepare,
      send: (message, giveUp) =>
        outbound.send(message, (mail) =>
          Effect.map(
            sessions.send(withReturnPath(settings, message, mail), giveUp),
            (end) => end._tag === "sent" ? acceptedBy(settings, message, end.reply) : resultOf(end, secrets),
          )),
      test: Effect.matchEffect(line, {
        onFailure: (fault) => {
          const sorted = sortFault(fault, secrets)
          return Effect.succeed(fails("reason" in sorted ? sorted.reason : t`The SMTP server could not be used`))
        },
        onSuccess: (opened) =>
          Effect.as(
            opened.quit,
            works(
              [
                tls === "none"
                  ? user === undefined
                    ? t`The SMTP server greeted.`
                    : t`The SMTP server greeted and took user and password.`
                  : user === undefined
                  ? t`The SMTP server greeted, encrypted.`
                  : t`The SMTP server greeted, encrypted and took user and password.`,
                t`Sender and recipients were not tried.`,
                ...(sender === undefined ? [] : [t`Messages carry their tracking ids for ${senders[sender].title}.`]),
              ].join(" "),
            ),
          ),
      }),
      leave: sessions.leave,
      answerMillis: longestMillis(rfcTimes),
      concurrency: connections,
      granted: sessions.granted,
      domains: { share: settings.domain_share ?? 0.5, perSecond: settings.domain_rate },
      idempotent: false,
    }
  })
