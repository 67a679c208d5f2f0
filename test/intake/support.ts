import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layerServices } from "../../src/service/App.ts"
import { type Measure, type Track } from "../../src/bandit/Tally.ts"
import type { Decision, Mode } from "../../src/journal/decisions/Decision.ts"
import { DecisionLog } from "../../src/journal/decisions/DecisionLog.ts"
import type { CopyId, OrgSlug, TemplateId } from "../../src/domain/Ids.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Learning } from "../../src/learning/Learning.ts"
import * as Tallies from "../../src/learning/Tallies.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { type Environment, layerSettings } from "../support/stores.ts"

/** Everything but HTTP and background jobs: tests say when bodies are taken and ledgers folded. */
export const layerQuiet = (environment: Environment) => Layer.provide(layerServices, layerSettings(environment))

export const org = (slug: string) => slug as OrgSlug

/** An organization, made when it is first used. */
export const makeOrg = Effect.fnUntraced(function* (slug: string) {
  yield* (yield* Organizations).create({ slug: org(slug), name: slug })
  return org(slug)
})

/** Records a decision without choosing a variant. */
export const decide = Effect.fnUntraced(function* (
  slug: string,
  trackingId: string,
  options: {
    readonly template?: string
    readonly copy?: string
    readonly segment?: string
    readonly extraAttributes?: string
    readonly user?: string
    readonly mode?: Mode
    readonly propensity?: number | null
    /** Probabilities of all eligible variants as a JSON object. */
    readonly weights?: string
    readonly holdout?: string
    /** Milliseconds before now. */
    readonly ago?: number
    readonly at?: number
  } = {},
) {
  const log = yield* DecisionLog
  const decision: Decision = {
    org: org(slug),
    templateId: (options.template ?? "t") as TemplateId,
    trackingId,
    trackingIdGiven: true,
    copyId: (options.copy ?? "a") as CopyId,
    userId: options.user,
    mode: options.mode ?? "bandit",
    propensity: options.propensity === undefined ? 0.5 : options.propensity,
    weights: options.weights ?? null,
    context: options.segment ?? "plan=pro",
    extraAttributes: options.extraAttributes,
    policy: "t:0",
    window: undefined,
    holdout: options.holdout,
    decidedAtMillis: options.at ?? Date.now() - (options.ago ?? 0),
  }
  yield* log.record(decision)
})

/** Stores a body of custom events, or of a platform. */
export const receive = Effect.fnUntraced(function* (slug: string, body: unknown, source = "events") {
  const inbox = yield* Inbox
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
  yield* inbox.store({ org: org(slug), source, headers: {}, body: bytes })
})

/** Takes in everything and folds it. */
export const settle = Effect.fnUntraced(function* (slug: string, ...templates: ReadonlyArray<string>) {
  yield* (yield* Intake).drain
  const learning = yield* Learning
  for (const template of templates.length === 0 ? ["t"] : templates) {
    // On a busy machine the first answer takes its time: the worker is only started when it is needed.
    let tries = 0
    while (!(yield* learning.refresh(slug, template))) {
      if (++tries === 15) return yield* Effect.die("The actor did not answer")
    }
  }
})

/** Tallies as sorted lines of text, without their buckets. */
export const tallies = Effect.fnUntraced(function* (slug: string, template = "t") {
  const sql = yield* SqlClient.SqlClient
  const sums = new Map<string, Map<Measure, number>>()
  for (const { context, copyId, counts, track } of yield* Tallies.readTallies(sql, slug, template)) {
    const key = `${copyId} ${context} ${track}` satisfies `${string} ${string} ${Track}`
    const sum = sums.get(key) ?? new Map<Measure, number>()
    for (const [measure, count] of Object.entries(counts) as ReadonlyArray<[Measure, number]>) {
      sum.set(measure, (sum.get(measure) ?? 0) + count)
    }
    sums.set(key, sum)
  }
  return [...sums].map(([key, sum]) =>
    `${key}: ${[...sum].filter(([, n]) => n !== 0).map(([measure, n]) => `${measure} ${n}`).sort().join(", ")}`
  ).sort()
})
