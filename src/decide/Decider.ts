import { Clock, Context, Effect, Layer, Random } from "effect"
import { Policies } from "../learning/Policies.ts"
import { Profiles } from "../profiles/Profiles.ts"
import type { Policy } from "../bandit/Policy.ts"
import { hourMillis } from "../bandit/Window.ts"
import type { Attributes } from "../domain/Attributes.ts"
import { holdoutText } from "../domain/Holdout.ts"
import type { CopyId, TemplateId } from "../domain/Ids.ts"
import { liveOf } from "../domain/Sandbox.ts"
import type { BufferFull } from "../store/GroupCommit.ts"
import { type TemplateView, Views } from "../templates/Views.ts"
import { type Decision, noMessage, type Window } from "../journal/decisions/Decision.ts"
import { DecisionLog, type Recorded } from "../journal/decisions/DecisionLog.ts"
import { armOf } from "../bandit/Holdout.ts"
import * as Selection from "./Selection.ts"
import { type StickyChoice, StickyChoices } from "./StickyChoices.ts"
import { Budget, LimitReached } from "../rendering/Budget.ts"
import { chosen, heldOut, type Outcome, targetingLimit } from "./Outcome.ts"
import { counted } from "./OutcomeCount.ts"
import { makeTrackingId } from "../journal/decisions/TrackingId.ts"
import { Turn } from "./Turn.ts"

/** What a caller wants of one template. */
export interface Ask {
  readonly templateId: TemplateId
  readonly trackingId: string | undefined
  readonly userId: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
  /** Forces this variant: skips selection and targeting. */
  readonly copyId?: CopyId | undefined
  /** Send times to learn from; undefined: adaptive. */
  readonly window?: Window | undefined
  /** In [0, 1]; undefined: Thompson sampling. */
  readonly epsilon?: number | undefined
  /** False brings the model up to date first. */
  readonly useCache?: boolean | undefined
  readonly trace?: boolean | undefined
  /** Tracking id of the decision if the user gets no message: the same for repetitions of one request. Default: `trackingId`. */
  readonly heldOutId?: string | undefined
}

/** Commits a decision together with what belongs to it, such as the message made of its rendered variables. */
export type Recorder = (
  decision: Decision,
  vars: Readonly<Record<string, string>>,
) => Effect.Effect<Recorded, BufferFull>

/** What is decided with: the wishes of the caller, and what was prepared for them. */
interface Prepared extends Ask {
  /** What targeting and rendering may cost. */
  readonly budget: Budget
  /** The policy that was prepared; without one: the policy as it stands. */
  readonly policy?: Policy | undefined
  /** How the decision on a variant is recorded; by the decision log unless said. */
  readonly recorder?: Recorder | undefined
}

/** What a caller wants of several templates. */
export interface BatchAsk extends Pick<Ask, "userId" | "fields" | "attrs" | "epsilon"> {
  readonly items: ReadonlyArray<Pick<Ask, "templateId" | "trackingId"> & { readonly copyId: CopyId | undefined }>
  readonly lookbackDays: number
  readonly offsetDays: number
  readonly useCache: boolean
  readonly trace: boolean
}

/** A decision made and rendered, waiting to be recorded. */
interface Planned {
  readonly _tag: "Planned"
  readonly view: TemplateView
  readonly ask: Prepared
  readonly decision: Decision
  readonly first: Outcome & { readonly _tag: "Chosen" | "HeldOut" }
}

/** The choice a user of a sticky template had before, still eligible. */
interface Repeated {
  readonly _tag: "Repeated"
  readonly standing: StickyChoice
  readonly trace: unknown
}

/** What was chosen and rendered, with all that is to be recorded of it. */
const planned = (
  view: TemplateView,
  ask: Prepared,
  first: Planned["first"],
  decidedAtMillis: number,
  segment: string,
  policy: string,
  choice: Pick<Decision, "copyId" | "mode" | "propensity" | "weights" | "holdout">,
): Planned => ({
  _tag: "Planned",
  view,
  ask,
  first,
  decision: {
    org: view.org.slug,
    templateId: view.id,
    trackingId: first.trackingId,
    trackingIdGiven: ask.trackingId !== undefined,
    userId: ask.userId,
    segment,
    policy,
    window: ask.window,
    decidedAtMillis,
    ...choice,
  },
})

