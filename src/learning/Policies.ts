import { Context, Effect, Fiber, FiberSet, Layer } from "effect"
import { type Context as DecisionContext, schemeText } from "../bandit/Contexts.ts"
import type { ModelSnapshot } from "../bandit/Model.ts"
import { Policy } from "../bandit/Policy.ts"
import type { Attributes } from "../domain/Attributes.ts"
import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import { AttributeStatistics } from "./AttributeStatistics.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"
import { Learning, unlearned } from "./Learning.ts"
import { Models } from "./Models.ts"
import { ContextRecorder, type RecordedContext } from "./ContextRecorder.ts"

/** The properties of a template from which its policy is made. One object represents one state of the template. */
interface Subject {
  readonly id: string
  readonly org: {
    readonly slug: string
    /** Share of the decisions that are chosen uniformly, 0 to 0.2. */
    readonly explorationFloor: number
  }
  /** See `Policy.runnerUpFloor`. */
  readonly runnerUpFloor: number
}

/**
 * Maximum number of windows kept per organization and template, so that callers that vary their windows with every call
 * cost fits, not memory.
 */
const windowsPerTemplate = 32

/** Cache time of a window's model. Unit: milliseconds. */
const freshMillis = 60_000

/**
 * Cache time of the model of a window that reaches the present and so includes the latest counts, and of a model whose
 * scheme differs from the scheme of the adaptive model. Unit: milliseconds.
 */
const freshPresentMillis = 5_000

/**
 * Time for which an expired model is used while a new one is fitted, so that traffic does not wait. Unit: milliseconds.
 */
const usableMillis = 120_000

/**
 * Maximum number of context recorders that outlive a change of their template. A recorder has up to 500 kB. Above the
 * limit, the recorder of the template that changed longest ago is dropped: that template begins a new one after its
 * next change.
 */
const keptRecorders = 1_000

/** The attributes and the user of a request. */
interface RequestAttributes {
  readonly attrs: Attributes
  readonly userId: string | undefined
}

interface Windowed {
  readonly policy: Policy
  readonly fittedAt: number
}

const policyOf = ({ org, runnerUpFloor }: Subject, model: ModelSnapshot): Policy =>
  new Policy(model, org.explorationFloor, runnerUpFloor)

/** Whether a policy has the floors of a template. */
const isOf = ({ org, runnerUpFloor }: Subject, policy: Policy): boolean =>
  policy.floor === org.explorationFloor && policy.runnerUpFloor === runnerUpFloor

const keyOf = ({ id, org }: Subject) => `${liveOf(org.slug)}/${id}`

/** The policies of windows by template and by the name of the window. The look-up creates no text per request. */
const makeWindows = () => {
  const byTemplate = new Map<string, Map<string, Windowed>>()
  const bySubject = new WeakMap<Subject, Map<string, Windowed>>()
  // Cached, because all items of a request use one window object.
  let named: { readonly window: LearningWindow; readonly name: string } | undefined
  return {
    nameOf: (window: LearningWindow): string => {
      if (named?.window !== window) named = { window, name: `${window.lookbackDays}/${window.offsetDays}` }
      return named.name
    },
    windowsOf: (template: Subject): Map<string, Windowed> => {
      const known = bySubject.get(template)
      if (known !== undefined) return known
      // A changed template is another subject and keeps its windows.
      const key = keyOf(template)
      const windows = byTemplate.getOrInsertComputed(key, () => new Map<string, Windowed>())
      bySubject.set(template, windows)
      return windows
    },
  }
}

/**
 * The policies that decide for a template, by window, in memory. A sandbox uses the policies of its organization and
 * does not affect them.
 */
