import type { Schema } from "effect"
import * as Braze from "../../../delivery/connections/Braze.ts"
import * as CustomerIo from "../../../delivery/connections/CustomerIo.ts"
import * as Iterable from "../../../delivery/connections/Iterable.ts"
import type { PlatformName } from "../../../delivery/connections/Platforms.ts"
import * as Sfmc from "../../../delivery/connections/Sfmc.ts"
import * as Sink from "../../../delivery/connections/Sink.ts"
import * as Smtp from "../../../delivery/connections/Smtp.ts"
import * as Webhook from "../../../delivery/connections/Webhook.ts"
import { fieldsOf, type SchemaField, type Words } from "../../components/SchemaFields.tsx"

/** A messaging platform as the console offers it. */
export interface PlatformForm {
  readonly title: string
  /** One sentence about the platform. */
  readonly about: string
  readonly settings: ReadonlyArray<SchemaField>
  readonly secrets: ReadonlyArray<SchemaField>
}

const from: Readonly<Record<string, Words>> = {
  from: {
    label: "Sender address",
    hint: "Such as news@example.com; the platform must be allowed to send for its domain.",
  },
  from_name: { label: "Sender name", hint: "The name that mail programs show beside the address." },
  reply_to: { label: "Address for replies" },
}

const sender: Readonly<Record<string, Words>> = {
  ...from,
  from: { label: "Sender address (optional)", hint: "sandbox@sandbox.test unless set." },
}

const unsubscribe: Readonly<Record<string, Words>> = {
  "unsubscribe.url": {
    label: "Unsubscribe address",
    hint: "For List-Unsubscribe; {tracking_id} and {email} are filled in. With https, mail programs offer one click.",
    further: true,
  },
  "unsubscribe.mailto": {
    label: "Unsubscribe mailbox",
    hint: "An address that takes opt-outs by mail.",
    further: true,
  },
  "unsubscribe.one_click": {
    label: "Unsubscribe link of this service",
    hint: "For all templates, in place of an address above. Without it, templates choose.",
    further: true,
  },
}

const variables: Readonly<Record<string, Words>> = {
  "variables.subject": { label: "Variable with the subject", hint: "“subject” unless set.", further: true },
  "variables.body": {
    label: "Variable with the body",
    hint: "“body” unless set; HTML or text, as its format says.",
    further: true,
  },
  "variables.html": { label: "Variable with the HTML body", hint: "“html” unless set.", further: true },
  "variables.text": { label: "Variable with the text body", hint: "“text” unless set.", further: true },
  "variables.preheader": { label: "Variable with the preheader", hint: "“preheader” unless set.", further: true },
}

const endpoint = {
  label: "API address",
  hint: "In place of the region's, such as https://proxy.example.com.",
  further: true,
}
const region = { label: "Data centre", hint: "us unless set." }

