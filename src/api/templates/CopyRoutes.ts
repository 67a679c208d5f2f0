import { Effect } from "effect"
import { note, noteNothing } from "../../accounts/Audit.ts"
import { InvalidInput } from "../../domain/Errors.ts"
import { Templates } from "../../templates/Templates.ts"
import { exportStrings } from "../../templates/Translations.ts"
import { Checking } from "../../checking/Checking.ts"
import { conversionOf, convertCopy } from "../../rendering/CopyConversion.ts"
import { type Imported, TemplateImports } from "../../templates/TemplateImports.ts"
import { managed } from "../http/Managed.ts"
import { orProposed } from "../reviews/Proposed.ts"

/** Serves `CopyGroup`. */
export const layer = managed(
  "copy",
  Effect.gen(function* () {
    const checking = yield* Checking
    const imports = yield* TemplateImports
    const templates = yield* Templates
    return {
      convertCopy: Effect.fnUntraced(function* ({ body: { formats = {}, from, vars }, org }) {
        return conversionOf(
          yield* convertCopy(org, { from, vars, formats }).pipe(Effect.provideService(Checking, checking)),
        )
      }),
      importCopy: ({ body: { csv }, org, query: { dry_run: dryRun } }) =>
        Effect.gen(function* () {
          yield* dryRun ? noteNothing : note({ csv: `${csv.length} characters` })
          const { changes, created, unchanged, updated } = yield* imports.importCopy(org, csv, { dryRun })
          return { created, updated, unchanged, ...(dryRun ? { changes } : {}) }
        }).pipe(orProposed(({ created, unchanged, updated }: Imported) => ({ created, updated, unchanged }))),
      exportStrings: Effect.fnUntraced(function* ({ org, params, query: { format = "csv", locales } }) {
        const template = yield* templates.get(org, params.template)
        return yield* Effect.fromResult(exportStrings(template, locales, format)).pipe(
          Effect.mapError((fault) => new InvalidInput({ faults: [fault] })),
        )
      }),
      importStrings: {
        inSteps: ({ body, org: organization, params, query }) =>
          Effect.gen(function* () {
            const org = yield* organization
            yield* templates.outline(org, params.template)
            const { dry_run: dryRun } = yield* query
            const { text } = yield* body
            yield* dryRun ? noteNothing : note({ text: `${text.length} characters` })
            const done = yield* imports.importStrings(org, params.template, text, { dryRun })
            const { changes, created, unchanged, updated, variants } = done
            return { created, updated, unchanged, variants, ...(dryRun ? { changes } : {}) }
          }).pipe(orProposed(({ created, unchanged, updated }: Imported) => ({ created, updated, unchanged }))),
      },
    }
  }),
  "first",
)
