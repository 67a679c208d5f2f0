import type { ComponentChildren } from "preact"
import { type Organization } from "../../domain/Organization.ts"
import { DayOfWeek } from "../../domain/Season.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Facts } from "../components/Facts.tsx"
import { type InputField, inputFields, type ShownForm } from "../components/InputForm.tsx"
import { Pills } from "../components/Pills.tsx"
import { Time } from "../components/Time.tsx"
import { shareOf } from "../FieldShare.ts"
import { ifSent, list, orNull } from "../FormReaders.ts"
import { counted, percent, roleName } from "../Format.ts"
import { type Visit } from "../Routes.tsx"
import { idOfName } from "../../templates/SuggestedId.ts"
import { dayNames, holdoutWords, trackingWords } from "./templates/Words.ts"

/** Names of zones to choose from. */
export const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")]

/** The help of every field for a time zone. */
export const zoneHint = english(
  "An IANA name such as Europe/Berlin. Schedules, quiet hours and all times in the console use it.",
)

/** The days of the week with their names, for checkboxes. */
export const days: ReadonlyArray<readonly [DayOfWeek, string]> = DayOfWeek.literals.map((day) => [
  day,
  dayNames[day],
])

/** Returns the days of a field with several values. */
export const chosenDays = (text: string): ReadonlyArray<string> => text === "" ? [] : text.split("\n")

/** An empty text is no number, though JavaScript takes it for 0. */
const numberOf = (sent = "") => sent.trim() === "" ? sent : Number(sent)

const share = (sent = "") => shareOf(sent)

/** A card of settings: its words and the fields of its form. */
interface SettingsCard {
  readonly title: string
  readonly lead?: string
  readonly fields: Readonly<Record<string, InputField>>
  /** How the card shows its fields. Default: one below the other. */
  readonly Body?: (shown: ShownForm) => ComponentChildren
}

/** Texts of the unsubscribe page, in the order of the form. */
export const pageTexts = ["language", "title", "question", "button", "done"] as const

const pageFields = inputFields({
  unsubscribe_page_language: {
    label: english("Language"),
    required: false,
    hint: english("Language of these texts, such as de or pt-BR."),
  },
  unsubscribe_page_title: { label: english("Heading"), required: false },
  unsubscribe_page_question: { label: english("Question"), required: false },
  unsubscribe_page_button: { label: english("Button"), required: false },
  unsubscribe_page_done: { label: english("Confirmation"), required: false },
})

const horizon = inputFields({
  delay_horizon_hours: {
    label: english("Latest send time (hours)"),
    as: "number",
    read: numberOf,
    hint: english(
      "From 1 to 168 hours after the request. If quiet hours and days leave no time before that, the first allowed time after it is used.",
    ),
  },
})

const quietHours = inputFields({
  "quiet_hours-from": { label: english("Quiet from"), at: ["quiet_hours", "from"], as: "time", required: false },
  "quiet_hours-to": { label: english("Quiet until"), at: ["quiet_hours", "to"], as: "time", required: false },
})

const allowedDays = inputFields({
  allowed_days: {
    label: english("Allowed sending days"),
    as: "checkboxes",
    short: true,
    hint: english("At least one."),
    options: days,
  },
})

