/** What a server lets those who watch it wait for. */
export interface Watch {
  /** To be called after whatever may be waited for. */
  readonly changed: () => void
  /** Resolves once `holds` does: looked at now, and after each change. */
  readonly until: (holds: () => boolean) => Promise<void>
}

export const makeWatch = (): Watch => {
  const waiting = new Set<() => void>()
  return {
    changed: () => {
      // A copy: whoever has waited enough leaves.
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
