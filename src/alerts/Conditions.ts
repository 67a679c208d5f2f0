import { dayMillis, hourMillis } from "../bandit/Window.ts"
import type { VariantRendering } from "../decide/RenderingCounts.ts"
import { platforms } from "../domain/Source.ts"
import type { SourceRhythm } from "../journal/inbox/SourceRhythms.ts"

// The conditions of an organization that need attention. The console lists them, and members and webhook endpoints are
// notified when one begins.

/** Thresholds at which a variant fails, over its requests in this and the previous hour. */
const failingRule = {
  /** Minimum number of requests that could not be rendered. */
  requests: 10,
  /** Minimum share of such requests. */
  share: 0.1,
  /** A failing variant fails until its share is below this one. */
  endShare: 0.05,
} as const

/**
 * Thresholds at which a source is silent: it had a rhythm, and its present pause is longer than any in the last 14
 * days.
 */
export const silenceRule = {
  /** Minimum days since the first body, so that they include a weekend. */
  observedDays: 7,
  /** Minimum number of days with a body, and of hours with one. */
  days: 4,
  hours: 24,
  /** Minimum ratio of the present pause to the longest one, and minimum difference in hours. */
  factor: 1.5,
  leastHours: 2,
} as const

/** Thresholds at which deliveries fail, over the deliveries that ended in this and the previous hour. */
const deliveriesRule = {
  /** Minimum number of failed deliveries. */
  failed: 10,
  /** Failing deliveries fail until their share is below the organization's threshold times this factor. */
  endFactor: 0.5,
} as const

/**
 * Thresholds at which mail servers refuse the sender, by the reports that arrived in this and the previous hour. The
 * brake has equal thresholds for refusals while messages are sent.
 */
const senderRefusedRule = {
  /** Minimum number of refused messages. */
  refused: 50,
  /** Minimum share of them in the ended deliveries. */
  share: 0.5,
} as const

/** Deliveries that ended in this and the previous hour. */
export interface EndedDeliveries {
  /** Number of deliveries that failed or were refused by a report. */
  readonly failed: number
  /** Number of deliveries that were sent or failed. */
  readonly ended: number
  /** Number of deliveries that a report says were refused because of the sender or the content. */
  readonly refused: number
  /** The organization's threshold for the share of failed deliveries, 0.001 to 1. */
  readonly threshold: number
}

/** A condition that is true now. */
export type AlertCondition =
  | ({ readonly type: "deliveries.failing" } & EndedDeliveries)
  | {
    readonly type: "variant.failing"
    readonly templateId: string
    readonly copyId: string
    readonly requests: number
    readonly failed: number
    readonly variable: string
  }
  | {
    readonly type: "source.silent"
    readonly source: SourceRhythm["source"]
    readonly platform: string
    /** Start of the last hour with a body. */
    readonly lastHour: Date
    /** Length of the longest earlier pause. Unit: hours. */
    readonly longestPauseHours: number
  }

/** Returns the subject of a condition, which identifies it together with organization and type. */
export const subjectOf = (condition: AlertCondition): string =>
  condition.type === "source.silent"
    ? condition.source
    : condition.type === "variant.failing"
    ? JSON.stringify([condition.templateId, condition.copyId])
    : ""

/** Returns the key of a condition. */
export const keyOf = (type: AlertCondition["type"], subject: string): string => `${type} ${subject}`

/** Whether a variant fails. `wasFailing`: whether it did at the last check. */
export const isFailing = (
  { failed, requests }: Pick<VariantRendering, "failed" | "requests">,
  wasFailing: boolean,
): boolean =>
  failed >= failingRule.requests && failed >= requests * (wasFailing ? failingRule.endShare : failingRule.share)

/** Whether deliveries fail. `wereFailing`: whether they did at the last check. */
export const areFailing = (
  { ended, failed, threshold }: Omit<EndedDeliveries, "refused">,
  wereFailing: boolean,
): boolean =>
  failed >= deliveriesRule.failed && failed >= ended * threshold * (wereFailing ? deliveriesRule.endFactor : 1)

/** Whether mail servers refuse the sender, so that sending on makes its reputation worse. */
export const isSenderRefused = ({ ended, refused }: Pick<EndedDeliveries, "ended" | "refused">): boolean =>
  refused >= senderRefusedRule.refused && refused >= ended * senderRefusedRule.share

/** Whether a source that had a rhythm is silent at `now` (Unix milliseconds). */
export const isSilent = (
  { days, firstHour, hours, lastHour, longestPauseHours }: Omit<SourceRhythm, "source">,
  now: number,
): boolean => {
  const { factor, leastHours, observedDays } = silenceRule
  const isRegular = hours >= silenceRule.hours && days >= silenceRule.days &&
    lastHour.getTime() - firstHour.getTime() >= observedDays * dayMillis
  const allowedHours = Math.max(longestPauseHours * factor, longestPauseHours + leastHours)
  return isRegular && now - lastHour.getTime() > allowedHours * hourMillis
}

/** The facts that determine the conditions. */
export interface AlertFacts {
  readonly renderings: ReadonlyArray<VariantRendering>
  /** Rhythms of the enabled sources. */
  readonly rhythms: ReadonlyArray<SourceRhythm>
  readonly deliveries: EndedDeliveries
  /** Keys of the conditions that were true at the last check. */
  readonly open: ReadonlySet<string>
  /** Time of the check. Unit: Unix milliseconds. */
  readonly now: number
}

/** Returns the conditions that are true now. */
export const conditionsOf = (
  { deliveries, now, open, renderings, rhythms }: AlertFacts,
): ReadonlyArray<AlertCondition> => [
  ...(areFailing(deliveries, open.has(keyOf("deliveries.failing", "")))
    ? [{ type: "deliveries.failing", ...deliveries } as const]
    : []),
  ...renderings.flatMap((rendering): ReadonlyArray<AlertCondition> => {
    const condition = { type: "variant.failing", ...rendering } as const
    return isFailing(rendering, open.has(keyOf(condition.type, subjectOf(condition)))) ? [condition] : []
  }),
  ...rhythms.filter((rhythm) => isSilent(rhythm, now)).map((
    { lastHour, longestPauseHours, source },
  ): AlertCondition => ({
    type: "source.silent",
    source,
    platform: platforms[source],
    lastHour,
    longestPauseHours,
  })),
]