export class Policies extends Context.Service<Policies, {
  /**
   * Returns the current policy. If the policy of a window is not ready, returns its last policy, or the policy of the
   * priors.
   */
  readonly policy: (template: Subject, window: LearningWindow | undefined, now: number) => Policy
  /** Whether `policy` is up to date. Only the policy of a window can be outdated, until `prepare`. */
  readonly isReady: (template: Subject, window: LearningWindow | undefined, now: number) => boolean
  /**
   * Fits the model of a window and returns its policy. If the actor does not respond, returns the last policy, or the
   * policy of the priors.
   */
  readonly prepare: (template: Subject, window: LearningWindow, now: number) => Effect.Effect<Policy>
  /**
   * Folds received data and fits, for a decision that must not use a cached model. `upToDate` is false if this did not
   * finish in time.
   */
  readonly refresh: (
    template: Subject,
    window: LearningWindow | undefined,
    now: number,
  ) => Effect.Effect<{ readonly policy: Policy; readonly upToDate: boolean }>
  /** Counts the attributes of a request, from which learning attributes are chosen. */
  readonly observe: (template: Subject, attrs: Attributes, now: number) => void
  /**
   * Returns the context to record with a decision: the attributes of the adaptive model, even for a decision of a
   * window, and additional attributes for later models. `context` is the context of `policy` for the request;
   * `hourOfWeek` as in `Contexts.contextOf`.
   */
  readonly record: (
    template: Subject,
    policy: Policy,
    context: DecisionContext,
    request: RequestAttributes,
    hourOfWeek: number,
    now: number,
  ) => RecordedContext
}>()("parlance/learning/Policies") {
  static readonly layer = Layer.effect(
    Policies,
    Effect.gen(function* () {
      const models = yield* Models
      const learning = yield* Learning
      const statistics = yield* AttributeStatistics
      const priors = new WeakMap<object, Policy>()
      const recorders = new Map<string, ContextRecorder>()
      const recorderOfSubject = new WeakMap<Subject, ContextRecorder>()
      const background = yield* FiberSet.make<Policy>()
      const fork = yield* FiberSet.runtime(background)<never>()
      const preparing = new Map<string, Fiber.Fiber<Policy>>()

      const { nameOf, windowsOf } = makeWindows()
      const nameIn = (template: Subject, window: LearningWindow) => `${keyOf(template)} ${nameOf(window)}`

      const keep = (template: Subject, window: LearningWindow, model: ModelSnapshot, now: number): Policy => {
        const name = nameOf(window)
        const windows = windowsOf(template)
        windows.delete(name)
        // Drops the oldest first: a Map keeps insertion order.
        if (windows.size >= windowsPerTemplate) windows.delete(windows.keys().next().value!)
        const policy = policyOf(template, model)
        windows.set(name, { policy, fittedAt: now })
        return policy
      }

      /** Fits once for all concurrent callers. */
      const prepare = (template: Subject, window: LearningWindow, now: number): Effect.Effect<Policy> =>
        Effect.suspend(() => {
          const name = nameIn(template, window)
          const running = preparing.get(name)
          if (running !== undefined) return Fiber.join(running)
          const fiber = fork(
            // Yields first, so that the fiber is in `preparing` before it can end.
            Effect.andThen(Effect.yieldNow, learning.windowed(liveOf(template.org.slug), template.id, window)).pipe(
              Effect.map((model) => {
                const last = find(template, window)?.policy.model
                return keep(template, window, model ?? last ?? unlearned(template.id, window, now), now)
              }),
              Effect.ensuring(Effect.sync(() => preparing.delete(name))),
            ),
          )
          preparing.set(name, fiber)
          return Fiber.join(fiber)
        })

      const adaptive = (template: Subject, now: number): Policy => {
        const published = models.latest(liveOf(template.org.slug), template.id)
        if (published !== undefined) {
          if (published.policy === undefined || !isOf(template, published.policy)) {
            published.policy = policyOf(template, published.model)
          }
          return published.policy
        }
        const known = priors.get(template)
        if (known !== undefined) return known
        const made = policyOf(template, unlearned(template.id, undefined, now))
        priors.set(template, made)
        return made
      }

      const find = (template: Subject, window: LearningWindow) => windowsOf(template).get(nameOf(window))

      const policy = (template: Subject, window: LearningWindow | undefined, now: number): Policy => {
        if (window === undefined) return adaptive(template, now)
        const known = find(template, window)?.policy
        if (known !== undefined && isOf(template, known)) return known
        return policyOf(template, known?.model ?? unlearned(template.id, window, now))
      }

      const isReady = (template: Subject, window: LearningWindow | undefined, now: number): boolean => {
        if (window === undefined) return true
        const known = find(template, window)
        if (known === undefined || !isOf(template, known.policy)) return false
        const age = now - known.fittedAt
        if (age > usableMillis) return false
        if (age <= freshPresentMillis) return true
        const { scheme } = adaptive(template, now).model
        const fresh = window.offsetDays === 0 || schemeText(known.policy.model.scheme) !== schemeText(scheme)
          ? freshPresentMillis
          : freshMillis
        if (age > fresh && !preparing.has(nameIn(template, window))) fork(prepare(template, window, now))
        return true
      }

      const refresh = Effect.fnUntraced(function* (template: Subject, window: LearningWindow | undefined, now: number) {
        const upToDate = yield* learning.refresh(liveOf(template.org.slug), template.id)
        return {
          upToDate,
          // An actor that has just failed to respond gets no second request if a model is cached.
          policy: window === undefined || (!upToDate && find(template, window) !== undefined)
            ? policy(template, window, now)
            : yield* prepare(template, window, now),
        }
      })

      const recorderOf = (template: Subject): ContextRecorder => {
        const known = recorderOfSubject.get(template)
        if (known !== undefined) return known
        // A changed template is another subject and keeps its recorder. A sandbox has its own recorders.
        const key = `${template.org.slug}/${template.id}`
        const recorder = recorders.get(key) ?? new ContextRecorder()
        recorders.delete(key)
        if (recorders.size >= keptRecorders) recorders.delete(recorders.keys().next().value!)
        recorders.set(key, recorder)
        recorderOfSubject.set(template, recorder)
        return recorder
      }

      const record = (
        template: Subject,
        policy: Policy,
        context: DecisionContext,
        request: RequestAttributes,
        hourOfWeek: number,
        now: number,
      ): RecordedContext => {
        const { contexts } = adaptive(template, now)
        const adaptiveContext = policy.contexts === contexts ? context : contexts.contextOf(request.attrs, hourOfWeek)
        return recorderOf(template).record(contexts, adaptiveContext, request, now)
      }

      return Policies.of({
        record,
        policy,
        isReady,
        prepare,
        refresh,
        observe: (template, attrs, now) => {
          if (!isSandbox(template.org.slug)) statistics.observe(template.org.slug, template.id, attrs, now)
        },
      })
    }),
  )
}
