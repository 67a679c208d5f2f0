import type { Schema } from "effect"
import * as Braze from "../../../delivery/connections/Braze.ts"
import * as CustomerIo from "../../../delivery/connections/CustomerIo.ts"
import * as Iterable from "../../../delivery/connections/Iterable.ts"
import type { PlatformName } from "../../../delivery/connections/Platforms.ts"
import * as Postmark from "../../../delivery/connections/Postmark.ts"
import * as Resend from "../../../delivery/connections/Resend.ts"
import * as Ses from "../../../delivery/connections/Ses.ts"
import * as Sfmc from "../../../delivery/connections/Sfmc.ts"
import * as Sink from "../../../delivery/connections/Sink.ts"
import * as Smtp from "../../../delivery/connections/Smtp.ts"
import * as Webhook from "../../../delivery/connections/Webhook.ts"
import { inputFields } from "../../components/InputForm.tsx"
import { schemaFields, type Words } from "../../components/SchemaFields.ts"

/** A messaging platform as the console offers it. */
interface PlatformForm {
  readonly title: string
  /** One sentence about the platform. */
  readonly about: string
  readonly settings: ReturnType<typeof inputFields>
  readonly secrets: ReturnType<typeof inputFields>
}

const from: Readonly<Record<string, Words>> = {
  from: {
    label: "Sender address",
    hint: "An address such as news@example.com. The platform must be allowed to send for its domain.",
  },
  from_name: { label: "Sender name", hint: "The sender name that mail programs show." },
  reply_to: { label: "Address for replies" },
}

const sender: Readonly<Record<string, Words>> = {
  ...from,
  from: { label: "Sender address (optional)", hint: "Default: sandbox@sandbox.test." },
}

const unsubscribe: Readonly<Record<string, Words>> = {
  "unsubscribe.url": {
    label: "Unsubscribe address",
    hint:
      "For the List-Unsubscribe header. {tracking_id} and {email} are replaced. With https, mail programs offer one-click unsubscribe.",
    further: true,
  },
  "unsubscribe.mailto": {
    label: "Unsubscribe mailbox",
    hint: "An e-mail address that receives unsubscribe requests.",
    further: true,
  },
  "unsubscribe.one_click": {
    label: "Unsubscribe link of this service",
    hint: "Used by all templates, instead of an address above. When off, each template decides.",
    further: true,
  },
}

const variables: Readonly<Record<string, Words>> = {
  "variables.subject": { label: "Variable with the subject", hint: "Default: subject.", further: true },
  "variables.body": {
    label: "Variable with the body",
    hint: "Default: body. HTML or text, according to its format.",
    further: true,
  },
  "variables.html": { label: "Variable with the HTML body", hint: "Default: html.", further: true },
  "variables.text": { label: "Variable with the text body", hint: "Default: text.", further: true },
  "variables.preheader": { label: "Variable with the preheader", hint: "Default: preheader.", further: true },
}

const senderId: Readonly<Record<string, Words>> = {
  sender_id: {
    label: "Sender id in Feedback-ID",
    hint:
      "5 to 15 characters by which Gmail Postmaster Tools group complaints. Default: derived from the organization.",
    further: true,
  },
}

const configurationSet = {
  label: "Configuration set",
  hint: "Of Amazon SES. Its event destinations report opens, clicks and bounces.",
}
const messageStream = { label: "Message stream", hint: "Of Postmark. Default: the transactional stream." }

const endpoint = {
  label: "API address",
  hint: "Replaces the region's address, such as https://proxy.example.com.",
  further: true,
}
const region = { label: "Data centre", hint: "Default: us." }

