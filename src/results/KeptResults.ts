import { Cache, Clock, Context, Duration, Effect, Exit, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Template } from "../domain/Template.ts"
import { version } from "../domain/Version.ts"
import { Models } from "../learning/Models.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { Results } from "./Results.ts"
import type { ResultsOptions } from "./ResultsOptions.ts"
import { Series } from "./Series.ts"
import { comparedIn, type TimedTemplateResults } from "./TemplateResults.ts"
import type { TemplateSeries } from "./TemplateSeries.ts"
import * as Json from "../domain/Json.ts"

// Results of a busy template take a second of arithmetic and queries. Pages therefore show the last ones while newer ones are made.

/** Fewest decisions of results that are shown again. Results of fewer are made quickly, and change with every event. */
export const leastDecisions = 2_000

/** How long results are new: pages that renew at once share one query. Unit: milliseconds. */
const newFor = 4_000

/** How long newer results wait for the page that showed the last ones. A live page renews itself after five seconds. */
const madeAfter = Duration.millis(300)

/** Most results in the memory of a node, over all templates, windows and segments. */
const mostKept = 100

/** A row is written at most this often. Unit: milliseconds. */
const writtenEvery = 60_000

/** Results that are prepared are made again once they are as old. Unit: milliseconds. */
const preparedEvery = 3_600_000

/** Templates of an organization that are prepared at most: those with most decisions lately. */
const mostPrepared = 20

/** Results and series of a template, as the API shows them. */
export interface PageResults {
  readonly found: TimedTemplateResults
  readonly over: TemplateSeries
}

/** An answer with the time of its making, Unix milliseconds. */
export interface KeptAnswer extends PageResults {
  readonly madeAt: number
}

interface Asked {
  readonly org: OrgSlug
  readonly template: string
  readonly revision: number
  readonly lookbackDays: number | undefined
  readonly offsetDays: number | undefined
  /** JSON of pairs of attribute and value. */
  readonly segment: string
}

/** Whether results are of all decisions under the model in use. Only these are stored. */
const isDefault = ({ lookbackDays, offsetDays, segment }: Asked) =>
  lookbackDays === undefined && offsetDays === undefined && segment === "[]"

const askedOf = (
  org: OrgSlug,
  { id, revision }: Pick<Template, "id" | "revision">,
  { lookbackDays, offsetDays, segment }: ResultsOptions,
): Asked => ({ org, template: id, revision, lookbackDays, offsetDays, segment: JSON.stringify([...segment ?? []]) })

/** The last answers in memory, by question. The answer that was set first goes first. */
class LastAnswers {
  readonly #answers = new Map<string, KeptAnswer>()

  get(asked: Asked): KeptAnswer | undefined {
    return this.#answers.get(JSON.stringify(Object.values(asked)))
  }

