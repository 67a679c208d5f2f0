import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Answer } from "../../src/decide/Answer.ts"
import type { DecideRequest } from "../../src/decide/DecideRequest.ts"
import { Decider } from "../../src/decide/Decider.ts"
import { Previews } from "../../src/decide/Previews.ts"
import { empty } from "../../src/domain/Attributes.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import type { TemplateInput } from "../../src/domain/Template.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const locale = { attribute: "language", default: "en" } as const
const variant = {
  id: "v" as CopyId,
  vars: { subject: "Hello {{ name }}", price: "{{ 1234.5 | money: 'EUR' }}", sender: "Ann" },
  locales: {
    de: { subject: "Hallo {{ name }}", price: "{{ 1234.5 | money: 'EUR' }}" },
    "de-AT": { subject: "Servus {{ name }}" },
    fr: { subject: "{{ 1 | plural: one: 'jour', other: 'jours' }} {{ '2026-03-14' | date: '%-d %B' }}" },
  },
}

const asking = (language: string | undefined, more: Partial<DecideRequest> = {}): DecideRequest => ({
  templateId: "t" as TemplateId,
  trackingId: undefined,
  userId: "ann",
  fields: { name: "Ann" },
  attrs: language === undefined ? empty : new Map([["language", [language]]]),
  ...more,
})

const makeTemplate = Effect.fnUntraced(function* (slug: string, more: Partial<TemplateInput> = {}) {
  yield* makeOrg(slug)
  const input = { id: "t" as TemplateId, name: "T", locale, variants: [variant], ...more }
  yield* (yield* Templates).create(org(slug), input)
})

const decide = Effect.fnUntraced(function* (slug: string, request: DecideRequest) {
  return yield* (yield* Decider).decide(slug, request)
})

const textsOf = (answer: Answer) => answer._tag === "Chosen" ? answer.vars : { none: answer._tag }

type Faults = ReadonlyArray<{ readonly pointer: string; readonly detail: string }>

const faultsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error as { readonly faults: Faults }).faults)

describe("Locales of a variant", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("give each person the texts of the nearest locale", () =>
      Effect.gen(function* () {
        yield* makeTemplate("nearest")
        const of = (language: string) => Effect.map(decide("nearest", asking(language)), textsOf)
        assert.deepStrictEqual(yield* of("de_at"), { subject: "Servus Ann", price: "1.234,50\u00a0€", sender: "Ann" })
        assert.deepStrictEqual(yield* of("de-ch"), { subject: "Hallo Ann", price: "1.234,50\u00a0€", sender: "Ann" })
        assert.deepStrictEqual(yield* of("en-GB"), { subject: "Hello Ann", price: "€1,234.50", sender: "Ann" })
        assert.deepStrictEqual(yield* of("fr"), { subject: "jour 14 mars", price: "€1,234.50", sender: "Ann" })
      }))

    it.effect("warn of a missing or unknown locale, and use the default", () =>
      Effect.gen(function* () {
        yield* makeTemplate("unknown")
        const missing = yield* decide("unknown", asking(undefined))
        assert.strictEqual(textsOf(missing)["subject"], "Hello Ann")
        assert.match(missing.warnings![0]!, /attribute "language" with the person's locale is missing/)
        const unknown = yield* decide("unknown", asking("klingon"))
        assert.match(unknown.warnings![0]!, /"language" is not a locale.*default locale "en"/)
        assert.isUndefined((yield* decide("unknown", asking("ja"))).warnings)
      }))

    it.effect("come from a field of the request", () =>
      Effect.gen(function* () {
        yield* makeTemplate("field", { locale: { field: "user.locale", default: "en" } })
        const answer = yield* decide("field", asking("fr", { fields: { name: "Eva", user: { locale: "de-AT" } } }))
        assert.strictEqual(textsOf(answer)["subject"], "Servus Eva")
      }))

    it.effect("are recorded with the decision, and repeated for its tracking id", () =>
      Effect.gen(function* () {
        yield* makeTemplate("recorded")
        const templates = yield* Templates
        yield* decide("recorded", asking("de-at", { trackingId: "one" }))
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql<{ locale: string }>`
          SELECT e.locale FROM export_decisions e WHERE e.org_slug = 'recorded'`
        assert.deepStrictEqual(rows.map(({ locale }) => locale), ["de-AT"])
        const again = yield* decide("recorded", asking("fr", { trackingId: "one" }))
        assert.strictEqual(textsOf(again)["subject"], "Servus Ann")
        yield* templates.updateVariant(org("recorded"), "t", "v", { locales: { de: variant.locales.de } })
        const later = yield* decide("recorded", asking("fr", { trackingId: "one" }))
        assert.strictEqual(textsOf(later)["subject"], "Hallo Ann")
      }))

    it.effect("are refused without a locale of the template, in its default locale, and for unknown variables", () =>
      Effect.gen(function* () {
        yield* makeTemplate("refused", { locale: null, variants: [] })
        const templates = yield* Templates
        const create = (locales: Readonly<Record<string, Record<string, string>>>) =>
          templates.createVariant(org("refused"), "t", { ...variant, locales })
        assert.match((yield* faultsOf(create(variant.locales)))[0]!.detail, /set its locale/)
        yield* templates.update(org("refused"), "t", { locale })
        assert.match((yield* faultsOf(create({ en: { subject: "Hi" } })))[0]!.detail, /the default locale/)
        const faults = yield* faultsOf(create({
          de: { footer: "Fuß", subject: "{{ 1 | plural: few: 'a', other: 'b' }}", price: "{{ x | plural: one: 'a' }}" },
        }))
        assert.deepStrictEqual(faults.map(({ pointer }) => pointer), [
          "/locales/de/footer",
          "/locales/de/subject",
          "/locales/de/price",
        ])
        assert.match(faults[1]!.detail, /"de" has no form few, only one and other/)
        assert.match(faults[2]!.detail, /the filter plural needs the argument other/)
        yield* create(variant.locales)
        const removal = yield* faultsOf(templates.update(org("refused"), "t", { locale: null }))
        assert.match(removal[0]!.detail, /"v" has texts/)
      }))

    it.effect("are previewed with warnings about missing translations", () =>
      Effect.gen(function* () {
        yield* makeTemplate("preview", {
          variants: [variant, { id: "w" as CopyId, vars: { subject: "Hi" }, locales: { ar: { subject: "مرحبا" } } }],
        })
        const previews = yield* Previews
        const preview = (copyId: string, tag: string) =>
          previews.preview(org("preview"), "t", {
            vars: undefined,
            formats: undefined,
            locale: tag,
            copyId,
            fields: { name: "Ann" },
            attrs: empty,
          })
        const shown = yield* preview("v", "de-AT")
        assert.deepInclude(shown, { locale: "de-AT", dir: "ltr" })
        assert.strictEqual(shown.vars!["subject"], "Servus Ann")
        assert.deepStrictEqual(shown.warnings!.map(({ locale, variable }) => `${locale} ${variable}`), [
          "de sender",
          "de-AT sender",
          // Inserts no name, as the default text does.
          "fr subject",
          "fr sender",
          "ar subject",
        ])
        assert.deepInclude(yield* preview("w", "ar-EG"), { locale: "ar", dir: "rtl" })
      }))
  })
})
