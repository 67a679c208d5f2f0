import type { Schema } from "effect"
import { platforms, type SourceId, sourceTitle } from "../../../domain/Source.ts"
import { settingsOf } from "../../../intake/signatures/Verify.ts"
import { english } from "../../../languages/Language.ts"
import { inputFields } from "../../components/InputForm.tsx"
import { schemaFields, type Words } from "../../components/SchemaFields.ts"

/** A source as the console shows it. */
interface SourceForm {
  readonly title: string
  /** Labels of the secret at the platform and here. */
  readonly about: string
  readonly secret: Words
  /** Whether the source can be set up without a secret. */
  readonly isSecretOptional: boolean
  readonly settings: ReturnType<typeof inputFields>
  /** Names of business events count as conversions. */
  readonly conversions: boolean
  readonly mapping: boolean
}

const header = { label: english("Header with the token"), hint: english("In lower case. Default: authorization.") }
const passwordHeader = {
  label: english("Header with the password"),
  hint: english("In lower case. Default: authorization, or x-webhook-secret if the request has it instead."),
}
const tolerance = {
  label: english("Maximum age of a signature, in seconds"),
  hint: english("Default: 300. Enter any to accept signatures of any age. A repeated event still counts once."),
}

/** Labels and hints of settings, by source. */
export const sourceWords: { readonly [source in SourceId]: Readonly<Record<string, Words>> } = {
  provider_a: { header },
  provider_b: { header },
  provider_c: { tolerance_seconds: tolerance },
  provider_d: {
    scheme: {
      label: english("How requests are signed"),
      hint: english(
        "signature (default): with Segment's shared secret. token: a fixed token in a header, as sent by extensible webhooks, " +
          "RudderStack and mParticle.",
      ),
    },
    header: {
      label: english("Header with the token"),
      hint: english("Only for token. In lower case. Default: authorization."),
    },
    unsigned_items: {
      label: english("Accept batches of which only the first item is signed?"),
      hint: english(
        "Default: no. Segment signs only the first item, so anyone who has seen one signed item could append forged ones.",
      ),
    },
  },
  provider_e: {
    key_encoding: {
      label: english("Type of signature key"),
      hint: english("Default: text. base64: the key is Base64-encoded."),
    },
  },
  events: { tolerance_seconds: tolerance },
  ses: {
    topics: {
      label: english("Topics"),
      hint: english("The ARN of each topic that SES publishes to, one per line. Messages of other topics are refused."),
    },
    header: { ...passwordHeader, label: english("Header with the token"), further: true },
    certificates: {
      label: english("Certificates"),
      hint: english('Only if this installation cannot connect to Amazon: {"URL": "certificate in PEM"}.'),
      further: true,
    },
  },
  sendgrid: { tolerance_seconds: { ...tolerance, hint: english("Default: any. A repeated event still counts once.") } },
  postmark: { header: passwordHeader },
  resend: { tolerance_seconds: tolerance },
  brevo: { header: passwordHeader },
  klaviyo: { tolerance_seconds: tolerance },
  mailgun: {
    tolerance_seconds: { ...tolerance, hint: english("Default: 86400, one day. A repeated event still counts once.") },
  },
  sparkpost: { header: passwordHeader },
}

const formOf = (
  sourceId: SourceId,
  form:
    & Omit<SourceForm, "title" | "settings" | "isSecretOptional" | "conversions" | "mapping">
    & Partial<Pick<SourceForm, "isSecretOptional" | "conversions" | "mapping">>,
): SourceForm => {
  const { secrets: _, ...members } = settingsOf(platforms[sourceId]).fields as Readonly<
    Record<string, Schema.Constraint>
  >
  return {
    title: sourceTitle(sourceId),
    isSecretOptional: false,
    conversions: false,
    mapping: false,
    ...form,
    settings: inputFields(schemaFields(members, sourceWords[sourceId], "settings")),
  }
}

