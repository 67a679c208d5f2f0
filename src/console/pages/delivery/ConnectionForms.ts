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
import { english } from "../../../languages/Language.ts"
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
    label: english("Sender address"),
    hint: english("An address such as news@example.com. The platform must be allowed to send for its domain."),
  },
  from_name: { label: english("Sender name"), hint: english("The sender name that mail programs show.") },
  reply_to: { label: english("Address for replies") },
}

const sender: Readonly<Record<string, Words>> = {
  ...from,
  from: { label: english("Sender address (optional)"), hint: english("Default: sandbox@sandbox.test.") },
}

const unsubscribe: Readonly<Record<string, Words>> = {
  "unsubscribe.url": {
    label: english("Unsubscribe address"),
    hint: english(
      "For the List-Unsubscribe header. {tracking_id} and {email} are replaced. With https, mail programs offer one-click unsubscribe.",
    ),
    further: true,
  },
  "unsubscribe.mailto": {
    label: english("Unsubscribe mailbox"),
    hint: english("An e-mail address that receives unsubscribe requests."),
    further: true,
  },
  "unsubscribe.one_click": {
    label: english("Unsubscribe link of this service"),
    hint: english("Used by all templates, instead of an address above. When off, each template decides."),
    further: true,
  },
}

const variables: Readonly<Record<string, Words>> = {
  "variables.subject": {
    label: english("Variable with the subject"),
    hint: english("Default: subject."),
    further: true,
  },
  "variables.body": {
    label: english("Variable with the body"),
    hint: english("Default: body. HTML or text, according to its format."),
    further: true,
  },
  "variables.html": { label: english("Variable with the HTML body"), hint: english("Default: html."), further: true },
  "variables.text": { label: english("Variable with the text body"), hint: english("Default: text."), further: true },
  "variables.preheader": {
    label: english("Variable with the preheader"),
    hint: english("Default: preheader."),
    further: true,
  },
}

const senderId: Readonly<Record<string, Words>> = {
  sender_id: {
    label: english("Sender id in Feedback-ID"),
    hint: english(
      "5 to 15 characters by which Gmail Postmaster Tools group complaints. Default: derived from the organization.",
    ),
    further: true,
  },
}

const configurationSet = {
  label: english("Configuration set"),
  hint: english("Of Amazon SES. Its event destinations report opens, clicks and bounces."),
}
const messageStream = {
  label: english("Message stream"),
  hint: english("Of Postmark. Default: the transactional stream."),
}

const endpoint = {
  label: english("API address"),
  hint: english("Replaces the region's address, such as https://proxy.example.com."),
  further: true,
}
const region = { label: english("Data centre"), hint: english("Default: us.") }

