import { Schema } from "effect"

/**
 * The period of send times that a decision learns from: `lookbackDays` days that end `offsetDays` days ago. Without a
 * window, all of the last 180 days count, with weights that decrease with age (adaptive). Unit: days.
 */
export const LearningWindow = Schema.Struct({ lookbackDays: Schema.Finite, offsetDays: Schema.Finite })
/** The days of a learning window: its length, and the days between its end and now. */
export interface LearningWindow {
  readonly lookbackDays: number
  readonly offsetDays: number
}

/** Returns a window. Default of an absent part: 14 days, which end 3 days ago. */
export const learningWindow = (
  lookbackDays: number | null | undefined,
  offsetDays: number | null | undefined,
): LearningWindow => ({ lookbackDays: lookbackDays ?? 14, offsetDays: offsetDays ?? 3 })
