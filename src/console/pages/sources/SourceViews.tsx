import { platforms, type SourceId } from "../../../domain/Source.ts"
import type { SourceActivity } from "../../../journal/events/EventHistory.ts"
import type { SourceSetup } from "../../../intake/WebhookSources.ts"
import { t } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Time } from "../../components/Time.tsx"
import { count, duration } from "../../Format.ts"

/** A source as its pages know it. */
export interface SourceState {
  readonly sourceId: SourceId
  readonly setup: SourceSetup | undefined
  readonly activity: SourceActivity | undefined
}

/** Every source there can be, by its name in paths. */
export const sourceIds = Object.keys(platforms) as ReadonlyArray<SourceId>

/** Whether webhooks are taken, in a word. */
export const SourceBadge = ({ activity, sourceId, setup }: SourceState) =>
  setup === undefined
    ? sourceId === "events" ? <Badge kind="good">{t`accepts API keys`}</Badge> : <Badge>{t`not set up`}</Badge>
    : !setup.enabled
    ? <Badge kind="warn">{t`disabled`}</Badge>
    : activity !== undefined && activity.notUnderstood > 0
    ? <Badge kind="warn">{t`check the inbox`}</Badge>
    : <Badge kind="good">{t`active`}</Badge>

/** The address that a platform sends to, with a button that copies it. */
export const SourceUrl = ({ label, sourceId, url }: {
  readonly sourceId: SourceId
  readonly url: string
  readonly label: string
}) => (
  <div class="field">
    <label for={`url-${sourceId}`}>{label}</label>
    <div class="secret">
      <input type="text" id={`url-${sourceId}`} readonly value={url} spellcheck={false} />
      <button type="button" class="button" data-copy={`url-${sourceId}`} hidden aria-label={t`Copy ${label}`}>
        {t`Copy`}
      </button>
      <span class="copied" role="status" id={`url-${sourceId}-status`}></span>
    </div>
  </div>
)

/** The age of the oldest waiting item, such as `12 min`; `none` below a second. */
export const ago = (seconds: number): string => seconds < 1 ? t`none` : duration(seconds)

/** Numbers with their names. */
export const Stats = ({ stats }: {
  readonly stats: ReadonlyArray<
    { readonly label: string; readonly value: string | number; readonly kind?: "bad" | undefined }
  >
}) => (
  <dl class="stats">
    {stats.map(({ kind, label, value }) => (
      <div class={kind}>
        <dt>{label}</dt>
        <dd>{typeof value === "number" ? count(value) : value}</dd>
      </div>
    ))}
  </dl>
)

/** The last 24 hours of a source. */
export const SourceStats = (
  { activity, zone }: { readonly activity: SourceActivity | undefined; readonly zone: string },
) => (
  <>
    <Stats
      stats={[
        { label: t`Events`, value: activity?.events ?? 0 },
        { label: t`Duplicates`, value: activity?.duplicates ?? 0 },
        { label: t`Ignored`, value: activity?.ignored ?? 0 },
        {
          label: t`Not understood`,
          value: activity?.notUnderstood ?? 0,
          kind: (activity?.notUnderstood ?? 0) > 0 ? "bad" : undefined,
        },
        { label: t`Delay`, value: activity === undefined ? "–" : ago(activity.lagSeconds ?? 0) },
      ]}
    />
    <p class="small muted">
      {t`In the last 24 hours. Last received: ${(
        <Time at={activity?.lastReceivedAt?.toISOString() ?? null} zone={zone} none={t`nothing`} />
      )}`}
    </p>
  </>
)
