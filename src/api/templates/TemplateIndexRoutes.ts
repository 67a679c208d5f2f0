import { Effect, Layer, Result } from "effect"
import { Buffer } from "node:buffer"
import { HttpApiBuilder } from "effect/http-api"
import { ChangeHistory } from "../../accounts/ChangeHistory.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import * as Parameters from "../server/Parameters.ts"
import { existing, lookedUp, toProblems } from "../server/Requests.ts"
import type { FoundTemplate } from "./TemplateIndexApi.ts"
import { TemplateListing, type TemplatesPage } from "./TemplateListing.ts"
import { type ListedTemplate, problemKinds, stateOf, templateStates } from "./TemplateListShape.ts"
import * as Json from "../../domain/Json.ts"

const most = 200
const otherwise = 50

const sorts = ["id", "name", "state", "decisions", "goal", "winner", "failing", "tag", "owner", "changed"] as const

const short = Parameters.text(
  "must be up to 200 characters of well-formed Unicode without NUL",
  ({ length }) => length <= 200,
)

/** The cursor of a page: its last row, with its value in the sort. */
const cursor: Parameters.Parameter<{ readonly id: string; readonly after: string | null } | undefined> = (given) => {
  if (given === undefined) return Result.succeed(undefined)
  try {
    const [id, after] = Json.parse(Buffer.from(given, "base64url").toString()) as ReadonlyArray<unknown>
    if (typeof id === "string" && (after === null || typeof after === "string")) return Result.succeed({ id, after })
  } catch {
    // Refused below.
  }
  return Result.fail("must be the `next` of a page")
}

const nextOf = ({ asked, hasMore, rows, shape }: TemplatesPage): string | null => {
  const last = rows.at(-1)
  if (!hasMore || last === undefined) return null
  const value = shape.sorts[asked.sort]!.valueOf(last)
  return Buffer.from(JSON.stringify([last.id, value === null ? null : `${value}`])).toString("base64url")
}

const foundOf = (template: ListedTemplate): FoundTemplate => ({
  id: template.id,
  name: template.name,
  objective: template.objective,
  tags: template.tags,
  owner: template.owner === null ? null : { email: template.owner, name: template.ownerName },
  updated_at: template.updatedAt,
  archived_at: template.archivedAt,
  variants: template.variants,
  active: template.active,
  state: stateOf(template),
  winner: template.winner === null ? null : { copy_id: template.winner.copyId, since: template.winner.since },
  failing: template.failing,
  failed_deliveries: template.failed,
  repeated_tracking_ids: template.repeatedIds,
  unfilled_requests: template.unfilled,
  decisions: template.days,
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "templateIndex",
  Effect.fnUntraced(function* (handlers) {
    const history = yield* ChangeHistory
    const listing = yield* TemplateListing
    const organizations = yield* Organizations
    const templates = yield* Templates

    return handlers
      .handleRaw("findTemplates", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { after, archived, limit, order, search = "", sort = "id", ...filters } = yield* Parameters.parameters(
            request,
            {
              limit: Parameters.limit(most, otherwise),
              archived: Parameters.archived,
              search: short,
              after: cursor,
              state: Parameters.oneOf(templateStates),
              goal: Parameters.oneOf(["click", "open", "conversion", "mix"]),
              tag: short,
              owner: short,
              winner: Parameters.oneOf(["found", "none"]),
              failing: Parameters.oneOf(problemKinds),
              sort: Parameters.oneOf(sorts),
              order: Parameters.oneOf(["asc", "desc"]),
            },
          )
          const page = yield* listing.page(org, archived, limit, ({ sorts }) => ({
            search,
            filters: Object.fromEntries(
              Object.entries(filters).flatMap(([name, value]) =>
                value === undefined ? [] : [[name, name === "owner" ? value.toLowerCase() : value]]
              ),
            ),
            sort,
            descending: order === undefined ? sorts[sort]!.descending : order === "desc",
            cursor: after,
          }))
          return { templates: page.rows.map(foundOf), next: nextOf(page) }
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
).pipe(Layer.provide(TemplateListing.layer))
