import { Clock, Context, Effect, Layer, Result } from "effect"
import { InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { readCsv } from "./SuppressionCsv.ts"
import { Suppressions } from "./Suppressions.ts"

/** The result of an import. */
interface ImportedSuppressions {
  readonly added: number
  /** Number of rows whose address already has an entry for that reason. */
  readonly present: number
  /** Number of rows without an address. */
  readonly skipped: number
}

/** Adds the entries of a file to the suppression list. */
export class SuppressionImports extends Context.Service<SuppressionImports, {
  /** Imports all rows or none. Fails with `InvalidInput`, listing every fault of the CSV (see `readCsv`). */
  readonly importCsv: (org: OrgSlug, text: string) => Effect.Effect<ImportedSuppressions, InvalidInput>
}>()("parlance/suppressions/SuppressionImports") {
  static readonly layer = Layer.effect(
    SuppressionImports,
    Effect.gen(function* () {
      const list = yield* Suppressions

      const importCsv = Effect.fn("SuppressionImports.importCsv")(function* (org: OrgSlug, text: string) {
        const now = yield* Clock.currentTimeMillis
        const read = yield* readCsv(text, now)
        if (Result.isFailure(read)) return yield* new InvalidInput({ faults: read.failure })
        const { rows, skipped } = read.success
        const added = yield* Effect.orDie(
          list.add(rows.map(({ at, source, ...row }) => ({ ...row, org, source: source ?? "import", at: at ?? now }))),
        )
        return { added, present: rows.length - added, skipped }
      })

      return SuppressionImports.of({ importCsv })
    }),
  )
}
