import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { patchOf } from "../../src/console/pages/SettingsPages.tsx"
import { deliveryReason, faultText } from "../../src/console/RetoldTexts.ts"
import { expiredText } from "../../src/delivery/AttemptOutcome.ts"
import { decoder } from "../../src/domain/Faults.ts"
import { SuppressionReason } from "../../src/domain/SuppressionReason.ts"
import { CurrentLanguage, languageOf } from "../../src/languages/Language.ts"
import { cancelledText } from "../../src/suppressions/Suppression.ts"

const inGerman = (make: () => ReadonlyArray<string>) =>
  Effect.sync(make).pipe(Effect.provideService(CurrentLanguage, languageOf("de")!))

const input = Schema.Struct({
  name: Schema.NonEmptyString,
  share: Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 0.5 })),
  format: Schema.Literals(["text", "html"]),
  days: Schema.Int,
})

describe("texts of layers below in the console", () => {
  it.effect("are faults of schemas in the language of the page", () =>
    Effect.gen(function* () {
      const decoded = decoder(input)({ share: 2, format: "pdf", days: "x" })
      const faults = Result.isFailure(decoded) ? decoded.failure : []
      assert.deepStrictEqual(yield* inGerman(() => faults.map(({ detail }) => faultText(detail)).sort()), [
        "ist erforderlich",
        'muss "text" oder "html" sein',
        "muss eine Zahl sein",
        "muss zwischen 0 und 0,5 liegen",
      ])
    }))

  it.effect("are faults of settings, each as a whole", () =>
    Effect.gen(function* () {
      const faultsOf = () => {
        const sent = { time_zone: "Nowhere", exploration_floor: "x", currency: "eu", conversion_events: "a\n\u0007" }
        const patch = patchOf({ ...sent, name: "Shop", allowed_days: "mon" })
        return Result.isFailure(patch) ? patch.failure : []
      }
      const shown = [...yield* inGerman(() => faultsOf().map(({ detail }) => faultText(detail)))]
      assert.includeMembers(shown, [
        "muss eine IANA-Zeitzone wie Europe/Berlin oder UTC sein",
        "muss eine Zahl von 0 bis 20 sein",
        "muss ein ISO-4217-Code aus drei Großbuchstaben sein, etwa EUR",
      ])
      assert.isEmpty(shown.filter((text) => /must|such as/.test(text)))
    }))

  it.effect("are faults of Liquid with their place", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* inGerman(() =>
          ['line 2, column 5: there is no filter "x"', "must fit on a stamp"].map((text) => faultText(text))
        ),
        ['Zeile 2, Spalte 5: es gibt keinen Filter "x"', "must fit on a stamp"],
      )
    }))

  it.effect("are reasons of deliveries, with the answer of the platform as it was", () =>
    Effect.gen(function* () {
      const expiresAt = new Date("2026-05-04T09:30:00Z")
      const at = "2026-05-04T09:30:00.000Z"
      const expired = (attempts: number, reason: string | null) => expiredText({ attempts, expiresAt, reason })
      assert.deepStrictEqual(
        yield* inGerman(() =>
          [expired(0, null), expired(3, "451 try later"), "Postmark answered 401: no"].map((text) =>
            deliveryReason(text)
          )
        ),
        [
          `Abgelaufen am ${at} vor dem Versand`,
          `Abgelaufen am ${at} nach 3 Versuchen: 451 try later`,
          "Antwort von Postmark: 401: no",
        ],
      )
      const cancelled = yield* inGerman(() =>
        SuppressionReason.literals.map((reason) => deliveryReason(cancelledText({ reason, suppressedAt: expiresAt })))
      )
      for (const text of cancelled) assert.match(text, /^Gesperrt: .* am 2026-05-04$/)
    }))
})
