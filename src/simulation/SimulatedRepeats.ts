import { type PersonalOutcome, repeatChanges } from "../bandit/Repeats.ts"

/** Changes of the repeats at the time of a decision, in Unix milliseconds. */
interface RepeatsAt {
  readonly at: number
  readonly again: number
  readonly seen: number
}

/** Decisions of a template by person and variant, and whether each has an outcome. Counts like the journal. */
export class SimulatedRepeats {
  readonly #decisions = new Map<string, Array<{ readonly at: number; hasOutcome: boolean }>>()

  sent(person: number, variant: string, now: number): void {
    const key = `${person} ${variant}`
    const known = this.#decisions.get(key)
    if (known === undefined) this.#decisions.set(key, [{ at: now, hasOutcome: false }])
    else known.push({ at: now, hasOutcome: false })
  }

  observe(person: number, variant: string, sentAt: number): ReadonlyArray<RepeatsAt> {
    const known = this.#decisions.get(`${person} ${variant}`)!
    const own = known.find(({ at }) => at === sentAt)!
    const before = own.hasOutcome
    own.hasOutcome = true
    if (known.length === 1) return []
    const decisions = known.map((decision): PersonalOutcome => {
      const after = [decision.hasOutcome ? 1 : 0]
      return {
        at: decision.at,
        isChanged: decision === own,
        after,
        before: decision === own ? [before ? 1 : 0] : after,
      }
    })
    return repeatChanges(decisions).map(({ again, place, seen }) => ({
      at: decisions[place]!.at,
      again: again[0]!,
      seen: seen[0]!,
    }))
  }
}
