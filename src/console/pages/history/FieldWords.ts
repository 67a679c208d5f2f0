import { Option, Schema } from "effect"
import { type FieldChange, pointerParts } from "../../../domain/Difference.ts"
import { TemplateHoldout } from "../../../domain/Holdout.ts"
import { localeWords, TemplateLocale } from "../../../domain/Locale.ts"
import { TemplateApproval } from "../../../domain/Organization.ts"
import { Season } from "../../../domain/Season.ts"
import { Condition } from "../../../domain/Targeting.ts"
import { Objective, templateSettings } from "../../../domain/Template.ts"
import { OrganizationTracking } from "../../../domain/Tracking.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { counted, percent } from "../../Format.ts"
import { conditionText } from "../templates/Draft.ts"
import { objectiveText } from "../../../results/ObjectiveText.ts"
import { dayNames, holdoutWords, seasonText, trackingWords } from "../templates/Words.ts"

// Labels of fields in the audit log, and texts of their values.

const labels: Readonly<Record<string, string>> = {
  name: english("Name"),
  active: english("State"),
  archived: english("Archived"),
  ...Object.fromEntries(Object.entries(templateSettings).map(([name, { label }]) => [name, label])),
  unsubscribe_page: english("Unsubscribe page"),
  suppression: english("Suppression list"),
  soft_bounce_limit: english("Soft bounces until suppressed"),
  group_opt_outs: english("Groups whose opt-outs count for all e-mail"),
  currency: english("Currency of revenue"),
  targeting: english("Audience"),
  seasons: english("Schedule"),
  time_zone: english("Time zone"),
  exploration_floor: english("Share of random traffic"),
  delay_horizon_hours: english("Latest send time"),
  quiet_hours: english("Quiet hours"),
  allowed_days: english("Allowed sending days"),
  webhook_daily_bytes: english("Webhook bytes per day"),
  enabled: english("Enabled"),
  paused: english("Paused"),
  default: english("In use for deliveries"),
  platform: english("Platform"),
  secret: english("Secret"),
  administrator: english("Administrator"),
  template_approval: english("Changes to live templates"),
  delivery_failure_threshold: english("Failed deliveries that notify members"),
  bucket: english("Bucket"),
  bucket_active: english("Exports to the bucket"),
  bucket_attributes: english("Folder of attributes"),
  bucket_endpoint: english("URL of the bucket"),
  bucket_folder: english("Folder of the exports"),
  bucket_key: english("Access key of the bucket"),
  bucket_region: english("Region of the bucket"),
  bucket_secret: english("Secret of the bucket"),
  suggestions: english("Model of suggestions"),
  suggestions_url: english("URL of the own model"),
  suggestions_model: english("Name of the own model"),
  suggestions_key: english("API key of the own model"),
  tone: english("Tone"),
  forbidden_words: english("Forbidden words"),
  required_phrases: english("Required phrases"),
  max_lengths: english("Maximum lengths"),
  retention_days: english("Keep sends and events for"),
  inbox_retention_days: english("Keep webhook payloads for"),
}

/** The label of a field; of a variant's, with the variant before it. */
export const labelOf = ({ field }: FieldChange): string => {
  const parts = pointerParts(field)
  const [first = "", second = "", ...rest] = parts
  if (first === "variants") {
    return `${second} · ${labelOf({ field: field.split("/").slice(3).map((p) => `/${p}`).join("") })}`
  }
  if (second === "" && rest.length === 0) return Object.hasOwn(labels, first) ? translated(labels[first]!) : first
  if (first === "vars") return second
  if (first === "locales") return `${rest.join("/")} (${second})`
  if (first === "formats") return t`Format of ${second}`
  if (first === "components") return t`Component ${second}`
  if (first === "settings") return t`Setting ${second}`
  if (first === "secrets") return t`Secret ${second}`
  return parts.join(" ")
}

const decoding = <A>(schema: Schema.Codec<A, unknown>, text: (value: A) => string) => (value: unknown) =>
  Option.map(Schema.decodeUnknownOption(schema)(value), text)

const yesNo = (yes: string, no: string) => (value: unknown) =>
  typeof value === "boolean" ? Option.some(translated(value ? yes : no)) : Option.none()

const list = <A>(schema: Schema.Codec<A, unknown>, none: string, text: (value: A) => string) =>
  decoding(Schema.Array(schema), (all) => all.length === 0 ? translated(none) : all.map(text).join("\n"))

type Words = (value: unknown) => Option.Option<string>

const hours: Words = decoding(Schema.Finite, (value) => counted(value, "hour"))

const days: Words = decoding(Schema.Finite, (value) => counted(value, "day"))

const share: Words = decoding(Schema.Finite, percent)

const approvalWords = {
  none: english("go live at once"),
  editor: english("need the approval of another editor or admin"),
  admin: english("need the approval of another admin"),
} as const

const spoken: Readonly<Record<string, Words>> = {
  active: yesNo(english("active"), english("inactive")),
  archived: yesNo(english("archived"), english("in use")),
  strict: yesNo(english("fail (strict)"), english("left blank")),
  ignore_unsubscribes: yesNo(english("get its messages (transactional)"), english("get no message")),
  send_nothing: yesNo(english("where a message does more harm than good"), english("no")),
  suppression: yesNo(english("on"), english("off")),
  objective: decoding(Objective, objectiveText),
  holdout: decoding(TemplateHoldout, holdoutWords),
  tracking: decoding(
    OrganizationTracking,
    ({ url, ...tracking }) => url ? t`${trackingWords(tracking)}, links at ${url}` : trackingWords(tracking),
  ),
  locale: decoding(TemplateLocale, localeWords),
  sticky_hours: (value) => value === 0 ? Option.some(t`no, chosen for every message`) : hours(value),
  delay_horizon_hours: hours,
  link_domains: list(Schema.String, english("none"), (domain) => domain),
  conversion_events: list(Schema.String, english("none"), (name) => name),
  group_opt_outs: list(Schema.String, english("none"), (name) => name),
  tags: list(Schema.String, english("none"), (tag) => tag),
  exploration_floor: share,
  runner_up_floor: share,
  delivery_failure_threshold: share,
  retention_days: days,
  inbox_retention_days: days,
  template_approval: decoding(TemplateApproval, (value) => translated(approvalWords[value])),
  targeting: list(Condition, english("everyone"), conditionText),
  seasons: list(Season, english("always"), seasonText),
  quiet_hours: decoding(
    Schema.Struct({ from: Schema.String, to: Schema.String }),
    ({ from, to }) => t`from ${from} until ${to}`,
  ),
  allowed_days: list(
    Schema.Literals(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
    english("none"),
    (day) => translated(dayNames[day]),
  ),
}

/** A value in words. A value of unknown shape, such as a part of a shortened one, as JSON. */
export const valueText = ({ field }: FieldChange, value: unknown): string => {
  if (value === undefined) return ""
  const parts = pointerParts(field)
  const name = parts[0] === "variants" ? parts[2] ?? "" : parts[0] ?? ""
  const known = Object.hasOwn(spoken, name) ? Option.getOrUndefined(spoken[name]!(value)) : undefined
  if (known !== undefined) return known
  if (value === null) return t`none`
  if (typeof value === "boolean") return value ? t`yes` : t`no`
  return typeof value === "string" ? value : JSON.stringify(value, null, typeof value === "object" ? 2 : 0)
}
