import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Actor, CurrentActor } from "../../src/accounts/Actor.ts"
import { Decider } from "../../src/decide/Decider.ts"
import { Previews } from "../../src/decide/Previews.ts"
import type { CopyId, OrgSlug, TemplateId } from "../../src/domain/Ids.ts"
import type { Formats } from "../../src/domain/Template.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Proposals } from "../../src/templates/Proposals.ts"
import { TemplateImports } from "../../src/templates/TemplateImports.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { restoredBy, VariantVersions } from "../../src/templates/VariantVersions.ts"
import { layerQuiet, makeOrg } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const id = "welcome" as TemplateId
const formats: Formats = { body: "mjml" }

const mjml = (text: string) =>
  `<mjml><mj-body>{% if vip %}<mj-section><mj-column><mj-text>${text} {{ name }}</mj-text></mj-column></mj-section>` +
  "{% endif %}</mj-body></mjml>"

const variant = (text: string) => ({ id: "a" as CopyId, vars: { subject: "Hi", body: mjml(text) }, formats })

/** The body that Generate returns. */
const bodyOf = Effect.fnUntraced(function* (org: OrgSlug) {
  const outcome = yield* (yield* Decider).decide(org, {
    templateId: id,
    trackingId: undefined,
    userId: undefined,
    fields: { vip: true, name: "<Ann>" },
    attrs: new Map(),
  })
  if (outcome._tag !== "Chosen") return assert.fail(outcome._tag)
  return outcome.vars["body"]!
})

const assertBody = Effect.fnUntraced(function* (org: OrgSlug, text: string) {
  const body = yield* bodyOf(org)
  assert.match(body, /^<!doctype html>/)
  assert.include(body, `>${text} &lt;Ann&gt;</div>`)
  assert.notMatch(body, /<\/?mj|\{[{%]/)
})

const start = Effect.fnUntraced(function* (slug: string) {
  const org = yield* makeOrg(slug)
  yield* (yield* Templates).create(org, { id, name: "Welcome", variants: [variant("First")] })
  return org
})

describe("Variables in MJML", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("are stored as written and rendered as HTML", () =>
      Effect.gen(function* () {
        const org = yield* start("saved")
        const templates = yield* Templates
        yield* assertBody(org, "First")
        assert.strictEqual((yield* templates.getVariant(org, id, "a")).vars["body"], mjml("First"))
        yield* templates.updateVariant(org, id, "a", variant("Second"))
        yield* assertBody(org, "Second")
        const versions = yield* VariantVersions
        const [, first] = yield* versions.list(org, id, "a", { limit: 2 })
        yield* templates.updateVariant(org, id, "a", restoredBy(yield* versions.get(org, id, "a", first!.id)))
        yield* assertBody(org, "First")
        const refused = yield* Effect.flip(
          templates.updateVariant(org, id, "a", { vars: { subject: "Hi", body: "<mjml>\n<mj-body>" } }),
        )
        assert.strictEqual(refused._tag, "InvalidInput")
        yield* assertBody(org, "First")
      }))

    it.effect("are imported from files, and refused at line and column of the file", () =>
      Effect.gen(function* () {
        const org = yield* makeOrg("imported")
        const imports = yield* TemplateImports
        const file = (body: string) =>
          ["templates:", "  - id: welcome", "    name: Welcome", "    variants:", "      - id: a", "        vars:"]
            .concat(
              "          subject: Hi",
              "          body: |",
              ...body.split("\n").map((line) => `            ${line}`),
            )
            .concat("        formats: {body: mjml}", "").join("\n")
        yield* imports.importFile(org, file(mjml("Imported")))
        yield* assertBody(org, "Imported")
        const refused = yield* Effect.flip(imports.importFile(org, file("<mjml>\n<mj-body>")))
        if (refused._tag !== "FileRefused") return assert.fail(refused._tag)
        assert.deepInclude(refused.faults[0], {
          line: 8,
          message: "line 2, column 1: <mj-body> is not closed: write </mj-body>",
        })
      }))

    it.effect("are previewed with the size of their HTML and warnings at places of the source", () =>
      Effect.gen(function* () {
        const org = yield* start("previewed")
        const previews = yield* Previews
        const body = mjml("Draft").replace("<mj-text>", '\n<mj-text color="nope"><a href="{{ url }}">x</a> ')
        const vars = { subject: "Hi", body }
        const ask = { vars, formats, copyId: undefined, fields: { vip: true }, attrs: new Map() }
        const preview = yield* previews.preview(org, id, ask)
        const places = preview.warnings!.map(({ column, line, message }) => `${line}:${column} ${message}`)
        assert.match(places.join("\n"), /^2:1 <mj-text>: Attribute color has invalid value: nope\n2:32 .*\n2:55 "name"/)
        assert.isAbove(preview.compiled!["body"]!, 1_000)
        const stored = yield* previews.preview(org, id, { ...ask, vars: undefined, formats: undefined, copyId: "a" })
        assert.match(stored.vars!["body"]!, /^<!doctype html>/)
        assert.deepStrictEqual(stored.warnings!.map(({ column, line }) => [line, column]), [[1, 66]])
        const refused = yield* Effect.flip(previews.preview(org, id, { ...ask, vars: { body: "<mjml></mjml>" } }))
        assert.strictEqual(refused._tag, "InvalidInput")
      }))

    it.effect("wait for approval as written, and their HTML is kept while a variant or a proposal needs it", () =>
      Effect.gen(function* () {
        const org = yield* start("approved")
        const [templates, proposals, sql] = [yield* Templates, yield* Proposals, yield* SqlClient.SqlClient]
        yield* (yield* Organizations).update(org, { template_approval: "editor" })
        const key: Actor = { kind: "key", keyId: "k", org, scopes: new Set(["templates:write"]) }
        const change = Effect.provideService(
          templates.updateVariant(org, id, "a", variant("Approved")),
          CurrentActor,
          key,
        )
        const proposed = yield* Effect.flip(change)
        if (proposed._tag !== "ChangeProposed") return assert.fail(proposed._tag)
        yield* sql`UPDATE compiled_sources c SET checked_at = now() - interval '2 days' WHERE c.org_slug = ${org}`
        // A check of a variant that is not saved: rows without use are deleted.
        const count = Effect.map(
          sql<{ count: number }>`SELECT count(*)::int AS count FROM compiled_sources c WHERE c.org_slug = ${org}`,
          ([row]) => row!.count,
        )
        yield* Effect.ignore(templates.createVariant(org, id, variant("Unused")))
        assert.strictEqual(yield* count, 3)
        yield* sql`UPDATE compiled_sources c SET checked_at = now() - interval '2 days' WHERE c.org_slug = ${org}`
        yield* Effect.ignore(templates.createVariant(org, id, variant("Other")))
        assert.strictEqual(yield* count, 3)
        yield* assertBody(org, "First")
        const { version } = yield* proposals.get(org, proposed.proposals[0]!.id)
        yield* proposals.approve(org, proposed.proposals[0]!.id, { version, comment: "" }, { kind: "token" })
        yield* assertBody(org, "Approved")
      }))
  })
})
