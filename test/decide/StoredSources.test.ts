import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../../src/decide/Decider.ts"
import { Previews } from "../../src/decide/Previews.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const template = "t" as TemplateId
const fields = { name: "Ann", items: ["a", "b"] }

/** Sources that earlier releases accepted, and their renderings. The last parts have no effect. */
const sources = {
  comma: ["Hi {{ name, other }}", "Hi Ann"],
  filter: ["{% for i in items | slice: 0, 1 %}{{ i }}{% endfor %}", "ab"],
  or: ["Hi {{ name or 'there' }}", "Hi true"],
  quotes: ["Hi {{ name | default: ‘there’ }}", "Hi Ann"],
} as const

describe("sources that an earlier release saved and this release would refuse", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("render as before, and prevent only changes of themselves", () =>
      Effect.gen(function* () {
        const templates = yield* Templates
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("old")
        const id = "v" as CopyId
        yield* templates.create(org("old"), { id: template, name: "T", variants: [{ id, vars: { s: "x" } }] })
        const vars = Object.fromEntries(Object.entries(sources).map(([name, [source]]) => [name, source]))
        yield* sql`UPDATE variants AS v SET vars = ${JSON.stringify(vars)}::jsonb
          WHERE v.org_slug = 'old' AND v.template_id = ${template}`
        yield* templates.updateVariant(org("old"), template, id, { name: "Old" })

        const request = { templateId: template, trackingId: "1", userId: undefined, fields, attrs: new Map() }
        const answer = yield* (yield* Decider).decide("old", request)
        const rendered = Object.fromEntries(Object.entries(sources).map(([name, [, text]]) => [name, text]))
        assert.deepStrictEqual(answer._tag === "Chosen" && answer.vars, rendered)

        const ask = { vars: undefined, formats: undefined, copyId: id, fields, attrs: new Map() }
        const stored = yield* (yield* Previews).preview(org("old"), template, ask)
        assert.deepStrictEqual(stored.vars, rendered)
        assert.deepStrictEqual(stored.warnings?.map(({ variable }) => variable).sort(), Object.keys(sources))

        yield* templates.updateVariant(org("old"), template, id, { active: false, vars })
        const refused = yield* Effect.flip(
          templates.updateVariant(org("old"), template, id, { vars: { ...vars, or: "Hello {{ name or 'there' }}" } }),
        )
        assert.include(JSON.stringify(refused), "default: 'there'")
        assert.isTrue(
          (yield* templates.updateVariant(org("old"), template, id, { vars: { s: "{{ name }}" } })).active === false,
        )
      }))
  })
})
