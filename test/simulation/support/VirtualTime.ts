interface Timer {
  readonly at: number
  readonly order: number
  readonly action: () => void
}

const isBefore = (a: Timer, b: Timer) => a.at < b.at || (a.at === b.at && a.order < b.order)

/**
 * Virtual time: runs scheduled actions in order, at once, without waiting. Actions of the same instant run in the order
 * in which they were scheduled. Unit of all times: milliseconds since the start.
 */
export class VirtualTime {
  private time = 0
  private order = 0
  /** A binary heap, the earliest first. */
  private readonly timers: Array<Timer> = []

  get now(): number {
    return this.time
  }

  /** Runs the action after a delay of 0 or more milliseconds. */
  after(delayMillis: number, action: () => void): void {
    const timer = { at: this.time + Math.max(0, delayMillis), order: this.order++, action }
    const { timers } = this
    let place = timers.length
    timers.push(timer)
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(timer, timers[parent]!)) break
      timers[place] = timers[parent]!
      place = parent
    }
    timers[place] = timer
  }

  /** Runs all timers that are due until this instant. Stops early once `isDone` holds or nothing is left to do. */
  runUntil(endMillis: number, isDone: () => boolean = () => false): void {
    while (this.timers.length > 0 && this.timers[0]!.at <= endMillis && !isDone()) {
      const timer = this.take()
      this.time = timer.at
      timer.action()
    }
  }

  private take(): Timer {
    const { timers } = this
    const first = timers[0]!
    const last = timers.pop()!
    if (timers.length === 0) return first
    let place = 0
    while (true) {
      const left = 2 * place + 1
      if (left >= timers.length) break
      const least = left + 1 < timers.length && isBefore(timers[left + 1]!, timers[left]!) ? left + 1 : left
      if (!isBefore(timers[least]!, last)) break
      timers[place] = timers[least]!
      place = least
    }
    timers[place] = last
    return first
  }
}
