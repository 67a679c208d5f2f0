import { Flag } from "effect/cli"
import { holdoutInput, holdoutText } from "../domain/Holdout.ts"
import { type Organization, OrganizationInput, OrganizationPatch } from "../domain/Organization.ts"
import { trackingInput, trackingText } from "../domain/Tracking.ts"
import { Quota, type Usage } from "../domain/Usage.ts"
import * as Json from "../json/Json.ts"
import { formatBytes, parseBytes } from "../text/Bytes.ts"
import { call, callWith, commandGroup } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, choice, list, number, optionalWhole, parsed, text, truth } from "./Flags.ts"
import { orgFileCommands } from "./OrgFileCommands.ts"
import { setupCommand } from "./SuggestionCommands.ts"
import type { TableColumns } from "./Table.ts"

const columns: TableColumns<Organization> = {
  slug: "slug",
  name: "name",
  "time zone": "time_zone",
  floor: "exploration_floor",
  holdout: ({ holdout }) => holdoutText(holdout),
  conversions: ({ conversion_events }) => conversion_events.join(),
  currency: ({ currency }) => currency ?? "any",
  approval: "template_approval",
  tracking: ({ tracking }) => [trackingText(tracking), ...(tracking.url ? [tracking.url] : [])].join(" "),
  horizon: ({ delay_horizon_hours }) => `${delay_horizon_hours} h`,
  quiet: ({ quiet_hours }) => quiet_hours === null ? "never" : `${quiet_hours.from}-${quiet_hours.to}`,
  days: ({ allowed_days }) => allowed_days === null ? "all" : allowed_days.join(),
  kept: ({ inbox_retention_days, retention_days }) => `${retention_days} d, inbox ${inbox_retention_days} d`,
  "second factor": ({ require_second_factor }) => require_second_factor ? "required" : "optional",
  suppression: ({ soft_bounce_limit, suppression }) =>
    suppression ? `on, ${soft_bounce_limit ?? "no"} soft bounces` : "off",
  "group opt-outs": ({ group_opt_outs }) => group_opt_outs.join(),
  "failure threshold": ({ delivery_failure_threshold }) => `${Math.round(1000 * delivery_failure_threshold) / 10} %`,
  created: "created_at",
}

const slug = argument("slug", "The organization's slug, used in API paths")
const time_zone = text("time-zone", "IANA time zone, such as Europe/Berlin")

const quietHoursOf = (text: string) => {
  if (text === "none") return null
  const [from = "", to = ""] = text.split("-").map((part) => part.trim())
  return { from, to }
}

/** Parses JSON, and `default` as null. Returns any other text unchanged, which the service then refuses. */
const textsOf = (text: string): unknown => {
  if (text === "default") return null
  try {
    return Json.parse(text)
  } catch {
    return text
  }
}

const daysOf = (text: string) => text === "all" ? null : text.split(",").map((day) => day.trim().toLowerCase())

