import { candidateName } from "../../../domain/SendNothing.ts"
import { noMessage } from "../../../journal/decisions/Decision.ts"
import { copyLocale, decodeContext } from "../../../bandit/Contexts.ts"
import { localeIn } from "../../../journal/decisions/DecisionLocale.ts"
import { eventKinds } from "../../../domain/EventKinds.ts"
import { sourceIdOf, sourceTitle } from "../../../domain/Source.ts"
import type { Organization } from "../../../domain/Organization.ts"
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
  counted: ["good", "counted"],
  repeated: ["plain", "already counted"],
  automated: ["accent", "by a machine"],
  out_of_time: ["warn", "out of time"],
  waiting: ["plain", "waiting"],
  unmatched: ["warn", "no send found"],
  person: ["plain", "about the person"],
}

const modes: Readonly<Record<string, string>> = {
  bandit: "Chosen by the model",
  epsilon: "Random split, as the request asked (epsilon)",
  single: "The only eligible variant",
  forced: "Requested by copy_id",
  control: "Holdout: chosen without the model",
  fallback: "In place of a variant that could not be rendered",
}

/** The value of a conversion, such as `worth 49.9 EUR`. */
const valueText = ({ currency, value }: Pick<TimelineEvent, "currency" | "value">) =>
  `worth ${value}${currency === null ? "" : ` ${currency}`}`

const Events = ({ caption, events, zone }: {
  readonly caption: string
  readonly events: ReadonlyArray<TimelineEvent>
  readonly zone: string
}) => (
  <Table
    cards="labelled"
    caption={caption}
    headings={["Event", "Happened", "Effect", "Source"]}
    rows={events.map((event) => [
      <>
        {eventKinds[event.event].words.one}
        {event.value !== null && <span class="sub">{valueText(event)}</span>}
        {event.link !== null && <span class="sub">{event.link}</span>}
      </>,
      { kind: "nowrap", content: <Time at={event.occurredAt.toISOString()} zone={zone} /> },
      <>
        <Badge kind={effects[event.effect][0]}>{effects[event.effect][1]}</Badge>
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
    ? <>everybody</>
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
      <summary>{decision.copyId === noMessage ? "Why no message" : "Why this variant"}</summary>
      <div class="stack">
        <Facts
          rows={[
            ["How", modes[decision.mode] ?? decision.mode],
            decision.failed !== null &&
            ["Could not be rendered", decision.failed.map(({ copy_id }) => copy_id).join(", ")],
            ["Segment", <Segment segment={decision.segment} />],
            localeIn(decision.segment) !== undefined && ["Locale", localeIn(decision.segment)!],
            [
              decision.copyId === noMessage ? "Chance to send nothing" : "Chance of this variant",
              decision.propensity === null ? "none: it was not a random choice" : percent(decision.propensity),
            ],
            [
              "Window",
              decision.lookbackDays === null
                ? "all days, recent ones more"
                : `the ${decision.lookbackDays} days that ended ${decision.offsetDays ?? 0} days before`,
            ],
            ["Model", <code>{decision.policy}</code>],
          ]}
        />
        {weights.length !== 0 && (
          <table class="chances">
            <caption>Chance of each variant at that time</caption>
            <thead>
              <tr>
                <th scope="col">Variant</th>
                <th scope="col">Chance</th>
                <th scope="col">
                  <span class="visually-hidden">As a bar</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {weights.map(([name, share]) => (
                <tr>
                  <th scope="row">{candidateName(name)}{name === decision.copyId ? " (chosen)" : ""}</th>
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
              ? "no message (held out)"
              : "no message (send nothing)"}
          </h2>
          {delivery !== null && <DeliveryBadge state={delivery.state} />}
          <Time at={decision.decidedAt.toISOString()} zone={org.time_zone} />
        </div>
        <Facts
          rows={[
            [
              "Tracking id",
              withLink ? <a class="mono" href={href}>{decision.trackingId}</a> : <code>{decision.trackingId}</code>,
            ],
            [
              "User",
              decision.user === null
                ? <span class="muted">not given, or erased</span>
                : (
                  <a href={`/console/o/${org.slug}/people?user_id=${encodeURIComponent(decision.user)}`}>
                    {decision.user}
                  </a>
                ),
            ],
            delivery !== null && [
              "Message",
              <>
                <a href={`${deliveriesPath(org.slug)}/${delivery.id}`}>
                  {delivery.state === "sent" ? "Sent" : "Queued"} to {delivery.email ?? "an erased person"}
                </a>
                {delivery.reason !== null && `: ${reasonText(delivery.reason, org.time_zone)}`}
              </>,
            ],
          ]}
        />
        <Why decision={decision} />
      </div>
      {decision.events.length === 0 ? <p class="pad muted">No events yet.</p> : (
        <Events
          caption={decision.moreEvents ? "The first 200 events" : "Events"}
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
    <Card stacked title={`Profile of ${profile.userId}`}>
      <Facts
        rows={[
          ["E-mail address", profile.email ?? <span class="muted">not known</span>],
          ["Last reported", <Time at={profile.updatedAt.toISOString()} zone={zone} />],
          ...traits.map(([name, value]) => [name, valueOf(value)] as const),
        ]}
      />
      {traits.length === 0 && <p class="muted">No traits are known.</p>}
    </Card>
  )
}

/** Events without a decision, repeated messages, and recommended send times. */
export const OtherCards = ({ org, timeline }: { readonly org: Organization; readonly timeline: Timeline }) => (
  <>
    {timeline.loose.length !== 0 && (
      <Card kind="flush">
        <Events caption="Events without a send" events={timeline.loose} zone={org.time_zone} />
      </Card>
    )}
    {timeline.repeats.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption="Messages that repeat an earlier choice"
          headings={["To", "State", "Template and variant", "Queued"]}
          rows={timeline.repeats.map((one) => [
            <a href={`${deliveriesPath(org.slug)}/${one.id}`}>{one.email ?? "(erased)"}</a>,
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
          caption="Recommended send times"
          headings={["Variant", "Requested", "Recommended time", "Based on"]}
          rows={timeline.advice.map((one) => [
            one.copyId,
            { kind: "nowrap", content: <Time at={one.givenAt.toISOString()} zone={org.time_zone} /> },
            { kind: "nowrap", content: <Time at={one.advisedAt.toISOString()} zone={org.time_zone} /> },
            one.explored ? "random, to keep learning" : one.basis,
          ])}
        />
      </Card>
    )}
  </>
)