/** Labels and hints of settings and secrets, by platform. */
export const connectionWords: { readonly [platform in PlatformName]: Readonly<Record<string, Words>> } = {
  smtp: {
    host: { label: "Server", hint: "Its host name, such as smtp.example.com." },
    port: { label: "Port", hint: "587 unless set; 465 with tls." },
    tls: {
      label: "Encryption",
      hint:
        "starttls unless set: encrypted before anything is said, or not at all. tls: from the start. none: for servers " +
        "of your own network only.",
    },
    ca: {
      label: "Certificates to trust (optional)",
      hint: "PEM, in place of the public authorities, for a server with a certificate of your own.",
      long: true,
      further: true,
    },
    user: { label: "User", hint: "Empty: no login." },
    ...from,
    ...unsubscribe,
    sender_id: {
      label: "Sender id in Feedback-ID",
      hint:
        "5 to 15 characters, by which Gmail's Postmaster Tools group complaints. Made from the organization unless set.",
      further: true,
    },
    bounce_domain: {
      label: "Domain for bounces",
      hint:
        "Such as bounces.shop.example. Mail servers report bounces to it, each message with an address of its own. Its MX " +
        "record has to lead to this service.",
      further: true,
    },
    client_name: { label: "Own name (EHLO)", hint: "How this service names itself to the server.", further: true },
    connections: { label: "Sessions at once", hint: "1 to 20; 5 unless set.", further: true },
    domain_share: {
      label: "Share of the sessions for one recipient domain",
      hint: "0.05 to 1; 0.5 unless set. It applies while messages to other domains wait.",
      further: true,
    },
    domain_rate: {
      label: "Messages a second to one recipient domain",
      hint: "Empty: no limit but that of the organization.",
      further: true,
    },
    ...variables,
    password: { label: "Password" },
  },
  braze: {
    endpoint: { label: "REST endpoint", hint: "Of your instance, such as https://rest.iad-01.braze.com." },
    recipient: {
      label: "How people are addressed",
      hint:
        "email_alias unless set: the user that has the address as an alias. external_id: whose external id is the address.",
    },
    alias_label: { label: "Label of those aliases", hint: "“email” unless set.", further: true },
    transactional_campaign_id: {
      label: "Transactional campaign",
      hint:
        "Set: messages go through this API-triggered campaign, whose content is the variables; the fields below that " +
        "shape a message are then left empty.",
    },
    app_id: { label: "App", hint: "The id of the app that sends. Required without a transactional campaign." },
    ...from,
    campaign_id: { label: "Campaign for statistics", hint: "The id of an API campaign.", further: true },
    message_variation_id: { label: "Message variation", hint: "Which of that campaign's messages.", further: true },
    subscription_state: {
      label: "Who gets it",
      hint: "subscribed unless set: who opted out gets nothing.",
      further: true,
    },
    ...variables,
    api_key: { label: "REST API key", hint: "With the permission messages.send, or transactional.send." },
  },
  iterable: {
    campaign_id: {
      label: "Campaign",
      hint: "The number of a triggered campaign whose template has {{subject}}, {{{body}}} and so on.",
    },
    region,
    endpoint,
    allow_repeats: { label: "Can one person get several messages of this campaign?", hint: "Yes unless set." },
    api_key: { label: "API key", hint: "A server-side key." },
  },
  customerio: {
    region,
    endpoint,
    ...from,
    transactional_message_id: {
      label: "Transactional message",
      hint: "Whose statistics these messages count for; message 1 unless set.",
    },
    tracked: { label: "Track opens and clicks?", hint: "Yes unless set." },
    send_to_unsubscribed: { label: "Also to those who unsubscribed?", hint: "No unless set." },
    ...variables,
    app_api_key: { label: "App API key" },
  },
  sfmc: {
    subdomain: {
      label: "Subdomain of the tenant",
      hint: "As in https://SUBDOMAIN.rest.marketingcloudapis.com. Required without the two addresses below.",
    },
    auth_endpoint: { label: "Authentication address", hint: "In place of the subdomain's.", further: true },
    rest_endpoint: { label: "REST address", hint: "In place of the subdomain's.", further: true },
    account_id: { label: "Business unit (MID)", hint: "That of the installed package unless set.", further: true },
    definition_key: {
      label: "Send definition",
      hint: "Its key; its e-mail renders the variables: %%=v(@subject)=%% and so on.",
    },
    client_id: { label: "Client id", hint: "Of a server-to-server installed package with the scope email_send." },
    client_secret: { label: "Client secret" },
  },
  sink: { ...sender, ...unsubscribe, ...variables },
  webhook: {
    url: { label: "Address", hint: "Each message is posted there as JSON." },
    deduplicates: {
      label: "Does the receiver pass a message on once, however often it comes?",
      hint: "No unless set. Yes: an attempt whose answer was lost may be repeated.",
    },
    signing_secret: {
      label: "Signing secret",
      hint: "whsec_ and 24 to 64 random bytes in Base64, by Standard Webhooks.",
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
  settings: fieldsOf(Settings.fields, connectionWords[platform], "settings"),
  secrets: fieldsOf(Secrets.fields, connectionWords[platform], "secrets"),
})

/** The platforms that messages can leave through. */
export const platformForms: { readonly [platform in PlatformName]: PlatformForm } = {
  smtp: formOf("smtp", Smtp, "SMTP", "Any mail server or e-mail service that takes SMTP."),
  braze: formOf("braze", Braze, "Braze", "Sends through your Braze workspace, with its subscriptions and statistics."),
  iterable: formOf("iterable", Iterable, "Iterable", "Triggers a campaign of your Iterable project."),
  customerio: formOf(
    "customerio",
    CustomerIo,
    "Customer.io",
    "Sends transactional e-mail of your Customer.io workspace.",
  ),
  sfmc: formOf(
    "sfmc",
    Sfmc,
    "Salesforce Marketing Cloud",
    "Sends by a send definition of Marketing Cloud Engagement.",
  ),
  sink: formOf(
    "sink",
    Sink,
    "Sink",
    "Takes every message and sends none: look at them on the page Sandbox. For a first try, and for systems under test.",
  ),
  webhook: formOf("webhook", Webhook, "Signed webhook", "Posts each message, signed, to a server of your own."),
}
