import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { DecideRequest } from "../../src/decide/DecideRequest.ts"
import { Decider } from "../../src/decide/Decider.ts"
import type { Answer } from "../../src/decide/Answer.ts"
import type { Plan } from "../../src/decide/Plan.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { TemplateCache } from "../../src/templates/TemplateCache.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const eight = Array.from({ length: 8 }, (_, i) => ({ id: `v${i}` as CopyId, vars: { s: `v${i} for {{ name }}` } }))

const request = (more: Partial<DecideRequest> = {}): DecideRequest => ({
  templateId: "t" as TemplateId,
  trackingId: undefined,
  userId: "ann",
  fields: { name: "Ann" },
  attrs: new Map(),
  ...more,
})

const copyOf = ({ answer }: Plan) => answer._tag === "Chosen" ? answer.copyId : answer._tag

const summaryOf = (outcome: Answer) =>
  outcome._tag === "Chosen" ? [outcome.trackingId, outcome.copyId, outcome.vars["s"]] : [outcome._tag]

const makeTemplate = Effect.fnUntraced(function* (slug: string, stickyHours: number, variants = eight) {
  yield* makeOrg(slug)
  yield* (yield* Templates).create(org(slug), { id: "t" as TemplateId, name: "T", sticky_hours: stickyHours, variants })
})

const storedIn = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  const decisions = yield* sql<{ trackingId: string; copyId: string }>`
    SELECT d.tracking_id, d.copy_id FROM decisions d WHERE d.org_slug = ${slug} ORDER BY d.tracking_id`
  const aliases = yield* sql<{ alias: string; trackingId: string }>`
    SELECT a.alias, a.tracking_id FROM tracking_aliases a WHERE a.org_slug = ${slug}`
  const choices = yield* sql<{ copyId: string }>`
    SELECT s.copy_id FROM sticky_choices s WHERE s.org_slug = ${slug}`
  return { decisions, aliases, choices }
})

/** Two plans for one user that chose different variants, made before either is stored, as two nodes may do. */
const rivals = Effect.fnUntraced(function* (slug: string, options: Partial<DecideRequest> = {}) {
  const decider = yield* Decider
  const first = yield* decider.plan(slug, request({ ...options, trackingId: "first" }))
  for (let n = 1;; n++) {
    const second = yield* decider.plan(slug, request({ ...options, trackingId: `second-${n}` }))
    if (copyOf(second) !== copyOf(first)) return [first, second] as const
  }
})

describe("Plans", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("store nothing before they are committed, and answer as planned", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        for (const stickyHours of [0, 1]) {
          const slug = `planned-${stickyHours}`
          yield* makeTemplate(slug, stickyHours)
          const plan = yield* decider.plan(slug, request({ trackingId: "one" }))
          assert.deepStrictEqual(yield* storedIn(slug), { decisions: [], aliases: [], choices: [] })
          const outcome = yield* decider.store(plan)
          assert.deepStrictEqual(outcome, plan.answer)
          const { aliases, choices, decisions } = yield* storedIn(slug)
          assert.deepStrictEqual(decisions, [{ trackingId: "one", copyId: copyOf(plan) }])
          assert.deepStrictEqual(aliases, [])
          assert.strictEqual(choices.length, stickyHours)
        }
      }))

    it.effect("agree on the variant stored first for one tracking id", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        const variants = eight.map((variant) => ({
          ...variant,
          targeting: [{ attribute: "of", op: "in" as const, values: ["all", variant.id] }],
        }))
        yield* makeTemplate("retried", 0, variants)
        const of = (value: string) => new Map([["of", [value]]])
        const first = yield* decider.plan("retried", request({ trackingId: "one", attrs: of("all") }))
        const other = eight.find(({ id }) => id !== copyOf(first))!
        const second = yield* decider.plan(
          "retried",
          request({ trackingId: "one", fields: { name: "Bob" }, trace: true, attrs: of(other.id) }),
        )
        assert.strictEqual(copyOf(second), other.id)
        yield* decider.store(first)
        const outcome = yield* decider.store(second)
        assert.deepStrictEqual(summaryOf(outcome), ["one", copyOf(first), `${copyOf(first)} for Bob`])
        const { trace } = outcome as { readonly trace?: unknown }
        assert.deepInclude(trace, { mode: "retry", chosen: copyOf(first), propensity: null })
        assert.strictEqual((yield* storedIn("retried")).decisions.length, 1)
      }))

    it.effect("agree on one variant and one decision for a user of a sticky template, in any order of storing", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        for (const turn of ["first", "second", "both"]) {
          const slug = `rivals-${turn}`
          yield* makeTemplate(slug, 24)
          const plans = yield* rivals(slug, { trace: true })
          const ordered = turn === "second" ? [...plans].reverse() : plans
          const concurrency = turn === "both" ? "unbounded" : 1
          const outcomes = yield* Effect.forEach(ordered, (plan) => decider.store(plan), { concurrency })
          const { aliases, choices, decisions } = yield* storedIn(slug)
          assert.lengthOf(decisions, 1, turn)
          const { copyId, trackingId } = decisions[0]!
          if (turn !== "both") assert.strictEqual(trackingId, ordered[0]!.answer.trackingId)
          assert.deepStrictEqual(choices, [{ copyId }])
          const other = plans.map(({ answer }) => answer.trackingId).find((id) => id !== trackingId)!
          assert.deepStrictEqual(aliases, [{ alias: other, trackingId }], "events of both are of the one decision")
          for (const outcome of outcomes) {
            assert.deepStrictEqual(summaryOf(outcome), [outcome.trackingId, copyId, `${copyId} for Ann`])
            const { trace } = outcome as { readonly trace?: unknown }
            assert.deepInclude(trace, { chosen: copyId, ...(outcome.trackingId === other ? { mode: "sticky" } : {}) })
          }
        }
      }))

    it.effect("answer that there is no candidate on a node that does not know the stored variant yet", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        const templates = yield* Templates
        const templateCache = yield* TemplateCache
        const [a, b] = eight
        yield* makeTemplate("behind", 24, [a!])
        const behind = yield* decider.plan("behind", request({ trackingId: "behind" }))
        yield* templates.createVariant(org("behind"), "t", b!)
        yield* templates.removeVariant(org("behind"), "t", a!.id)
        yield* Effect.promise(() =>
          waitUntil(
            "the change is noticed",
            () => templateCache.template("behind", "t")!.variants.every(({ id }) => id === b!.id),
          )
        )
        yield* decider.decide("behind", request({ trackingId: "ahead" }))
        assert.deepStrictEqual(summaryOf(yield* decider.store(behind)), ["None"])
        assert.deepStrictEqual((yield* storedIn("behind")).decisions, [{ trackingId: "ahead", copyId: b!.id }])
      }))
  })
})
