import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import type { CompiledSource } from "../checking/Checks.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { mjmlSources, type Template } from "../domain/Template.ts"
import { recordset } from "../store/Recordset.ts"

// The HTML of MJML sources. A row belongs to a text, and not to a variant, so that every way to change a variant finds it.

const digestOf = (source: string): string => hash("sha256", source)

/**
 * Stores the HTML of checked sources, before the transaction that saves their variants. Deletes rows of the
 * organization that have been without a variant and an open proposal for a day.
 */
export const keepCompiled = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient, org: OrgSlug, compiled: ReadonlyArray<CompiledSource>) {
    if (compiled.length === 0) return
    const rows = [
      ...new Map(compiled.map(({ html, source }) => [digestOf(source), { digest: digestOf(source), html }])).values(),
    ]
    yield* sql`
      INSERT INTO compiled_sources AS c (org_slug, digest, html, checked_at)
      SELECT ${org}::text, decode(r.digest, 'hex'), r.html, now()
      FROM ${recordset(rows, { digest: "text", html: "text" })}
      ORDER BY r.digest
      ON CONFLICT (org_slug, digest) DO UPDATE SET html = excluded.html, checked_at = excluded.checked_at`
    yield* sql`
      DELETE FROM compiled_sources c
      WHERE c.org_slug = ${org} AND c.checked_at < now() - interval '1 day' AND c.digest NOT IN (
        SELECT sha256(convert_to(x.value, 'UTF8')) FROM variants v, json_each_text(v.vars) x
        WHERE v.org_slug = ${org} AND v.formats ->> x.key = 'mjml'
        UNION ALL
        SELECT sha256(convert_to(x.value, 'UTF8'))
        FROM variants v, json_each(v.locales) l, json_each_text(l.value) x
        WHERE v.org_slug = ${org} AND v.formats ->> x.key = 'mjml'
        UNION ALL
        SELECT sha256(convert_to(x.value, 'UTF8'))
        FROM template_proposals p, json_array_elements(p.proposed -> 'variants') w, json_each(w -> 'locales') l,
          json_each_text(l.value) x
        WHERE p.org_slug = ${org} AND p.state = 'requested' AND w -> 'formats' ->> x.key = 'mjml'
        UNION ALL
        SELECT sha256(convert_to(x.value, 'UTF8'))
        FROM template_proposals p, json_array_elements(p.proposed -> 'variants') w, json_each_text(w -> 'vars') x
        WHERE p.org_slug = ${org} AND p.state = 'requested' AND w -> 'formats' ->> x.key = 'mjml')`
  },
  Effect.orDie,
)

/** Returns the HTML of the MJML of templates by its source. */
export const readCompiled = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient, org: OrgSlug, templates: ReadonlyArray<Template>) {
    const sources = new Map(
      templates.flatMap(({ variants }) =>
        variants.flatMap((one) => mjmlSources(one).map((source) => [digestOf(source), source] as const))
      ),
    )
    if (sources.size === 0) return new Map<string, string>()
    const rows = yield* sql<{ digest: string; html: string }>`
      SELECT encode(c.digest, 'hex') AS digest, c.html FROM compiled_sources c
      WHERE c.org_slug = ${org} AND c.digest IN (SELECT decode(d, 'hex') FROM unnest(${[...sources.keys()]}::text[]) d)`
    if (rows.length < sources.size) {
      const ids = templates.map(({ id }) => id).join(", ")
      yield* Effect.logError(`Templates of ${org} have MJML that is not compiled. Save their variants again: ${ids}`)
    }
    return new Map(rows.map(({ digest, html }) => [sources.get(digest)!, html]))
  },
)
