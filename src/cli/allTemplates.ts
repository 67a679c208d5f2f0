import { Effect } from "effect"
import { ManagementClient } from "./Connection.ts"
import { given } from "./Flags.ts"
import { allPages } from "./Pages.ts"

/** Templates of an organization, page by page. */
export const allTemplates = Effect.fnUntraced(function* (org: string, archived: "false" | "true" | "all") {
  const client = yield* ManagementClient
  return yield* allPages((cursor) =>
    Effect.map(
      client.listTemplates({ params: { org }, query: { archived, limit: "1000", ...given({ cursor }) } }),
      ({ next_cursor, templates }) => ({ items: templates, next_cursor }),
    )
  )
})
