import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { ask, plant, settle } from "./support.ts"

describe("the learner of a template whose variants declare components", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("learns about a variant without decisions from variants that share its components", () =>
      Effect.gen(function* () {
        yield* makeOrg("made")
        const made = { a: ["question", "shoe"], b: ["question", "bag"], c: ["offer", "shoe"], d: ["offer", "bag"] }
        yield* (yield* Templates).create(org("made"), {
          id: "t" as TemplateId,
          name: "t",
          variants: Object.entries(made).map(([id, [subject = "", image = ""]]) => ({
            id: id as CopyId,
            vars: { s: id },
            components: { subject, image },
          })),
        })
        for (const [copy, click] of [["a", 12], ["b", 12], ["c", 60]] as const) {
          yield* plant("made", { copy, decisions: 400, outcomes: { click } })
        }
        yield* settle("made")
        const { components } = yield* (yield* Learning).model("made", "t", undefined)
        assert.deepStrictEqual(components!.kinds.map(({ name, values }) => [name, values]), [
          ["image", ["bag", "shoe"]],
          ["subject", ["offer", "question"]],
        ])
        const { trace } = yield* ask("made", { useCache: false })
        const rate = Object.fromEntries(
          trace.candidates.map(({ id, rate }: { id: string; rate: number }) => [id, rate] as const),
        )
        assert.isAbove(rate.d, 1.3 * rate.b)
        assert.isBelow(rate.d, rate.c)
      }))
  })
})