/** The settings of an organization, by card. */
export const cards: ReadonlyArray<SettingsCard> = [
  {
    title: english("Organization"),
    fields: {
      name: { label: english("Name") },
      time_zone: { label: english("Time zone"), hint: zoneHint, suggested: zones },
      exploration_floor: {
        label: english("Share of random traffic (%)"),
        as: "number",
        read: share,
        hint: english(
          "From 0 to 20 %. This share of the traffic is split randomly among the variants, so that Parlance notices when preferences change.",
        ),
      },
    },
  },
  {
    title: english("Approval"),
    lead: english(
      "With approval, a change of what recipients get goes live once somebody other than its author has approved it.",
    ),
    fields: {
      template_approval: {
        label: english("Changes to live templates"),
        as: "select",
        hint: english("Drafts, inactive variants and names can be changed without approval."),
        options: [
          ["none", english("Go live at once")],
          ["editor", english("Need the approval of another editor or admin")],
          ["admin", english("Need the approval of another admin")],
        ],
      },
    },
  },
  {
    title: english("Holdout"),
    lead: english(
      "Results compare people in the holdout with everyone else to measure the lift. The same people are held out of every template that has no holdout setting of its own.",
    ),
    fields: {
      holdout_share: {
        label: english("Share of people held out (%)"),
        at: ["holdout", "share"],
        as: "number",
        read: ifSent(share),
        hint: english("From 0 (no holdout) to 50 %. A small share needs a lot of traffic to show a difference."),
      },
      holdout_content: {
        label: english("Holdout content"),
        at: ["holdout", "content"],
        as: "select",
        hint: english(
          "With “No message”, Generate returns no content and held_out: true for them. Do not send your fallback content then.",
        ),
        options: [["even", english("Random split of the variants")], ["no_message", english("No message")]],
      },
    },
  },
  {
    title: english("Conversions"),
    lead: english(
      "The events purchase and order_completed are always conversions. Other event names are refused unless you declare them here, in a template, or in the settings of a source.",
    ),
    fields: {
      conversion_events: {
        label: english("Conversion events"),
        as: "code",
        required: false,
        read: ifSent(list()),
        hint: english(
          "One name per line, such as trial_started. A * accepts every name in events with a tracking id, including misspelt ones.",
        ),
      },
      currency: {
        label: english("Currency of revenue"),
        required: false,
        read: ifSent(orNull((sent = "") => sent.trim().toUpperCase())),
        hint: english(
          "ISO 4217 code, such as EUR. Conversions in another currency count without value. Empty: values count whatever their currency.",
        ),
      },
    },
  },
  {
    title: english("Tracking"),
    lead: english(
      "Events that Parlance measures itself in e-mails sent with Deliver, for all templates without a setting of their own. Not needed if your platform reports opens and clicks.",
    ),
    fields: {
      tracking: {
        label: english("Measured events"),
        as: "checkboxes",
        read: (sent = "") => ({
          opens: sent.split("\n").includes("opens"),
          clicks: sent.split("\n").includes("clicks"),
        }),
        options: [
          ["opens", english("Opens"), english("Adds a pixel to the end of the HTML part.")],
          ["clicks", english("Clicks"), english("Redirects links through Parlance.")],
        ],
      },
      tracking_url: {
        label: english("Address of tracked links"),
        at: ["tracking", "url"],
        required: false,
        read: orNull((sent = "") => sent.trim()),
        hint: english(
          "A domain of yours that points to this service, such as https://links.shop.example. Tracked links and unsubscribe links use it. Empty: the address of the installation.",
        ),
      },
    },
  },
  {
    title: english("Unsubscribe page"),
    lead: english(
      "Texts on the page behind the unsubscribe link. Leave all of them empty to use the built-in texts in the reader's language. {organization} is replaced by the organization's name.",
    ),
    fields: pageFields.fields,
    Body: ({ faults, values = {} }) => (
      <details
        open={pageTexts.some((name) => (values[`unsubscribe_page_${name}`] ?? "") !== "") ||
          faults.some(({ pointer }) => pointer.startsWith("/unsubscribe_page"))}
      >
        <summary>{t`Own texts`}</summary>
        <div class="fields">
          <pageFields.Fields faults={faults} values={values} />
        </div>
      </details>
    ),
  },
  {
    title: english("Notifications"),
    lead: english(
      "Editors and admins are notified when too many deliveries fail. Members choose which notifications they get by mail.",
    ),
    fields: {
      delivery_failure_threshold: {
        label: english("Failed deliveries that notify members (%)"),
        as: "number",
        read: ifSent(share),
        hint: english(
          "From 0.1 to 100 %, of the deliveries that ended in this and the previous hour. At least 10 must have failed.",
        ),
      },
    },
  },
  {
    title: english("Send times"),
    lead: english(
      "Limits for the send times that Parlance recommends or chooses. Quiet hours and days are in the recipient's local time, or in the organization's time zone if the recipient's is unknown.",
    ),
    fields: { ...horizon.fields, ...quietHours.fields, ...allowedDays.fields },
    Body: (shown) => (
      <div class="fields">
        <horizon.Fields {...shown} />
        <fieldset>
          <legend>{t`Quiet hours`}</legend>
          <p class="hint">
            {t`Nothing is sent between these times of day. The range may cross midnight. Leave both empty for no
              quiet hours.`}
          </p>
          <div class="beside">
            <quietHours.Fields {...shown} />
          </div>
        </fieldset>
        <allowedDays.Fields {...shown} />
      </div>
    ),
  },
  {
    title: english("Suppression"),
    lead: english(
      "People who unsubscribe or complain and addresses that bounce permanently are added to the suppression list.",
    ),
    fields: {
      suppression: {
        label: english("Suppression list"),
        as: "select",
        read: ifSent((sent) => sent === "true"),
        hint: english(
          "Deliver refuses addresses on the list. Turn it off only if your sending platform keeps such a list.",
        ),
        options: [["true", english("On")], ["false", english("Off")]],
      },
      soft_bounce_limit: {
        label: english("Consecutive soft bounces until suppressed"),
        as: "number",
        required: false,
        read: ifSent(orNull(numberOf)),
        hint: english("From 1 to 100. Empty: soft bounces never suppress an address."),
      },
      group_opt_outs: {
        label: english("Groups whose opt-outs count for all e-mail"),
        as: "code",
        rows: 3,
        required: false,
        read: ifSent(list()),
        hint: english(
          "Names or ids of lists, subscription groups and message types, one per line. An opt-out of another group suppresses nobody. A * is any group.",
        ),
      },
    },
  },
  {
    title: english("Retention"),
    lead: english(
      "Sends are deleted within a month after this time, their events two months later, payloads within a week. Results look back 180 days.",
    ),
    fields: {
      retention_days: {
        label: english("Keep sends and events for (days)"),
        as: "number",
        read: numberOf,
        hint: english("From 200 to 3,650 days."),
      },
      inbox_retention_days: {
        label: english("Keep webhook payloads for (days)"),
        as: "number",
        read: numberOf,
        hint: english("From 1 to 365 days. Payloads that could not be read are kept for at least 90 days."),
      },
    },
  },
]

