import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { note, noteNothing } from "../../accounts/Audit.ts"
import { decoder } from "../../domain/Faults.ts"
import { unknownMembersIn } from "../../domain/UnknownMembers.ts"
import { TemplateBatchInput, TemplateInput, TemplatePatch } from "../../domain/Template.ts"
import { Learning } from "../../learning/Learning.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { TemplateBatch } from "../../templates/TemplateBatch.ts"
import { type Imported, TemplateImports } from "../../templates/TemplateImports.ts"
import { Templates } from "../../templates/Templates.ts"
import { ImportBody, ServedApi } from "../Api.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"
import * as Body from "../server/Body.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, lookedUp, slugOf, toProblems } from "../server/Requests.ts"
import { ofMembers, warn } from "../server/Warnings.ts"

const templateInput = decoder(TemplateInput)
const unknownInImport = unknownMembersIn(ImportBody)
const templateBatch = decoder(TemplateBatchInput)
const templatePatch = decoder(TemplatePatch)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "templates",
  Effect.fnUntraced(function* (handlers) {
    const batch = yield* TemplateBatch
    const imports = yield* TemplateImports
    const templates = yield* Templates
    const learning = yield* Learning
    const organizations = yield* Organizations

    /** Learning settings of the template may have changed: refresh its model without waiting for new events. */
    const relearn = (org: string, ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (id) => learning.relearn(org, id), { discard: true })

    return handlers
      .handleRaw(
        "createTemplate",
        ({ params, request }) =>
          Effect.flatMap(body(request, templateInput), (input) => templates.create(slugOf(params), input)).pipe(
            orProposed(asIs),
            toProblems,
          ),
      )
      .handleRaw("listTemplates", ({ params, request }) =>
        Effect.gen(function* () {
          const { after: cursor, archived, limit } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(1000, 100),
            archived: Parameters.archived,
            after: Parameters.cursor("must be a template's id"),
          })
          // One more than asked for tells whether there is a next page.
          const found = yield* templates.list(slugOf(params), { cursor, limit: limit + 1, which: archived })
          const page = found.slice(0, limit)
          return { templates: page, next: found.length > page.length ? page.at(-1)!.id : null }
        }).pipe(toProblems))
      .handleRaw(
        "importTemplates",
        ({ params, request }) =>
          Effect.gen(function* () {
            const { dry_run: dryRun } = yield* Parameters.parameters(request, { dry_run: Parameters.flag })
            const input = yield* Body.json(request)
            yield* dryRun ? noteNothing : note(input)
            yield* warn(request, ofMembers(unknownInImport(input)))
            const done = yield* imports.importJson(slugOf(params), input, { dryRun })
            const { changes, created, relearned, unchanged, updated } = done
            if (!dryRun) yield* relearn(params.org, relearned)
            return { created, updated, unchanged, ...(dryRun ? { changes } : {}) }
          }).pipe(
            orProposed(({ created, unchanged, updated }: Imported) => ({ created, updated, unchanged })),
            toProblems,
          ),
      )
      .handleRaw("changeTemplates", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { ids, ...change } = yield* body(request, templateBatch)
          const changed = yield* batch.change(org, ids, change)
          if (changed === 0) yield* noteNothing
          return { changed }
        }).pipe(orProposed((changed: number) => ({ changed })), toProblems))
      .handle(
        "getTemplate",
        ({ params }) => templates.get(slugOf(params), lookedUp(params.template)).pipe(toProblems),
      )
      .handleRaw(
        "updateTemplate",
        ({ params, request }) =>
          Effect.flatMap(
            body(request, templatePatch),
            (patch) =>
              templates.update(slugOf(params), lookedUp(params.template), patch).pipe(
                Effect.tap(() => patch.objective === undefined ? Effect.void : relearn(params.org, [params.template])),
              ),
          ).pipe(orProposed(asIs), toProblems),
      )
      .handle(
        "deleteTemplate",
        ({ params }) => templates.remove(slugOf(params), lookedUp(params.template)).pipe(orProposed(asIs), toProblems),
      )
  }),
).pipe(Layer.provide(TemplateBatch.layer))
