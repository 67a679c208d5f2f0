import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ModelSnapshot } from "../bandit/Model.ts"
import { defaultFloor } from "../bandit/Policy.ts"
import { firstBucketFrom, keptMillis, windowBounds } from "../bandit/Window.ts"
import { noticed, RequestNotices } from "../decide/RequestNotices.ts"
import { timing } from "../sendtime/Timing.ts"
import type { TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Objective } from "../domain/Template.ts"
import { readHoldouts } from "../learning/HoldoutTallies.ts"
import { type LearningWindow, learningWindow } from "../domain/LearningWindow.ts"
import { Learning } from "../learning/Learning.ts"
import { readPropensities } from "../learning/PropensityTallies.ts"
import { Store } from "../store/Store.ts"
import { countsOf } from "../learning/TallyReports.ts"
import type { TemplateOutline } from "../templates/TemplateContent.ts"
import { Templates } from "../templates/Templates.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { exposureEffects } from "./ExposureEffects.ts"
import { healthOf, heldBack } from "./Health.ts"
import { holdoutResults } from "./HoldoutResults.ts"
import type { ResultsOptions } from "./ResultsOptions.ts"
import { ResultsWorker } from "./ResultsWorker.ts"
import type { TimedTemplateResults, WinnerResults } from "./TemplateResults.ts"
import { healthFacts } from "./HealthFacts.ts"
import { pairOf, withoutModel } from "./WithoutModel.ts"

/** Returns the requested window, or undefined for the adaptive mode. */
export const windowOf = ({ lookbackDays, offsetDays }: ResultsOptions): LearningWindow | undefined =>
  lookbackDays === undefined && offsetDays === undefined ? undefined : learningWindow(lookbackDays, offsetDays)

/** The holdout of a template that this node has not loaded yet. */
const nobody = { share: 0, content: "even" } as const

/**
 * Results of a template's variants: counts, rates with intervals, the best variant and its lift, in all and by segment.
 * Without a window, uses the adaptive model and counts of the last 180 days. A broken store is a defect.
 */
export class Results extends Context.Service<Results, {
  /** Returns the results of a template. Fails with `TemplateNotFound` for an unknown template. */
  readonly results: (
    org: OrgSlug,
    template: string,
    options: ResultsOptions,
  ) => Effect.Effect<TimedTemplateResults, TemplateNotFound>
}>()("parlance/results/Results") {
  static readonly layer = Layer.effect(
    Results,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const templates = yield* Templates
      const templateCache = yield* TemplateCache
      const learning = yield* Learning
      const worker = yield* ResultsWorker
      const notices = yield* RequestNotices

      const count = (org: OrgSlug, template: string, from: Date, to: Date) =>
        Effect.orDie(countsOf(sql, org, template, { from, to }))

      /** Compares the first two variants without a model. Null without enough data. */
      const compareAlone = Effect.fnUntraced(function* (
        org: OrgSlug,
        template: string,
        objective: Objective,
        winner: WinnerResults,
        since: Date,
      ) {
        const pair = pairOf(winner)
        if (pair === undefined) return null
        const [ours, theirs] = pair
        const counts = yield* Effect.orDie(readPropensities(sql, org, template, pair, since))
        const found = yield* worker.pair({ ours, theirs, objective, counts })
        return found === null ? null : withoutModel(pair, found)
      })

      const results = Effect.fn("Results.results")(function* (org: OrgSlug, id: string, options: ResultsOptions) {
        const template = yield* templates.outline(org, id)
        yield* worker.start
        const model = yield* learning.model(org, template.id, windowOf(options))
        // The model of a window has no verdict. The verdict is stored with the model of all decisions.
        const verdict = model.verdict ?? (yield* learning.model(org, template.id, undefined)).verdict
        return yield* store.read(resultsOf(org, template, model, verdict, options))
      })

      const resultsOf = Effect.fnUntraced(function* (
        org: OrgSlug,
        template: TemplateOutline,
        model: ModelSnapshot,
        verdict: ModelSnapshot["verdict"],
        options: ResultsOptions,
      ) {
        const nowMillis = yield* Clock.currentTimeMillis
        // The model includes a bucket if its start after the roll-up is in the window. These bounds select rows that
        // are not rolled up yet by that start too.
        const { from, to } = windowBounds(model.window, nowMillis)
        const rows = yield* count(
          org,
          template.id,
          new Date(firstBucketFrom(from, nowMillis)),
          new Date(firstBucketFrom(to, nowMillis)),
        )
        const view = templateCache.template(org, template.id)
        const eligible = new Set<string>()
        for (const { active, id } of template.variants) {
          // A variant just created on another node is not in the view yet.
          const seen = view?.variantsById.get(id)
          if (seen === undefined ? active : seen.active && seen.calendar.holds(nowMillis)) eligible.add(id)
        }
        const composed = yield* worker.results({
          template: {
            id: template.id,
            objective: template.objective,
            sendsNothing: template.send_nothing,
            variants: template.variants.map(({ active, components, id, name, targeting }) => ({
              active,
              components,
              id,
              name,
              targeting,
            })),
          },
          eligible,
          floor: view?.org.explorationFloor ?? defaultFloor,
          runnerUpFloor: view?.runnerUpFloor ?? 0,
          model,
          verdict,
          rows,
          segment: options.segment ?? new Map(),
          nowMillis,
        })
        const { objective } = template
        const since = new Date(Math.max(verdict?.evidenceFrom ?? 0, nowMillis - keptMillis))
        const alone = yield* compareAlone(org, template.id, objective, composed.winner, since)
        const window = [new Date(from), new Date(to)] as const
        const health = healthOf(
          yield* Effect.orDie(
            Effect.flatMap(
              notices.recent(org),
              (recent) =>
                healthFacts(sql, org, template, composed, { from, to }, {
                  nowMillis,
                  repeats: noticed(recent, "repeated", template.id)?.requests ?? 0,
                }),
            ),
          ),
        )
        return {
          ...composed,
          winner: heldBack(composed.winner, health, alone),
          without_model: alone,
          health,
          timing: yield* Effect.orDie(timing(sql, org, template.id, ...window)),
          holdout: holdoutResults(
            view?.holdout ?? template.holdout ?? nobody,
            yield* Effect.orDie(readHoldouts(sql, org, template.id, ...window)),
            template.objective,
          ),
          fatigue: exposureEffects(model),
        }
      })

      return Results.of({ results })
    }),
  )
}