/** The form of all settings. */
export const settingsForm = inputFields(Object.assign({}, ...cards.map(({ fields }) => fields)))

/** The element of a card, such as `settings-holdout`. */
const cardId = (title: string) => `settings-${idOfName(title)}`

/** Links to the cards, of which a page has more than a screen shows. */
export const CardLinks = () => (
  <Pills
    label={t`On this page`}
    links={cards.map(({ title }) => ({ href: `#${cardId(title)}`, label: translated(title), isCurrent: false }))}
  />
)

/** The fields of a card. */
export const CardFields = (
  { card: { Body, fields, lead, title }, ...shown }: ShownForm & { readonly card: SettingsCard },
) => {
  const { Fields } = inputFields(fields)
  return (
    <Card id={cardId(title)} title={translated(title)} lead={lead === undefined ? undefined : translated(lead)}>
      {Body === undefined
        ? (
          <div class="fields">
            <Fields {...shown} />
          </div>
        )
        : <Body {...shown} />}
    </Card>
  )
}

const quietText = ({ quiet_hours: quiet }: Organization) =>
  quiet === null ? "none" : t`${quiet.from} to ${quiet.to}, recipient's local time`

const daysText = ({ allowed_days: allowed }: Organization) =>
  allowed === null ? t`every day` : days.flatMap(([day, name]) => allowed.includes(day) ? [name] : []).join(", ")

/** Facts about the organization. With `mayChange` false, also the settings of the forms. */
export const About = ({ mayChange, org, visit }: {
  readonly mayChange: boolean
  readonly org: Organization
  readonly visit: Visit
}) => (
  <Card title={t`About`}>
    <Facts
      rows={[
        [t`Id`, <code>{org.slug}</code>],
        ...(mayChange ? [] : [
          [t`Time zone`, org.time_zone],
          [t`Share of random traffic`, percent(org.exploration_floor)],
          [t`Holdout`, holdoutWords(org.holdout)],
          [t`Conversion events`, org.conversion_events.length === 0 ? "none" : org.conversion_events.join(", ")],
          [t`Currency of revenue`, org.currency ?? "any"],
          [t`Tracking`, trackingWords(org.tracking)],
          [t`Latest send time`, counted(org.delay_horizon_hours, "hour")],
          [t`Quiet hours`, quietText(org)],
          [t`Allowed sending days`, daysText(org)],
          [t`Suppression list`, org.suppression ? "on" : "off"],
          [t`Consecutive soft bounces until suppressed`, org.soft_bounce_limit ?? "never"],
          [
            t`Groups whose opt-outs count for all e-mail`,
            org.group_opt_outs.length === 0 ? "none" : org.group_opt_outs.join(", "),
          ],
          [t`Sends and events kept for`, counted(org.retention_days, "day")],
          [t`Webhook payloads kept for`, counted(org.inbox_retention_days, "day")],
        ] as const),
        [t`Created`, <Time at={org.created_at} zone={org.time_zone} />],
        [t`Your role`, <Badge kind="accent">{roleName(visit.role)}</Badge>],
      ]}
    />
  </Card>
)
