import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Groups } from "../../src/sendtime/Groups.ts"
import { SendTime, type SendTimeRequest } from "../../src/sendtime/SendTime.ts"
import { Settling } from "../../src/sendtime/Settling.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { decide, makeOrg, receive } from "../intake/support.ts"
import { day, hour, makeTemplate } from "../learning/support.ts"

// Shared set-up of tests of send times: people with a habit, and the resulting advice.

/** A full hour, so many days ago, at which clocks in UTC show `at`. */
export const dayAt = (daysAgo: number, at: number) => Math.floor(Date.now() / day) * day - daysAgo * day + at * hour

export const iso = (millis: number) => new Date(millis).toISOString()

/** Takes in every event. */
export const drain = Effect.flatMap(Intake, ({ drain }) => drain)

/** Takes in every event and settles the decisions. The second pass must not count them again. */
export const drainAndSettle = Effect.flatMap(
  Settling,
  ({ run }) => Effect.andThen(drain, Effect.andThen(run, run)),
)

/** Returns a maker of events that platforms report `after` hours after `at`. */
export const eventsAfter = (at: number) => (event: string, tracking_id: string, after: number) => ({
  event,
  tracking_id,
  occurred_at: iso(at + after * hour),
  event_id: `${event} ${tracking_id} ${after}`,
})

/** An organization with the template `t` of the variants `a` and `b`. */
export const oneTemplate = Effect.fnUntraced(function* (slug: string) {
  yield* makeOrg(slug)
  yield* makeTemplate(slug, "t", ["a", "b"])
})

/** Messages of a user who opens each of them at `opens` o'clock (UTC), sent at hours all over the day. */
export const plantHabit = Effect.fnUntraced(function* (
  slug: string,
  user: string,
  opens: number,
  options: { readonly template?: string; readonly copy?: string; readonly days?: number } = {},
) {
  const events: Array<unknown> = []
  const { days = 40 } = options
  for (let n = 0; n < days; n++) {
    const at = dayAt(5 + n, (n * 5) % 24)
    const id = `${slug}/${user}/${n}`
    yield* decide(slug, id, { ...options, user, at })
    const opened = at + ((opens * hour - at % day + day) % day)
    events.push({ event: "sent", tracking_id: id, occurred_at: iso(at), event_id: `s${id}` })
    events.push({ event: "open", tracking_id: id, occurred_at: iso(opened + hour / 4), event_id: `o${id}` })
  }
  yield* receive(slug, events)
  yield* drain
})

/** The advice with its trace and its hour in UTC, from the data so far. */
export const advise = Effect.fnUntraced(function* (ask: Partial<SendTimeRequest> & { readonly org: string }) {
  const { of } = yield* Groups
  yield* (yield* Groups).refresh(ask.org, "UTC")
  yield* of(ask.org, "UTC")
  const advice = yield* (yield* SendTime).advise({
    templateId: undefined,
    copyId: "a",
    userId: undefined,
    email: undefined,
    trace: true,
    ...ask,
  })
  return { ...advice, trace: advice.trace!, hour: new Date(advice.at).getUTCHours() }
})

/** The advised hour is the hour in which the person opens messages, or the hour before. */
export const around = (advice: { readonly hour: number }, opens: number) =>
  assert.include([opens - 1, opens], advice.hour)

/** Advice that was not drawn by chance: that goes by the hour of the question, so that another hour is asked in. */
export const settled = Effect.fnUntraced(
  function* (ask: Partial<SendTimeRequest> & { readonly org: string; readonly now: number }) {
    let advice = yield* advise(ask)
    for (let n = 1; advice.explored; n++) advice = yield* advise({ ...ask, now: ask.now - n * hour })
    return advice
  },
)
