import { Context, Effect, Layer, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ModelSnapshot } from "../bandit/Model.ts"
import type { Policy } from "../bandit/Policy.ts"
import { recordset } from "../store/Recordset.ts"

/** A published model, and the policy that is created from it on first use. */
interface Published {
  readonly version: number
  readonly model: ModelSnapshot
  policy: Policy | undefined
}

/** Data that an actor publishes with a model, in one transaction. */
interface Publication {
  readonly org: string
  readonly template: string
  readonly version: number
  readonly model: ModelSnapshot
}

/**
 * Publications get their numbers before they commit, so a poll reads this many earlier numbers again to find late
 * commits.
 */
const overlap = 1000

/** Maximum number of models read by one statement. */
const page = 100

/**
 * The latest model of every template, in memory. The node that fits a model has it at once. Other nodes poll once a
 * second.
 */
export class Models extends Context.Service<Models, {
  /** Returns the latest model, or undefined before the first. */
  readonly latest: (org: string, template: string) => Published | undefined
  /**
   * Stores a model for all nodes. Call it inside a transaction. Returns false and writes nothing if another node has
   * published the version already. Fails with `SqlError` if the database does not respond.
   */
  readonly write: (publication: Publication) => Effect.Effect<boolean, SqlError>
  /** Uses a model for the decisions of this node. Call it after the transaction of `write`. */
  readonly adopt: (publication: Publication) => void
  /** Reads the models published by other nodes. Fails with `SqlError` if the database does not respond. */
  readonly poll: Effect.Effect<void, SqlError>
}>()("parlance/learning/Models") {
  static readonly layer = Layer.effect(
    Models,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const one = yield* Semaphore.make(1)
      const byOrg = new Map<string, Map<string, Published>>()
      let seen = 0

      const latest = (org: string, template: string) => byOrg.get(org)?.get(template)

      const adopt = ({ model, org, template, version }: Publication): void => {
        const templates = byOrg.getOrInsertComputed(org, () => new Map())
        const known = templates.get(template)
        if (known === undefined || known.version < version) {
          templates.set(template, { version, model, policy: undefined })
        }
      }

      const write = ({ model, org, template, version }: Publication) =>
        Effect.map(
          sql`
          INSERT INTO models (org_slug, template_id, version, publication, fitted_at, snapshot)
          VALUES (${org}, ${template}, ${version}, nextval('model_publications'), ${new Date(model.fittedAt)},
            ${JSON.stringify(model)}::text::json)
          ON CONFLICT (org_slug, template_id) DO UPDATE SET version = EXCLUDED.version,
            publication = EXCLUDED.publication, fitted_at = EXCLUDED.fitted_at, snapshot = EXCLUDED.snapshot
          WHERE models.version < EXCLUDED.version
          RETURNING 1 AS written`,
          (rows) => rows.length > 0,
        )

      const poll = one.withPermits(1)(Effect.gen(function* () {
        const rows = yield* sql<{ orgSlug: string; templateId: string; version: number; publication: number }>`
          SELECT m.org_slug, m.template_id, m.version::float8 AS version, m.publication::float8 AS publication
          FROM models m WHERE m.publication > ${seen - overlap}`
        const news = rows.filter(({ orgSlug, templateId, version }) =>
          (latest(orgSlug, templateId)?.version ?? 0) < version
        )
        for (let at = 0; at < news.length; at += page) {
          const keys = news.slice(at, at + page).map(({ orgSlug, templateId }) => ({
            org_slug: orgSlug,
            template_id: templateId,
          }))
          const found = yield* sql<{ orgSlug: string; templateId: string; version: number; snapshot: ModelSnapshot }>`
            SELECT m.org_slug, m.template_id, m.version::float8 AS version, m.snapshot FROM models m
            JOIN ${recordset(keys, { org_slug: "text", template_id: "text" })}
              ON m.org_slug = r.org_slug AND m.template_id = r.template_id`
          for (const { orgSlug, snapshot, templateId, version } of found) {
            adopt({ org: orgSlug, template: templateId, version, model: snapshot })
          }
        }
        for (const { publication } of rows) seen = Math.max(seen, publication)
      }))

      yield* poll
      yield* poll.pipe(
        Effect.catchCause((cause) => Effect.logDebug("Poll for models failed", cause)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.delay("1 second"),
        Effect.forkScoped,
      )

      return Models.of({ latest, write, adopt, poll })
    }),
  )
}
