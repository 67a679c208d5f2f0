import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { holdoutInput, holdoutText } from "../domain/Holdout.ts"
import { OrganizationInput, OrganizationPatch } from "../domain/Organization.ts"
import { formatBytes, parseBytes } from "../domain/Bytes.ts"
import type { Organization } from "../domain/Organization.ts"
import { trackingInput, trackingText } from "../domain/Tracking.ts"
import { Quota, type Usage } from "../domain/Usage.ts"
import { decodeInput } from "./Inputs.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { print } from "./Root.ts"
import { table } from "./Table.ts"
import * as Json from "../domain/Json.ts"

const describe = (organizations: ReadonlyArray<Organization>) =>
  table(
    [
      "slug",
      "name",
      "time zone",
      "floor",
      "holdout",
      "conversions",
      "currency",
      "approval",
      "tracking",
      "horizon",
      "quiet",
      "days",
      "kept",
      "second factor",
      "suppression",
      "failure threshold",
      "created",
    ],
    organizations.map((org) => [
      org.slug,
      org.name,
      org.time_zone,
      org.exploration_floor,
      holdoutText(org.holdout),
      org.conversion_events.join(),
      org.currency ?? "any",
      org.template_approval,
      [trackingText(org.tracking), ...(org.tracking.url ? [org.tracking.url] : [])].join(" "),
      `${org.delay_horizon_hours} h`,
      org.quiet_hours === null ? "never" : `${org.quiet_hours.from}-${org.quiet_hours.to}`,
      org.allowed_days === null ? "all" : org.allowed_days.join(),
      `${org.retention_days} d, inbox ${org.inbox_retention_days} d`,
      org.require_second_factor ? "required" : "optional",
      org.suppression ? `on, ${org.soft_bounce_limit ?? "no"} soft bounces` : "off",
      `${Math.round(1000 * org.delivery_failure_threshold) / 10} %`,
      org.created_at,
    ]),
  )

const slug = Argument.String("slug").pipe(Argument.withDescription("The organization's slug, used in API paths"))
const timeZone = Flag.String("time-zone").pipe(
  Flag.withDescription("IANA time zone, such as Europe/Berlin"),
  Flag.optional,
)

const create = Command.make(
  "create",
  { slug, name: Flag.String("name").pipe(Flag.withDescription("Display name"), Flag.optional), timeZone },
  Effect.fnUntraced(function* ({ name, slug, timeZone }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(OrganizationInput, {
      slug,
      name: Option.getOrElse(name, () => slug),
      ...(Option.isSome(timeZone) ? { time_zone: timeZone.value } : {}),
    })
    const organization = yield* client.organizations.createOrganization({ payload })
    yield* print(organization, `Created organization ${organization.slug}`)
  }),
).pipe(Command.withDescription("Create an organization"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { organizations } = yield* client.organizations.listOrganizations()
    yield* print(organizations, describe(organizations))
  }),
).pipe(Command.withDescription("List organizations"))

const show = Command.make(
  "show",
  { slug },
  Effect.fnUntraced(function* ({ slug }) {
    const client = yield* ManagementClient
    const organization = yield* client.organizations.getOrganization({ params: { org: slug } })
    yield* print(organization, describe([organization]))
  }),
).pipe(Command.withDescription("Show an organization"))

const quietHoursOf = (text: string) => {
  if (text === "none") return null
  const [from = "", to = ""] = text.split("-").map((part) => part.trim())
  return { from, to }
}

/** Parses texts as JSON; a text that is not JSON is refused. */
const textsOf = (text: string): unknown => {
  if (text === "default") return null
  try {
    return Json.parse(text)
  } catch {
    return text
  }
}

const daysOf = (text: string) => text === "all" ? null : text.split(",").map((day) => day.trim().toLowerCase())

