import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../../src/decide/Decider.ts"
import type { DecideRequest } from "../../src/decide/DecideRequest.ts"
import type { Answer } from "../../src/decide/Answer.ts"
import type { TemplateHoldout } from "../../src/domain/Holdout.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { renderingsOf } from "../../src/learning/TallyReports.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { layerQuiet, makeOrg, org, receive, settle, tallies } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const variant = (id: string, s: string) => ({ id: id as CopyId, vars: { s } })

/** A loop that no budget allows for these fields. */
const endless = "{% for i in items %}{% for j in items %}{{ j }}{% endfor %}{% endfor %}"
const many = { items: Array.from({ length: 2000 }, (_, i) => i) }

const plainAndCoded = [variant("a", "Your order"), variant("b", "{{ code }}: your order")]

const makeTemplate = Effect.fnUntraced(function* (
  slug: string,
  variants: ReadonlyArray<ReturnType<typeof variant>>,
  more: { readonly sticky_hours?: number; readonly holdout?: TemplateHoldout } = {},
) {
  yield* makeOrg(slug)
  const input = { id: "t" as TemplateId, name: "T", strict: true, variants, ...more }
  yield* (yield* Templates).create(org(slug), input as Parameters<Templates["Service"]["create"]>[1])
})

const request = (more: Partial<DecideRequest> = {}): DecideRequest => ({
  templateId: "t" as TemplateId,
  trackingId: undefined,
  userId: undefined,
  fields: {},
  attrs: new Map(),
  ...more,
})

const decide = Effect.fnUntraced(function* (slug: string, more: Partial<DecideRequest> = {}) {
  return yield* (yield* Decider).decide(slug, request(more))
})

/** Decides for new tracking ids until one was drawn a variant that cannot be rendered. */
const decideUntilFailed = Effect.fnUntraced(function* (slug: string, more: Partial<DecideRequest> = {}) {
  for (let i = 0;; i++) {
    const answer = yield* decide(slug, { trackingId: `id-${i}`, userId: `user-${i}`, ...more })
    if (answer._tag === "Chosen" && answer.failed !== undefined) return { answer, user: `user-${i}`, drawn: i + 1 }
  }
})

const copyOf = (answer: Answer) => answer._tag === "Chosen" ? answer.copyId : answer._tag

const rowOf = Effect.fnUntraced(function* (slug: string, trackingId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<
    { copyId: string; mode: string; propensity: number | null; weights: unknown; failed: unknown }
  >`
    SELECT d.copy_id, d.mode, d.propensity, d.weights, d.failed FROM decisions d
    WHERE d.org_slug = ${slug} AND d.tracking_id = ${trackingId}`
  assert.lengthOf(rows, 1)
  return rows[0]!
})

const countDecisions = (slug: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ count: number }>`SELECT count(*)::int AS count FROM decisions d WHERE d.org_slug = ${slug}`,
      ([row]) => row!.count,
    ))