  set(asked: Asked, answer: KeptAnswer): void {
    const key = JSON.stringify(Object.values(asked))
    this.#answers.delete(key)
    this.#answers.set(key, answer)
    if (this.#answers.size > mostKept) this.#answers.delete(this.#answers.keys().next().value!)
  }
}

/** The stored answers of templates, one each. */
const storedAnswers = (sql: SqlClient.SqlClient) => {
  /** The answer to a question; undefined if none is stored, or it is of another revision or release. */
  const read = ({ org, revision, template }: Asked) =>
    Effect.map(
      sql<{ answer: PageResults; madeAt: Date }>`
        SELECT k.answer, k.made_at FROM kept_results k
        WHERE k.org_slug = ${org} AND k.template_id = ${template} AND k.revision = ${revision} AND k.release = ${version}`,
      ([row]): KeptAnswer | undefined =>
        // An answer of an earlier build of the same release may lack the health of the test.
        row?.answer.found.health === undefined ? undefined : { ...row.answer, madeAt: row.madeAt.getTime() },
    )

  const write = ({ org, revision, template }: Asked, { found, madeAt, over }: KeptAnswer) =>
    sql`
      INSERT INTO kept_results AS k (org_slug, template_id, revision, release, made_at, answer)
      VALUES (${org}, ${template}, ${revision}, ${version}, ${new Date(madeAt)},
        ${JSON.stringify({ found, over })}::text::json)
      ON CONFLICT (org_slug, template_id) DO UPDATE SET revision = EXCLUDED.revision, release = EXCLUDED.release,
        made_at = EXCLUDED.made_at, answer = EXCLUDED.answer
      WHERE k.made_at <= EXCLUDED.made_at`

  /** Of some templates with their revisions: those without an answer made since `since`. */
  const missing = (org: OrgSlug, templates: ReadonlyArray<Pick<Template, "id" | "revision">>, since: number) =>
    Effect.map(
      sql<{ templateId: string; revision: number }>`
        SELECT k.template_id, k.revision::float8 AS revision FROM kept_results k
        WHERE k.org_slug = ${org} AND k.template_id = ANY(${templates.map(({ id }) => id)}::text[])
          AND k.release = ${version} AND k.made_at > ${new Date(since)}`,
      (rows) => {
        const there = new Map(rows.map(({ revision, templateId }) => [templateId, revision]))
        return templates.filter(({ id, revision }) => there.get(id) !== revision)
      },
    )

  return { read, write, missing }
}

/**
 * Results for pages. Of a template with many decisions they are the last ones, while newer ones are made for the next
 * view. Results of another revision of the template are never shown. The API uses `Results` and `Series`, which always make
 * them anew.
 */
export class KeptResults extends Context.Service<KeptResults, {
  /**
   * The results of a template. Those of at least 2,000 decisions may be as old as the last view or preparation; others are
   * at most 4 seconds old. Fails with `TemplateNotFound` if the template was removed a moment ago.
   */
  readonly of: (
    org: OrgSlug,
    template: Pick<Template, "id" | "revision">,
    options: ResultsOptions,
  ) => Effect.Effect<KeptAnswer, TemplateNotFound>
  /**
   * Makes the results of an organization's busiest templates in the background where none of the last hour are stored, so that the
   * first view of each is quick. Returns at once, and looks once a minute at most.
   */
  readonly prepare: (org: OrgSlug) => Effect.Effect<void>
}>()("parlance/results/KeptResults") {
  static readonly layer = Layer.effect(
    KeptResults,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const results = yield* Results
      const series = yield* Series
      const models = yield* Models
      const templateCache = yield* TemplateCache
      const scope = yield* Effect.scope
      const stored = storedAnswers(sql)
      const last = new LastAnswers()
      const written = new Map<string, number>()
      const preparing = yield* Semaphore.make(1)
      const preparedAt = new Map<string, number>()

      const store = Effect.fnUntraced(function* (asked: Asked, answer: KeptAnswer) {
        const key = JSON.stringify([asked.org, asked.template, asked.revision])
        if (!isDefault(asked) || answer.madeAt - (written.get(key) ?? 0) < writtenEvery) return
        written.set(key, answer.madeAt)
        if (written.size > 10 * mostKept) written.delete(written.keys().next().value!)
        yield* Effect.catch(
          stored.write(asked, answer),
          (error) => Effect.logDebug("Results were not stored for the next view", error.message),
        )
      })

      const make = Effect.fnUntraced(function* (asked: Asked) {
        const { org, segment, template, lookbackDays, offsetDays } = asked
        const options = {
          lookbackDays,
          offsetDays,
          segment: new Map(Json.parseStored(segment) as ReadonlyArray<[string, string]>),
        }
        const madeAt = yield* Clock.currentTimeMillis
        const made = yield* Effect.all({
          found: results.results(org, template, options),
          over: series.series(org, template, options),
        }, { concurrency: 2 })
        // Of many variants, those that the first line compares may have too few decisions to be among the most used ones.
        const named = comparedIn(made.found)
        const over = made.over.left_out === 0 || named.every((id) => made.over.variants.includes(id))
          ? made.over
          : yield* series.series(org, template, options, named)
        const answer = { found: made.found, over, madeAt }
        if (made.found.decisions >= leastDecisions) {
          last.set(asked, answer)
          yield* Effect.forkIn(store(asked, answer), scope)
        }
        return answer
      })

      const shared = yield* Cache.makeWith(make, {
        capacity: mostKept,
        timeToLive: (exit) => Duration.millis(Exit.isSuccess(exit) ? newFor : 0),
      })

      const lastOf = (asked: Asked) => {
        const known = last.get(asked)
        return known !== undefined || !isDefault(asked)
          ? Effect.succeed(known)
          : Effect.catch(stored.read(asked), () => Effect.succeed(undefined))
      }

      const of = Effect.fn("KeptResults.of")(function* (
        org: OrgSlug,
        template: Pick<Template, "id" | "revision">,
        options: ResultsOptions,
      ) {
        const asked = askedOf(org, template, options)
        const known = yield* lastOf(asked)
        if (known === undefined) return yield* Cache.get(shared, asked)
        const isNew = (yield* Clock.currentTimeMillis) - known.madeAt < newFor
        // Later, so that the page that shows the last results has the processor first.
        if (!isNew) yield* Effect.forkIn(Effect.delay(Cache.get(shared, asked), madeAfter), scope)
        return known
      })

      const sendsOf = (org: OrgSlug, template: string) =>
        models.latest(org, template)?.model.traffic.reduce((sum, { sends }) => sum + sends, 0) ?? 0

      const prepareNow = Effect.fnUntraced(function* (org: OrgSlug) {
        const busiest = [...templateCache.templates(org).values()]
          .map(({ id, revision }) => ({ id, revision, sends: sendsOf(org, id) }))
          .filter(({ sends }) => sends >= leastDecisions)
          .sort((a, b) => b.sends - a.sends)
          .slice(0, mostPrepared)
        const since = (yield* Clock.currentTimeMillis) - preparedEvery
        for (const template of yield* stored.missing(org, busiest, since)) {
          yield* Cache.get(shared, askedOf(org, template, {}))
        }
      })

      const prepare = Effect.fn("KeptResults.prepare")(function* (org: OrgSlug) {
        const now = yield* Clock.currentTimeMillis
        if (now - (preparedAt.get(org) ?? 0) < writtenEvery) return
        preparedAt.set(org, now)
        // One at a time: requests for content have the rest of the machine.
        yield* preparing.withPermits(1)(prepareNow(org)).pipe(
          Effect.catchCause((cause) => Effect.logDebug("Results were not prepared", cause)),
          Effect.forkIn(scope),
        )
      })

      return KeptResults.of({ of, prepare })
    }),
  )
}
