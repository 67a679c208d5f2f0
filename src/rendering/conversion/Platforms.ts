import type { CopyPlatform } from "../../domain/CopyPlatform.ts"
import { ofPlatform, ownWords, sendToFewer, writeOut } from "../dialects/Notation.ts"
import type { DateStyle } from "./DatePatterns.ts"
import { filter, literal } from "./Expression.ts"
import type { Roots } from "./Names.ts"

/** What the conversion needs to know of a platform. */
export interface CopyFacts {
  readonly family: "liquid" | "handlebars" | "django" | "merge" | "ampscript" | "placeholders"
  /** Objects in which the platform has its data. */
  readonly roots: Roots
  readonly dates: DateStyle
  /** Whether the platform inserts values into HTML as they are. */
  readonly isUnescaped: boolean
  /** Name of the platform in the tables of placeholders. */
  readonly placeholders?: string
  /** Whether `unsubscribe_link` writes a whole link. */
  readonly linksHaveWords?: boolean
  /** Placeholders that are also ordinary text. */
  readonly mayBePlaceholder?: RegExp
  /** Whether a name that the item of a loop lacks is read outside of the loop. */
  readonly looksOutside?: boolean
}

/** Names of values that a platform makes. */
const made = (...names: ReadonlyArray<string>): Roots =>
  Object.fromEntries(names.map((name) => [name, { remedy: ofPlatform }]))

const liquid = { family: "liquid", dates: "java", isUnescaped: true } as const
const handlebars = { family: "handlebars", roots: {}, dates: "java", isUnescaped: false } as const
const django = { family: "django", dates: "django", isUnescaped: false } as const
const placeholders = { family: "placeholders", roots: {}, dates: "php", isUnescaped: true } as const

/** The facts of each platform. */
export const platforms = {
  activecampaign: { ...placeholders, placeholders: "ActiveCampaign" },
  braze: {
    ...liquid,
    roots: {
      context: "event",
      event_properties: "event",
      api_trigger_properties: "event",
      canvas_entry_properties: "event",
    },
  },
  campaignmonitor: { ...placeholders, placeholders: "Campaign Monitor" },
  clevertap: { ...liquid, roots: { Profile: "", profile: "", Event: "event" } },
  customerio: {
    ...liquid,
    roots: {
      customer: "",
      trigger: "event",
      ...made("broadcast", "campaign", "delivery_id", "message", "newsletter"),
      snippets: { remedy: writeOut },
      content: { remedy: "Write the frame of the layout in this variable, around the content" },
    },
  },
  dittofeed: { ...liquid, linksHaveWords: true, roots: { user: "" } },
  hubspot: {
    ...django,
    dates: "php",
    roots: {
      contact: "",
      ...made("content", "email_name", "subscription_name"),
      local_dt: { means: literal("now") },
      site_settings: { remedy: ownWords },
      year: { means: filter(literal("now"), "date", literal("%Y")) },
    },
  },
  iterable: {
    ...handlebars,
    roots: made(..."campaignId campaignName messageId templateId templateName workflowId workflowName".split(" ")),
    looksOutside: true,
  },
  klaviyo: {
    ...django,
    roots: {
      person: "",
      ...made("campaign", "message"),
      organization: { remedy: ownWords },
      feeds: { remedy: "Look the feed up before the call, and pass it as a field, such as {{ items[0].title }}" },
    },
  },
  mailchimp: { family: "merge", roots: {}, dates: "php", isUnescaped: true },
  mailgun: { ...placeholders, placeholders: "Mailgun" },
  mandrill: { ...handlebars, dates: "php" },
  marketo: { ...placeholders, placeholders: "Marketo" },
  moengage: {
    ...django,
    dates: "php",
    roots: { UserAttribute: "", EventAttribute: "event", MOE_NOT_SEND: { remedy: sendToFewer } },
  },
  onesignal: {
    ...liquid,
    roots: { "user.tags": "", "message.custom_data": "", ...made("app", "message", "notification", "org", "template") },
  },
  sendgrid: {
    ...handlebars,
    dates: "moment",
    mayBePlaceholder: /(?<![\w-])([-%#])([A-Za-z]\w{1,40})\1(?![\w-])/g,
  },
  sfmc: { family: "ampscript", roots: {}, dates: "net", isUnescaped: true },
  // All signs.
  other: { ...placeholders, placeholders: "" },
} as const satisfies Readonly<Record<CopyPlatform, CopyFacts>>
