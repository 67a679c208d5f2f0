/** The attempts of one subject since its first attempt. */
export interface AttemptWindow {
  attempts: number
  startedAtMillis: number
}

/**
 * Counts attempts by subject in memory, each subject in a fixed window that its first attempt starts. Keeps at most
 * `maxSubjects` subjects and drops the one whose window started first.
 */
export class AttemptWindows {
  readonly #windows = new Map<string, AttemptWindow>()

  constructor(readonly windowMillis: number, readonly maxSubjects: number) {}

  /** Returns the window of the subject. Undefined if it is over, was dropped, or had no attempt. */
  current(subject: string, nowMillis: number): AttemptWindow | undefined {
    const window = this.#windows.get(subject)
    if (window === undefined) return undefined
    const age = nowMillis - window.startedAtMillis
    // A clock that was set back must not prolong a window.
    if (age >= 0 && age < this.windowMillis) return window
    this.#windows.delete(subject)
    return undefined
  }

  /** Number of attempts of the subject in its current window. */
  attempts(subject: string, nowMillis: number): number {
    return this.current(subject, nowMillis)?.attempts ?? 0
  }

  /** Milliseconds until the subject's window ends; 0 without one. */
  remainingMillis(subject: string, nowMillis: number): number {
    const window = this.current(subject, nowMillis)
    return window === undefined ? 0 : window.startedAtMillis + this.windowMillis - nowMillis
  }

  /** Adds attempts to the subject, or removes them if `attempts` is negative. Returns the new number. */
  add(subject: string, attempts: number, nowMillis: number): number {
    const window = this.current(subject, nowMillis)
    if (window !== undefined) {
      window.attempts = Math.max(0, window.attempts + attempts)
      return window.attempts
    }
    if (attempts <= 0) return 0
    this.#open(subject, attempts, nowMillis)
    return attempts
  }

  /**
   * Raises the count of a window to the count in the store, whose window started at `startedAtMillis`. Has no effect
   * once the window is dropped: the response of the store may arrive after a correct attempt has cleared the subject.
   */
  raise(window: AttemptWindow, attempts: number, startedAtMillis: number, nowMillis: number): void {
    if (window.attempts >= attempts || nowMillis - startedAtMillis >= this.windowMillis) return
    window.attempts = attempts
    window.startedAtMillis = startedAtMillis
  }

  forget(subject: string): void {
    this.#windows.delete(subject)
  }

  forgetWhere(matches: (subject: string) => boolean): void {
    for (const subject of this.#windows.keys()) if (matches(subject)) this.#windows.delete(subject)
  }

  #open(subject: string, attempts: number, startedAtMillis: number): void {
    if (this.#windows.size >= this.maxSubjects) {
      // Maps keep the order of insertion: the first entry is the oldest.
      for (const oldest of this.#windows.keys()) {
        this.#windows.delete(oldest)
        break
      }
    }
    this.#windows.set(subject, { attempts, startedAtMillis })
  }
}
