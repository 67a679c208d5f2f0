import { type Delivery, type DeliveryState, type DeliverySummary, hasExpired } from "../../../delivery/Delivery.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { rate } from "../../Format.ts"
import { ago, Stats } from "../sources/SourceViews.tsx"

/** Where deliveries are. */
export const deliveriesPath = (org: OrgSlug) => `/console/o/${org}/deliveries`

const kinds: { readonly [state in DeliveryState]: "plain" | "good" | "warn" | "bad" | "accent" } = {
  queued: "plain",
  sending: "accent",
  sent: "good",
  failed: "bad",
  cancelled: "warn",
}

const states: { readonly [state in DeliveryState]: string } = {
  queued: english("queued"),
  sending: english("sending"),
  sent: english("sent"),
  failed: english("failed"),
  cancelled: english("cancelled"),
}

/** The state of a message in a word. */
export const stateText = (state: DeliveryState): string => translated(states[state])

/** The state of a message as a badge. */
export const DeliveryBadge = ({ state }: { readonly state: DeliveryState }) =>
  <Badge kind={kinds[state]}>{stateText(state)}</Badge>

/** Whether it can be cancelled, or sent again. */
export const isCancellable = ({ state }: Delivery) => state === "queued"
/** Whether a delivery can be sent again: it failed, has an address and has not expired. */
export const isRetriable = (delivery: Delivery, now: number) =>
  delivery.state === "failed" && delivery.email !== null && !hasExpired(delivery, now)

/** The numbers of deliveries by state. */
export const SummaryCard = ({ summary }: { readonly summary: DeliverySummary }) => (
  <Card title={t`The queue now`}>
    <div data-live="summary">
      <Stats
        stats={[
          { label: t`Due now`, value: summary.queued },
          { label: t`Due later`, value: summary.scheduled },
          { label: t`Sending`, value: summary.sending },
          { label: t`Sent`, value: summary.sent },
          { label: t`Failed`, value: summary.failed, kind: summary.failed > 0 ? "bad" : undefined },
          { label: t`Cancelled`, value: summary.cancelled },
          { label: t`Oldest due waits`, value: ago(summary.oldestDueSeconds) },
          { label: t`Sent per second`, value: rate(summary.sentPerSecond) },
        ]}
      />
    </div>
  </Card>
)
