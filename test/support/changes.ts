/** Wakes tests that wait for a condition whenever something has changed. */
export interface Changes {
  readonly changed: () => void
  /** Resolves once `holds` is true, checked now and after each change. Rejects after `seconds`. */
  readonly until: (what: string, holds: () => boolean, seconds?: number) => Promise<void>
}

export const makeChanges = (): Changes => {
  const checks = new Set<() => void>()
  return {
    changed: () => {
      for (const check of checks) check()
    },
    until: (what, holds, seconds = 90) =>
      new Promise((resolve, reject) => {
        const settle = (end: () => void) => {
          clearTimeout(timer)
          checks.delete(check)
          end()
        }
        const check = () => {
          try {
            if (holds()) settle(resolve)
          } catch (error) {
            settle(() => reject(error))
          }
        }
        const timer = setTimeout(
          () => settle(() => reject(new Error(`Waited ${seconds} s in vain until ${what}`))),
          seconds * 1000,
        )
        checks.add(check)
        check()
      }),
  }
}