/** Labels and hints of settings and secrets, by platform. */
export const connectionWords: { readonly [platform in PlatformName]: Readonly<Record<string, Words>> } = {
  smtp: {
    host: { label: english("Server"), hint: english("Host name, such as smtp.example.com.") },
    port: { label: english("Port"), hint: english("Default: 587, or 465 with tls.") },
    tls: {
      label: english("Encryption"),
      hint: english(
        "starttls (default): encrypts before sending anything, otherwise the connection fails. tls: encrypted from the start. " +
          "none: only for servers in your own network.",
      ),
    },
    ca: {
      label: english("Certificates to trust (optional)"),
      hint: english("In PEM format. Replaces the public authorities, for a server with a private certificate."),
      long: true,
      further: true,
    },
    user: { label: english("User"), hint: english("Empty: no login.") },
    ...from,
    ...unsubscribe,
    sender: {
      label: english("E-mail service"),
      hint: english(
        "Messages carry their tracking id for this service, so that its events find them. Default: by the server.",
      ),
    },
    configuration_set: { ...configurationSet, further: true },
    message_stream: { ...messageStream, further: true },
    ...senderId,
    bounce_domain: {
      label: english("Domain for bounces"),
      hint: english(
        "A domain such as bounces.shop.example. Mail servers send bounces to an address in this domain that is unique for each " +
          "message. Its MX record must point to this service.",
      ),
      further: true,
    },
    client_name: {
      label: english("Own name (EHLO)"),
      hint: english("The name with which this service introduces itself to the server."),
      further: true,
    },
    connections: {
      label: english("Concurrent sessions"),
      hint: english("1 to 20, as far as the server grants them. Default: 20."),
      further: true,
    },
    domain_share: {
      label: english("Share of sessions per recipient domain"),
      hint: english("0.05 to 1. Default: 0.5. Applies while messages to other domains are waiting."),
      further: true,
    },
    domain_rate: {
      label: english("Messages per second to one recipient domain"),
      hint: english("Empty: only the limit of the organization applies."),
      further: true,
    },
    ...variables,
    password: { label: english("Password") },
  },
  ses: {
    region: { label: english("Region"), hint: english("The AWS region of the sending identity, such as eu-west-1.") },
    endpoint: { ...endpoint, hint: english("Replaces the region's address, for FIPS and VPC endpoints.") },
    ...from,
    ...unsubscribe,
    ...senderId,
    configuration_set: configurationSet,
    ...variables,
    access_key_id: {
      label: english("Access key id"),
      hint: english("Of a user with the permissions ses:SendEmail and ses:SendRawEmail."),
    },
    secret_access_key: { label: english("Secret access key") },
  },
  resend: {
    endpoint: { ...endpoint, hint: english("Replaces https://api.resend.com.") },
    ...from,
    ...unsubscribe,
    ...senderId,
    ...variables,
    api_key: { label: english("API key"), hint: english("Sending access is enough.") },
  },
  postmark: {
    endpoint: { ...endpoint, hint: english("Replaces https://api.postmarkapp.com.") },
    ...from,
    ...unsubscribe,
    ...senderId,
    message_stream: messageStream,
    ...variables,
    server_token: { label: english("Server API token"), hint: english("Of the server in Postmark that sends.") },
  },
  braze: {
    endpoint: {
      label: english("REST endpoint"),
      hint: english("Of your instance, such as https://rest.iad-01.braze.com."),
    },
    recipient: {
      label: english("How people are addressed"),
      hint: english(
        "email_alias (default): the user whose alias is the address. external_id: the user whose external id is the address.",
      ),
    },
    alias_label: { label: english("Label of those aliases"), hint: english("Default: email."), further: true },
    transactional_campaign_id: {
      label: english("Transactional campaign"),
      hint: english(
        "If set, messages are sent by this API-triggered campaign, which receives the variables. Leave the fields below " +
          "that shape a message empty then.",
      ),
    },
    app_id: {
      label: english("App"),
      hint: english("The id of the app that sends. Required without a transactional campaign."),
    },
    ...from,
    campaign_id: {
      label: english("Campaign for statistics"),
      hint: english("The id of an API campaign."),
      further: true,
    },
    message_variation_id: {
      label: english("Message variation"),
      hint: english("A message of that campaign."),
      further: true,
    },
    subscription_state: {
      label: english("Recipients"),
      hint: english("Default: subscribed, which excludes people who opted out."),
      further: true,
    },
    ...variables,
    api_key: {
      label: english("REST API key"),
      hint: english("Needs the permission messages.send, or transactional.send."),
    },
  },
  iterable: {
    campaign_id: {
      label: english("Campaign"),
      hint: english("The number of a triggered campaign whose template has {{subject}}, {{{body}}} and so on."),
    },
    region,
    endpoint,
    allow_repeats: {
      label: english("Can one person get several messages of this campaign?"),
      hint: english("Default: yes."),
    },
    api_key: { label: english("API key"), hint: english("A server-side key.") },
  },
  customerio: {
    region,
    endpoint,
    ...from,
    transactional_message_id: {
      label: english("Transactional message"),
      hint: english("Messages count in its statistics. Default: message 1."),
    },
    tracked: { label: english("Track opens and clicks?"), hint: english("Default: yes.") },
    send_to_unsubscribed: { label: english("Also to those who unsubscribed?"), hint: english("Default: no.") },
    ...variables,
    app_api_key: { label: english("App API key") },
  },
  sfmc: {
    subdomain: {
      label: english("Subdomain of the tenant"),
      hint: english("As in https://SUBDOMAIN.rest.marketingcloudapis.com. Required without the two addresses below."),
    },
    auth_endpoint: {
      label: english("Authentication address"),
      hint: english("Replaces the address of the subdomain."),
      further: true,
    },
    rest_endpoint: {
      label: english("REST address"),
      hint: english("Replaces the address of the subdomain."),
      further: true,
    },
    account_id: {
      label: english("Business unit (MID)"),
      hint: english("Default: the business unit of the installed package."),
      further: true,
    },
    definition_key: {
      label: english("Send definition"),
      hint: english("The key of the send definition. Its e-mail uses the variables as %%=v(@subject)=%% and so on."),
    },
    client_id: {
      label: english("Client id"),
      hint: english("From a server-to-server installed package with the scope email_send."),
    },
    client_secret: { label: english("Client secret") },
  },
  sink: { ...sender, ...unsubscribe, ...variables },
  webhook: {
    url: { label: english("Address"), hint: english("Receives a POST request with each message as JSON.") },
    deduplicates: {
      label: english("Does the receiver discard duplicates?"),
      hint: english("Default: no. With yes, an attempt whose response was lost is repeated."),
    },
    signing_secret: {
      label: english("Signing secret"),
      hint: english("whsec_ followed by 24 to 64 random bytes in Base64, as defined by Standard Webhooks."),
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
  smtp: formOf("smtp", Smtp, "SMTP", english("Any mail server or e-mail service with SMTP.")),
  ses: formOf("ses", Ses, "Amazon SES", english("Sends through Amazon SES by its API, without SMTP.")),
  resend: formOf(
    "resend",
    Resend,
    "Resend",
    english("Sends through Resend by its API. A repeated attempt is sent once."),
  ),
  postmark: formOf(
    "postmark",
    Postmark,
    "Postmark",
    english("Sends through a server and a message stream of Postmark."),
  ),
  braze: formOf(
    "braze",
    Braze,
    "Braze",
    english("Sends through your Braze workspace, with its subscriptions and statistics."),
  ),
  iterable: formOf("iterable", Iterable, "Iterable", english("Triggers a campaign of your Iterable project.")),
  customerio: formOf(
    "customerio",
    CustomerIo,
    "Customer.io",
    english("Sends transactional e-mail of your Customer.io workspace."),
  ),
  sfmc: formOf(
    "sfmc",
    Sfmc,
    "Salesforce Marketing Cloud",
    english("Uses a send definition of Marketing Cloud Engagement."),
  ),
  sink: formOf(
    "sink",
    Sink,
    english("Sink"),
    english(
      "Accepts every message and sends none. View the messages in the Sandbox. For first trials and test systems.",
    ),
  ),
  webhook: formOf(
    "webhook",
    Webhook,
    english("Signed webhook"),
    english("Posts each message, signed, to your own server."),
  ),
}
