import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ChangeHistory } from "../../accounts/ChangeHistory.ts"
import { isStorable } from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Traffic } from "../../results/Traffic.ts"
import { TemplateIndex } from "../../templates/TemplateIndex.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import { existing, invalid, limitOf, lookedUp, query, toProblems, whichOf } from "../server/Requests.ts"

const most = 200
const otherwise = 50

export const layer = HttpApiBuilder.group(
  ServedApi,
  "templateIndex",
  Effect.fnUntraced(function* (handlers) {
    const history = yield* ChangeHistory
    const index = yield* TemplateIndex
    const organizations = yield* Organizations
    const templates = yield* Templates
    const traffic = yield* Traffic

    return handlers
      .handleRaw("findTemplates", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const asked = query(request)
          const limit = limitOf(asked, most, otherwise)
          const which = whichOf(asked)
          const search = asked.get("search") ?? ""
          const after = asked.get("after") ?? ""
          const faults: ReadonlyArray<Fault> = [
            ...(Result.isFailure(limit) ? [limit.failure] : []),
            ...(Result.isFailure(which) ? [which.failure] : []),
            ...(search.length > 200 || !isStorable(search)
              ? [{ pointer: "search", detail: "must be up to 200 characters of well-formed Unicode without NUL" }]
              : []),
            ...(isStorable(after) ? [] : [{ pointer: "after", detail: "must be the `next` of a page" }]),
          ]
          if (Result.isFailure(limit) || Result.isFailure(which) || faults.length > 0) return yield* invalid(faults)
          // One more than asked for tells whether there is a next page.
          const found = yield* index.list(org, { search, after, limit: limit.success + 1, which: which.success })
          const page = found.slice(0, limit.success)
          const days = yield* traffic.daily(org, page.map(({ id }) => id))
          return {
            templates: page.map(({ archivedAt, updatedAt, ...template }) => ({
              ...template,
              updated_at: updatedAt,
              archived_at: archivedAt,
              decisions: days.get(template.id) ?? [],
            })),
            next: found.length > page.length ? page.at(-1)!.id : null,
          }
        }).pipe(toProblems))
      .handleRaw("templateHistory", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { id } = yield* templates.get(org, lookedUp(params.template))
          const asked = query(request)
          const limit = limitOf(asked, most, otherwise)
          const before = asked.get("before") === null ? undefined : Number(asked.get("before"))
          const faults: ReadonlyArray<Fault> = [
            ...(Result.isFailure(limit) ? [limit.failure] : []),
            ...(before === undefined || (Number.isSafeInteger(before) && before >= 0)
              ? []
              : [{ pointer: "before", detail: "must be the `next` of a page" }]),
          ]
          if (Result.isFailure(limit) || faults.length > 0) return yield* invalid(faults)
          const changes = yield* history.ofTemplate(org, id, { before, limit: limit.success })
          return { changes, next: changes.length < limit.success ? null : changes.at(-1)!.id }
        }).pipe(toProblems))
  }),
)
