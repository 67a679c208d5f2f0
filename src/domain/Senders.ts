// E-mail services: how a message sent by SMTP carries its tracking id, and how the service names the message.

/** A setting of an SMTP connection that the service expects in a header. */
type SenderSetting = "configuration_set" | "message_stream"

interface Sender {
  /** Name for people. */
  readonly title: string
  /** Matches the names of its SMTP servers, in lowercase. */
  readonly host: RegExp
  /** Headers of every message by name. `{id}` is the tracking id, which the service repeats in its events. */
  readonly headers: Readonly<Record<string, string>>
  /** Names of headers by the setting with their value. */
  readonly settings?: { readonly [setting in SenderSetting]?: string }
  /**
   * Matches the reply to an accepted message. Its first group is the service's id of the message, which events repeat.
   * Absent: the reply has no such id.
   */
  readonly reply?: RegExp
}

/** A UUID at any place of a reply. */
const uuid = /\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b/i

/**
 * E-mail services by their name in settings and paths. Their documentation, and captured replies, are the source of the
 * headers and patterns; `docs/integrations/facts/email-services.md` names them.
 */
export const senders = {
  ses: {
    title: "Amazon SES",
    host: /^email-smtp(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$|\.email-smtp\.[a-z0-9-]+\.vpce\.amazonaws\.com$/,
    headers: { "X-SES-MESSAGE-TAGS": "tracking_id={id}" },
    settings: { configuration_set: "X-SES-CONFIGURATION-SET" },
    reply: /^250 (?:2\.\d\.\d )?ok:? ([0-9a-f]+(?:-[0-9a-f]+)+)\s*$/i,
  },
  sendgrid: {
    title: "SendGrid",
    host: /(?:^|\.)sendgrid\.net$/,
    headers: { "X-SMTPAPI": '{"unique_args": {"tracking_id": "{id}"}}' },
    reply: /queued as ([\w-]+)\s*$/i,
  },
  postmark: {
    title: "Postmark",
    host: /(?:^|\.)postmarkapp\.com$/,
    headers: { "X-PM-Metadata-tracking_id": "{id}" },
    settings: { message_stream: "X-PM-Message-Stream" },
    reply: uuid,
  },
  mailgun: {
    title: "Mailgun",
    host: /(?:^|\.)mailgun\.org$/,
    headers: { "X-Mailgun-Variables": '{"tracking_id": "{id}"}' },
  },
  resend: {
    title: "Resend",
    host: /(?:^|\.)resend\.com$/,
    headers: { "Resend-Idempotency-Key": "{id}" },
    reply: uuid,
  },
  brevo: {
    title: "Brevo",
    host: /^smtp-relay\.(?:brevo|sendinblue)\.com$/,
    headers: { "X-Mailin-custom": '{"tracking_id": "{id}"}' },
    reply: /queued as <([^<>\s]+)>\s*$/i,
  },
  mandrill: {
    title: "Mailchimp Transactional",
    host: /(?:^|\.)mandrillapp\.com$/,
    headers: { "X-MC-Metadata": '{"tracking_id": "{id}"}' },
  },
  sparkpost: {
    title: "SparkPost",
    host: /(?:^|\.)sparkpost(?:mail)?\.com$/,
    headers: { "X-MSYS-API": '{"metadata": {"tracking_id": "{id}"}}' },
  },
} as const satisfies Readonly<Record<string, Sender>>

/** Name of an e-mail service in settings and paths. */
export type SenderName = keyof typeof senders

/** The names of all e-mail services. */
export const senderNames = Object.keys(senders) as ReadonlyArray<SenderName>

/** Settings of an SMTP connection that concern its e-mail service. */
export interface SenderSettings extends Readonly<Partial<Record<SenderSetting, string | undefined>>> {
  readonly host?: string | undefined
  /** `none`: no service, whatever the host. Default: the service of the host. */
  readonly sender?: SenderName | "none" | undefined
}

/** Returns the service through which a connection sends, or undefined for other mail servers. */
export const senderOf = ({ host = "", sender }: SenderSettings): SenderName | undefined => {
  const server = host.toLowerCase().replace(/\.$/, "")
  return sender === "none" ? undefined : sender ?? senderNames.find((name) => senders[name].host.test(server))
}

/** Returns the names of settings that are set and belong to another service, with the title of that service. */
export const foreignSettings = (
  settings: SenderSettings,
): ReadonlyArray<{ readonly setting: SenderSetting; readonly name: SenderName }> =>
  senderNames.flatMap((name) =>
    (Object.keys((senders[name] as Sender).settings ?? {}) as Array<SenderSetting>).filter((setting) =>
      settings[setting] !== undefined && senderOf(settings) !== name
    ).map((setting) => ({ setting, name }))
  )

/** Returns the headers that make the service report `trackingId`, a UUID, in its events. */
export const senderHeaders = (settings: SenderSettings, trackingId: string): Readonly<Record<string, string>> => {
  const name = senderOf(settings)
  if (name === undefined) return {}
  const sender: Sender = senders[name]
  return Object.fromEntries([
    ...Object.entries(sender.headers).map(([header, value]) => [header, value.replace("{id}", trackingId)]),
    ...Object.entries(sender.settings ?? {}).flatMap(([setting, header]) => {
      const value = settings[setting as SenderSetting]
      return value === undefined ? [] : [[header, value]]
    }),
  ])
}

/** Returns the service's id of a message from the reply that accepted it, or undefined if the reply has none. */
export const idInReply = (name: SenderName, reply: string): string | undefined =>
  (senders[name] as Sender).reply?.exec(reply.trim())?.[1]
