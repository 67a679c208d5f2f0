import "../src/runtime/leakGuard.ts"
import { writeFileSync } from "node:fs"
import { Api } from "../src/api/Api.ts"

// Writes src/cli/Endpoints.ts: deno run -A --unstable-no-legacy-abort scripts/writeEndpoints.ts

/**
 * Returns the endpoints of the management API by group: method, path and, for bodies other than JSON, the media type.
 */
export const endpointsOf = (): Record<string, Record<string, string>> => {
  const groups: Record<string, Record<string, string>> = {}
  for (const [group, { endpoints }] of Object.entries(Api.groups)) {
    for (const [name, { method, path, payload }] of Object.entries(endpoints)) {
      if (!path.startsWith("/console/api/")) continue
      const media = [...payload.keys()].filter((type) => type !== "application/json")
      ;(groups[group] ??= {})[name] = [method, path, ...media].join(" ")
    }
  }
  return groups
}

if (import.meta.main) {
  writeFileSync(
    new URL("../src/cli/Endpoints.ts", import.meta.url),
    "// Written by scripts/writeEndpoints.ts. A test compares it with the API.\n\n" +
      "/** Endpoints of the management API: method, path and, for bodies other than JSON, the media type. */\n" +
      `export const endpoints = ${JSON.stringify(endpointsOf(), null, 2)} as const\n`,
  )
}
