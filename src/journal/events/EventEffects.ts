import { clickReason } from "../../domain/ClickReasons.ts"
import { t, translated } from "../../languages/Language.ts"
import { machineClicks } from "./MachineClicks.ts"
import type { AttributedEvent } from "./AttributedEvent.ts"
import { isInTime, untimelyReason } from "./Outcomes.ts"

/**
 * The effect of an event on the tallies of its decision.
 *
 *     counted      the first event of its kind by a person: the model learns from it
 *     repeated     another event of its kind was counted; each kind counts once
 *     automated    by a machine: counted separately, not learned from
 *     out_of_time  too long before or after the decision to be its effect
 */
export type EventEffect = "counted" | "repeated" | "automated" | "out_of_time"

/** An effect, and its reason if the event alone does not show it. */
interface ExplainedEffect {
  readonly effect: EventEffect
  readonly reason: string | undefined
}

/**
 * Returns the effect of each of a decision's events, in order. Uses the rules of the tallies (see `outcomesOf`), so
 * that events that are `counted` here are counted there. `decidedAt` is in Unix milliseconds.
 */
export const effectsOf = (
  decidedAt: number,
  events: ReadonlyArray<AttributedEvent>,
): ReadonlyArray<ExplainedEffect> => {
  const timely = events.filter(({ occurredAt }) => isInTime(decidedAt, occurredAt))
  const setAside = machineClicks(timely)
  const counted = new Set<string>()
  const explained = new Map<AttributedEvent, ExplainedEffect>()
  for (const event of [...timely].sort((a, b) => a.occurredAt - b.occurredAt)) {
    if (event.event === "refund") {
      explained.set(event, {
        effect: "counted",
        reason: t`Lowers the revenue of the message's conversions, not below 0`,
      })
    } else if (event.event === "unsubscribe_view") {
      explained.set(event, { effect: "counted", reason: t`Has no count. A click at the same time is a link scanner's` })
    } else if (setAside.has(event)) {
      explained.set(event, { effect: "automated", reason: translated(clickReason[setAside.get(event)!].rule) })
    } else if (event.automated) {
      explained.set(event, { effect: "automated", reason: t`Its source says that a machine did it` })
    } else if (counted.has(event.event)) {
      explained.set(event, {
        effect: "repeated",
        reason: event.value === undefined
          ? t`Each kind counts once for a message`
          : t`Each kind counts once for a message. A goal with revenue adds the value`,
      })
    } else {
      counted.add(event.event)
      explained.set(event, { effect: "counted", reason: undefined })
    }
  }
  return events.map((event) =>
    explained.get(event) ?? {
      effect: "out_of_time",
      reason: untimelyReason(decidedAt, event.occurredAt),
    }
  )
}