const update = Command.make(
  "update",
  {
    slug,
    name: Flag.String("name").pipe(Flag.optional),
    timeZone,
    floor: Flag.Finite("exploration-floor").pipe(
      Flag.withDescription("Share of traffic chosen uniformly, 0 to 0.2"),
      Flag.optional,
    ),
    holdout: Flag.String("holdout").pipe(
      Flag.withDescription(
        'Share of the people held out, 0 to 0.5, and their content: "0.05 even" or "0.05 no_message"; 0: no holdout',
      ),
      Flag.optional,
    ),
    conversionEvents: Flag.String("conversion-event").pipe(
      Flag.withDescription(
        'Name of an event that counts as a conversion; may be repeated, replaces those set, "*" for any, "" for none',
      ),
      Flag.atLeast(0),
    ),
    templateApproval: Flag.Literals("template-approval", ["none", "editor", "admin"]).pipe(
      Flag.withDescription("Who approves changes to live templates: another editor or admin, another admin, or nobody"),
      Flag.optional,
    ),
    failureThreshold: Flag.Finite("delivery-failure-threshold").pipe(
      Flag.withDescription("Share of failed deliveries from which on members are notified, 0.001 to 1"),
      Flag.optional,
    ),
    currency: Flag.String("currency").pipe(
      Flag.withDescription("Currency of revenue, ISO 4217; none: values count whatever their currency"),
      Flag.optional,
    ),
    tracking: Flag.String("tracking").pipe(
      Flag.withDescription("Events measured in messages that Deliver sends: opens,clicks, opens, clicks or none"),
      Flag.optional,
    ),
    trackingUrl: Flag.String("tracking-url").pipe(
      Flag.withDescription(
        "Address of tracked links, on a domain that points to this service; with --tracking. Default: TRACKING_URL",
      ),
      Flag.optional,
    ),
    unsubscribePage: Flag.String("unsubscribe-page").pipe(
      Flag.withDescription(
        'Texts of the unsubscribe page as JSON: {"language", "title", "question", "button", "done"}; default: those of ' +
          "the service",
      ),
      Flag.optional,
    ),
    horizon: Flag.Finite("delay-horizon-hours").pipe(
      Flag.withDescription("Maximum number of hours until a send time, 1 to 168"),
      Flag.optional,
    ),
    quiet: Flag.String("quiet-hours").pipe(
      Flag.withDescription("Quiet hours in the recipient's local time, such as 21:00-08:00, or none"),
      Flag.optional,
    ),
    days: Flag.String("allowed-days").pipe(
      Flag.withDescription("Allowed sending days, such as mon,tue,wed, or all"),
      Flag.optional,
    ),
    retention: Flag.Int("retention-days").pipe(
      Flag.withDescription("Days to keep decisions and events, 200 to 3650"),
      Flag.optional,
    ),
    inboxRetention: Flag.Int("inbox-retention-days").pipe(
      Flag.withDescription("Days to keep webhook bodies that were understood, 1 to 365"),
      Flag.optional,
    ),
    secondFactor: Flag.Literals("require-second-factor", ["true", "false"]).pipe(
      Flag.withDescription("Whether members who sign in with a password must have a second factor"),
      Flag.optional,
    ),
    suppression: Flag.Literals("suppression", ["true", "false"]).pipe(
      Flag.withDescription("Whether Deliver refuses addresses on the suppression list"),
      Flag.optional,
    ),
    softBounces: Flag.String("soft-bounce-limit").pipe(
      Flag.withDescription("Consecutive soft bounces that suppress an address, 1 to 100, or none"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({
    conversionEvents,
    currency,
    days,
    failureThreshold,
    floor,
    holdout,
    horizon,
    inboxRetention,
    name,
    quiet,
    retention,
    secondFactor,
    slug,
    softBounces,
    suppression,
    templateApproval,
    timeZone,
    tracking,
    trackingUrl,
    unsubscribePage,
  }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(OrganizationPatch, {
      ...(Option.isSome(name) ? { name: name.value } : {}),
      ...(Option.isSome(timeZone) ? { time_zone: timeZone.value } : {}),
      ...(Option.isSome(floor) ? { exploration_floor: floor.value } : {}),
      ...(Option.isSome(holdout) ? { holdout: holdoutInput(holdout.value) } : {}),
      ...(conversionEvents.length === 0 ? {} : { conversion_events: conversionEvents.filter((name) => name !== "") }),
      ...(Option.isSome(currency) ? { currency: currency.value === "none" ? null : currency.value.toUpperCase() } : {}),
      ...(Option.isSome(tracking)
        ? { tracking: { ...trackingInput(tracking.value), url: Option.getOrNull(trackingUrl) } }
        : Option.isSome(trackingUrl)
        ? yield* new CommandFailed({ message: "--tracking-url needs --tracking, such as --tracking opens,clicks" })
        : {}),
      ...(Option.isSome(unsubscribePage) ? { unsubscribe_page: textsOf(unsubscribePage.value) } : {}),
      ...(Option.isSome(horizon) ? { delay_horizon_hours: horizon.value } : {}),
      ...(Option.isSome(quiet) ? { quiet_hours: quietHoursOf(quiet.value) } : {}),
      ...(Option.isSome(days) ? { allowed_days: daysOf(days.value) } : {}),
      ...(Option.isSome(retention) ? { retention_days: retention.value } : {}),
      ...(Option.isSome(inboxRetention) ? { inbox_retention_days: inboxRetention.value } : {}),
      ...(Option.isSome(secondFactor) ? { require_second_factor: secondFactor.value === "true" } : {}),
      ...(Option.isSome(templateApproval) ? { template_approval: templateApproval.value } : {}),
      ...(Option.isSome(failureThreshold) ? { delivery_failure_threshold: failureThreshold.value } : {}),
      ...(Option.isSome(suppression) ? { suppression: suppression.value === "true" } : {}),
      ...(Option.isSome(softBounces)
        ? { soft_bounce_limit: softBounces.value === "none" ? null : Number(softBounces.value) }
        : {}),
    })
    const organization = yield* client.organizations.updateOrganization({ params: { org: slug }, payload })
    yield* print(organization, describe([organization]))
  }),
).pipe(Command.withDescription("Change an organization"))

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

const usage = Command.make(
  "usage",
  { slug },
  Effect.fnUntraced(function* ({ slug }) {
    const client = yield* ManagementClient
    const used = yield* client.organizations.organizationUsage({ params: { org: slug } })
    yield* print(used, describeUsage(used))
  }),
).pipe(Command.withDescription("Show an organization's use of its daily quota of webhook bodies"))

const quota = Command.make(
  "quota",
  {
    slug,
    bytes: Flag.String("webhook-daily-bytes").pipe(
      Flag.withDescription(
        "Maximum size of webhook bodies per day (UTC), such as 20GiB; default: the setting of the installation",
      ),
    ),
  },
  Effect.fnUntraced(function* ({ bytes, slug }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(Quota, {
      webhook_daily_bytes: bytes === "default" ? null : parseBytes(bytes) ?? bytes,
    })
    const used = yield* client.organizations.setOrganizationQuota({ params: { org: slug }, payload })
    yield* print(used, describeUsage(used))
  }),
).pipe(Command.withDescription("Set the daily quota of an organization"))

/** `parlance org …` */
export const orgCommand = Command.make("org").pipe(
  Command.withDescription("Organizations"),
  Command.withSubcommands([create, list, show, update, usage, quota]),
)
