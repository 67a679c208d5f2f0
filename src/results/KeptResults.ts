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
import * as Json from "../json/Json.ts"

// Results of a busy template need a second of arithmetic and queries. Pages therefore show the last results while newer
// ones are computed.

/**
 * Minimum number of decisions of cached results. Results of fewer decisions are computed quickly, and change with every
 * event.
 */
export const leastDecisions = 2_000

/** Age up to which results count as new, so that pages that refresh at once share one query. Unit: milliseconds. */
const newFor = 4_000

/**
 * Delay before newer results are computed after a page has received the last ones. A live page refreshes after five
 * seconds.
 */
const madeAfter = Duration.millis(300)

/** Maximum number of results in the memory of a node, over all templates, windows and segments. */
const mostKept = 100

/** Minimum interval between two writes of a row. Unit: milliseconds. */
const writtenEvery = 60_000

/** Age at which prepared results are computed again. Unit: milliseconds. */
const preparedEvery = 3_600_000

/** Maximum number of prepared templates of an organization: the templates with most recent decisions. */
const mostPrepared = 20

/** Results and series of a template, in the shape of the API's responses. */
export interface PageResults {
  readonly found: TimedTemplateResults
  readonly over: TemplateSeries
}

/** An answer with its time of computation (Unix milliseconds). */
interface KeptAnswer extends PageResults {
  readonly madeAt: number
}

interface PageRequest {
  readonly org: OrgSlug
  readonly template: string
  readonly revision: number
  readonly lookbackDays: number | undefined
  readonly offsetDays: number | undefined
  /** JSON of pairs of attribute and value. */
  readonly segment: string
}

/** Whether results cover all decisions under the model in use. Only such results are stored. */
const isDefault = ({ lookbackDays, offsetDays, segment }: PageRequest) =>
  lookbackDays === undefined && offsetDays === undefined && segment === "[]"

const requestOf = (
  org: OrgSlug,
  { id, revision }: Pick<Template, "id" | "revision">,
  { lookbackDays, offsetDays, segment }: ResultsOptions,
): PageRequest => ({
  org,
  template: id,
  revision,
  lookbackDays,
  offsetDays,
  segment: JSON.stringify([...segment ?? []]),
})

/** The last answers in memory, by request. The oldest answer is dropped first. */
class LastAnswers {
  readonly #answers = new Map<string, KeptAnswer>()

  get(request: PageRequest): KeptAnswer | undefined {
    return this.#answers.get(JSON.stringify(Object.values(request)))
  }

