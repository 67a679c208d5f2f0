import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import { isSandbox } from "../domain/Sandbox.ts"
import { recordset } from "../store/Recordset.ts"
import { type Answer, failuresOf } from "./Answer.ts"
import { countOutcome, showFailures } from "./OutcomeCount.ts"

/** Renderings of a variant in the current and the previous hour. */
export interface VariantRendering {
  readonly templateId: string
  readonly copyId: string
  readonly requests: number
  readonly failed: number
  /** The variable of the latest failure. */
  readonly variable: string
}

/** Counts of one variant in an hour, and the part of them that is stored. */
interface Counted {
  requests: number
  failed: number
  variable: string
  storedRequests: number
  storedFailed: number
}

type Counts = Map<string, Map<string, Map<string, Counted>>>

const columns = {
  org_slug: "text",
  template_id: "text",
  copy_id: "text",
  hour: "float8",
  requests: "bigint",
  failed: "bigint",
  variable: "text",
} as const

const countedOf = (counts: Counts, org: string, template: string, copy: string): Counted => {
  let templates = counts.get(org)
  if (templates === undefined) counts.set(org, templates = new Map())
  let variants = templates.get(template)
  if (variants === undefined) templates.set(template, variants = new Map())
  let counted = variants.get(copy)
  if (counted === undefined) {
    variants.set(copy, counted = { requests: 0, failed: 0, variable: "", storedRequests: 0, storedFailed: 0 })
  }
  return counted
}

/** Returns the variants with failures whose counts have grown. */
const grownOf = (counts: Counts) =>
  [...counts].flatMap(([org, templates]) =>
    [...templates].flatMap(([template, variants]) =>
      [...variants].flatMap(([copy, counted]) =>
        counted.failed > 0 && counted.requests > counted.storedRequests ? [{ org, template, copy, counted }] : []
      )
    )
  )

/**
 * Outcomes of requests, and numbers of failed renderings by variant. Counted in memory by hour, and written for
 * variants with failures: a crash loses the counts since the last write. Excludes requests of sandboxes.
 */
export class RenderingCounts extends Context.Service<RenderingCounts, {
  /** Counts the outcome of a request for a template, and returns it. */
  readonly count: <A extends Answer>(org: string, template: string, answer: A) => A
  /** Writes the counts. Fails with `SqlError` if the database does not respond. */
  readonly flush: Effect.Effect<void, SqlError>
  /**
   * Returns the variants with failures in the current or the previous hour, by organization, from the written counts of
   * all nodes. Fails with `SqlError` if the database does not respond.
   */
  readonly recent: (
    orgs: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<VariantRendering>>, SqlError>
  /** Deletes counts older than a day. Fails with `SqlError` if the database does not respond. */
  readonly prune: Effect.Effect<void, SqlError>
}>()("parlance/decide/RenderingCounts") {
  static readonly layer = Layer.effect(
    RenderingCounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      yield* showFailures
      let hour = 0
      let counts: Counts = new Map()
      /** Counts of earlier hours that are not stored yet. */
      let earlier: Array<{ readonly hour: number; readonly counts: Counts }> = []

      const current = (): Counts => {
        const now = Math.floor(clock.currentTimeMillisUnsafe() / hourMillis) * hourMillis
        if (now !== hour) {
          if (grownOf(counts).length > 0) earlier.push({ hour, counts })
          hour = now
          counts = new Map()
        }
        return counts
      }

      const count = <A extends Answer>(org: string, template: string, answer: A): A => {
        countOutcome(answer)
        if (isSandbox(org)) return answer
        if (answer._tag === "Chosen") countedOf(current(), org, template, answer.copyId).requests++
        for (const { copyId, faults } of failuresOf(answer)) {
          if (copyId === null) continue
          const counted = countedOf(current(), org, template, copyId)
          counted.requests++
          counted.failed++
          counted.variable = faults[0]?.variable ?? ""
        }
        return answer
      }

      const write = Effect.fnUntraced(function* (at: number, some: Counts) {
        const grown = grownOf(some).map((one) => ({
          ...one,
          requests: one.counted.requests,
          failed: one.counted.failed,
        }))
        if (grown.length === 0) return
        const rows = grown.map(({ copy, counted, failed, org, requests, template }) => ({
          org_slug: org,
          template_id: template,
          copy_id: copy,
          hour: at,
          requests: requests - counted.storedRequests,
          failed: failed - counted.storedFailed,
          variable: counted.variable,
        }))
        // Sorted in one order on all nodes, because they write to shared rows and could deadlock.
        yield* sql`
          INSERT INTO rendering_hours AS h (org_slug, template_id, copy_id, hour, requests, failed, variable)
          SELECT r.org_slug, r.template_id, r.copy_id, to_timestamp(r.hour / 1000), r.requests, r.failed, r.variable
          FROM ${recordset(rows, columns)} ORDER BY 1, 2, 3
          ON CONFLICT (org_slug, template_id, copy_id, hour) DO UPDATE SET requests = h.requests + EXCLUDED.requests,
            failed = h.failed + EXCLUDED.failed, variable = EXCLUDED.variable`
        for (const { counted, failed, requests } of grown) {
          counted.storedRequests = requests
          counted.storedFailed = failed
        }
      })

      const flush = Effect.suspend(() => {
        const now = current()
        const before = earlier
        return Effect.forEach([...before, { hour, counts: now }], (one) => write(one.hour, one.counts), {
          discard: true,
        })
          .pipe(Effect.tap(() => Effect.sync(() => earlier = earlier.filter((one) => !before.includes(one)))))
      })

      const recent = (orgs: ReadonlyArray<string>) =>
        Effect.map(
          sql<VariantRendering & { readonly orgSlug: string }>`
          SELECT h.org_slug, h.template_id, h.copy_id, sum(h.requests)::float8 AS requests, sum(h.failed)::float8 AS failed,
            (array_agg(h.variable ORDER BY h.hour DESC))[1] AS variable
          FROM rendering_hours h
          WHERE h.org_slug = ANY(${orgs}::text[]) AND h.hour >= to_timestamp(${
            Math.floor(clock.currentTimeMillisUnsafe() / hourMillis) * 3600 - 3600
          })
          GROUP BY h.org_slug, h.template_id, h.copy_id ORDER BY h.org_slug, h.template_id, h.copy_id`,
          (rows) => Map.groupBy(rows, ({ orgSlug }) => orgSlug),
        )

      const prune = Effect.asVoid(sql`DELETE FROM rendering_hours h WHERE h.hour < now() - interval '1 day'`)

      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(flush, "2 seconds")))
      return RenderingCounts.of({ count, flush, prune, recent })
    }),
  )
}
