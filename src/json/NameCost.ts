/** Upper limit of the time to store one new name without a collision (measured: 0.3 µs). Unit: milliseconds. */
const usualMillis = 0.03

/**
 * A text is refused only after this many slow steps in close succession. Garbage collection or a busy processor slows
 * only single steps.
 */
const maxStrikes = 8

/** A text is refused only after slow steps of this total time. Unit: milliseconds. */
const toleratedMillis = 20

/** The largest counted time of one step, so that one long pause of the process refuses no text. Unit: milliseconds. */
const maxStepMillis = 5

/**
 * Detects member names with colliding hashes by the time that storing them takes. V8 stores every name of an object in
 * one table of the process. The seed of its hash is part of Deno's executable file, so an attacker can compute
 * thousands of names with the same slot of that table, and storing n of them takes n² steps: 20,000 names took 18 s.
 */
export class NameCost {
  #strikes = 0
  #slowMillis = 0

  /**
   * Number of names to store before the clock is read again. Smaller while steps are slow, because few names are then
   * enough.
   */
  get namesPerStep(): number {
    return this.#strikes === 0 ? 8 : 1
  }

  /** Adds a step that stored `names` names in `millis`. Returns true once only collisions can explain the time. */
  add(names: number, millis: number): boolean {
    if (millis > names * usualMillis) {
      this.#strikes++
      this.#slowMillis += Math.min(millis, maxStepMillis)
      return this.#strikes >= maxStrikes && this.#slowMillis >= toleratedMillis
    }
    // Fast steps reduce the count only slowly, because colliding names can be mixed with other names.
    this.#strikes = Math.max(0, this.#strikes - 1 / 16)
    if (this.#strikes === 0) this.#slowMillis = 0
    return false
  }
}
