/** Longest time in which one new member name is stored, unless its hash collides. Measured: 0.3 µs. Unit: milliseconds. */
const usualMillis = 0.03

/** Slow steps in close succession that are no accident: a garbage collection or a busy processor slows a single step. */
const maxStrikes = 8

/** Time in slow steps that a text may take before it is refused. Unit: milliseconds. */
const toleratedMillis = 20

/** A single step counts as this at most, so that one long pause of the process refuses nothing. Unit: milliseconds. */
const maxStepMillis = 5

/**
 * Tells member names whose hashes collide by the time it takes to store them. V8 keeps every name of an object in one table
 * of the process. The seed of its hash is part of Deno's executable file, so anybody can compute thousands of names that
 * take one slot of that table, and storing n of them takes n² steps: 20,000 names took 18 s.
 */
export class NameCost {
  #strikes = 0
  #slowMillis = 0

  /** How many names to store before the clock is read again: fewer once they are slow, as few are enough to tell. */
  get namesPerStep(): number {
    return this.#strikes === 0 ? 8 : 1
  }

  /** Adds a step that stored `names` names in `millis`. Returns true once the time cannot be explained but by collisions. */
  add(names: number, millis: number): boolean {
    if (millis > names * usualMillis) {
      this.#strikes++
      this.#slowMillis += Math.min(millis, maxStepMillis)
      return this.#strikes >= maxStrikes && this.#slowMillis >= toleratedMillis
    }
    // Usual steps between the slow ones are forgiven slowly: names that collide can be mixed with others.
    this.#strikes = Math.max(0, this.#strikes - 1 / 16)
    if (this.#strikes === 0) this.#slowMillis = 0
    return false
  }
}
