import { type Organization } from "../../domain/Organization.ts"
import { DayOfWeek } from "../../domain/Season.ts"
import { dayNames } from "../charts/HeatMap.tsx"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Facts } from "../components/Facts.tsx"
import { Choices, Field, SelectField } from "../components/Field.tsx"
import { TextAreaField } from "../components/TextAreaField.tsx"
import { Time } from "../components/Time.tsx"
import { percent } from "../Format.ts"
import { holdoutWords, trackingWords } from "./templates/Words.ts"
import { type Fields, type Visit } from "../Routes.tsx"
import type { Fault } from "../../domain/Errors.ts"

/** Names of zones to choose from. */
export const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")]

/** The help of every field for a time zone. */
export const zoneHint =
  "An IANA name such as Europe/Berlin. Schedules, quiet hours and all times in the console use it."

/** The days of the week with their names, for checkboxes. */
export const days: ReadonlyArray<readonly [DayOfWeek, string]> = DayOfWeek.literals.map((
  day,
  at,
) => [day, dayNames[at]!])

/** Labels of the settings of an organization, by field. */
export const labels = {
  name: "Name",
  time_zone: "Time zone",
  exploration_floor: "Share of random traffic (%)",
  holdout_share: "Share of people held out (%)",
  holdout_content: "Holdout content",
  conversion_events: "Conversion events",
  currency: "Currency of revenue",
  tracking: "Measured events",
  tracking_url: "Address of tracked links",
  unsubscribe_page_language: "Language",
  unsubscribe_page_title: "Heading",
  unsubscribe_page_question: "Question",
  unsubscribe_page_button: "Button",
  unsubscribe_page_done: "Confirmation",
  delay_horizon_hours: "Latest send time",
  "quiet_hours-from": "Quiet from",
  "quiet_hours-to": "Quiet until",
  allowed_days: "Allowed sending days",
  template_approval: "Changes to live templates",
  delivery_failure_threshold: "Failed deliveries that notify members (%)",
  suppression: "Suppression list",
  soft_bounce_limit: "Consecutive soft bounces until suppressed",
  group_opt_outs: "Groups whose opt-outs count for all e-mail",
  retention_days: "Keep decisions and events for (days)",
  inbox_retention_days: "Keep webhook payloads for (days)",
}

/** Texts of the unsubscribe page, in the order of the form. */
export const pageTexts = ["language", "title", "question", "button", "done"] as const

/** Returns the days of a field with several values. */
export const chosenDays = (text: string): ReadonlyArray<string> => text === "" ? [] : text.split("\n")

const quietText = ({ quiet_hours: quiet }: Organization) =>
  quiet === null ? "none" : `${quiet.from} to ${quiet.to}, recipient's local time`

const daysText = ({ allowed_days: allowed }: Organization) =>
  allowed === null ? "every day" : days.flatMap(([day, name]) => allowed.includes(day) ? [name] : []).join(", ")

/** Properties of the field of a setting. */
type FieldOf = (name: keyof typeof labels) => {
  readonly name: keyof typeof labels
  readonly label: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}

/** Fields for the name, the time zone and random traffic. */
export const OrganizationFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card title="Organization">
    <div class="fields">
      <Field {...field("name")} />
      <Field {...field("time_zone")} hint={zoneHint} list={zones} />
      <Field
        {...field("exploration_floor")}
        type="number"
        hint="From 0 to 20 %. This share of the traffic is split randomly among the variants, so that Parlance notices when preferences change."
      />
    </div>
  </Card>
)

/** Fields for the holdout. */
export const HoldoutFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Holdout"
    lead="Results compare people in the holdout with everyone else to measure the lift. The same people are held out of every template that has no holdout setting of its own."
  >
    <div class="fields">
      <Field
        {...field("holdout_share")}
        type="number"
        hint="From 0 (no holdout) to 50 %. A small share needs a lot of traffic to show a difference."
      />
      <SelectField
        {...field("holdout_content")}
        hint="With “No message”, Generate returns no content and held_out: true for them. Do not send your fallback content then."
        options={[["even", "Random split of the variants"], ["no_message", "No message"]]}
      />
    </div>
  </Card>
)

