import { Option, Schema } from "effect"
import { type FieldChange, pointerParts } from "../../../domain/Difference.ts"
import { TemplateHoldout } from "../../../domain/Holdout.ts"
import { localeWords, TemplateLocale } from "../../../domain/Locale.ts"
import { TemplateApproval } from "../../../domain/Organization.ts"
import { Season } from "../../../domain/Season.ts"
import { Condition } from "../../../domain/Targeting.ts"
import { Objective, templateSettings } from "../../../domain/Template.ts"
import { OrganizationTracking } from "../../../domain/Tracking.ts"
import { counted, percent } from "../../Format.ts"
import { conditionText } from "../templates/Draft.ts"
import { objectiveText } from "../../../results/ObjectiveText.ts"
import { dayNames, holdoutWords, seasonText, trackingWords } from "../templates/Words.ts"

// Labels of fields in the audit log, and texts of their values.

const labels: Readonly<Record<string, string>> = {
  name: "Name",
  active: "State",
  archived: "Archived",
  ...Object.fromEntries(Object.entries(templateSettings).map(([name, { label }]) => [name, label])),
  unsubscribe_page: "Unsubscribe page",
  suppression: "Suppression list",
  soft_bounce_limit: "Soft bounces until suppressed",
  group_opt_outs: "Groups whose opt-outs count for all e-mail",
  currency: "Currency of revenue",
  targeting: "Audience",
  seasons: "Schedule",
  time_zone: "Time zone",
  exploration_floor: "Share of random traffic",
  delay_horizon_hours: "Latest send time",
  quiet_hours: "Quiet hours",
  allowed_days: "Allowed sending days",
  webhook_daily_bytes: "Webhook bytes per day",
  enabled: "Enabled",
  paused: "Paused",
  default: "In use for deliveries",
  platform: "Platform",
  secret: "Secret",
  administrator: "Administrator",
  template_approval: "Changes to live templates",
  delivery_failure_threshold: "Failed deliveries that notify members",
  bucket: "Bucket",
  bucket_active: "Exports to the bucket",
  bucket_attributes: "Folder of attributes",
  bucket_endpoint: "URL of the bucket",
  bucket_folder: "Folder of the exports",
  bucket_key: "Access key of the bucket",
  bucket_region: "Region of the bucket",
  bucket_secret: "Secret of the bucket",
  suggestions: "Model of suggestions",
  suggestions_url: "URL of the own model",
  suggestions_model: "Name of the own model",
  suggestions_key: "API key of the own model",
  tone: "Tone",
  forbidden_words: "Forbidden words",
  required_phrases: "Required phrases",
  max_lengths: "Maximum lengths",
  retention_days: "Keep sends and events for",
  inbox_retention_days: "Keep webhook payloads for",
}

/** The label of a field; of a variant's, with the variant before it. */
export const labelOf = ({ field }: FieldChange): string => {
  const parts = pointerParts(field)
  const [first = "", second = "", ...rest] = parts
  if (first === "variants") {
    return `${second} · ${labelOf({ field: field.split("/").slice(3).map((p) => `/${p}`).join("") })}`
  }
  if (second === "" && rest.length === 0) return labels[first] ?? first
  if (first === "vars") return second
  if (first === "locales") return `${rest.join("/")} (${second})`
  if (first === "formats") return `Format of ${second}`
  if (first === "components") return `Component ${second}`
  if (first === "settings") return `Setting ${second}`
  if (first === "secrets") return `Secret ${second}`
  return parts.join(" ")
}

const decoding = <A>(schema: Schema.Codec<A, unknown>, text: (value: A) => string) => (value: unknown) =>
  Option.map(Schema.decodeUnknownOption(schema)(value), text)

const yesNo = (yes: string, no: string) => (value: unknown) =>
  typeof value === "boolean" ? Option.some(value ? yes : no) : Option.none()

const list = <A>(schema: Schema.Codec<A, unknown>, none: string, text: (value: A) => string) =>
  decoding(Schema.Array(schema), (all) => all.length === 0 ? none : all.map(text).join("\n"))

type Words = (value: unknown) => Option.Option<string>

const hours: Words = decoding(Schema.Finite, (value) => counted(value, "hour"))

const days: Words = decoding(Schema.Finite, (value) => counted(value, "day"))

const share: Words = decoding(Schema.Finite, percent)

const approvalWords = {
  none: "go live at once",
  editor: "need the approval of another editor or admin",
  admin: "need the approval of another admin",
} as const

const spoken: Readonly<Record<string, Words>> = {
  active: yesNo("active", "inactive"),
  archived: yesNo("archived", "in use"),
  strict: yesNo("fail (strict)", "left blank"),
  ignore_unsubscribes: yesNo("get its messages (transactional)", "get no message"),
  send_nothing: yesNo("where a message does more harm than good", "no"),
  suppression: yesNo("on", "off"),
  objective: decoding(Objective, objectiveText),
  holdout: decoding(TemplateHoldout, holdoutWords),
  tracking: decoding(
    OrganizationTracking,
    ({ url, ...tracking }) => trackingWords(tracking) + (url ? `, links at ${url}` : ""),
  ),
  locale: decoding(TemplateLocale, localeWords),
  sticky_hours: (value) => value === 0 ? Option.some("no, chosen for every message") : hours(value),
  delay_horizon_hours: hours,
  link_domains: list(Schema.String, "none", (domain) => domain),
  conversion_events: list(Schema.String, "none", (name) => name),
  group_opt_outs: list(Schema.String, "none", (name) => name),
  tags: list(Schema.String, "none", (tag) => tag),
  exploration_floor: share,
  runner_up_floor: share,
  delivery_failure_threshold: share,
  retention_days: days,
  inbox_retention_days: days,
  template_approval: decoding(TemplateApproval, (value) => approvalWords[value]),
  targeting: list(Condition, "everyone", conditionText),
  seasons: list(Season, "always", seasonText),
  quiet_hours: decoding(
    Schema.Struct({ from: Schema.String, to: Schema.String }),
    ({ from, to }) => `from ${from} until ${to}`,
  ),
  allowed_days: list(
    Schema.Literals(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
    "none",
    (day) => dayNames[day],
  ),
}

/** A value in words. A value of unknown shape, such as a part of a shortened one, as JSON. */
export const valueText = ({ field }: FieldChange, value: unknown): string => {
  if (value === undefined) return ""
  const parts = pointerParts(field)
  const name = parts[0] === "variants" ? parts[2] ?? "" : parts[0] ?? ""
  const known = Object.hasOwn(spoken, name) ? Option.getOrUndefined(spoken[name]!(value)) : undefined
  if (known !== undefined) return known
  if (value === null) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  return typeof value === "string" ? value : JSON.stringify(value, null, typeof value === "object" ? 2 : 0)
}
