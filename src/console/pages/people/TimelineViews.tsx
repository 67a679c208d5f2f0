import { candidateName } from "../../../domain/SendNothing.ts"
import { noMessage } from "../../../journal/decisions/Decision.ts"
import { copyLocale, decodeContext } from "../../../bandit/Contexts.ts"
import { localeIn } from "../../../journal/decisions/DecisionLocale.ts"
import { eventKinds } from "../../../domain/EventKinds.ts"
import { sourceIdOf, sourceTitle } from "../../../domain/Source.ts"
import type { Organization } from "../../../domain/Organization.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import type { StoredProfile } from "../../../profiles/ProfileRows.ts"
import type { Timeline, TimelineDecision, TimelineEvent } from "../../../people/Timelines.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { percent, reasonText } from "../../Format.ts"
import { type DeliveryNames, templateName, variantName } from "../delivery/DeliveryTable.tsx"
import { deliveriesPath, DeliveryBadge } from "../delivery/DeliveryViews.tsx"
import { attributeText } from "../results/Words.ts"
import { templatePath } from "../templates/Paths.ts"

const effects: {
  readonly [effect in TimelineEvent["effect"]]: readonly [kind: "good" | "plain" | "warn" | "accent", text: string]
} = {
  counted: ["good", english("counted")],
  repeated: ["plain", english("already counted")],
  automated: ["accent", english("by a machine")],
  out_of_time: ["warn", english("out of time")],
  waiting: ["plain", english("waiting")],
  unmatched: ["warn", english("no send found")],
  person: ["plain", english("about the person")],
}

const modes: Readonly<Record<string, string>> = {
  bandit: english("Chosen by the model"),
  epsilon: english("Random split, as the request asked (epsilon)"),
  single: english("The only eligible variant"),
  forced: english("Requested by copy_id"),
  control: english("Holdout: chosen without the model"),
  fallback: english("In place of a variant that could not be rendered"),
}

/** The data that a recommended send time is based on. */
const bases: Readonly<Record<string, string>> = {
  user: english("user"),
  variant: english("variant"),
  template: english("template"),
  organization: english("organization"),
  default: english("default"),
}

/** The value of a conversion, such as `worth 49.9 EUR`. */
const valueText = ({ currency, value }: Pick<TimelineEvent, "currency" | "value">) =>
  t`worth ${[value, ...(currency === null ? [] : [currency])].join(" ")}`

const Events = ({ caption, events, zone }: {
  readonly caption: string
  readonly events: ReadonlyArray<TimelineEvent>
  readonly zone: string
}) => (
  <Table
    cards="labelled"
    caption={caption}
    headings={[t`Event`, t`Happened`, t`Effect`, t`Source`]}
    rows={events.map((event) => [
      <>
        {translated(eventKinds[event.event].words.one)}
        {event.value !== null && <span class="sub">{valueText(event)}</span>}
        {event.link !== null && <span class="sub">{event.link}</span>}
      </>,
      { kind: "nowrap", content: <Time at={event.occurredAt.toISOString()} zone={zone} /> },
      <>
        <Badge kind={effects[event.effect][0]}>{translated(effects[event.effect][1])}</Badge>
        {event.reason !== null && <span class="sub">{event.reason}</span>}
      </>,
      <>
        {titleOf(event.source)}
        {event.eventId !== null && <span class="sub mono">{event.eventId}</span>}
      </>,
    ])}
  />
)

/** The name of a source for people. Reports of mail servers and of Parlance itself keep their names. */
const titleOf = (source: string) => {
  const id = sourceIdOf(source)
  return id === undefined ? source : sourceTitle(id)
}

/** The attributes of a segment, in words. */
const Segment = ({ segment }: { readonly segment: string }) => {
  const values = [...decodeContext(segment)].filter(([name]) => name !== copyLocale)
  return values.length === 0
    ? <>{t`everybody`}</>
    : <span class="tags">{values.map(([name, value]) => <span class="tag">{attributeText(name)}: {value}</span>)}</span>
}

/** A bar with the length of a share. The number is shown next to it. */
const Share = ({ share }: { readonly share: number }) => (
  <svg class="chance" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="ground" width="100" height="8" rx="2" />
    <rect class="value" width={Math.max(1, share * 100)} height="8" rx="2" />
  </svg>
)

