import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ReadOwnTargets } from "../tracking/ReadOwnTargets.ts"

/** Resolves tracked links to the targets that are stored with their messages. */
export const layerStoredTargets = Layer.effect(
  ReadOwnTargets,
  Effect.map(SqlClient.SqlClient, (sql) => (org, id) =>
    Effect.map(
      sql<{ links: ReadonlyArray<string> | null }>`
        SELECT d.links FROM deliveries d WHERE d.org_slug = ${org} AND d.id = ${id}`,
      ([row]) => row?.links,
    )),
)
