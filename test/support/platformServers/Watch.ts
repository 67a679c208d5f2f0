/** Lets tests wait for conditions of a server. */
export interface Watch {
  /** Called after each change that a test may await. */
  readonly changed: () => void
  /** Resolves when `holds` returns true. Checked immediately, and after each change. */
  readonly until: (holds: () => boolean) => Promise<void>
}

export const makeWatch = (): Watch => {
  const waiting = new Set<() => void>()
  return {
    changed: () => {
      // Iterate over a copy, because finished waiters remove themselves.
      for (const check of [...waiting]) check()
    },
    until: (holds) =>
      new Promise((done) => {
        const check = () => {
          if (!holds()) return
          waiting.delete(check)
          done()
        }
        waiting.add(check)
        check()
      }),
  }
}
