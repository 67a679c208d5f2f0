import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Snippets } from "../../templates/Snippets.ts"
import { managed } from "../http/Managed.ts"
import { baseOf } from "./DraftRoutes.ts"

/** Serves `SnippetsGroup`. */
export const layer = managed(
  "snippets",
  Effect.gen(function* () {
    const snippets = yield* Snippets
    return {
      listSnippets: ({ org }) => Effect.map(snippets.list(org), (all) => ({ snippets: all })),
      getSnippet: ({ org, params }) => snippets.get(org, params.snippet),
      checkSnippet: ({ body, org, params }) =>
        Effect.map(snippets.check(org, params.snippet, body), (templates) => ({ templates })),
      saveSnippet: ({ body, org, params, request }) =>
        Effect.map(
          snippets.save(org, params.snippet, body, { base: baseOf(request) }),
          ({ isProposed, snippet }) => isProposed ? HttpServerResponse.jsonUnsafe(snippet, { status: 202 }) : snippet,
        ),
      deleteSnippet: ({ org, params }) => snippets.remove(org, params.snippet),
      listSnippetVersions: ({ org, params }) =>
        Effect.map(snippets.versions(org, params.snippet), (versions) => ({ versions })),
      getSnippetVersion: ({ org, params }) => snippets.version(org, params.snippet, params.version),
      approveSnippet: ({ actor, body, org, params }) => snippets.approve(org, params.snippet, body, actor),
      dismissSnippet: ({ actor, org, params }) => snippets.dismiss(org, params.snippet, actor),
    }
  }),
)
