import { Effect } from "effect"
import { note, noteNothing } from "../../accounts/Audit.ts"
import { Checking } from "../../checking/Checking.ts"
import { convertCopy } from "../../rendering/CopyConversion.ts"
import { type Imported, TemplateImports } from "../../templates/TemplateImports.ts"
import { managed } from "../http/Managed.ts"
import { orProposed } from "../reviews/Proposed.ts"

/** Serves `CopyGroup`. */
export const layer = managed(
  "copy",
  Effect.gen(function* () {
    const checking = yield* Checking
    const imports = yield* TemplateImports
    return {
      convertCopy: Effect.fnUntraced(function* ({ body: { formats = {}, from, vars }, org }) {
        const converted = Object.entries(
          yield* convertCopy(org, { from, vars, formats }).pipe(Effect.provideService(Checking, checking)),
        )
        const fields = new Map(converted.flatMap(([, { fields }]) => fields.map(({ from, to }) => [from, to])))
        return {
          vars: Object.fromEntries(converted.map(([name, { liquid }]) => [name, liquid])),
          findings: converted.flatMap(([variable, { findings }]) =>
            findings.map((finding) => ({ variable, ...finding }))
          ),
          fields: [...fields].map(([from, to]) => ({ from, to })),
        }
      }),
      importCopy: ({ body: { csv }, org, query: { dry_run: dryRun } }) =>
        Effect.gen(function* () {
          yield* dryRun ? noteNothing : note({ csv: `${csv.length} characters` })
          const { changes, created, unchanged, updated } = yield* imports.importCopy(org, csv, { dryRun })
          return { created, updated, unchanged, ...(dryRun ? { changes } : {}) }
        }).pipe(orProposed(({ created, unchanged, updated }: Imported) => ({ created, updated, unchanged }))),
    }
  }),
  "first",
)