/** The sources that events can come from, in the order in which they are shown. */
export const sourceForms: { readonly [source in SourceId]: SourceForm } = {
  provider_a: formOf("provider_a", {
    about: english(
      "In Braze, add a Currents connector of the type Custom HTTP (or a webhook) with the address below and a bearer " +
        "token of your choice, and enter the same token here.",
    ),
    secret: { label: english("Bearer token"), hint: english("The token alone, without the word Bearer.") },
    conversions: true,
  }),
  provider_b: formOf("provider_b", {
    about: english(
      "In Iterable, add a system webhook with the address below and a fixed token, and enter the same token here.",
    ),
    secret: { label: english("Token"), hint: english("The token alone, without a word such as OAuth2.") },
  }),
  provider_c: formOf("provider_c", {
    about: english(
      "In Customer.io, add a reporting webhook with the address below. It shows a signing key: enter it here.",
    ),
    secret: { label: english("Webhook signing key") },
  }),
  provider_d: formOf("provider_d", {
    about: english(
      "In Segment, add a webhook destination with the address below and a shared secret of your choice, and enter the " +
        "same secret here.",
    ),
    secret: { label: english("Shared secret"), hint: english("With the scheme token: the token.") },
    conversions: true,
  }),
  provider_e: formOf("provider_e", {
    about: english("For existing integrations. An operator of this installation sets it up on the command line."),
    secret: { label: english("Signature key") },
  }),
  events: formOf("events", {
    about: english(
      "Your own code posts events to the address below, with an API key that may report events, or signed by " +
        "Standard Webhooks with a secret that you enter here.",
    ),
    secret: {
      label: english("Signing secret"),
      hint: english(
        "Only for signed requests: whsec_ followed by 24 to 64 bytes in Base64. Not needed with an API key.",
      ),
    },
    isSecretOptional: true,
    conversions: true,
    mapping: true,
  }),
  ses: formOf("ses", {
    about: english(
      "In Amazon SES, publish the events of a configuration set to an SNS topic, enter the topic here, and add an HTTPS " +
        "subscription with the address below to the topic. Parlance confirms it.",
    ),
    secret: {
      label: english("Token for EventBridge"),
      hint: english("Only for events of EventBridge. Messages of topics are signed and need none."),
    },
    isSecretOptional: true,
  }),
  sendgrid: formOf("sendgrid", {
    about: english(
      "In SendGrid, add an event webhook with the address below, switch on its signature, and enter the verification key " +
        "that SendGrid shows.",
    ),
    secret: { label: english("Verification key"), hint: english("In Base64, as SendGrid shows it.") },
  }),
  postmark: formOf("postmark", {
    about: english(
      "In Postmark, open the message stream, add a webhook with the address below and Basic authentication, and enter " +
        "the same password here. Set it up here first: Postmark calls the address when the webhook is saved.",
    ),
    secret: { label: english("Password"), hint: english("Of Basic authentication. The user name is not checked.") },
  }),
  resend: formOf("resend", {
    about: english(
      "In Resend, add a webhook with the address below and the events of e-mails, and copy its signing secret here.",
    ),
    secret: {
      label: english("Signing secret"),
      hint: english("Shown on the page of the webhook. It begins with whsec_."),
    },
  }),
  brevo: formOf("brevo", {
    about: english(
      "In Brevo, add a transactional webhook with the address below and the authentication method Token, and enter the " +
        "same token here. Set it up here first: Brevo drops events that are refused.",
    ),
    secret: { label: english("Token"), hint: english("Or the password of Basic authentication.") },
  }),
  klaviyo: formOf("klaviyo", {
    about: english(
      "In Klaviyo, add a system webhook with the address below and the topics of e-mails, and enter the same secret " +
        "key here.",
    ),
    secret: {
      label: english("Secret key"),
      hint: english("At least 16 characters. Entered in Klaviyo when the webhook is created."),
    },
    conversions: true,
  }),
  mailgun: formOf("mailgun", {
    about: english(
      "In Mailgun, add webhooks with the address below for all events, and enter the HTTP webhook signing key here.",
    ),
    secret: { label: english("HTTP webhook signing key"), hint: english("In Mailgun below API Security.") },
  }),
  sparkpost: formOf("sparkpost", {
    about: english(
      "In SparkPost, add a webhook with the address below and Basic authentication, and enter the same password here.",
    ),
    secret: { label: english("Password"), hint: english("Of Basic authentication. The user name is not checked.") },
  }),
}

/** Labels and hints of the settings that map events. */
export const conversionsWords = {
  label: english("Events that count as conversions (optional)"),
  hint: english("Names of business events, one per line, such as order completed. Case does not matter."),
}

/** Words of the field for a mapping. */
export const mappingWords = {
  label: english("Mapping (optional)"),
  hint: english(
    "For events in your own format, as JSON. Replaces the default format, CloudEvents and the conversions above.",
  ),
}
