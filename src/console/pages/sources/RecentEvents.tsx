import { eventKinds } from "../../../domain/EventKinds.ts"
import type { Organization } from "../../../domain/Organization.ts"
import type { RecentEvent } from "../../../journal/Timeline.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Table } from "../../components/Table.tsx"
import { type DeliveryNames, templateName, variantName } from "../delivery/DeliveryTable.tsx"
import { Time } from "../../components/Time.tsx"

const statusBadge: {
  readonly [status in RecentEvent["status"]]: readonly [kind: "good" | "plain" | "warn", text: string]
} = {
  attributed: ["good", english("attributed")],
  ignored: ["plain", english("outside the counted time")],
  waiting: ["plain", english("waiting for its send")],
  unmatched: ["warn", english("no send found")],
  person: ["plain", english("about a person")],
}

/** The latest events of a source, each with a way to its story. */
export const RecentEvents = ({ events, names, org }: {
  readonly events: ReadonlyArray<RecentEvent>
  readonly names: DeliveryNames
  readonly org: Organization
}) =>
  events.length === 0
    ? (
      <Empty title={t`No events yet`}>
        {t`Opens, clicks and other events from this source are listed here with their message. Payloads that
          were not understood are in the inbox.`}
      </Empty>
    )
    : (
      <Table
        cards="labelled"
        first={3}
        caption={t`Recent events, newest first`}
        headings={[t`Event`, t`Message`, t`User`, t`Happened`, t`State`]}
        rows={events.map((event) => [
          <>
            {translated(eventKinds[event.event].words.one)}
            {event.automated && <span class="sub">{t`by a machine`}</span>}
          </>,
          event.trackingId === null ? <span class="muted">{t`not known`}</span> : (
            <>
              <a class="mono" href={`/console/o/${org.slug}/people?q=${encodeURIComponent(event.trackingId)}`}>
                {event.trackingId}
              </a>
              {event.templateId !== null && event.copyId !== null && (
                <span class="sub">
                  <bdi>{templateName(names, { templateId: event.templateId })}</bdi>,{" "}
                  <bdi>{variantName(names, { templateId: event.templateId, copyId: event.copyId })}</bdi>
                </span>
              )}
            </>
          ),
          event.user === null ? <span class="muted">–</span> : <span class="wrap">{event.user}</span>,
          { kind: "nowrap", content: <Time at={event.occurredAt.toISOString()} zone={org.time_zone} /> },
          <Badge kind={statusBadge[event.status][0]}>{translated(statusBadge[event.status][1])}</Badge>,
        ])}
      />
    )
