import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sampleChoices, sampleEvents, samplePeople } from "../../src/journal/decisions/DecisionSample.ts"
import { outcomeEvents, sampleStart } from "../../src/results/HealthFacts.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const now = Date.UTC(2026, 10, 28, 12)
const span = { from: new Date(now - 3_600_000), to: new Date(now) }

const decide = Effect.fnUntraced(function* (
  trackingId: string,
  copyId: string,
  userId: string | null,
  weights: Readonly<Record<string, number>> | null,
  more: { readonly at?: number; readonly template?: string; readonly failed?: unknown } = {},
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment, policy,
      decided_at, failed)
    VALUES ('acme', ${trackingId}, ${more.template ?? "welcome"}, ${copyId}, ${userId}, 'bandit',
      ${weights === null ? null : weights[copyId]!}, ${
    weights === null ? null : JSON.stringify(weights)
  }::text::json, '',
      'welcome:1', ${new Date(more.at ?? now - 60_000)},
      ${more.failed === undefined ? null : JSON.stringify(more.failed)}::text::json)`
})

const report = Effect.fnUntraced(function* (
  trackingId: string,
  event: string,
  automated = false,
  status = "attributed",
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, inbox_id, event, occurred_at, received_at,
      automated, status)
    VALUES ('acme', 'events', ${`${trackingId} ${event} ${automated}`}, 'welcome', ${trackingId}, 1, ${event},
      ${new Date(now)}, ${new Date(now - 1)}, ${automated}, ${status})`
})

const half = { a: 0.5, b: 0.5 }

layer(layerMigrated(temporaryEnvironment), { excludeTestServices: true })("a sample of decisions", (it) => {
  it.effect("adds up choices and probabilities, counts failed draws, and finds the heaviest people", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // One tester has five decisions with four outcomes; 120 people have one decision each.
      for (let n = 0; n < 5; n++) {
        yield* decide(`t${n}`, "a", "tester", half)
        if (n < 4) yield* report(`t${n}`, "click")
      }
      for (let n = 0; n < 120; n++) yield* decide(`p${n}`, n % 2 === 0 ? "a" : "b", `person ${n}`, half)
      yield* report("p0", "click")
      yield* report("p1", "click", true)
      yield* report("p2", "open")
      yield* report("p3", "click", false, "ignored")
      // Could not be rendered: the draw of b counts, and a was sent in its place.
      yield* decide("f", "a", null, null, {
        failed: [{ copy_id: "b", mode: "bandit", propensity: 0.25, weights: { a: 0.75, b: 0.25 } }, {
          copy_id: "c",
          mode: "fallback",
          propensity: null,
          weights: null,
        }],
      })
      yield* decide("early", "a", "tester", half, { at: now - 2 * 3_600_000 })
      yield* decide("other", "a", "tester", half, { template: "other" })

      const choices = yield* sampleChoices(sql, "acme", "welcome", span)
      assert.deepStrictEqual(choices.map(({ copyId, expected, observed }) => [copyId, observed, expected]), [
        ["a", 65, 63.25],
        ["b", 61, 62.75],
      ])
      assert.closeTo(choices[0]!.variance, 125 * 0.25 + 0.75 * 0.25, 1e-9)

      const people = yield* samplePeople(sql, "acme", "welcome", span, ["click"])
      assert.deepStrictEqual(people, {
        people: 121,
        heaviest: 2,
        decisions: 125,
        outcomes: 5,
        heaviestDecisions: 6,
        heaviestOutcomes: 5,
      })
      assert.deepStrictEqual(yield* sampleEvents(sql, "acme", "welcome", span), { events: 8, ignored: 1 })
      const none = yield* samplePeople(sql, "acme", "unknown", span, ["click"])
      assert.deepStrictEqual([none.people, none.heaviest, none.decisions], [0, 0, 0])
    }))
})

layer(layerMigrated(temporaryEnvironment), { excludeTestServices: true })(
  "a sample without a choice of some variant",
  (it) => {
    it.effect("counts 0 choices of it", () =>
      Effect.gen(function* () {
        yield* decide("one", "a", null, half)
        const choices = yield* sampleChoices(yield* SqlClient.SqlClient, "acme", "welcome", span)
        assert.deepStrictEqual(choices.map(({ copyId, expected, observed }) => [copyId, observed, expected]), [
          ["a", 1, 0.5],
          ["b", 0, 0.5],
        ])
      }))
  },
)

describe("outcomeEvents", () => {
  it("lists the events that an objective values, except events that lower it", () => {
    assert.deepStrictEqual(outcomeEvents("open"), ["open"])
    assert.deepStrictEqual(outcomeEvents({ click: 1, negative: -5 }), ["click"])
    assert.deepStrictEqual(outcomeEvents({ revenue: 1, revenue_cap: 100 }), ["conversion"])
  })
})

describe("sampleStart", () => {
  const buckets = [3, 2, 1].map((hour) => ({ bucketStart: new Date(hour * 3_600_000), decisions: 10 }))

  it("is the start of the window if its decisions are few", () => assert.strictEqual(sampleStart(buckets, 0, 100), 0))

  it("is the start of the hour that exceeds the sample", () =>
    assert.strictEqual(sampleStart(buckets, 0, 15), 2 * 3_600_000))
})
