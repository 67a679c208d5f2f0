import { Effect, Layer } from "effect"
import { Buffer } from "node:buffer"
import { ChangeHistory } from "../../accounts/ChangeHistory.ts"
import { Templates } from "../../templates/Templates.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import { TemplateListing, type TemplatesPage } from "./TemplateListing.ts"
import { type ListedTemplate, stateOf } from "./TemplateListShape.ts"

const nextOf = ({ listQuery, hasMore, rows, shape }: TemplatesPage): string | null => {
  const last = rows.at(-1)
  if (!hasMore || last === undefined) return null
  const value = shape.sorts[listQuery.sort]!.valueOf(last)
  return Buffer.from(JSON.stringify([last.id, value === null ? null : `${value}`])).toString("base64url")
}

const foundOf = (template: ListedTemplate) => ({
  ...template,
  owner: template.owner === null ? null : { email: template.owner, name: template.ownerName },
  state: stateOf(template),
  failedDeliveries: template.failed,
  repeatedTrackingIds: template.repeatedIds,
  unfilledRequests: template.unfilled,
  decisions: template.days,
})

/** Serves `TemplateIndexGroup`. */
export const layer = managed(
  "templateIndex",
  Effect.gen(function* () {
    const history = yield* ChangeHistory
    const listing = yield* TemplateListing
    const templates = yield* Templates

    return {
      findTemplates: Effect.fnUntraced(function* ({ org, query }) {
        const { archived, cursor, limit, order, search = "", sort = "id", ...filters } = query
        const page = yield* listing.page(org, archived, limit, ({ sorts }) => ({
          search,
          filters: Object.fromEntries(
            Object.entries(filters).flatMap(([name, value]) =>
              value === undefined ? [] : [[name, name === "owner" ? value.toLowerCase() : value]]
            ),
          ),
          sort,
          descending: order === undefined ? sorts[sort]!.descending : order === "desc",
          cursor,
        }))
        return { templates: page.rows.map(foundOf), next: nextOf(page) }
      }),
      templateHistory: {
        inSteps: Effect.fnUntraced(function* ({ org: organization, params, query }) {
          const org = yield* organization
          const { id } = yield* templates.outline(org, params.template)
          const { cursor, limit } = yield* query
          const changes = (limit: number) => history.ofTemplate(org, id, { cursor, limit })
          const { next, page } = yield* pageOf(limit, changes)
          return { changes: page, next }
        }),
      },
    }
  }),
).pipe(Layer.provide(TemplateListing.layer))
