import { Effect, Layer } from "effect"
import { note, noteNothing } from "../../accounts/Audit.ts"
import { unknownMembersIn } from "../../domain/UnknownMembers.ts"
import { Learning } from "../../learning/Learning.ts"
import { TemplateBatch } from "../../templates/TemplateBatch.ts"
import { type Imported, TemplateImports } from "../../templates/TemplateImports.ts"
import { Templates } from "../../templates/Templates.ts"
import { ImportBody } from "../Api.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"
import * as Body from "../http/Body.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import { ofMembers, warn } from "../http/Warnings.ts"

const unknownInImport = unknownMembersIn(ImportBody)

/** Serves `TemplatesGroup`. */
export const layer = managed(
  "templates",
  Effect.gen(function* () {
    const batch = yield* TemplateBatch
    const imports = yield* TemplateImports
    const templates = yield* Templates
    const learning = yield* Learning

    /** Refreshes the models of templates whose learning settings may have changed, without waiting for new events. */
    const relearn = (org: string, ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (id) => learning.relearn(org, id), { discard: true })

    return {
      createTemplate: ({ body, org }) => templates.create(org, body).pipe(orProposed(asIs)),
      listTemplates: Effect.fnUntraced(function* ({ org, query: { cursor, archived, limit } }) {
        const { next, page } = yield* pageOf(limit, (limit) => templates.list(org, { cursor, limit, which: archived }))
        return { templates: page, next }
      }),
      importTemplates: {
        inSteps: ({ query, request, slug }) =>
          Effect.gen(function* () {
            const { dry_run: dryRun } = yield* query
            const input = yield* Body.json(request, Body.maxLargeBytes)
            yield* dryRun ? noteNothing : note(input)
            yield* warn(request, ofMembers(unknownInImport(input)))
            const done = yield* imports.importJson(slug, input, { dryRun })
            const { changes, created, relearned, snippets, unchanged, updated } = done
            if (!dryRun) yield* relearn(slug, relearned)
            return {
              created,
              updated,
              unchanged,
              ...(snippets.length === 0 ? {} : { snippets }),
              ...(dryRun ? { changes } : {}),
            }
          }).pipe(orProposed(({ created, unchanged, updated }: Imported) => ({ created, updated, unchanged }))),
      },
      changeTemplates: {
        inSteps: ({ body, org: organization }) =>
          Effect.gen(function* () {
            const org = yield* organization
            const { ids, ...change } = yield* body
            const { length: changed } = yield* batch.change(org, ids, change)
            if (changed === 0) yield* noteNothing
            return { changed }
          }).pipe(orProposed((changed: number) => ({ changed }))),
      },
      getTemplate: ({ org, params }) => templates.get(org, params.template),
      updateTemplate: ({ body, org, params }) =>
        templates.update(org, params.template, body).pipe(
          Effect.tap(() => body.objective === undefined ? Effect.void : relearn(org, [params.template])),
          orProposed(asIs),
        ),
      deleteTemplate: ({ org, params }) => templates.remove(org, params.template).pipe(orProposed(asIs)),
    }
  }),
  "by the services",
).pipe(Layer.provide(TemplateBatch.layer))
