/** @jsxImportSource preact */
import type { Delivery, DeliveryState, DeliverySummary } from "../../../delivery/Delivery.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { assets } from "../../Assets.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
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

/** What became of a message, in a word. */
export const DeliveryBadge = ({ state }: { readonly state: DeliveryState }) =>
  <Badge kind={kinds[state]}>{state}</Badge>

/** Whether it can be cancelled, or sent again. */
export const isCancellable = ({ state }: Delivery) => state === "queued"
export const isRetriable = ({ email, state }: Delivery) => state === "failed" && email !== null

const rate = (perSecond: number) => perSecond >= 10 ? perSecond.toFixed(0) : perSecond.toFixed(1)

/** How the queue stands; a script keeps it up to date from `source`. */
export const SummaryCard = ({ org, summary }: { readonly org: OrgSlug; readonly summary: DeliverySummary }) => (
  <Card
    title="The queue now"
    actions={<button type="button" class="button compact" data-pause hidden>Pause updates</button>}
  >
    <div class="stack" data-summary={`/console/api/organizations/${org}/delivery-summary`}>
      <Stats
        stats={[
          { label: "Due now", value: summary.queued, id: "queued" },
          { label: "Due later", value: summary.scheduled, id: "scheduled" },
          { label: "Sending", value: summary.sending, id: "sending" },
          { label: "Sent", value: summary.sent, id: "sent" },
          { label: "Failed", value: summary.failed, id: "failed", kind: summary.failed > 0 ? "bad" : undefined },
          { label: "Cancelled", value: summary.cancelled, id: "cancelled" },
          { label: "Oldest due waits", value: ago(summary.oldestDueSeconds), id: "oldest_due_seconds" },
          { label: "Sent per second", value: rate(summary.sentPerSecond), id: "sent_per_second" },
        ]}
      />
      <script type="module" src={assets.operations}></script>
    </div>
  </Card>
)
