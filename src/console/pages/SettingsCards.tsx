/** @jsxImportSource preact */
import { type Organization } from "../../domain/Organization.ts"
import { DayOfWeek } from "../../domain/Season.ts"
import { dayNames } from "../charts/HeatMap.tsx"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Choices, Field, SelectField } from "../components/Field.tsx"
import { TextAreaField } from "../components/TextAreaField.tsx"
import { Time } from "../components/Time.tsx"
import { holdoutWords, trackingWords } from "./templates/Words.ts"
import { type Fields, type Visit } from "../Routes.tsx"
import type { Fault } from "../../domain/Errors.ts"

/** Names of zones to choose from. */
export const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")]

export const zoneHint = "An IANA name such as Europe/Berlin. Seasons, hours and every time in the console follow it."

export const days: ReadonlyArray<readonly [DayOfWeek, string]> = DayOfWeek.literals.map((
  day,
  at,
) => [day, dayNames[at]!])

export const labels = {
  name: "Name",
  time_zone: "Time zone",
  exploration_floor: "Share always chosen at random",
  holdout_share: "Share of the people held out",
  holdout_content: "Holdout content",
  conversion_events: "Names of conversions",
  tracking: "Measured events",
  tracking_url: "Address of tracked links",
  unsubscribe_page_language: "Language",
  unsubscribe_page_title: "Heading",
  unsubscribe_page_question: "Question",
  unsubscribe_page_button: "Button",
  unsubscribe_page_done: "Confirmation",
  delay_horizon_hours: "How far ahead a send time lies at most",
  "quiet_hours-from": "Quiet from",
  "quiet_hours-to": "Quiet until",
  allowed_days: "Allowed sending days",
  suppression: "Suppression list",
  soft_bounce_limit: "Soft bounces in a row that suppress an address",
  retention_days: "Days that decisions and events are kept",
  inbox_retention_days: "Days that received bodies are kept",
}

export const pageTexts = ["language", "title", "question", "button", "done"] as const

export const chosenDays = (text: string): ReadonlyArray<string> => text === "" ? [] : text.split("\n")

export const quietText = ({ quiet_hours: quiet }: Organization) =>
  quiet === null ? "none" : `${quiet.from} to ${quiet.to}, on the recipient's clocks`

export const daysText = ({ allowed_days: allowed }: Organization) =>
  allowed === null ? "every day" : days.flatMap(([day, name]) => allowed.includes(day) ? [name] : []).join(", ")

/** Properties of the field of a setting. */
type FieldOf = (name: keyof typeof labels) => {
  readonly name: keyof typeof labels
  readonly label: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}

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
        hint="From 0 to 0.2. This share of the traffic is spread evenly over the variants whatever is known, so that a change of taste is noticed."
      />
    </div>
  </Card>
)

export const HoldoutFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Holdout"
    lead="Results compare people in the holdout with everyone else, to measure the lift. The same people are held out of all templates without a holdout of their own."
  >
    <div class="fields">
      <Field
        {...field("holdout_share")}
        type="number"
        hint="From 0 (nobody) to 0.5. Small shares need much traffic before they show anything."
      />
      <SelectField
        {...field("holdout_content")}
        hint="Where they get no message, Generate answers without content and `held_out`: send no fallback either."
        options={[["even", "An even choice among the variants"], ["no_message", "No message"]]}
      />
    </div>
  </Card>
)

export const ConversionFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Conversions"
    lead="Purchases and order_completed are always conversions. An event of another name is refused unless the name is declared here, by a template, or in the settings of its source."
  >
    <div class="fields">
      <TextAreaField
        {...field("conversion_events")}
        required={false}
        rows={4}
        code
        hint="One name a line, such as trial_started. A * accepts any name from an event with a tracking id, misspelt ones too."
      />
    </div>
  </Card>
)

export const TrackingFields = ({ faults, field, fields }: {
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly field: FieldOf
  readonly fields: Fields
}) => (
  <Card
    title="Tracking"
    lead="Events that this service measures by itself in e-mails that Deliver sends, for all templates without a setting of their own. Platforms that report opens and clicks need none of it."
  >
    <div class="fields">
      <Choices
        type="checkbox"
        name="tracking"
        label={labels.tracking}
        options={[
          ["opens", "Opens", "A pixel at the end of the HTML part."],
          ["clicks", "Clicks", "Links lead through this service."],
        ]}
        values={(fields["tracking"] ?? "").split("\n")}
        faults={faults}
      />
      <Field
        {...field("tracking_url")}
        required={false}
        hint="A domain of yours that leads to this service, such as https://links.shop.example. Tracked links and unsubscribe links begin with it. Empty: the address of the installation."
      />
    </div>
  </Card>
)

