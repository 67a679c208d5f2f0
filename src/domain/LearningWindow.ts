import { Schema } from "effect"

/**
 * The send times that a decision learns from: `lookbackDays` days, which end `offsetDays` days ago. Without a window, all of
 * the last 180 days count, with weights that fall with age (adaptive). Unit: days.
 */
export const LearningWindow = Schema.Struct({ lookbackDays: Schema.Finite, offsetDays: Schema.Finite })
export interface LearningWindow {
  readonly lookbackDays: number
  readonly offsetDays: number
}

/** A window whose unset parts have their defaults: 14 days, which end 3 days ago. */
export const learningWindow = (
  lookbackDays: number | null | undefined,
  offsetDays: number | null | undefined,
): LearningWindow => ({ lookbackDays: lookbackDays ?? 14, offsetDays: offsetDays ?? 3 })
