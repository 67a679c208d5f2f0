/** The platform of each webhook source, by the name of the source in paths and tables. */
export const platforms = {
  provider_a: "braze",
  provider_b: "iterable",
  provider_c: "customerio",
  provider_d: "segment",
  provider_e: "sfmc",
  events: "events",
  ses: "ses",
  sendgrid: "sendgrid",
  postmark: "postmark",
  resend: "resend",
  brevo: "brevo",
  klaviyo: "klaviyo",
  mailgun: "mailgun",
  sparkpost: "sparkpost",
} as const

/** The name of a source in paths and tables: neutral for the first five platforms, and the sender's own for e-mail senders. */
export type SourceId = keyof typeof platforms

/** The platform of a source. The platform of `events` is the caller's own code. */
export type Platform = (typeof platforms)[SourceId]

/** The names of the platforms for people. */
const platformTitles: { readonly [platform in Platform]: string } = {
  braze: "Braze",
  iterable: "Iterable",
  customerio: "Customer.io",
  segment: "Segment",
  sfmc: "Salesforce Marketing Cloud",
  events: "Custom events",
  ses: "Amazon SES",
  sendgrid: "SendGrid",
  postmark: "Postmark",
  resend: "Resend",
  brevo: "Brevo",
  klaviyo: "Klaviyo",
  mailgun: "Mailgun",
  sparkpost: "SparkPost",
}

/** The name of a source for people. */
export const sourceTitle = (source: SourceId): string => platformTitles[platforms[source]]

/** Every source under both names, for messages and documents: `provider_a (braze), …, events`. */
export const listOfSources = Object.entries(platforms)
  .map(([id, platform]) => id === platform ? id : `${id} (${platform})`).join(", ")

const byName = new Map<string, SourceId>()
for (const [id, platform] of Object.entries(platforms) as ReadonlyArray<[SourceId, Platform]>) {
  byName.set(id, id)
  byName.set(platform, id)
}

/** The id of a source by its neutral name or the name of its platform. Undefined for any other name. */
export const sourceIdOf = (name: string): SourceId | undefined => byName.get(name)

/** Inbox name of the service's own reports about messages it sends. */
export const deliverSource = "deliver"

/** Inbox name of mail about deliveries, such as bounces and complaints. */
export const mailSource = "mail" as const

/** Inbox name of attributes of people from files in a bucket. */
export const bucketSource = "bucket"

/**
 * Headers of a body that a sink generates for a magic address. Callers cannot send them: see `isKept` of the webhook
 * routes.
 */
export const simulatedHeaders = { "parlance-simulated": "true" }