describe("a variant that cannot be rendered", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("is replaced by one that can, as the answer, the warnings and the trace report", () =>
      Effect.gen(function* () {
        yield* makeTemplate("replaced", plainAndCoded)
        const { answer } = yield* decideUntilFailed("replaced", { trace: true })
        assert.strictEqual(answer.copyId, "a")
        assert.deepStrictEqual(answer.vars, { s: "Your order" })
        assert.deepStrictEqual(answer.warnings, [
          'the variant "b" could not be rendered: /fields/code is missing, needed by "s". The variant "a" was sent instead',
        ])
        assert.deepInclude(answer.trace, {
          mode: "fallback",
          chosen: "a",
          propensity: null,
          failed: [{ id: "b", faults: [{ variable: "s", detail: "undefined variable: code" }] }],
        })
      }))

    it.effect("is charged for its draw, and the variant sent instead is not learned from", () =>
      Effect.gen(function* () {
        yield* makeTemplate("charged", plainAndCoded)
        const { answer, drawn } = yield* decideUntilFailed("charged")
        const half = { a: 0.5, b: 0.5 }
        assert.deepStrictEqual(yield* rowOf("charged", answer.trackingId), {
          copyId: "a",
          mode: "fallback",
          propensity: null,
          weights: null,
          failed: [{ copy_id: "b", mode: "bandit", propensity: 0.5, weights: half }],
        })
        yield* receive("charged", [{ event: "click", tracking_id: answer.trackingId, event_id: "1" }])
        yield* settle("charged")
        const counted = (yield* tallies("charged")).map((line) => line.replace(/ \S+ /, " "))
        assert.deepStrictEqual(counted, [
          "a forced: click 1, decisions 1",
          ...(drawn === 1 ? [] : [`a learned: decisions ${drawn - 1}`]),
          "b learned: decisions 1, unrendered 1",
        ])
        // Traffic counts the messages that were sent.
        const sql = yield* SqlClient.SqlClient
        const sent = yield* sql<{ copyId: string; sent: number }>`
          SELECT d.copy_id, sum(d.decisions)::int AS sent FROM daily_decisions d
          WHERE d.org_slug = 'charged' AND d.decisions > 0 GROUP BY d.copy_id`
        assert.deepStrictEqual(sent, [{ copyId: "a", sent: drawn }])
      }))

    it.effect("is counted identically by a rebuild and by the results per variant", () =>
      Effect.gen(function* () {
        yield* makeTemplate("rebuilt", [...plainAndCoded, variant("c", "{{ name }}")])
        for (let i = 0; i < 12; i++) yield* decide("rebuilt", { trackingId: `id-${i}` })
        yield* settle("rebuilt")
        const { differences } = yield* (yield* Rebuild).run(org("rebuilt"), { check: true })
        assert.deepStrictEqual(differences, [])
        const sql = yield* SqlClient.SqlClient
        const span = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 86_400_000) }
        const before = yield* tallies("rebuilt")
        const counts = yield* renderingsOf(sql, "rebuilt", "t", span)
        const of = Object.fromEntries(counts.map(({ copyId, ...one }) => [copyId, one]))
        // Every request ends with the only variant that can be rendered.
        assert.deepStrictEqual(of["a"], { attempted: 12, failed: 0 })
        for (const id of ["b", "c"]) assert.strictEqual(of[id]?.failed, of[id]?.attempted)
        yield* (yield* Rebuild).run(org("rebuilt"), { check: false })
        assert.deepStrictEqual(yield* tallies("rebuilt"), before)
        assert.deepStrictEqual(yield* renderingsOf(sql, "rebuilt", "t", span), counts)
      }))

    it.effect("is not drawn again when its tracking id is repeated, with any fields", () =>
      Effect.gen(function* () {
        yield* makeTemplate("repeated", plainAndCoded)
        const { answer } = yield* decideUntilFailed("repeated")
        const decisions = yield* countDecisions("repeated")
        for (const fields of [{}, { code: "X1" }]) {
          for (let i = 0; i < 5; i++) {
            assert.strictEqual(copyOf(yield* decide("repeated", { trackingId: answer.trackingId, fields })), "a")
          }
        }
        assert.strictEqual(yield* countDecisions("repeated"), decisions)
      }))

    it.effect("leaves no decision if no other variant can be rendered, so that the tracking id stays usable", () =>
      Effect.gen(function* () {
        yield* makeTemplate("none", [variant("b", "{{ code }}"), variant("c", "{{ name }}{{ code }}")])
        const refused = yield* decide("none", { trackingId: "one" })
        assert.strictEqual(refused._tag, "NotRendered")
        if (refused._tag === "NotRendered") assert.lengthOf(refused.others ?? [], 1)
        assert.strictEqual(yield* countDecisions("none"), 0)
        const fields = { code: "X1", name: "Ann" }
        assert.strictEqual((yield* decide("none", { trackingId: "one", fields }))._tag, "Chosen")
      }))

    it.effect("is refused without a fallback if the caller names it", () =>
      Effect.gen(function* () {
        yield* makeTemplate("forced", plainAndCoded)
        const answer = yield* decide("forced", { copyId: "b" as CopyId })
        assert.strictEqual(answer._tag, "NotRendered")
        assert.strictEqual(yield* countDecisions("forced"), 0)
      }))

    it.effect("is skipped if it exceeds its budget, up to three times before the request is refused", () =>
      Effect.gen(function* () {
        yield* makeTemplate("budget-2", [variant("a", "Hi"), variant("b", endless), variant("c", endless)])
        for (let i = 0; i < 6; i++) assert.strictEqual(copyOf(yield* decide("budget-2", { fields: many })), "a")
        yield* makeTemplate("budget-4", ["b", "c", "d", "e"].map((id) => variant(id, endless)))
        const refused = yield* decide("budget-4", { fields: many })
        assert.strictEqual(refused._tag, "NotRendered")
        if (refused._tag === "NotRendered") assert.lengthOf(refused.others ?? [], 2)
      }))

    it.effect("is replaced permanently in a sticky template if the user has no variant yet", () =>
      Effect.gen(function* () {
        yield* makeTemplate("sticky-new", plainAndCoded, { sticky_hours: 24 })
        const { user } = yield* decideUntilFailed("sticky-new")
        const again = yield* decide("sticky-new", { userId: user, trackingId: "later", fields: { code: "X1" } })
        assert.strictEqual(copyOf(again), "a")
      }))

    it.effect("is replaced for one request if the user already has it", () =>
      Effect.gen(function* () {
        yield* makeTemplate("sticky-kept", plainAndCoded, { sticky_hours: 24 })
        const fields = { code: "X1" }
        let user = ""
        for (let i = 0; user === ""; i++) {
          const first = yield* decide("sticky-kept", { userId: `u${i}`, trackingId: `first-${i}`, fields })
          if (copyOf(first) === "b") user = `u${i}`
        }
        const lacking = yield* decide("sticky-kept", { userId: user, trackingId: "lacking" })
        assert.strictEqual(copyOf(lacking), "a")
        assert.deepStrictEqual((yield* rowOf("sticky-kept", "lacking")).failed, [
          { copy_id: "b", mode: "sticky", propensity: null, weights: null },
        ])
        assert.strictEqual(copyOf(yield* decide("sticky-kept", { userId: user, trackingId: "third", fields })), "b")
        yield* settle("sticky-kept")
        const lines = (yield* tallies("sticky-kept")).map((line) => line.replace(/ \S+ /, " "))
        assert.include(lines, "b forced: unrendered 1")
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("sticky-kept"), { check: true })).differences, [])
      }))

    it.effect("is replaced for one request if a concurrent request has given it to the user", () =>
      Effect.gen(function* () {
        yield* makeTemplate("rival", plainAndCoded, { sticky_hours: 24 })
        const decider = yield* Decider
        const plan = (trackingId: string, fields: Record<string, unknown>) =>
          decider.plan("rival", request({ trackingId, userId: "ann", fields, trace: true }))
        let first = yield* plan("first-0", { code: "X1" })
        for (let i = 1; copyOf(first.answer) !== "b"; i++) first = yield* plan(`first-${i}`, { code: "X1" })
        const second = yield* plan("second", {})
        yield* decider.store(first)
        const answer = yield* decider.store(second)
        assert.strictEqual(copyOf(answer), "a")
        assert.match(answer.warnings?.at(-1) ?? "", /^the variant "b" could not be rendered/)
        const { failed, mode } = yield* rowOf("rival", "second")
        assert.strictEqual(mode, "fallback")
        assert.deepStrictEqual(failed, [{ copy_id: "b", mode: "sticky", propensity: null, weights: null }])
        const third = yield* decide("rival", { trackingId: "third", userId: "ann", fields: { code: "X1" } })
        assert.strictEqual(copyOf(third), "b")
      }))

    it.effect("keeps held-out people on their side with an even draw instead", () =>
      Effect.gen(function* () {
        const variants = [...plainAndCoded, variant("c", "Hello")]
        yield* makeTemplate("held-even", variants, { holdout: { share: 0.5, content: "even" } })
        yield* makeTemplate("held-fixed", variants, {
          holdout: { share: 0.5, content: "fixed", copy_id: "b" as CopyId },
        })
        for (const slug of ["held-even", "held-fixed"]) {
          const modes = new Set<string>()
          for (let i = 0; modes.size < 2 && i < 400; i++) {
            const answer = yield* decide(slug, { trackingId: `id-${i}`, userId: `user-${i}` })
            if (answer._tag !== "Chosen" || answer.failed === undefined) continue
            const { failed, mode, propensity } = yield* rowOf(slug, answer.trackingId)
            modes.add(mode)
            assert.isNull(propensity)
            const [first] = failed as ReadonlyArray<{ readonly mode: string; readonly propensity: number | null }>
            if (mode !== "control") continue
            assert.strictEqual(first!.mode, "control")
            assert.strictEqual(first!.propensity, slug === "held-even" ? 1 / 3 : null)
          }
          assert.deepStrictEqual([...modes].sort(), ["control", "fallback"])
          yield* settle(slug)
          assert.deepStrictEqual((yield* (yield* Rebuild).run(org(slug), { check: true })).differences, [])
        }
      }))
  })
})
