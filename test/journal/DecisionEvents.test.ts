import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../../src/bandit/Window.ts"
import { readEvents, scanEvents } from "../../src/journal/events/DecisionEvents.ts"
import type { DecisionRef } from "../../src/journal/events/DecisionRef.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const at = Date.UTC(2026, 10, 20)

const decision = (trackingId: string, more: Partial<DecisionRef> = {}): DecisionRef => ({
  org: "one",
  trackingId,
  templateId: "t",
  copyId: "a",
  context: "",
  forced: false,
  user: "ann",
  decidedAt: at,
  ...more,
})

interface Row {
  readonly org?: string
  readonly template?: string
  readonly tracking: string
  readonly key: string
  readonly event?: string
  /** Milliseconds after the decisions. */
  readonly after?: number
}

const insert = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const sql = yield* SqlClient.SqlClient
  for (const { after = 0, event = "click", key, org = "one", template = "t", tracking } of rows) {
    const time = new Date(at + after)
    yield* sql`
      INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, inbox_id, event, occurred_at, received_at,
        automated, status)
      VALUES (${org}, 'events', ${key}, ${template}, ${tracking}, 1, ${event}, ${time}, ${time}, false, 'attributed')`
  }
})

const keysOf = Effect.fnUntraced(function* (...decisions: ReadonlyArray<DecisionRef>) {
  const events = yield* readEvents(yield* SqlClient.SqlClient, decisions)
  return events.map((own) => own.map(({ key }) => key))
})

/** Undoes what an effect stores. Its rows never get statistics. */
const rolledBack = <E>(effect: Effect.Effect<void, E, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const end = yield* Effect.flip(sql.withTransaction(Effect.andThen(effect, Effect.fail("rolled back"))))
    assert.strictEqual(end, "rolled back")
  })

interface PlanNode {
  readonly "Node Type": string
  readonly "Index Name"?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}

const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

describe("events of decisions", () => {
  layer(layerMigrated(temporaryEnvironment))((it) => {
    it.effect.each([0, 300, 2400])(
      "are found by their tracking ids in a partition with %i new events",
      (count) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`
          INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, inbox_id, event, occurred_at,
            received_at, automated, status)
          SELECT 'one', 'events', i::text, 't', i::text, i, 'click', now(), now(), false, 'attributed'
          FROM generate_series(1, ${count}::int) i`
          const [text, parameters] = scanEvents(
            sql,
            [{ place: 0, org_slug: "one", tracking_ids: ["x"], since: at }],
            100,
          )
            .compile()
          const [row] = yield* sql.unsafe<Record<string, ReadonlyArray<{ readonly Plan: PlanNode }>>>(
            `EXPLAIN (FORMAT JSON) ${text}`,
            parameters,
          )
          const nodes = nodesOf(Object.values(row!)[0]![0]!.Plan)
          assert.notInclude(nodes.map((node) => node["Node Type"]), "Seq Scan")
          const indexes = nodes.flatMap((node) => node["Index Name"] ?? [])
          assert.include(indexes, "events_first_by_tracking_id")
          assert.deepStrictEqual(indexes.filter((name) => !name.includes("tracking_id")), [])
        }).pipe(rolledBack),
    )

    it.effect("belong to their own decision and are sorted by time", () =>
      Effect.gen(function* () {
        yield* insert([
          { tracking: "shared", key: "late", after: 9 },
          { tracking: "shared", key: "early", after: 3 },
          { tracking: "shared", key: "of another template", template: "u" },
          { tracking: "shared", key: "of another organization", org: "two" },
          { tracking: "other", key: "of another message" },
          { tracking: "nobody's", key: "of a message that nobody asks for" },
        ])
        assert.deepStrictEqual(
          yield* keysOf(
            decision("shared"),
            decision("none"),
            decision("shared", { templateId: "u" }),
            decision("shared", { org: "two" }),
            decision("other"),
            decision("shared"),
          ),
          [
            ["early", "late"],
            [],
            ["of another template"],
            ["of another organization"],
            ["of another message"],
            ["early", "late"],
          ],
        )
      }))

    it.effect("are at most 31 days older than their decision, even in a batch with older decisions", () =>
      Effect.gen(function* () {
        yield* insert([
          { tracking: "again", key: "of an older message", after: -32 * dayMillis },
          { tracking: "again", key: "own", after: -30 * dayMillis },
        ])
        assert.deepStrictEqual(
          yield* keysOf(decision("again"), decision("older", { decidedAt: at - 60 * dayMillis })),
          [["own"], []],
        )
      }))

    it.effect("are limited to the first 200 of a decision, without limiting the others", () =>
      Effect.gen(function* () {
        const flood = (tracking: string, count: number) =>
          Array.from(
            { length: count },
            (_, n) => ({ tracking, key: `${tracking} ${n}`, event: "open", after: count - n }),
          )
        yield* insert([...flood("many", 205), ...flood("more", 250), { tracking: "few", key: "few" }])
        const first = (tracking: string, count: number) =>
          Array.from({ length: 200 }, (_, n) => `${tracking} ${count - 1 - n}`)
        // One scan holds all events of the first call. The events of the second call are too many for one scan.
        assert.deepStrictEqual(yield* keysOf(decision("many"), decision("few")), [first("many", 205), ["few"]])
        assert.deepStrictEqual(yield* keysOf(decision("more"), decision("few")), [first("more", 250), ["few"]])
      }))
  })
})
