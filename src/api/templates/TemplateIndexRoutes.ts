import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ChangeHistory } from "../../accounts/ChangeHistory.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Traffic } from "../../results/Traffic.ts"
import { TemplateIndex } from "../../templates/TemplateIndex.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import * as Parameters from "../server/Parameters.ts"
import { existing, lookedUp, toProblems } from "../server/Requests.ts"

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
          const { after: cursor = "", archived, limit, search = "" } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(most, otherwise),
            archived: Parameters.archived,
            search: Parameters.text(
              "must be up to 200 characters of well-formed Unicode without NUL",
              ({ length }) => length <= 200,
            ),
            after: Parameters.cursor(),
          })
          // One more than asked for tells whether there is a next page.
          const found = yield* index.list(org, { search, cursor, limit: limit + 1, which: archived })
          const page = found.slice(0, limit)
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
          const { before: cursor, limit } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(most, otherwise),
            before: Parameters.numericCursor(),
          })
          const changes = yield* history.ofTemplate(org, id, { cursor, limit })
          return { changes, next: changes.length < limit ? null : changes.at(-1)!.id }
        }).pipe(toProblems))
  }),
)
