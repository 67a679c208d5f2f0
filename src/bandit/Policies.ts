import { Context, Layer } from "effect"
import { emptyScheme } from "./Cells.ts"
import { priorModel } from "./Model.ts"
import { Policy } from "./Policy.ts"
import { defaultPriors } from "./Priors.ts"

/** Which send times a decision learns from: `undefined` for all of them, faded by age. Unit: days. */
export interface DecisionWindow {
  readonly lookbackDays: number
  readonly offsetDays: number
}

// Windows kept per template at most: callers that vary theirs with every call cost a fit each, not memory.
const windowsPerTemplate = 32

// How long the policy of a window is used before its window is moved up to the present.
const windowKeptMillis = 60_000

/**
 * The policy that decides for a template, by window. Until outcomes have been counted every template decides from the
 * priors, so that all its variants are equally likely.
 */
export class Policies extends Context.Service<Policies, {
  /** `template` is an object that stands for one state of the template; `floor` the share chosen uniformly. */
  readonly policy: (
    template: { readonly id: string },
    floor: number,
    window: DecisionWindow | undefined,
    nowMillis: number,
  ) => Policy
}>()("parlance/bandit/Policies") {
  static readonly layer = Layer.sync(Policies, () => {
    const adaptive = new WeakMap<object, Policy>()
    const windowed = new WeakMap<object, Map<string, Policy>>()

    const make = (template: { readonly id: string }, floor: number, window: DecisionWindow | undefined, now: number) =>
      new Policy(
        priorModel({
          version: `${template.id}:0`,
          now,
          window: window === undefined ? { mode: "adaptive", halfLifeDays: 120 } : { mode: "window", ...window },
          scheme: emptyScheme,
          organization: defaultPriors,
        }),
        floor,
      )

    return Policies.of({
      policy: (template, floor, window, now) => {
        if (window === undefined) {
          const known = adaptive.get(template)
          if (known !== undefined) return known
          const made = make(template, floor, undefined, now)
          adaptive.set(template, made)
          return made
        }
        const key = `${window.lookbackDays}/${window.offsetDays}`
        const byWindow = windowed.get(template) ?? new Map<string, Policy>()
        const known = byWindow.get(key)
        // A window moves on with the time.
        if (known !== undefined && now - known.model.fittedAt < windowKeptMillis) return known
        if (byWindow.size >= windowsPerTemplate) byWindow.clear()
        const made = make(template, floor, window, now)
        byWindow.set(key, made)
        windowed.set(template, byWindow)
        return made
      },
    })
  })
}
