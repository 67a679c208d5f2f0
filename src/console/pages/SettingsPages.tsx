import { roleName } from "../Format.ts"
import { faultText } from "../RetoldTexts.ts"
import { Effect, Record, Result } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { type Organization, OrganizationPatch } from "../../domain/Organization.ts"
import { DayOfWeek } from "../../domain/Season.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Form } from "../components/Form.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { text } from "../FormReaders.ts"
import { changedMembers } from "../OpenedForm.ts"
import { percentText } from "../FieldShare.ts"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { decoded, type Fields, type Visit } from "../Routes.tsx"
import { About, CardFields, CardLinks, cards, chosenDays, days, pageTexts, settingsForm } from "./SettingsCards.tsx"

const decodePatch = decoder(OrganizationPatch)

/** The fields of the form as an organization has them. */
const fieldsOf = (org: Organization): Fields => ({
  name: org.name,
  time_zone: org.time_zone,
  exploration_floor: percentText(org.exploration_floor),
  holdout_share: percentText(org.holdout.share),
  holdout_content: org.holdout.content,
  conversion_events: org.conversion_events.join("\n"),
  currency: org.currency ?? "",
  template_approval: org.template_approval,
  delivery_failure_threshold: percentText(org.delivery_failure_threshold),
  tracking: [...(org.tracking.opens ? ["opens"] : []), ...(org.tracking.clicks ? ["clicks"] : [])].join("\n"),
  tracking_url: org.tracking.url ?? "",
  ...Object.fromEntries(pageTexts.map((name) => [`unsubscribe_page_${name}`, org.unsubscribe_page?.[name] ?? ""])),
  delay_horizon_hours: String(org.delay_horizon_hours),
  "quiet_hours-from": org.quiet_hours?.from ?? "",
  "quiet_hours-to": org.quiet_hours?.to ?? "",
  allowed_days: (org.allowed_days ?? DayOfWeek.literals).join("\n"),
  suppression: org.suppression ? "true" : "false",
  soft_bounce_limit: org.soft_bounce_limit === null ? "" : String(org.soft_bounce_limit),
  group_opt_outs: org.group_opt_outs.join("\n"),
  retention_days: String(org.retention_days),
  inbox_retention_days: String(org.inbox_retention_days),
})

/** Fields with several values, each on a line. */
const lists = ["conversion_events", "tracking", "allowed_days", "group_opt_outs"]

/** The input of the form, of which some members are sent as others. */
interface SettingsInput extends Readonly<Record<string, unknown>> {
  readonly holdout?: unknown
  readonly quiet_hours: object
  readonly tracking?: unknown
}

/** Faults of shares, which are in percent in the form. */
const ranges: Readonly<Record<string, string>> = {
  "/exploration_floor": english("must be a number from 0 to 20"),
  "/holdout_share": english("must be a number from 0 to 50"),
  "/delivery_failure_threshold": english("must be a number from 0.1 to 100"),
}

/** The settings in a form as API input: no times of day are no quiet hours, all days are no limit. */
export const patchOf = (fields: Fields): Result.Result<OrganizationPatch, ReadonlyArray<Fault>> => {
  const { tracking_url: url } = fields
  const { holdout, quiet_hours: quiet, tracking, ...read } = settingsForm.read(fields) as SettingsInput
  const chosen = chosenDays(fields["allowed_days"] ?? "")
  const isEveryDay = days.every(([day]) => chosen.includes(day)) && chosen.length === days.length
  const texts = pageTexts.map((name) => [name, text(fields[`unsubscribe_page_${name}`])] as const)
  return Result.mapError(
    decodePatch({
      ...Record.filter(read, (_, name) => !name.startsWith("unsubscribe_page_")),
      ...(fields["holdout_share"] === undefined ? {} : { holdout }),
      ...(url === undefined ? {} : {
        tracking,
        unsubscribe_page: texts.every(([, text]) => text === "") ? null : Object.fromEntries(texts),
      }),
      quiet_hours: Object.values(quiet).every((time) => time === "") ? null : quiet,
      allowed_days: isEveryDay ? null : chosen,
    }),
    (faults) =>
      settingsForm.placed(faults).map(({ detail, pointer }, at) => {
        const line = /^\/(?:conversion_events|group_opt_outs)\/(\d+)/.exec(faults[at]!.pointer)?.[1]
        return {
          pointer: pointer.replace(/^(\/unsubscribe_page)\//, "$1_"),
          detail: pointer === "/allowed_days" && chosen.length === 0
            ? t`choose at least one day`
            : line !== undefined
            ? t`line ${Number(line) + 1} ${faultText(detail)}`
            : ranges[pointer] === undefined
            ? detail
            : translated(ranges[pointer]),
        }
      }),
  )
}

const settings = (visit: Visit, typed: Fields | undefined, faults: ReadonlyArray<Fault>) => {
  const { org } = visit
  const mayChange = visit.can("updateOrganization")
  const fields = typed ?? fieldsOf(org)
  return Effect.succeed(view(
    { document: t`Settings`, title: t`General settings`, lead: org.name },
    <ErrorSummary faults={faults} labels={settingsForm.labels} />,
    mayChange && <CardLinks />,
    mayChange
      ? (
        <Form submit={t`Save settings`} action={`/console/o/${org.slug}/settings`} opened={fields}>
          <div class="card-columns">
            {cards.map((card) => <CardFields card={card} faults={faults} values={fields} />)}
          </div>
        </Form>
      )
      : <Note>{t`Your role is ${roleName(visit.role)}: you can view these settings. An admin can change them.`}</Note>,
    <About mayChange={mayChange} org={org} visit={visit} />,
  ))
}

/** Settings of an organization. */
export const layer = pages(({ action, page }) => [
  page("/console/o/:org/settings", "getOrganization", (visit) => settings(visit, undefined, [])),
  action(
    "/console/o/:org/settings",
    "updateOrganization",
    Effect.fnUntraced(function* ({ org }, fields) {
      yield* (yield* Organizations).update(
        org.slug,
        yield* decoded(changedMembers(fields, fieldsOf(org), lists, patchOf)),
      )
      return { to: `/console/o/${org.slug}/settings`, done: "settings-saved" }
    }),
    settings,
  ),
])