/** Labels and hints of settings and secrets, by platform. */
export const connectionWords: { readonly [platform in PlatformName]: Readonly<Record<string, Words>> } = {
  smtp: {
    host: { label: "Server", hint: "Host name, such as smtp.example.com." },
    port: { label: "Port", hint: "Default: 587, or 465 with tls." },
    tls: {
      label: "Encryption",
      hint:
        "starttls (default): encrypts before sending anything, otherwise the connection fails. tls: encrypted from the start. " +
        "none: only for servers in your own network.",
    },
    ca: {
      label: "Certificates to trust (optional)",
      hint: "In PEM format. Replaces the public authorities, for a server with a private certificate.",
      long: true,
      further: true,
    },
    user: { label: "User", hint: "Empty: no login." },
    ...from,
    ...unsubscribe,
    sender: {
      label: "E-mail service",
      hint: "Messages carry their tracking id for this service, so that its events find them. Default: by the server.",
    },
    configuration_set: { ...configurationSet, further: true },
    message_stream: { ...messageStream, further: true },
    ...senderId,
    bounce_domain: {
      label: "Domain for bounces",
      hint:
        "A domain such as bounces.shop.example. Mail servers send bounces to an address in this domain that is unique for each " +
        "message. Its MX record must point to this service.",
      further: true,
    },
    client_name: {
      label: "Own name (EHLO)",
      hint: "The name with which this service introduces itself to the server.",
      further: true,
    },
    connections: {
      label: "Concurrent sessions",
      hint: "1 to 20, as far as the server grants them. Default: 20.",
      further: true,
    },
    domain_share: {
      label: "Share of sessions per recipient domain",
      hint: "0.05 to 1. Default: 0.5. Applies while messages to other domains are waiting.",
      further: true,
    },
    domain_rate: {
      label: "Messages per second to one recipient domain",
      hint: "Empty: only the limit of the organization applies.",
      further: true,
    },
    ...variables,
    password: { label: "Password" },
  },
  ses: {
    region: { label: "Region", hint: "The AWS region of the sending identity, such as eu-west-1." },
    endpoint: { ...endpoint, hint: "Replaces the region's address, for FIPS and VPC endpoints." },
    ...from,
    ...unsubscribe,
    ...senderId,
    configuration_set: configurationSet,
    ...variables,
    access_key_id: {
      label: "Access key id",
      hint: "Of a user with the permissions ses:SendEmail and ses:SendRawEmail.",
    },
    secret_access_key: { label: "Secret access key" },
  },
  resend: {
    endpoint: { ...endpoint, hint: "Replaces https://api.resend.com." },
    ...from,
    ...unsubscribe,
    ...senderId,
    ...variables,
    api_key: { label: "API key", hint: "Sending access is enough." },
  },
  postmark: {
    endpoint: { ...endpoint, hint: "Replaces https://api.postmarkapp.com." },
    ...from,
    ...unsubscribe,
    ...senderId,
    message_stream: messageStream,
    ...variables,
    server_token: { label: "Server API token", hint: "Of the server in Postmark that sends." },
  },
  braze: {
    endpoint: { label: "REST endpoint", hint: "Of your instance, such as https://rest.iad-01.braze.com." },
    recipient: {
      label: "How people are addressed",
      hint:
        "email_alias (default): the user whose alias is the address. external_id: the user whose external id is the address.",
    },
    alias_label: { label: "Label of those aliases", hint: "Default: email.", further: true },
    transactional_campaign_id: {
      label: "Transactional campaign",
      hint:
        "If set, messages are sent by this API-triggered campaign, which receives the variables. Leave the fields below " +
        "that shape a message empty then.",
    },
    app_id: { label: "App", hint: "The id of the app that sends. Required without a transactional campaign." },
    ...from,
    campaign_id: { label: "Campaign for statistics", hint: "The id of an API campaign.", further: true },
    message_variation_id: { label: "Message variation", hint: "A message of that campaign.", further: true },
    subscription_state: {
      label: "Recipients",
      hint: "Default: subscribed, which excludes people who opted out.",
      further: true,
    },
    ...variables,
    api_key: { label: "REST API key", hint: "Needs the permission messages.send, or transactional.send." },
  },
  iterable: {
    campaign_id: {
      label: "Campaign",
      hint: "The number of a triggered campaign whose template has {{subject}}, {{{body}}} and so on.",
    },
    region,
    endpoint,
    allow_repeats: { label: "Can one person get several messages of this campaign?", hint: "Default: yes." },
    api_key: { label: "API key", hint: "A server-side key." },
  },
  customerio: {
    region,
    endpoint,
    ...from,
    transactional_message_id: {
      label: "Transactional message",
      hint: "Messages count in its statistics. Default: message 1.",
    },
    tracked: { label: "Track opens and clicks?", hint: "Default: yes." },
    send_to_unsubscribed: { label: "Also to those who unsubscribed?", hint: "Default: no." },
    ...variables,
    app_api_key: { label: "App API key" },
  },
  sfmc: {
    subdomain: {
      label: "Subdomain of the tenant",
      hint: "As in https://SUBDOMAIN.rest.marketingcloudapis.com. Required without the two addresses below.",
    },
    auth_endpoint: { label: "Authentication address", hint: "Replaces the address of the subdomain.", further: true },
    rest_endpoint: { label: "REST address", hint: "Replaces the address of the subdomain.", further: true },
    account_id: {
      label: "Business unit (MID)",
      hint: "Default: the business unit of the installed package.",
      further: true,
    },
    definition_key: {
      label: "Send definition",
      hint: "The key of the send definition. Its e-mail uses the variables as %%=v(@subject)=%% and so on.",
    },
    client_id: { label: "Client id", hint: "From a server-to-server installed package with the scope email_send." },
    client_secret: { label: "Client secret" },
  },
  sink: { ...sender, ...unsubscribe, ...variables },
  webhook: {
    url: { label: "Address", hint: "Receives a POST request with each message as JSON." },
    deduplicates: {
      label: "Does the receiver discard duplicates?",
      hint: "Default: no. With yes, an attempt whose response was lost is repeated.",
    },
    signing_secret: {
      label: "Signing secret",
      hint: "whsec_ followed by 24 to 64 random bytes in Base64, as defined by Standard Webhooks.",
    },
  },
}

