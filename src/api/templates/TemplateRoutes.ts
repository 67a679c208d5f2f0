import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { note } from "../../accounts/Audit.ts"
import { isStorable } from "../../domain/Attributes.ts"
import { decoder } from "../../domain/Faults.ts"
import { TemplateInput, TemplatePatch } from "../../domain/Template.ts"
import { Learning } from "../../learning/Learning.ts"
import { TemplateImports } from "../../templates/TemplateImports.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import * as Body from "../server/Body.ts"
import { body, invalid, limitOf, lookedUp, query, slugOf, toProblems, whichOf } from "../server/Requests.ts"

const templateInput = decoder(TemplateInput)
const templatePatch = decoder(TemplatePatch)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "templates",
  Effect.fnUntraced(function* (handlers) {
    const imports = yield* TemplateImports
    const templates = yield* Templates
    const learning = yield* Learning

    /** What a template learns from may have changed: its model follows without waiting for new events. */
    const relearn = (org: string, ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (id) => learning.relearn(org, id), { discard: true })

    return handlers
      .handleRaw(
        "createTemplate",
        ({ params, request }) =>
          Effect.flatMap(body(request, templateInput), (input) => templates.create(slugOf(params), input)).pipe(
            toProblems,
          ),
      )
      .handleRaw("listTemplates", ({ params, request }) =>
        Effect.gen(function* () {
          const asked = query(request)
          const limit = limitOf(asked, 1000, 100)
          const which = whichOf(asked)
          const after = asked.get("after") ?? undefined
          const faults = [
            ...(Result.isFailure(limit) ? [limit.failure] : []),
            ...(Result.isFailure(which) ? [which.failure] : []),
            ...(after !== undefined && !isStorable(after)
              ? [{ pointer: "after", detail: "must be a template's id" }]
              : []),
          ]
          if (Result.isFailure(limit) || Result.isFailure(which) || faults.length > 0) return yield* invalid(faults)
          // One more than asked for tells whether there is a next page.
          const found = yield* templates.list(slugOf(params), {
            after,
            limit: limit.success + 1,
            which: which.success,
          })
          const page = found.slice(0, limit.success)
          return { templates: page, next: found.length > page.length ? page.at(-1)!.id : null }
        }).pipe(toProblems))
      .handleRaw(
        "importTemplates",
        ({ params, request }) =>
          Effect.flatMap(
            Body.json(request),
            (input) => Effect.andThen(note(input), imports.importJson(slugOf(params), input)),
          )
            .pipe(
              Effect.tap(({ relearned }) => relearn(params.org, relearned)),
              Effect.map(({ created, unchanged, updated }) => ({ created, updated, unchanged })),
              toProblems,
            ),
      )
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
          ).pipe(toProblems),
      )
      .handle(
        "deleteTemplate",
        ({ params }) => templates.remove(slugOf(params), lookedUp(params.template)).pipe(toProblems),
      )
  }),
)
