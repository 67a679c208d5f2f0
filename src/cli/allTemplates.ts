import { Effect } from "effect"
import type { Template } from "../domain/Template.ts"
import { ManagementClient } from "./Connection.ts"

/** Templates of an organization, page by page. */
export const allTemplates = Effect.fnUntraced(function* (org: string, archived: "false" | "true" | "all") {
  const client = yield* ManagementClient
  const all: Array<Template> = []
  let cursor: string | undefined
  do {
    const page = yield* client.templates.listTemplates({
      params: { org },
      query: { archived, limit: "1000", ...(cursor === undefined ? {} : { after: cursor }) },
    })
    all.push(...page.templates)
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return all
})
