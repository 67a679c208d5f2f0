import { Effect, Result } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { type Organization, OrganizationPatch } from "../../domain/Organization.ts"
import { DayOfWeek } from "../../domain/Season.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Form } from "../components/Form.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { ifSent, list, orNull, readForm, text, typed } from "../FormReaders.ts"
import { percentText, shareOf } from "../FieldShare.ts"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { decoded, type Fields, type Visit } from "../Routes.tsx"
import {
  About,
  ApprovalFields,
  chosenDays,
  ConversionFields,
  days,
  HoldoutFields,
  labels,
  NotificationFields,
  OrganizationFields,
  pageTexts,
  RetentionFields,
  SendTimeFields,
  SuppressionFields,
  TrackingFields,
  UnsubscribeFields,
} from "./SettingsCards.tsx"

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

/** Settings of tracking and of the unsubscribe page, as the API takes them. No text at all is the page of the service. */
const trackingOf = (fields: Fields) => {
  const { tracking = "", tracking_url: url = "" } = fields
  const measured = tracking.split("\n")
  const texts = pageTexts.map((name) => [name, text(fields[`unsubscribe_page_${name}`])] as const)
  return {
    tracking: {
      opens: measured.includes("opens"),
      clicks: measured.includes("clicks"),
      url: url.trim() === "" ? null : url.trim(),
    },
    unsubscribe_page: texts.every(([, text]) => text === "") ? null : Object.fromEntries(texts),
  }
}

/** An empty text is no number, though JavaScript takes it for 0. */
const numberOf = (sent = "") => sent.trim() === "" ? sent : Number(sent)

const share = (sent = "") => shareOf(sent)

/** The fields that are read as the member of their name. */
const readers = {
  name: text,
  time_zone: text,
  exploration_floor: share,
  conversion_events: ifSent(list()),
  currency: ifSent(orNull((sent = "") => sent.trim().toUpperCase())),
  template_approval: ifSent(typed),
  delivery_failure_threshold: ifSent(share),
  delay_horizon_hours: numberOf,
  suppression: ifSent((sent) => sent === "true"),
  soft_bounce_limit: ifSent(orNull(numberOf)),
  group_opt_outs: ifSent(list()),
  retention_days: numberOf,
  inbox_retention_days: numberOf,
}

/** The settings in a form as API input: no times of day are no quiet hours, all days are no limit. */
export const patchOf = (fields: Fields): Result.Result<OrganizationPatch, ReadonlyArray<Fault>> => {
  const { allowed_days: allowed = "", holdout_content: content, holdout_share: heldOut, tracking_url: url } = fields
  const { "quiet_hours-from": from = "", "quiet_hours-to": to = "" } = fields
  const chosen = chosenDays(allowed)
  const isEveryDay = days.every(([day]) => chosen.includes(day)) && chosen.length === days.length
  return Result.mapError(
    decodePatch({
      ...readForm(readers, fields),
      ...(heldOut === undefined ? {} : { holdout: { share: share(heldOut), content } }),
      ...(url === undefined ? {} : trackingOf(fields)),
      quiet_hours: from.trim() === "" && to.trim() === "" ? null : { from: from.trim(), to: to.trim() },
      allowed_days: isEveryDay ? null : chosen,
    }),
    (faults) =>
      faults.map((fault) =>
        fault.pointer.startsWith("/quiet_hours/")
          ? { ...fault, pointer: fault.pointer.replace("/quiet_hours/", "/quiet_hours-") }
          : fault.pointer === "/exploration_floor"
          ? { ...fault, detail: "must be a number from 0 to 20" }
          : fault.pointer === "/holdout/share"
          ? { pointer: "/holdout_share", detail: "must be a number from 0 to 50" }
          : fault.pointer.startsWith("/holdout/")
          ? { ...fault, pointer: fault.pointer.replace("/holdout/", "/holdout_") }
          : /^\/(?:conversion_events|group_opt_outs)\//.test(fault.pointer)
          ? {
            pointer: `/${fault.pointer.split("/")[1]}`,
            detail: `line ${Number(fault.pointer.split("/")[2]) + 1} ${fault.detail}`,
          }
          : fault.pointer.startsWith("/tracking/") || fault.pointer.startsWith("/unsubscribe_page/")
          ? { ...fault, pointer: fault.pointer.replace(/^(\/\w+)\//, "$1_") }
          : fault.pointer === "/delivery_failure_threshold"
          ? { ...fault, detail: "must be a number from 0.1 to 100" }
          : fault.pointer.startsWith("/allowed_days") && chosen.length === 0
          ? { pointer: "/allowed_days", detail: "choose at least one day" }
          : fault
      ),
  )
}

const settings = (visit: Visit, typed: Fields | undefined, faults: ReadonlyArray<Fault>) => {
  const { org } = visit
  const mayChange = visit.can("updateOrganization")
  const fields = typed ?? fieldsOf(org)
  const field = (name: keyof typeof labels) => ({ name, label: labels[name], value: fields[name] ?? "", faults })
  return Effect.succeed(view(
    { document: "Settings", title: "General settings", lead: org.name },
    <ErrorSummary faults={faults} labels={labels} />,
    mayChange
      ? (
        <Form submit="Save settings" action={`/console/o/${org.slug}/settings`}>
          <div class="card-columns">
            <OrganizationFields field={field} />
            <ApprovalFields field={field} />
            <HoldoutFields field={field} />
            <ConversionFields field={field} />
            <TrackingFields faults={faults} field={field} fields={fields} />
            <UnsubscribeFields field={field} />
            <NotificationFields field={field} />
            <SendTimeFields faults={faults} field={field} fields={fields} />
            <SuppressionFields field={field} />
            <RetentionFields field={field} />
          </div>
        </Form>
      )
      : <Note>Your role is {visit.role}: you can view these settings. An admin can change them.</Note>,
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
      yield* (yield* Organizations).update(org.slug, yield* decoded(patchOf(fields)))
      return { to: `/console/o/${org.slug}/settings`, done: "settings-saved" }
    }),
    settings,
  ),
])