/** The answer that a choice stands for; undefined if its variant has been removed. */
const answerTo = (
  view: TemplateView,
  ask: Prepared,
  copyId: CopyId,
  trackingId: string,
  now: number,
  durable: boolean,
  trace: unknown,
): Outcome | undefined => {
  if (copyId === noMessage) return heldOut(trackingId, durable, trace)
  const variant = view.variantsById.get(copyId)
  return variant === undefined ? undefined : chosen(view, variant, ask, now, trackingId, durable, trace)
}

/** Chooses a variant, renders it and records the decision: the use case behind Generate, Batch generate and Deliver. */
export class Decider extends Context.Service<Decider, {
  readonly decide: (org: string, ask: Ask) => Effect.Effect<Outcome, BufferFull>
  /**
   * The same, recorded by the caller. The decision of a sticky template is not: its choice is claimed and recorded by the
   * fiber that calls, inside whatever transaction that is in.
   */
  readonly decideInto: (org: string, ask: Ask, recorder: Recorder) => Effect.Effect<Outcome, BufferFull>
  /** One outcome per item, in their order; what goes wrong with one does not touch the others. */
  readonly decideBatch: (
    org: string,
    ask: BatchAsk,
  ) => Effect.Effect<ReadonlyArray<readonly [TemplateId, Outcome]>, BufferFull>
}>()("parlance/decisions/Decider") {
  static readonly layer = Layer.effect(
    Decider,
    Effect.gen(function* () {
      const views = yield* Views
      const log = yield* DecisionLog
      const policies = yield* Policies
      const profiles = yield* Profiles
      const sticky = yield* StickyChoices
      const clock = yield* Clock.Clock
      const random = yield* Random.Random

      const monotonicNow = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

      /** Runs what may throw `LimitReached` while targeting. Rendering returns its faults. */
      const targeted = <A>(view: TemplateView, ask: Prepared, trackingId: string, run: () => A): A | Outcome => {
        ask.budget.resume()
        try {
          return run()
        } catch (error) {
          if (error instanceof LimitReached) {
            return { _tag: "NotRendered", trackingId, error: targetingLimit(view, error) }
          }
          throw error
        }
      }

      const policyOf = (view: TemplateView, ask: Prepared, now: number): Policy =>
        ask.policy ?? policies.policy(view, ask.window, now)

      const settled = (
        view: TemplateView,
        ask: Prepared,
        decision: Decision,
        first: Planned["first"],
        { copyId, durable }: Recorded,
      ): Outcome => {
        if (copyId === decision.copyId) return durable ? first : { ...first, durable }
        // A retry: what was chosen then is given again. If its variant has been removed there is nothing to give.
        const { decidedAtMillis, trackingId } = decision
        const trace = Selection.retraced(first.trace, copyId)
        return answerTo(view, ask, copyId, trackingId, decidedAtMillis, durable, trace) ??
          { _tag: "None", trackingId, reason: "no-candidate" }
      }

      /**
       * The answer to a tracking id that has its decision already, whoever is eligible now; `otherwise` when it has none.
       * Asked only where the answer would differ: the store knows, and the hot path need not ask it.
       */
      const retried = (
        view: TemplateView,
        ask: Prepared,
        trackingId: string,
        now: number,
        trace: unknown,
        otherwise: Effect.Effect<Outcome, BufferFull>,
      ): Effect.Effect<Outcome, BufferFull> =>
        Effect.matchEffect(log.find(view.org.slug, view.id, trackingId), {
          onFailure: () => otherwise,
          onSuccess: (copyId) => {
            if (copyId === undefined) return otherwise
            const answer = answerTo(view, ask, copyId, trackingId, now, true, Selection.retraced(trace, copyId))
            return answer === undefined ? otherwise : Effect.succeed(answer)
          },
        })

      const force = (
        view: TemplateView,
        ask: Prepared,
        copyId: CopyId,
        trackingId: string,
        now: number,
      ): Outcome | Planned => {
        const variant = view.variantsById.get(copyId)
        if (variant === undefined) return { _tag: "None", trackingId, reason: "variant-not-found" }
        const policy = policyOf(view, ask, now)
        const hourOfWeek = Selection.hourOfWeek(view, now)
        const cell = policy.cellOf(ask.attrs, hourOfWeek)
        const trace = ask.trace === true
          ? Selection.traceOf(view, policy, cell, Selection.eligible(view, ask.attrs, now, ask.budget), {
            attributes: ask.attrs,
            nowMillis: now,
            budget: ask.budget,
            epsilon: undefined,
            useCache: ask.useCache ?? true,
            chosen: variant.id,
            mode: "forced",
            propensity: null,
          })
          : undefined
        const first = chosen(view, variant, ask, now, trackingId, true, trace)
        if (first._tag !== "Chosen") return first
        const segment = policies.segment(view, policy, cell, ask, hourOfWeek, now)
        return planned(view, ask, first, now, segment, policy.model.version, {
          copyId,
          mode: "forced",
          propensity: null,
          weights: null,
          holdout: undefined,
        })
      }

      /** Chooses and renders. Nothing waits here and nothing is recorded yet. */
      const select = (
        view: TemplateView,
        ask: Prepared,
        trackingId: string,
        now: number,
        standing: StickyChoice | undefined,
      ): Outcome | Planned | Repeated => {
        const policy = policyOf(view, ask, now)
        const hourOfWeek = Selection.hourOfWeek(view, now)
        const cell = policy.cellOf(ask.attrs, hourOfWeek)
        const set = Selection.eligible(view, ask.attrs, now, ask.budget)
        const arm = armOf(view.holdout, set.ids, { org: liveOf(view.org.slug), userId: ask.userId, trackingId })
        const epsilon = arm === "control" && view.holdout.content === "even" ? 1 : ask.epsilon
        const traced = (copyId: CopyId | null, mode: string, propensity: number | null) =>
          ask.trace === true
            ? Selection.traceOf(view, policy, cell, set, {
              attributes: ask.attrs,
              nowMillis: now,
              budget: ask.budget,
              epsilon,
              useCache: ask.useCache ?? true,
              chosen: copyId === noMessage ? null : copyId,
              mode,
              propensity,
            })
            : undefined
        if (set.ids.length === 0) {
          return { _tag: "None", trackingId, reason: "no-candidate", trace: traced(null, "none", null) }
        }
        if (standing !== undefined && Selection.mayRepeat(view, arm, standing, set)) {
          return { _tag: "Repeated", standing, trace: traced(standing.copyId, "sticky", null) }
        }
        const u = random.nextDoubleUnsafe()
        const choice = Selection.choose(view, policy, cell, set, { arm, epsilon, u })
        const trace = traced(choice.copyId, choice.mode, choice.propensity)
        const first = answerTo(view, ask, choice.copyId, trackingId, now, true, trace)!
        if (first._tag !== "Chosen" && first._tag !== "HeldOut") return first
        policies.observe(view, ask.attrs, now)
        const segment = policies.segment(view, policy, cell, ask, hourOfWeek, now)
        return planned(view, ask, first, now, segment, policy.model.version, {
          ...choice,
          holdout: arm === undefined ? undefined : holdoutText(view.holdout),
        })
      }

      /** A sticky repeat is no new decision: the tracking id it came under stands for the first one's. */
      const repeat = (
        view: TemplateView,
        ask: Prepared,
        standing: StickyChoice,
        trackingId: string,
        now: number,
        trace: unknown,
      ): Effect.Effect<Outcome> => {
        const given = ask.trackingId === undefined ? standing.trackingId : trackingId
        const answer = answerTo(view, ask, standing.copyId, given, now, true, trace)!
        if (given === standing.trackingId || (answer._tag !== "Chosen" && answer._tag !== "HeldOut")) {
          return Effect.succeed(answer)
        }
        return sticky.alias(view.org.slug, view.id, given, standing.trackingId).pipe(
          Effect.as(answer),
          Effect.catch(() => Effect.succeed({ ...answer, durable: false })),
        )
      }

      const claim = (
        { ask, decision, first, view }: Planned,
        userId: string,
        replaces: StickyChoice | undefined,
      ): Effect.Effect<Outcome, BufferFull> =>
        sticky.claim({ ...decision, userId }, decision.decidedAtMillis + view.stickyHours * hourMillis, replaces).pipe(
          Effect.matchEffect({
            // The store is down: the decision goes the way of all others, into memory.
            onFailure: () => record({ _tag: "Planned", ask, decision, first, view }),
            onSuccess: (standing) =>
              standing.trackingId === decision.trackingId
                ? Effect.succeed(settled(view, ask, decision, first, { copyId: standing.copyId, durable: true }))
                : repeat(view, ask, standing, decision.trackingId, decision.decidedAtMillis, first.trace),
          }),
        )

      const record = ({ ask, decision, first, view }: Planned): Effect.Effect<Outcome, BufferFull> =>
        Effect.map(
          first._tag === "HeldOut"
            ? log.record({ ...decision, trackingId: ask.heldOutId ?? decision.trackingId })
            : ask.recorder === undefined
            ? log.record(decision)
            : ask.recorder(decision, first.vars),
          (recorded) => settled(view, ask, decision, first, recorded),
        )

      /** A user of a sticky template gets what was chosen before, or what is now chosen for all nodes. */
      const stick = (
        view: TemplateView,
        ask: Prepared,
        userId: string,
        trackingId: string,
        now: number,
      ): Effect.Effect<Outcome, BufferFull> => {
        const stuck = sticky.find(view.org.slug, view.id, userId).pipe(
          // Without the store nobody knows what the user had before; a fresh choice is better than none.
          Effect.catch(() => Effect.succeed(undefined)),
          Effect.flatMap((standing): Effect.Effect<Outcome, BufferFull> => {
            const plan = targeted(view, ask, trackingId, () => select(view, ask, trackingId, now, standing))
            if (plan._tag === "Repeated") return repeat(view, ask, plan.standing, trackingId, now, plan.trace)
            return plan._tag === "Planned" ? claim(plan, userId, standing) : Effect.succeed(plan)
          }),
        )
        if (ask.trackingId === undefined) return stuck
        return retried(view, ask, trackingId, now, tracedNow(view, ask, now), stuck)
      }

      const tracedNow = (view: TemplateView, ask: Prepared, now: number) => {
        if (ask.trace !== true) return undefined
        const policy = policyOf(view, ask, now)
        const cell = policy.cellOf(ask.attrs, Selection.hourOfWeek(view, now))
        return Selection.traceOf(view, policy, cell, Selection.eligible(view, ask.attrs, now, ask.budget), {
          attributes: ask.attrs,
          nowMillis: now,
          budget: ask.budget,
          epsilon: ask.epsilon,
          useCache: ask.useCache ?? true,
          chosen: null,
          mode: "none",
          propensity: null,
        })
      }

      const planOf = (
        view: TemplateView,
        ask: Prepared,
        trackingId: string,
        now: number,
      ): Outcome | Planned | Effect.Effect<Outcome, BufferFull> => {
        if (ask.copyId !== undefined) return force(view, ask, ask.copyId, trackingId, now)
        if (view.stickyHours > 0 && ask.userId !== undefined) return stick(view, ask, ask.userId, trackingId, now)
        const selected = select(view, ask, trackingId, now, undefined) as Outcome | Planned
        return ask.trackingId === undefined || selected._tag === "Planned"
          ? selected
          : retried(view, ask, trackingId, now, tracedNow(view, ask, now), Effect.succeed(selected))
      }

      /** The answer itself, what is to be recorded for it, or, for a sticky template, an effect that finds it. */
      const plan = (org: string, ask: Prepared, now: number) => {
        const trackingId = ask.trackingId ?? makeTrackingId(now)
        const view = views.template(org, ask.templateId)
        if (view === undefined) return { _tag: "None", trackingId, reason: "template-not-found" } as const
        // Before retries and sticky choices: what is archived is not served in any way.
        if (view.archived) return { _tag: "None", trackingId, reason: "template-archived" } as const
        return targeted(view, ask, trackingId, () => planOf(view, ask, trackingId, now))
      }

      /** Brings about that the policy is as the caller wants it; undefined when it is so already. */
      const prepare = (org: string, ask: Prepared): Effect.Effect<Prepared> | undefined => {
        const view = views.template(org, ask.templateId)
        if (view === undefined) {
          return Effect.flatMap(
            views.lookUp(org, ask.templateId),
            () =>
              views.template(org, ask.templateId) === undefined
                ? Effect.succeed(ask)
                : prepare(org, ask) ?? Effect.succeed(ask),
          )
        }
        if (view.archived) return undefined
        const now = clock.currentTimeMillisUnsafe()
        const { useCache, window } = ask
        if (useCache === false) {
          return Effect.map(
            policies.refresh(view, window, now),
            ({ policy, upToDate }) => ({ ...ask, policy, useCache: !upToDate }),
          )
        }
        return policies.isReady(view, window, now)
          ? undefined
          : Effect.map(policies.prepare(view, window!, now), (policy) => ({ ...ask, policy }))
      }

      const decideNow = (org: string, ask: Prepared): Effect.Effect<Outcome, BufferFull> => {
        const one = plan(org, ask, clock.currentTimeMillisUnsafe())
        if (Effect.isEffect(one)) return one
        return one._tag === "Planned" ? record(one) : Effect.succeed(one)
      }

      const decideKnown = (org: string, ask: Prepared): Effect.Effect<Outcome, BufferFull> => {
        const before = prepare(org, ask)
        return before === undefined
          ? decideNow(org, ask)
          : Effect.flatMap(before, (prepared) => decideNow(org, prepared))
      }

      const decide = (org: string, asked: Ask, recorder?: Recorder): Effect.Effect<Outcome, BufferFull> =>
        Effect.suspend(() => {
          const ask: Prepared = { ...asked, recorder, budget: new Budget(1, monotonicNow) }
          const known = profiles.attributes(liveOf(org), ask.userId, ask.attrs)
          return Effect.map(
            known === undefined
              ? decideKnown(org, ask)
              : Effect.flatMap(known, (attrs) => decideKnown(org, { ...ask, attrs })),
            counted,
          )
        })

      const decideBatch = Effect.fnUntraced(function* (org: string, batch: BatchAsk) {
        const window = { lookbackDays: batch.lookbackDays, offsetDays: batch.offsetDays }
        const known = profiles.attributes(liveOf(org), batch.userId, batch.attrs)
        const attrs = known === undefined ? batch.attrs : yield* known
        const asks = batch.items.map((item): Prepared => ({
          ...batch,
          ...item,
          attrs,
          window,
          budget: new Budget(batch.items.length, monotonicNow),
        }))
        const before = asks.flatMap((ask, i) => {
          const one = prepare(org, ask)
          return one === undefined ? [] : [Effect.map(one, (prepared) => void (asks[i] = prepared))]
        })
        if (before.length > 0) yield* Effect.all(before, { concurrency: "unbounded", discard: true })
        const turn = new Turn(clock)
        const plans: Array<ReturnType<typeof plan>> = []
        for (const ask of asks) {
          const now = clock.currentTimeMillisUnsafe()
          plans.push(plan(org, ask, turn.isOver(now) ? yield* turn.next : now))
        }
        const waiting = plans.filter((one) => !Effect.isEffect(one) && one._tag === "Planned") as ReadonlyArray<Planned>
        // Together, so that they share a commit and one wait.
        const recorded = yield* log.recordAll(waiting.map(({ decision }) => decision))
        const outcomes: Array<readonly [TemplateId, Outcome]> = []
        let next = 0
        for (const [index, one] of plans.entries()) {
          const { templateId } = batch.items[index]!
          // Answers to retries are rendered here.
          if (turn.isOver(clock.currentTimeMillisUnsafe())) yield* turn.next
          if (Effect.isEffect(one)) outcomes.push([templateId, yield* one])
          else if (one._tag !== "Planned") outcomes.push([templateId, one])
          else outcomes.push([templateId, settled(one.view, one.ask, one.decision, one.first, recorded[next++]!)])
        }
        for (const [, outcome] of outcomes) counted(outcome)
        return outcomes
      })

      return Decider.of({ decide: (org, ask) => decide(org, ask), decideInto: decide, decideBatch })
    }),
  )
}