/** Fields for conversion events and the currency. */
export const ConversionFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Conversions"
    lead="The events purchase and order_completed are always conversions. Other event names are refused unless you declare them here, in a template, or in the settings of a source."
  >
    <div class="fields">
      <TextAreaField
        {...field("conversion_events")}
        required={false}
        rows={4}
        code
        hint="One name per line, such as trial_started. A * accepts every name in events with a tracking id, including misspelt ones."
      />
      <Field
        {...field("currency")}
        required={false}
        hint="ISO 4217 code, such as EUR. Conversions in another currency count without value. Empty: values count whatever their currency."
      />
    </div>
  </Card>
)

/** Fields for measured opens and clicks. */
export const TrackingFields = ({ faults, field, fields }: {
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly field: FieldOf
  readonly fields: Fields
}) => (
  <Card
    title="Tracking"
    lead="Events that Parlance measures itself in e-mails sent with Deliver, for all templates without a setting of their own. Not needed if your platform reports opens and clicks."
  >
    <div class="fields">
      <Choices
        type="checkbox"
        name="tracking"
        label={labels.tracking}
        options={[
          ["opens", "Opens", "Adds a pixel to the end of the HTML part."],
          ["clicks", "Clicks", "Redirects links through Parlance."],
        ]}
        values={(fields["tracking"] ?? "").split("\n")}
        faults={faults}
      />
      <Field
        {...field("tracking_url")}
        required={false}
        hint="A domain of yours that points to this service, such as https://links.shop.example. Tracked links and unsubscribe links use it. Empty: the address of the installation."
      />
    </div>
  </Card>
)

/** Fields for the texts of the unsubscribe page. Closed while all of them are empty. */
export const UnsubscribeFields = ({ field }: {
  readonly field: FieldOf
}) => {
  const isOpen = pageTexts.map((name) => field(`unsubscribe_page_${name}`)).some(({ faults, value }) =>
    value !== "" || faults.some(({ pointer }) => pointer.startsWith("/unsubscribe_page"))
  )
  return (
    <Card
      title="Unsubscribe page"
      lead="Texts on the page behind the unsubscribe link. Leave all of them empty to use the built-in texts in the reader's language. {organization} is replaced by the organization's name."
    >
      <details open={isOpen}>
        <summary>Own texts</summary>
        <div class="fields">
          {pageTexts.map((name) => (
            <Field
              {...field(`unsubscribe_page_${name}`)}
              required={false}
              {...(name === "language" ? { hint: "Language of these texts, such as de or pt-BR." } : {})}
            />
          ))}
        </div>
      </details>
    </Card>
  )
}

/** Fields for send times, quiet hours and sending days. */
export const SendTimeFields = ({ faults, field, fields }: {
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly field: FieldOf
  readonly fields: Fields
}) => (
  <Card
    title="Send times"
    lead="Limits for the send times that Parlance recommends or chooses. Quiet hours and days are in the recipient's local time, or in the organization's time zone if the recipient's is unknown."
  >
    <div class="fields">
      <Field
        {...field("delay_horizon_hours")}
        label={`${labels.delay_horizon_hours} (hours)`}
        type="number"
        hint="From 1 to 168 hours after the request. If quiet hours and days leave no time before that, the first allowed time after it is used."
      />
      <fieldset>
        <legend>Quiet hours</legend>
        <p class="hint">
          Nothing is sent between these times of day. The range may cross midnight. Leave both empty for no quiet hours.
        </p>
        <div class="beside">
          <Field {...field("quiet_hours-from")} type="time" required={false} />
          <Field {...field("quiet_hours-to")} type="time" required={false} />
        </div>
      </fieldset>
      <Choices
        type="checkbox"
        short
        name="allowed_days"
        label={labels.allowed_days}
        hint="At least one."
        options={days}
        values={chosenDays(fields["allowed_days"] ?? "")}
        faults={faults}
      />
    </div>
  </Card>
)

