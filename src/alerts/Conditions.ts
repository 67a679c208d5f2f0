import { dayMillis, hourMillis } from "../bandit/Window.ts"
import type { VariantRendering } from "../decide/RenderingCounts.ts"
import { platforms } from "../domain/Source.ts"
import type { SourceRhythm } from "../journal/inbox/SourceRhythms.ts"

// The conditions of an organization that need attention. The console lists them, and members and webhook endpoints are told when
// one begins.

/** When a variant fails: of its requests in this and the previous hour. */
export const failingRule = {
  /** Requests that could not be rendered, at least. */
  requests: 10,
  /** Their share, at least. */
  share: 0.1,
  /** A variant that fails does so until its share is below this one. */
  endShare: 0.05,
} as const

/** When a source is silent: if it had a rhythm, and pauses longer than ever in the last 14 days. */
export const silenceRule = {
  /** Days since the first body, so that a weekend is among them. */
  observedDays: 7,
  /** Days with a body, and hours with one. */
  days: 4,
  hours: 24,
  /** The longest pause is exceeded by this factor, and by `leastHours`. */
  factor: 1.5,
  leastHours: 2,
} as const

/** When deliveries fail: of those that ended in this and the previous hour. */
export const deliveriesRule = {
  /** Failed deliveries, at least. */
  failed: 10,
  /** Deliveries that fail do so until their share is below the threshold of the organization times this factor. */
  endFactor: 0.5,
} as const

/** Deliveries that ended in this and the previous hour. */
export interface EndedDeliveries {
  readonly failed: number
  /** Those that were sent or failed. */
  readonly ended: number
  /** The share of the organization from which on deliveries fail, 0.001 to 1. */
  readonly threshold: number
}

/** A condition that holds. */
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
    /** The longest pause before. Unit: hours. */
    readonly longestPauseHours: number
  }

/** Names a condition among those of its organization and type. */
export const subjectOf = (condition: AlertCondition): string =>
  condition.type === "source.silent"
    ? condition.source
    : condition.type === "variant.failing"
    ? JSON.stringify([condition.templateId, condition.copyId])
    : ""

/** A condition as a key. */
export const keyOf = (type: AlertCondition["type"], subject: string): string => `${type} ${subject}`

/** Whether a variant fails. `wasFailing`: it did at the last look. */
export const isFailing = (
  { failed, requests }: Pick<VariantRendering, "failed" | "requests">,
  wasFailing: boolean,
): boolean =>
  failed >= failingRule.requests && failed >= requests * (wasFailing ? failingRule.endShare : failingRule.share)

/** Whether deliveries fail. `wereFailing`: they did at the last look. */
export const areFailing = ({ ended, failed, threshold }: EndedDeliveries, wereFailing: boolean): boolean =>
  failed >= deliveriesRule.failed && failed >= ended * threshold * (wereFailing ? deliveriesRule.endFactor : 1)

/** Whether a source that had a rhythm is silent at `now`, Unix milliseconds. */
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

/** The facts from which the conditions follow. */
export interface AlertFacts {
  readonly renderings: ReadonlyArray<VariantRendering>
  /** Rhythms of the sources that are enabled. */
  readonly rhythms: ReadonlyArray<SourceRhythm>
  readonly deliveries: EndedDeliveries
  /** Keys of the conditions that held at the last look. */
  readonly open: ReadonlySet<string>
  /** Unix milliseconds. */
  readonly now: number
}

/** The conditions that hold. */
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
