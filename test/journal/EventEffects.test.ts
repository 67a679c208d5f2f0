import { assert, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { EventName } from "../../src/domain/EventKinds.ts"
import { effectsOf } from "../../src/journal/events/EventEffects.ts"
import type { AttributedEvent } from "../../src/journal/events/AttributedEvent.ts"
import { outcomesOf } from "../../src/journal/events/Outcomes.ts"

const decidedAt = Date.UTC(2026, 0, 5, 12)
const second = 1000
const hour = 3_600_000

const event = (name: EventName, at: number, more: Partial<AttributedEvent> = {}): AttributedEvent => ({
  key: `${name}-${at}`,
  event: name,
  occurredAt: decidedAt + at,
  automated: false,
  link: undefined,
  ...more,
})

const effects = (events: ReadonlyArray<AttributedEvent>) => effectsOf(decidedAt, events).map(({ effect }) => effect)

it("counts the first event of a kind by a person, in time, in any order", () => {
  assert.deepStrictEqual(effects([event("open", 2 * hour), event("open", hour), event("click", hour)]), [
    "repeated",
    "counted",
    "counted",
  ])
  assert.deepStrictEqual(effects([event("open", 337 * hour), event("open", -3 * hour), event("open", 336 * hour)]), [
    "out_of_time",
    "out_of_time",
    "counted",
  ])
})

it("says that goals with revenue add the value of a repeated purchase", () => {
  const bought = (at: number, value?: number) => event("conversion", at, value === undefined ? {} : { value })
  assert.deepStrictEqual(
    effectsOf(decidedAt, [bought(hour, 20), bought(2 * hour, 30), bought(3 * hour)]).map(({ reason }) => reason),
    [
      undefined,
      "Each kind counts once for a message. A goal with revenue adds the value",
      "Each kind counts once for a message",
    ],
  )
})

it("recognizes machines by the source's flag and by the speed of their clicks", () => {
  assert.deepStrictEqual(effects([event("open", hour, { automated: true }), event("open", 2 * hour)]), [
    "automated",
    "counted",
  ])
  assert.deepStrictEqual(effects([event("delivered", 0), event("click", 9 * second), event("click", 11 * second)]), [
    "counted",
    "automated",
    "counted",
  ])
  assert.deepStrictEqual(
    effects([event("click", hour, { link: "a" }), event("click", hour + second, { link: "b" })]),
    ["automated", "automated"],
  )
})

it.effect("agrees with the tallies about which events count, as people or as machines", () =>
  Effect.gen(function* () {
    for (let round = 0; round < 500; round++) {
      const events: Array<AttributedEvent> = []
      const size = yield* Random.nextIntBetween(0, 12)
      for (let n = 0; n < size; n++) {
        const name = EventName.literals[yield* Random.nextIntBetween(0, EventName.literals.length - 1)]!
        const isNear = yield* Random.nextBoolean
        const at = isNear
          ? yield* Random.nextIntBetween(0, 15 * second)
          : yield* Random.nextIntBetween(-4 * hour, 340 * hour)
        const link = ["a", "b", undefined][yield* Random.nextIntBetween(0, 2)]
        events.push(event(name, at, { key: String(n), automated: (yield* Random.next) < 0.2, link }))
      }
      const { automated, learned } = outcomesOf(decidedAt, events)
      const kinds = (effect: string) =>
        new Set(effectsOf(decidedAt, events).flatMap((one, n) => one.effect === effect ? [events[n]!.event] : []))
      const { negative: _, voided: __, ...counted } = learned
      // A refund counts for revenue alone, and a view of the unsubscribe page not at all.
      const uncounted = ["refund", "unsubscribe_view"]
      assert.sameMembers([...kinds("counted")].filter((kind) => !uncounted.includes(kind)), Object.keys(counted))
      const machines = Object.keys(automated).filter((name) => !name.includes("set_aside"))
      assert.sameMembers([...kinds("automated")].filter((kind) => !uncounted.includes(kind)), machines)
    }
  }).pipe(Random.withSeed("effects of events")))