const settings = {
  name: Flag.String("name").pipe(Flag.optional),
  time_zone,
  exploration_floor: number("exploration-floor", "Share of traffic chosen uniformly, 0 to 0.2"),
  holdout: parsed(
    "holdout",
    'Share of the people held out, 0 to 0.5, and their content: "0.05 even" or "0.05 no_message"; 0: no holdout',
    holdoutInput,
  ),
  conversion_events: list(
    "conversion-event",
    'Name of an event that counts as a conversion; may be repeated, replaces those set, "*" for any, "" for none',
  ),
  template_approval: choice(
    "template-approval",
    ["none", "editor", "admin"],
    "Who approves changes to live templates: another editor or admin, another admin, or nobody",
  ),
  delivery_failure_threshold: number(
    "delivery-failure-threshold",
    "Share of failed deliveries from which on members are notified, 0.001 to 1",
  ),
  currency: parsed(
    "currency",
    "Currency of revenue, ISO 4217; none: values count whatever their currency",
    (code) => code === "none" ? null : code.toUpperCase(),
  ),
  tracking: parsed(
    "tracking",
    "Events measured in messages that Deliver sends: opens,clicks, opens, clicks or none",
    trackingInput,
  ),
  trackingUrl: text(
    "tracking-url",
    "Address of tracked links, on a domain that points to this service; with --tracking. Default: TRACKING_URL",
  ),
  unsubscribe_page: parsed(
    "unsubscribe-page",
    'Texts of the unsubscribe page as JSON: {"language", "title", "question", "button", "done"}; default: the texts of ' +
      "the service",
    textsOf,
  ),
  delay_horizon_hours: number("delay-horizon-hours", "Maximum number of hours until a send time, 1 to 168"),
  quiet_hours: parsed(
    "quiet-hours",
    "Quiet hours in the recipient's local time, such as 21:00-08:00, or none",
    quietHoursOf,
  ),
  allowed_days: parsed("allowed-days", "Allowed sending days, such as mon,tue,wed, or all", daysOf),
  retention_days: optionalWhole("retention-days", "Days to keep decisions and events, 200 to 3650"),
  inbox_retention_days: optionalWhole(
    "inbox-retention-days",
    "Days to keep webhook bodies that were understood, 1 to 365",
  ),
  require_second_factor: truth(
    "require-second-factor",
    "Whether members who sign in with a password must have a second factor",
  ),
  suppression: truth("suppression", "Whether Deliver refuses addresses on the suppression list"),
  group_opt_outs: list(
    "group-opt-out",
    'Name or id of a group whose opt-outs count for all e-mail; may be repeated, replaces those set, "*" for any, "" for ' +
      "none",
  ),
  soft_bounce_limit: parsed(
    "soft-bounce-limit",
    "Consecutive soft bounces that suppress an address, 1 to 100, or none",
    (text) => text === "none" ? null : Number(text),
  ),
}

const describeUsage = (usage: Usage) => {
  const { day, resets_at, webhook_bytes: used, webhook_daily_bytes: quota, webhook_refused: refused } = usage
  return [
    quota === null
      ? `Webhook bodies stored on ${day} (UTC): ${formatBytes(used)}, without a quota`
      : `Webhook bodies stored on ${day} (UTC): ${formatBytes(used)} of ${formatBytes(quota)} ` +
        `(${Math.floor(100 * used / quota)} %), until ${resets_at}`,
    ...(refused > 0 ? [`Refused because of the quota: ${refused} bodies`] : []),
  ].join("\n")
}

/** `parlance org …` */
export const orgCommand = commandGroup("org", "Organizations", {
  create: call("createOrganization", "Create an organization", { slug, name: text("name", "Display name"), time_zone })
    .sends((values) => ({ ...values, name: values.name ?? values.slug }))
    .checks(OrganizationInput)
    .text(({ slug }) => `Created organization ${slug}`),

  list: call("listOrganizations", "List organizations").result(({ organizations }) => organizations).table(columns),

  show: call("getOrganization", "Show an organization", { org: slug }).table(columns),

  update: callWith(
    "updateOrganization",
    "Change an organization",
    { org: slug, ...settings },
    ({ tracking, trackingUrl, ...values }) =>
      tracking === undefined && trackingUrl !== undefined
        ? new CommandFailed({ message: "--tracking-url needs --tracking, such as --tracking opens,clicks" })
        : { ...values, tracking: tracking && { ...tracking, url: trackingUrl ?? null } },
  )
    .checks(OrganizationPatch)
    .table(columns),

  usage: call("organizationUsage", "Show an organization's use of its daily quota of webhook bodies", { org: slug })
    .text(describeUsage),

  suggestions: setupCommand,

  quota: call("setOrganizationQuota", "Set the daily quota of an organization", {
    org: slug,
    webhook_daily_bytes: Flag.String("webhook-daily-bytes").pipe(
      Flag.withDescription(
        "Maximum size of webhook bodies per day (UTC), such as 20GiB; default: the setting of the installation",
      ),
      Flag.map((bytes) => bytes === "default" ? null : parseBytes(bytes) ?? bytes),
    ),
  }).checks(Quota).text(describeUsage),
  ...orgFileCommands,
})