const formOf = (
  platform: PlatformName,
  { Secrets, Settings }: {
    readonly Settings: { readonly fields: Readonly<Record<string, Schema.Constraint>> }
    readonly Secrets: { readonly fields: Readonly<Record<string, Schema.Constraint>> }
  },
  title: string,
  about: string,
): PlatformForm => ({
  title,
  about,
  settings: inputFields(schemaFields(Settings.fields, connectionWords[platform], "settings")),
  secrets: inputFields(schemaFields(Secrets.fields, connectionWords[platform], "secrets")),
})

/** The platforms that messages can leave through. */
export const platformForms: { readonly [platform in PlatformName]: PlatformForm } = {
  smtp: formOf("smtp", Smtp, "SMTP", "Any mail server or e-mail service with SMTP."),
  ses: formOf("ses", Ses, "Amazon SES", "Sends through Amazon SES by its API, without SMTP."),
  resend: formOf("resend", Resend, "Resend", "Sends through Resend by its API. A repeated attempt is sent once."),
  postmark: formOf("postmark", Postmark, "Postmark", "Sends through a server and a message stream of Postmark."),
  braze: formOf("braze", Braze, "Braze", "Sends through your Braze workspace, with its subscriptions and statistics."),
  iterable: formOf("iterable", Iterable, "Iterable", "Triggers a campaign of your Iterable project."),
  customerio: formOf(
    "customerio",
    CustomerIo,
    "Customer.io",
    "Sends transactional e-mail of your Customer.io workspace.",
  ),
  sfmc: formOf("sfmc", Sfmc, "Salesforce Marketing Cloud", "Uses a send definition of Marketing Cloud Engagement."),
  sink: formOf(
    "sink",
    Sink,
    "Sink",
    "Accepts every message and sends none. View the messages in the Sandbox. For first trials and test systems.",
  ),
  webhook: formOf("webhook", Webhook, "Signed webhook", "Posts each message, signed, to your own server."),
}