const Why = ({ decision }: { readonly decision: TimelineDecision }) => {
  const weights = Object.entries(decision.weights ?? {}).sort(([, a], [, b]) => b - a)
  return (
    <details class="why">
      <summary>{decision.copyId === noMessage ? t`Why no message` : t`Why this variant`}</summary>
      <div class="stack">
        <Facts
          rows={[
            [t`How`, translated(modes[decision.mode] ?? decision.mode)],
            decision.failed !== null &&
            [t`Could not be rendered`, decision.failed.map(({ copy_id }) => copy_id).join(", ")],
            [t`Segment`, <Segment segment={decision.segment} />],
            localeIn(decision.segment) !== undefined && [t`Locale`, localeIn(decision.segment)!],
            [
              decision.copyId === noMessage ? t`Chance to send nothing` : t`Chance of this variant`,
              decision.propensity === null ? t`none: it was not a random choice` : percent(decision.propensity),
            ],
            [
              t`Window`,
              decision.lookbackDays === null
                ? t`all days, recent ones more`
                : t`the ${decision.lookbackDays} days that ended ${decision.offsetDays ?? 0} days before`,
            ],
            [t`Model`, <code>{decision.policy}</code>],
          ]}
        />
        {weights.length !== 0 && (
          <table class="chances">
            <caption>{t`Chance of each variant at that time`}</caption>
            <thead>
              <tr>
                <th scope="col">{t`Variant`}</th>
                <th scope="col">{t`Chance`}</th>
                <th scope="col">
                  <span class="visually-hidden">{t`As a bar`}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {weights.map(([name, share]) => (
                <tr>
                  <th scope="row">
                    {name === decision.copyId ? t`${candidateName(name)} (chosen)` : candidateName(name)}
                  </th>
                  <td>{percent(share)}</td>
                  <td>
                    <Share share={share} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </details>
  )
}

/** A decision with its deliveries and events. */
export const DecisionCard = ({ decision, names, org, withLink }: {
  readonly decision: TimelineDecision
  readonly names: DeliveryNames
  readonly org: Organization
  /** Whether the card links to the story of its tracking id. */
  readonly withLink: boolean
}) => {
  const { delivery } = decision
  const href = `/console/o/${org.slug}/people?q=${encodeURIComponent(decision.trackingId)}`
  return (
    <Card kind="flush">
      <div class="pad stack">
        <div class="source-head">
          <h2>
            <a href={templatePath(org.slug, decision.templateId)} dir="auto">{templateName(names, decision)}</a>:{" "}
            {decision.copyId !== noMessage
              ? <bdi>{variantName(names, decision)}</bdi>
              : decision.mode === "control"
              ? t`no message (held out)`
              : t`no message (send nothing)`}
          </h2>
          {delivery !== null && <DeliveryBadge state={delivery.state} />}
          <Time at={decision.decidedAt.toISOString()} zone={org.time_zone} />
        </div>
        <Facts
          rows={[
            [
              t`Tracking id`,
              withLink ? <a class="mono" href={href}>{decision.trackingId}</a> : <code>{decision.trackingId}</code>,
            ],
            [
              t`User`,
              decision.user === null
                ? <span class="muted">{t`not given, or erased`}</span>
                : (
                  <a href={`/console/o/${org.slug}/people?user_id=${encodeURIComponent(decision.user)}`}>
                    {decision.user}
                  </a>
                ),
            ],
            delivery !== null && [
              t`Message`,
              <>
                <a href={`${deliveriesPath(org.slug)}/${delivery.id}`}>
                  {delivery.state === "sent"
                    ? t`Sent to ${delivery.email ?? t`an erased person`}`
                    : t`Queued to ${delivery.email ?? t`an erased person`}`}
                </a>
                {delivery.reason !== null && `: ${reasonText(delivery.reason, org.time_zone)}`}
              </>,
            ],
          ]}
        />
        <Why decision={decision} />
      </div>
      {decision.events.length === 0 ? <p class="pad muted">{t`No events yet.`}</p> : (
        <Events
          caption={decision.moreEvents ? t`The first 200 events` : t`Events`}
          events={decision.events}
          zone={org.time_zone}
        />
      )}
    </Card>
  )
}

const valueOf = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value)

/** The profile of a person as platforms have reported it. */
export const ProfileCard = ({ profile, zone }: { readonly profile: StoredProfile; readonly zone: string }) => {
  const traits = Object.entries(profile.traits)
  return (
    <Card stacked title={t`Profile of ${profile.userId}`}>
      <Facts
        rows={[
          [t`E-mail address`, profile.email ?? <span class="muted">{t`not known`}</span>],
          [t`Last reported`, <Time at={profile.updatedAt.toISOString()} zone={zone} />],
          ...traits.map(([name, value]) => [name, valueOf(value)] as const),
        ]}
      />
      {traits.length === 0 && <p class="muted">{t`No traits are known.`}</p>}
    </Card>
  )
}

/** Events without a decision, repeated messages, and recommended send times. */
export const OtherCards = ({ org, timeline }: { readonly org: Organization; readonly timeline: Timeline }) => (
  <>
    {timeline.loose.length !== 0 && (
      <Card kind="flush">
        <Events caption={t`Events without a send`} events={timeline.loose} zone={org.time_zone} />
      </Card>
    )}
    {timeline.repeats.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={t`Messages that repeat an earlier choice`}
          headings={[t`To`, t`State`, t`Template and variant`, t`Queued`]}
          rows={timeline.repeats.map((one) => [
            <a href={`${deliveriesPath(org.slug)}/${one.id}`}>{one.email ?? t`(erased)`}</a>,
            <DeliveryBadge state={one.state} />,
            <>
              {one.templateId}
              <span class="sub">{one.copyId}</span>
            </>,
            { kind: "nowrap", content: <Time at={one.queuedAt.toISOString()} zone={org.time_zone} /> },
          ])}
        />
      </Card>
    )}
    {timeline.advice.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={t`Recommended send times`}
          headings={[t`Variant`, t`Requested`, t`Recommended time`, t`Based on`]}
          rows={timeline.advice.map((one) => [
            one.copyId,
            { kind: "nowrap", content: <Time at={one.givenAt.toISOString()} zone={org.time_zone} /> },
            { kind: "nowrap", content: <Time at={one.advisedAt.toISOString()} zone={org.time_zone} /> },
            one.explored ? t`random, to keep learning` : translated(bases[one.basis] ?? one.basis),
          ])}
        />
      </Card>
    )}
  </>
)