export const UnsubscribeFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Unsubscribe page"
    lead="Texts that a recipient reads after following an unsubscribe link. Leave all of them empty for the texts of the service, in the language of the reader. {organization} stands for the organization's name."
  >
    <div class="fields">
      {pageTexts.map((name) => (
        <Field
          {...field(`unsubscribe_page_${name}`)}
          required={false}
          {...(name === "language" ? { hint: "Of these texts, such as de or pt-BR." } : {})}
        />
      ))}
    </div>
  </Card>
)

export const SendTimeFields = ({ faults, field, fields }: {
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[]
  readonly field: FieldOf
  readonly fields: Fields
}) => (
  <Card
    title="Send times"
    lead="Limits for send times that Parlance advises or chooses. Quiet hours and days are those of the recipient's clocks; where a recipient's zone is not known, the organization's counts."
  >
    <div class="fields">
      <Field
        {...field("delay_horizon_hours")}
        label={`${labels.delay_horizon_hours} (hours)`}
        type="number"
        hint="From 1 to 168 hours from the moment of asking. Where quiet hours and days leave no time until then, the first one after it is taken."
      />
      <fieldset>
        <legend>Quiet hours</legend>
        <p class="hint">
          Nothing is sent from the first time of day until the second, which may be past midnight. Leave both empty for
          none.
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

export const SuppressionFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Suppression"
    lead="People who unsubscribe or complain, and addresses that bounce for good, are put on the suppression list."
  >
    <div class="fields">
      <SelectField
        {...field("suppression")}
        hint="On: Deliver refuses addresses on the list. Switch it off only if your sending platform does this."
        options={[["true", "On: nothing is sent to these addresses"], ["false", "Off"]]}
      />
      <Field
        {...field("soft_bounce_limit")}
        type="number"
        required={false}
        hint="From 1 to 100. Empty: soft bounces never suppress an address."
      />
    </div>
  </Card>
)

export const RetentionFields = ({ field }: {
  readonly field: FieldOf
}) => (
  <Card
    title="Retention"
    lead="Older data is removed up to a month or a week later. Results look back 180 days."
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

export const About = ({ mayChange, org, visit }: {
  readonly mayChange: boolean
  readonly org: Organization
  readonly visit: Visit
}) => (
  <Card title="About">
    <dl class="facts">
      <dt>Id</dt>
      <dd>
        <code>{org.slug}</code>
      </dd>
      {mayChange ? null : (
        <>
          <dt>Time zone</dt>
          <dd>{org.time_zone}</dd>
          <dt>{labels.exploration_floor}</dt>
          <dd>{org.exploration_floor}</dd>
          <dt>Holdout</dt>
          <dd>{holdoutWords(org.holdout)}</dd>
          <dt>{labels.conversion_events}</dt>
          <dd>{org.conversion_events.length === 0 ? "none" : org.conversion_events.join(", ")}</dd>
          <dt>Tracking</dt>
          <dd>{trackingWords(org.tracking)}</dd>
          <dt>{labels.delay_horizon_hours}</dt>
          <dd>{org.delay_horizon_hours} hours</dd>
          <dt>Quiet hours</dt>
          <dd>{quietText(org)}</dd>
          <dt>{labels.allowed_days}</dt>
          <dd>{daysText(org)}</dd>
          <dt>{labels.suppression}</dt>
          <dd>{org.suppression ? "on" : "off"}</dd>
          <dt>{labels.soft_bounce_limit}</dt>
          <dd>{org.soft_bounce_limit ?? "no number"}</dd>
          <dt>Decisions and events are kept</dt>
          <dd>{org.retention_days} days</dd>
          <dt>Received bodies are kept</dt>
          <dd>{org.inbox_retention_days} days</dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <Time at={org.created_at} zone={org.time_zone} />
      </dd>
      <dt>Your role</dt>
      <dd>
        <Badge kind="accent">{visit.role}</Badge>
      </dd>
    </dl>
  </Card>
)