  set(request: PageRequest, answer: KeptAnswer): void {
    const key = JSON.stringify(Object.values(request))
    this.#answers.delete(key)
    this.#answers.set(key, answer)
    if (this.#answers.size > mostKept) this.#answers.delete(this.#answers.keys().next().value!)
  }
}

/** Access to the stored answers, at most one for each template. */
const storedAnswers = (sql: SqlClient.SqlClient) => {
  /** Returns the stored answer to a request. Undefined if there is no answer of this revision and release. */
  const read = ({ org, revision, template }: PageRequest) =>
    Effect.map(
      sql<{ answer: PageResults; madeAt: Date }>`
        SELECT k.answer, k.made_at FROM kept_results k
        WHERE k.org_slug = ${org} AND k.template_id = ${template} AND k.revision = ${revision} AND k.release = ${version}`,
      ([row]): KeptAnswer | undefined =>
        // Results of an earlier build of this release may lack their answer.
        row?.answer.found.answer === undefined ? undefined : { ...row.answer, madeAt: row.madeAt.getTime() },
    )

  const write = ({ org, revision, template }: PageRequest, { found, madeAt, over }: KeptAnswer) =>
    sql`
      INSERT INTO kept_results AS k (org_slug, template_id, revision, release, made_at, answer)
      VALUES (${org}, ${template}, ${revision}, ${version}, ${new Date(madeAt)},
        ${JSON.stringify({ found, over })}::text::json)
      ON CONFLICT (org_slug, template_id) DO UPDATE SET revision = EXCLUDED.revision, release = EXCLUDED.release,
        made_at = EXCLUDED.made_at, answer = EXCLUDED.answer
      WHERE k.made_at <= EXCLUDED.made_at`

  /** Returns the templates without a stored answer of their revision that was computed after `since`. */
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

/** Computes the results of a request, and the series of its variants. */
const computed = Effect.fnUntraced(function* (
  results: Results["Service"],
  series: Series["Service"],
  { lookbackDays, offsetDays, org, segment, template }: PageRequest,
) {
  const options = {
    lookbackDays,
    offsetDays,
    segment: new Map(Json.parseStored(segment) as ReadonlyArray<[string, string]>),
  }
  const madeAt = yield* Clock.currentTimeMillis
  const found = yield* results.results(org, template, options)
  // With many variants, the variants that the first line compares may not be among the variants with most decisions.
  const over = yield* series.series(org, template, options, comparedIn(found))
  return { found, over, madeAt }
})

/**
 * Results for pages. For a template with many decisions, pages get the last results while newer ones are computed for
 * the next view. Results of another revision of the template are never shown. The API uses `Results` and `Series`,
 * which always compute new results.
 */
export class KeptResults extends Context.Service<KeptResults, {
  /**
   * Returns the results of a template. Results of at least 2,000 decisions can be as old as the last view or
   * preparation. Other results are at most 4 seconds old. Fails with `TemplateNotFound` if the template has just been
   * removed.
   */
  readonly of: (
    org: OrgSlug,
    template: Pick<Template, "id" | "revision">,
    options: ResultsOptions,
  ) => Effect.Effect<KeptAnswer, TemplateNotFound>
  /**
   * Returns results that are at most 4 seconds old, however many decisions they have: for a decision, and for readers
   * whose page does not refresh. Errors as for `of`.
   */
  readonly newest: (
    org: OrgSlug,
    template: Pick<Template, "id" | "revision">,
    options: ResultsOptions,
  ) => Effect.Effect<KeptAnswer, TemplateNotFound>
  /** Returns the last results of a template with at least 2,000 decisions without computing any. Undefined without them. */
  readonly last: (
    org: OrgSlug,
    template: Pick<Template, "id" | "revision">,
  ) => Effect.Effect<KeptAnswer | undefined>
  /**
   * Computes the results of an organization's busiest templates in the background if no results of the last hour are
   * stored, so that the first view of each is quick. Returns at once. Checks at most once a minute.
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

      const store = Effect.fnUntraced(function* (request: PageRequest, answer: KeptAnswer) {
        const key = JSON.stringify([request.org, request.template, request.revision])
        if (!isDefault(request) || answer.madeAt - (written.get(key) ?? 0) < writtenEvery) return
        written.set(key, answer.madeAt)
        if (written.size > 10 * mostKept) written.delete(written.keys().next().value!)
        yield* Effect.catch(
          stored.write(request, answer),
          (error) => Effect.logDebug("Results were not stored for the next view", error.message),
        )
      })

      const make = Effect.fnUntraced(function* (request: PageRequest) {
        const answer = yield* computed(results, series, request)
        if (answer.found.decisions >= leastDecisions) {
          last.set(request, answer)
          yield* Effect.forkIn(store(request, answer), scope)
        }
        return answer
      })

      const shared = yield* Cache.makeWith(make, {
        capacity: mostKept,
        timeToLive: (exit) => Duration.millis(Exit.isSuccess(exit) ? newFor : 0),
      })

      const lastOf = (request: PageRequest) => {
        const known = last.get(request)
        return known !== undefined || !isDefault(request)
          ? Effect.succeed(known)
          : Effect.catch(stored.read(request), () => Effect.succeed(undefined))
      }

      const of = Effect.fn("KeptResults.of")(function* (
        org: OrgSlug,
        template: Pick<Template, "id" | "revision">,
        options: ResultsOptions,
      ) {
        const request = requestOf(org, template, options)
        const known = yield* lastOf(request)
        if (known === undefined) return yield* Cache.get(shared, request)
        const isNew = (yield* Clock.currentTimeMillis) - known.madeAt < newFor
        // Delayed, so that the page that shows the last results gets the processor first.
        if (!isNew) yield* Effect.forkIn(Effect.delay(Cache.get(shared, request), madeAfter), scope)
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
          yield* Cache.get(shared, requestOf(org, template, {}))
        }
      })

      const prepare = Effect.fn("KeptResults.prepare")(function* (org: OrgSlug) {
        const now = yield* Clock.currentTimeMillis
        if (now - (preparedAt.get(org) ?? 0) < writtenEvery) return
        preparedAt.set(org, now)
        // One at a time, so that requests for content get the rest of the processor.
        yield* preparing.withPermits(1)(prepareNow(org)).pipe(
          Effect.catchCause((cause) => Effect.logDebug("Results were not prepared", cause)),
          Effect.forkIn(scope),
        )
      })

      return KeptResults.of({
        of,
        newest: (org, template, options) => Cache.get(shared, requestOf(org, template, options)),
        prepare,
        last: (org, template) => lastOf(requestOf(org, template, {})),
      })
    }),
  )
}
