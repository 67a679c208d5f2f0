import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { holdoutInput, holdoutText } from "../domain/Holdout.ts"
import { OrganizationInput, OrganizationPatch } from "../domain/Organization.ts"
import { formatBytes, parseBytes } from "../text/Bytes.ts"
import type { Organization } from "../domain/Organization.ts"
import { trackingInput, trackingText } from "../domain/Tracking.ts"
import { Quota, type Usage } from "../domain/Usage.ts"
import { argument, choice, given, number, optionalWhole, text, texts } from "./Flags.ts"
import { decodeInput } from "./Inputs.ts"
import { CommandFailed } from "./Connection.ts"
import { installationCommand } from "./ManagementCommand.ts"
import type { TableColumns } from "./Table.ts"
import * as Json from "../json/Json.ts"

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
const timeZone = text("time-zone", "IANA time zone, such as Europe/Berlin")

const create = installationCommand({
  name: "create",
  description: "Create an organization",
  flags: { slug, name: text("name", "Display name"), timeZone },
  payload: ({ name, slug, timeZone }) =>
    decodeInput(OrganizationInput, {
      slug,
      name: Option.getOrElse(name, () => slug),
      ...given({ time_zone: timeZone }),
    }),
  call: (client, { payload }) => client.organizations.createOrganization({ payload }),
}).text(({ slug }) => `Created organization ${slug}`)

const list = installationCommand({
  name: "list",
  description: "List organizations",
  call: (client) => client.organizations.listOrganizations(),
  result: ({ organizations }) => organizations,
}).table(columns)

const show = installationCommand({
  name: "show",
  description: "Show an organization",
  flags: { slug },
  call: (client, { slug }) => client.organizations.getOrganization({ params: { org: slug } }),
}).table(columns)

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

const update = installationCommand({
  name: "update",
  description: "Change an organization",
  flags: {
    slug,
    name: Flag.String("name").pipe(Flag.optional),
    timeZone,
    floor: number("exploration-floor", "Share of traffic chosen uniformly, 0 to 0.2"),
    holdout: text(
      "holdout",
      'Share of the people held out, 0 to 0.5, and their content: "0.05 even" or "0.05 no_message"; 0: no holdout',
    ),
    conversionEvents: texts(
      "conversion-event",
      'Name of an event that counts as a conversion; may be repeated, replaces those set, "*" for any, "" for none',
    ),
    templateApproval: choice(
      "template-approval",
      ["none", "editor", "admin"],
      "Who approves changes to live templates: another editor or admin, another admin, or nobody",
    ),
    failureThreshold: number(
      "delivery-failure-threshold",
      "Share of failed deliveries from which on members are notified, 0.001 to 1",
    ),
    currency: text("currency", "Currency of revenue, ISO 4217; none: values count whatever their currency"),
    tracking: text("tracking", "Events measured in messages that Deliver sends: opens,clicks, opens, clicks or none"),
    trackingUrl: text(
      "tracking-url",
      "Address of tracked links, on a domain that points to this service; with --tracking. Default: TRACKING_URL",
    ),
    unsubscribePage: text(
      "unsubscribe-page",
      'Texts of the unsubscribe page as JSON: {"language", "title", "question", "button", "done"}; default: those of ' +
        "the service",
    ),
    horizon: number("delay-horizon-hours", "Maximum number of hours until a send time, 1 to 168"),
    quiet: text("quiet-hours", "Quiet hours in the recipient's local time, such as 21:00-08:00, or none"),
    days: text("allowed-days", "Allowed sending days, such as mon,tue,wed, or all"),
    retention: optionalWhole("retention-days", "Days to keep decisions and events, 200 to 3650"),
    inboxRetention: optionalWhole(
      "inbox-retention-days",
      "Days to keep webhook bodies that were understood, 1 to 365",
    ),
    secondFactor: choice(
      "require-second-factor",
      ["true", "false"],
      "Whether members who sign in with a password must have a second factor",
    ),
    suppression: choice(
      "suppression",
      ["true", "false"],
      "Whether Deliver refuses addresses on the suppression list",
    ),
    groupOptOuts: texts(
      "group-opt-out",
      'Name or id of a group whose opt-outs count for all e-mail; may be repeated, replaces those set, "*" for any, "" for ' +
        "none",
    ),
    softBounces: text("soft-bounce-limit", "Consecutive soft bounces that suppress an address, 1 to 100, or none"),
  },
  payload: (flags) =>
    Option.isNone(flags.tracking) && Option.isSome(flags.trackingUrl)
      ? new CommandFailed({ message: "--tracking-url needs --tracking, such as --tracking opens,clicks" })
      : decodeInput(OrganizationPatch, {
        ...given({
          name: flags.name,
          time_zone: flags.timeZone,
          exploration_floor: flags.floor,
          holdout: Option.map(flags.holdout, holdoutInput),
          currency: Option.map(flags.currency, (code) => code === "none" ? null : code.toUpperCase()),
          tracking: Option.map(flags.tracking, (text) => ({
            ...trackingInput(text),
            url: Option.getOrNull(flags.trackingUrl),
          })),
          unsubscribe_page: Option.map(flags.unsubscribePage, textsOf),
          delay_horizon_hours: flags.horizon,
          quiet_hours: Option.map(flags.quiet, quietHoursOf),
          allowed_days: Option.map(flags.days, daysOf),
          retention_days: flags.retention,
          inbox_retention_days: flags.inboxRetention,
          require_second_factor: Option.map(flags.secondFactor, (text) => text === "true"),
          template_approval: flags.templateApproval,
          delivery_failure_threshold: flags.failureThreshold,
          suppression: Option.map(flags.suppression, (text) => text === "true"),
          soft_bounce_limit: Option.map(flags.softBounces, (text) => text === "none" ? null : Number(text)),
        }),
        ...(flags.conversionEvents.length === 0
          ? {}
          : { conversion_events: flags.conversionEvents.filter((name) => name !== "") }),
        ...(flags.groupOptOuts.length === 0
          ? {}
          : { group_opt_outs: flags.groupOptOuts.filter((name) => name !== "") }),
      }),
  call: (client, { payload, slug }) => client.organizations.updateOrganization({ params: { org: slug }, payload }),
}).table(columns)

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

const usage = installationCommand({
  name: "usage",
  description: "Show an organization's use of its daily quota of webhook bodies",
  flags: { slug },
  call: (client, { slug }) => client.organizations.organizationUsage({ params: { org: slug } }),
}).text(describeUsage)

const quota = installationCommand({
  name: "quota",
  description: "Set the daily quota of an organization",
  flags: {
    slug,
    bytes: Flag.String("webhook-daily-bytes").pipe(
      Flag.withDescription(
        "Maximum size of webhook bodies per day (UTC), such as 20GiB; default: the setting of the installation",
      ),
    ),
  },
  payload: ({ bytes }) =>
    decodeInput(Quota, { webhook_daily_bytes: bytes === "default" ? null : parseBytes(bytes) ?? bytes }),
  call: (client, { payload, slug }) => client.organizations.setOrganizationQuota({ params: { org: slug }, payload }),
}).text(describeUsage)

/** `parlance org …` */
export const orgCommand = Command.make("org").pipe(
  Command.withDescription("Organizations"),
  Command.withSubcommands([create, list, show, update, usage, quota]),
)
