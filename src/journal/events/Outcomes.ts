import { delayClass } from "../../bandit/Maturity.ts"
import { revenueOf, type RevenueRule } from "../../bandit/Revenue.ts"
import { measures, type TallyCounts } from "../../bandit/Tally.ts"
import { hourMillis } from "../../bandit/Window.ts"
import { setAsideName } from "../../domain/ClickReasons.ts"
import { type CountedEvent, eventKinds, type EventName } from "../../domain/EventKinds.ts"
import { t } from "../../languages/Language.ts"
import { type TimedOutcome, timedOutcomes } from "../Ledger.ts"
import type { AttributedEvent } from "./AttributedEvent.ts"
import { machineClicks } from "./MachineClicks.ts"

/** Counts that one decision and its events add to the tallies. */
export interface Contribution {
  /** Events of people, `negative`, `voided` and revenue. Does not include the decision itself. */
  readonly learned: TallyCounts
  /** Events of machines, and the reasons of their clicks. Never includes `negative` and `voided`. */
  readonly automated: TallyCounts
  /** The class (see `delayClass`) of the time from the decision to the person's first event of the kind. */
  readonly delays: { readonly [outcome in TimedOutcome]?: number }
}

/** Events later than this after their decision do not count. It is the last edge of the delay classes. Unit: hours. */
export const countedHours = 336

/** Maximum difference between the clocks of a platform and of this service. Unit: hours. */
export const clockSkewHours = 2

/** Whether the time of an event counts for a decision. Both times are in Unix milliseconds. */
export const isInTime = (decidedAt: number, occurredAt: number): boolean => {
  const hours = (occurredAt - decidedAt) / hourMillis
  return hours >= -clockSkewHours && hours <= countedHours
}

const iso = (instant: number): string => new Date(instant).toISOString()

/** Returns why the time of an event does not count for a decision, with both times; undefined if it counts. */
export const untimelyReason = (decidedAt: number, occurredAt: number): string | undefined =>
  isInTime(decidedAt, occurredAt)
    ? undefined
    : occurredAt < decidedAt
    ? t`It happened at ${iso(occurredAt)}, more than ${clockSkewHours} hours before its decision at ${iso(decidedAt)}`
    : t`It happened at ${iso(occurredAt)}, more than ${countedHours / 24} days after its decision at ${iso(decidedAt)}`

/**
 * Returns why an event is ignored because of its time; undefined if it counts for at least one of its decisions.
 * Bounces, opt-outs and complaints are never ignored, because they also concern the suppression list.
 */
export const ignoredReason = (
  { event, occurredAt }: Pick<AttributedEvent, "event" | "occurredAt">,
  decided: ReadonlyArray<number>,
): string | undefined => {
  if (eventKinds[event].category === "negative") return undefined
  const reasons = decided.map((decidedAt) => untimelyReason(decidedAt, occurredAt))
  return reasons.includes(undefined) ? undefined : reasons[0]
}

const isTimed = (event: EventName): event is TimedOutcome => timedOutcomes.some((outcome) => outcome === event)

const isVoiding = (event: EventName) => eventKinds[event].learning === "undelivered"

const identityOf = ({ key, source }: AttributedEvent): string => `${source ?? ""}\0${key}`

/** Returns each event once. */
const uniqueIn = (
  events: ReadonlyArray<AttributedEvent>,
): ReadonlyArray<AttributedEvent> => [...new Map(events.map((event) => [identityOf(event), event])).values()]

/** Returns the counts of a decision's clicks that were set aside; `isClicked`: a person clicked as well. */
const setAsideCounts = (setAside: ReturnType<typeof machineClicks>, isClicked: boolean): TallyCounts => {
  if (setAside.size === 0) return {}
  const reasons = new Map(Array.from(setAside, ([click, reason]) => [identityOf(click), reason]))
  const counts: { -readonly [measure in keyof TallyCounts]: TallyCounts[measure] } = { click: 1 }
  for (const reason of reasons.values()) {
    const name = setAsideName(reason)
    counts[name] = (counts[name] ?? 0) + 1
  }
  if (!isClicked) counts.only_set_aside = 1
  return counts
}

/**
 * Returns the counts that a decision made at `decidedAt` (Unix milliseconds) adds to the tallies. `events` are all
 * events attributed to it, in any order and with repetitions. Each kind of event counts once, for people and for
 * machines. Events count from 2 hours before the decision (because clocks differ; their delay is 0) to 336 hours after
 * it, both inclusive.
 *
 * Automated events are events marked so by their source, and the clicks that `machineClicks` recognizes. A later event
 * can therefore revoke the counts of an earlier event: apply the `difference`. Source: docs/model.md, "Data".
 *
 * With a revenue rule, all conversions of people in that time count with their values, up to the cap, minus the refunds
 * in that time. Refunds have no other effect.
 */
export const outcomesOf = (
  decidedAt: number,
  events: ReadonlyArray<AttributedEvent>,
  rule?: RevenueRule,
): Contribution => {
  const learned: { -readonly [measure in keyof TallyCounts]: TallyCounts[measure] } = {}
  const automated: { -readonly [measure in keyof TallyCounts]: TallyCounts[measure] } = {}
  const shortestHours: { [outcome in TimedOutcome]?: number } = {}
  const clicks: Array<AttributedEvent> = []
  let undelivered = false
  let isEngaged = false
  const valued: Array<AttributedEvent> = []

  const countHuman = (one: AttributedEvent, event: CountedEvent) => {
    const { occurredAt, value } = one
    learned[event] = 1
    const { learning } = eventKinds[event]
    if (learning === "opt_out") learned.negative = 1
    else if (learning === "engaged") isEngaged = true
    if (value !== undefined) valued.push(one)
    if (!isTimed(event)) return
    const hours = Math.max(0, occurredAt - decidedAt) / hourMillis
    shortestHours[event] = Math.min(shortestHours[event] ?? hours, hours)
  }

  for (const event of events) {
    if (!isInTime(decidedAt, event.occurredAt)) continue
    if (event.event === "unsubscribe_view") continue
    if (event.event === "refund") {
      if (event.value !== undefined) valued.push(event)
      continue
    }
    if (isVoiding(event.event)) undelivered = true
    if (event.event === "click") clicks.push(event)
    else if (event.automated) automated[event.event] = 1
    else countHuman(event, event.event)
  }
  if (clicks.length > 0) {
    const setAside = machineClicks(events.filter(({ occurredAt }) => isInTime(decidedAt, occurredAt)))
    for (const click of clicks) if (!setAside.has(click)) countHuman(click, "click")
    Object.assign(automated, setAsideCounts(setAside, learned.click === 1))
  }
  if (undelivered && !isEngaged) learned.voided = 1
  if (rule !== undefined && valued.length > 0) Object.assign(learned, revenueOf(rule, uniqueIn(valued)))
  const delays: { [outcome in TimedOutcome]?: number } = {}
  for (const outcome of timedOutcomes) {
    const hours = shortestHours[outcome]
    if (hours !== undefined) delays[outcome] = delayClass(hours)
  }
  return { learned, automated, delays }
}

/**
 * Returns the difference of counts from `before` to `after`: negative for decreases, without zeros, undefined without a
 * change.
 */
export const difference = (before: TallyCounts, after: TallyCounts): TallyCounts | undefined => {
  let changed: { -readonly [measure in keyof TallyCounts]: TallyCounts[measure] } | undefined
  for (const measure of measures) {
    const change = (after[measure] ?? 0) - (before[measure] ?? 0)
    if (change !== 0) (changed ??= {})[measure] = change
  }
  return changed
}
