import { describe } from "vitest"
import { Effect, Layer } from "effect"
import { layerJobs, layerRoutes, layerServices } from "../../src/service/App.ts"
import { Decider } from "../../src/decide/Decider.ts"
import type { Answer } from "../../src/decide/Answer.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import type { Objective } from "../../src/domain/Template.ts"
import { Intake } from "../../src/intake/Intake.ts"
import * as Server from "../../src/api/http/Server.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { decide, org, receive } from "../intake/support.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { adminToken, localService, waitUntil } from "../support/service.ts"
import { type Environment, layerSettings, temporaryEnvironment } from "../support/stores.ts"

// Shared steps of tests of learning, on the services themselves.

export const hour = 3_600_000
export const day = 24 * hour

/** Everything that a service's tests can ask for. */
export type Services = Layer.Success<typeof layerServices>

// deno-lint-ignore no-explicit-any -- what a test reads of a trace it also asserts
export type Trace = any

/** A template with variants that differ by their id alone. */
export const makeTemplate = Effect.fnUntraced(function* (
  slug: string,
  id: string,
  variants: ReadonlyArray<string>,
  objective?: Objective,
) {
  yield* (yield* Templates).create(org(slug), {
    id: id as TemplateId,
    name: id,
    ...(objective === undefined ? {} : { objective }),
    variants: variants.map((variant) => ({ id: variant as CopyId, vars: { s: variant } })),
  })
})

/** Decisions of one variant of `ago` milliseconds ago, the first `outcomes` of them with that outcome an hour later. */
export const plant = Effect.fnUntraced(function* (
  slug: string,
  options: {
    readonly copy: string
    readonly decisions: number
    readonly outcomes?: { readonly [event: string]: number }
    readonly template?: string
    readonly segment?: string
    readonly ago?: number
    readonly mode?: "bandit" | "forced"
    /** Probabilities of the variants that could be chosen. */
    readonly weights?: Readonly<Record<string, number>>
  },
) {
  const { weights } = options
  const drawn = weights === undefined ? {} : { propensity: weights[options.copy]!, weights: JSON.stringify(weights) }
  const { ago = 2 * day, copy, decisions, mode = "bandit", outcomes = {}, segment = "plan=pro", template = "t" } =
    options
  const at = Date.now() - ago
  const id = (n: number) => `${template}/${copy}/${segment}/${ago}/${mode}/${n}`
  yield* Effect.forEach(
    Array.from({ length: decisions }, (_, n) => n),
    (n) => decide(slug, id(n), { template, copy, segment, at, mode, ...drawn }),
    { concurrency: "unbounded", discard: true },
  )
  const events = Object.entries(outcomes).flatMap(([event, count]) =>
    Array.from({ length: count }, (_, n) => ({
      event,
      tracking_id: id(n),
      event_id: `${event}/${id(n)}`,
      // Not close to the clicks, which would count as a link scanner's.
      occurred_at: new Date(event === "sent" ? at - 60_000 : Math.min(at + hour, Date.now())).toISOString(),
    }))
  )
  for (let from = 0; from < events.length; from += 1000) yield* receive(slug, events.slice(from, from + 1000))
})

/** One Batch generate of one template over a window that reaches the present, traced. */
export const ask = Effect.fnUntraced(function* (
  slug: string,
  options: {
    readonly template?: string
    readonly attrs?: Readonly<Record<string, string>>
    readonly epsilon?: number
    readonly useCache?: boolean
    readonly copy?: string
    readonly lookbackDays?: number
    readonly offsetDays?: number
  } = {},
): Effect.fn.Return<Answer & { readonly trace?: Trace }, unknown, Decider> {
  const decider = yield* Decider
  const [[, outcome] = []] = yield* decider.decideBatch(slug, {
    items: [{
      templateId: (options.template ?? "t") as TemplateId,
      trackingId: undefined,
      copyId: options.copy as CopyId | undefined,
    }],
    userId: undefined,
    fields: {},
    attrs: new Map(Object.entries(options.attrs ?? {}).map(([name, value]) => [name, [value]])),
    epsilon: options.epsilon,
    window: { lookbackDays: options.lookbackDays ?? 14, offsetDays: options.offsetDays ?? 0 },
    useCache: options.useCache ?? true,
    trace: true,
  })
  return outcome!
})

/**
 * Processes and folds everything without the service's limit of two seconds.
 */
export const settle = Effect.fnUntraced(function* (slug: string, ...templates: ReadonlyArray<string>) {
  yield* (yield* Intake).drain
  const learning = yield* Learning
  const context = yield* Effect.context<Learning>()
  for (const template of templates.length === 0 ? ["t"] : templates) {
    yield* Effect.promise(() =>
      waitUntil("the actor answers", () => Effect.runPromiseWith(context)(learning.refresh(slug, template)))
    )
  }
})

/** A model's counts as `[id, sends, clicks]`. */
export const counted = Effect.fnUntraced(function* (slug: string, template = "t") {
  const model = yield* (yield* Learning).model(slug, template, undefined)
  return model.variants.map(({ clicks, id, sends }) => [id, sends, clicks] as const)
})

/** The real server on its own port, with the services that it runs on; background jobs only if `jobs`. */
export const startServer = Effect.fnUntraced(function* (
  env: Environment,
  { jobs = true }: { readonly jobs?: boolean } = {},
) {
  const context = yield* Layer.build(
    Server.serve(layerRoutes).pipe(
      Layer.provideMerge(jobs ? layerJobs : Layer.empty),
      Layer.provideMerge(Server.layerServer),
      Layer.provideMerge(layerServices),
      Layer.provide(layerSettings({ PORT: "0", ADMIN_TOKEN: adminToken, LOG_LEVEL: "None", ...env })),
    ),
  )
  return {
    service: yield* localService(context),
    run: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.runPromise(Effect.provideContext(effect, context)),
  }
})

/** A running server and the services behind it. */
export type Running = Effect.Success<ReturnType<typeof startServer>>

/** A suite with one server that all its tests share. */
export const suiteOnServer = (
  name: string,
  suite: (server: () => Running) => void,
  options: { readonly jobs?: boolean } = {},
) =>
  describe(name, () => {
    let running: Running
    const start = Effect.orDie(Effect.flatMap(temporaryEnvironment, (env) => startServer(env, options)))
    aroundTests(start, (started) => running = started)
    suite(() => running)
  })
