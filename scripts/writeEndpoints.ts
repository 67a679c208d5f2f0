import "../src/runtime/leakGuard.ts"
import type { Schema } from "effect"
import { writeFileSync } from "node:fs"
import { Api } from "../src/api/Api.ts"

// Writes src/cli/endpoints.json: deno run -A --unstable-no-legacy-abort scripts/writeEndpoints.ts

/** The words after the path of an endpoint: `json` or the media type of a body. None without a body. */
const bodyOf = (payload: ReadonlyMap<string, unknown>): ReadonlyArray<string> =>
  [...payload.keys()].map((type) => type === "application/json" ? "json" : type)

/** The names of the query's members. */
const queryOf = (query: Schema.Constraint | undefined): ReadonlyArray<string> =>
  query?.ast._tag === "Objects" ? query.ast.propertySignatures.map(({ name }) => String(name)) : []

/**
 * Returns the operations of the management API by name: method, path, and for a request with a body, its query and media
 * type.
 */
export const endpointsOf = (): Record<string, string> => {
  const operations: Record<string, string> = {}
  for (const { endpoints } of Object.values(Api.groups)) {
    for (const [name, { method, path, payload, query }] of Object.entries(endpoints)) {
      if (!path.startsWith("/console/api/")) continue
      const names = payload.size === 0 ? [] : queryOf(query)
      operations[name] = [
        method,
        path + names.map((one, i) => (i === 0 ? "?" : "&") + one).join(""),
        ...bodyOf(payload),
      ].join(" ")
    }
  }
  return operations
}

if (import.meta.main) {
  writeFileSync(
    new URL("../src/cli/endpoints.json", import.meta.url),
    `${JSON.stringify(endpointsOf(), null, 2)}\n`,
  )
}