/** Fields for the approval of changes. */
export const ApprovalFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Approval"
    lead="With approval, a change of what recipients get goes live once somebody other than its author has approved it."
  >
    <div class="fields">
      <SelectField
        {...field("template_approval")}
        hint="Drafts, inactive variants and names can be changed without approval."
        options={[
          ["none", "Go live at once"],
          ["editor", "Need the approval of another editor or admin"],
          ["admin", "Need the approval of another admin"],
        ]}
      />
    </div>
  </Card>
)

/** The field for the share of failed deliveries that notifies members. */
export const NotificationFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Notifications"
    lead="Editors and admins are notified when too many deliveries fail. Members choose which notifications they get by mail."
  >
    <div class="fields">
      <Field
        {...field("delivery_failure_threshold")}
        type="number"
        hint="From 0.1 to 100 %, of the deliveries that ended in this and the previous hour. At least 10 must have failed."
      />
    </div>
  </Card>
)

/** Fields for the suppression list. */
export const SuppressionFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Suppression"
    lead="People who unsubscribe or complain and addresses that bounce permanently are added to the suppression list."
  >
    <div class="fields">
      <SelectField
        {...field("suppression")}
        hint="Deliver refuses addresses on the list. Turn it off only if your sending platform keeps such a list."
        options={[["true", "On"], ["false", "Off"]]}
      />
      <Field
        {...field("soft_bounce_limit")}
        type="number"
        required={false}
        hint="From 1 to 100. Empty: soft bounces never suppress an address."
      />
      <TextAreaField
        {...field("group_opt_outs")}
        required={false}
        rows={3}
        code
        hint="Names or ids of lists, subscription groups and message types, one per line. An opt-out of another group suppresses nobody. A * is any group."
      />
    </div>
  </Card>
)

/** Fields for retention periods. */
export const RetentionFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Retention"
    lead="Decisions are deleted within a month after this time, their events two months later, payloads within a week. Results look back 180 days."
  >
    <div class="fields">
      <Field {...field("retention_days")} type="number" hint="From 200 to 3,650 days." />
      <Field
        {...field("inbox_retention_days")}
        type="number"
        hint="From 1 to 365 days. Payloads that could not be read are kept for at least 90 days."
      />
    </div>
  </Card>
)

/** Facts about the organization. With `mayChange` false, also the settings of the forms. */
export const About = ({ mayChange, org, visit }: {
  readonly mayChange: boolean
  readonly org: Organization
  readonly visit: Visit
}) => (
  <Card title="About">
    <Facts
      rows={[
        ["Id", <code>{org.slug}</code>],
        ...(mayChange ? [] : [
          ["Time zone", org.time_zone],
          ["Share of random traffic", percent(org.exploration_floor)],
          ["Holdout", holdoutWords(org.holdout)],
          [labels.conversion_events, org.conversion_events.length === 0 ? "none" : org.conversion_events.join(", ")],
          [labels.currency, org.currency ?? "any"],
          ["Tracking", trackingWords(org.tracking)],
          [labels.delay_horizon_hours, <>{org.delay_horizon_hours} hours</>],
          ["Quiet hours", quietText(org)],
          [labels.allowed_days, daysText(org)],
          [labels.suppression, org.suppression ? "on" : "off"],
          [labels.soft_bounce_limit, org.soft_bounce_limit ?? "never"],
          [labels.group_opt_outs, org.group_opt_outs.length === 0 ? "none" : org.group_opt_outs.join(", ")],
          ["Decisions and events kept for", <>{org.retention_days} days</>],
          ["Webhook payloads kept for", <>{org.inbox_retention_days} days</>],
        ] as const),
        ["Created", <Time at={org.created_at} zone={org.time_zone} />],
        ["Your role", <Badge kind="accent">{visit.role}</Badge>],
      ]}
    />
  </Card>
)
