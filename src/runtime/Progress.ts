import { Clock, Context, Effect, Layer } from "effect"

// Shows the progress of long operations: one line that is redrawn on a terminal, log lines otherwise.

/** The completed amount of an operation. */
interface Amount {
  readonly done: number
  /** Undefined while it is unknown. */
  readonly total?: number | undefined
  /** The counted plural noun, such as "migrations". */
  readonly unit: string
}

/** Sets the completed amount of the operation. Cheap enough for a call at each step. */
export type Report = (amount: Amount) => Effect.Effect<void>

/** An operation in progress. The display compares it by reference. */
type Operation = { readonly label: string }

/** Shows lines about operations. */
interface Display {
  /** Time from the start of an operation to its first line. Unit: milliseconds. */
  readonly firstMillis: number
  /** Minimum time between two lines of one operation. Unit: milliseconds. */
  readonly everyMillis: number
  readonly begin: (operation: Operation) => void
  /** Shows a line, unless an operation that began later occupies the display's only line. */
  readonly show: (operation: Operation, line: string) => Effect.Effect<void>
  readonly end: (operation: Operation) => void
}

/** A stream that may be a terminal, such as `process.stderr`. */
export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => unknown
}

const count = (value: number) => value.toLocaleString("en")

/** A duration in whole seconds: "12 s", "3 min 5 s". */
export const durationText = (millis: number): string => {
  const seconds = Math.floor(millis / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** One line about an operation: "Importing: 500 of 2,000 rows (25 %), 3 s". */
export const lineOf = (label: string, amount: Amount | undefined, elapsedMillis: number): string => {
  const elapsed = durationText(elapsedMillis)
  if (amount === undefined) return `${label}: ${elapsed}`
  const { done, total, unit } = amount
  if (total === undefined || total <= 0) return `${label}: ${count(done)} ${unit}, ${elapsed}`
  const percent = Math.min(100, Math.floor(100 * done / total))
  return `${label}: ${count(done)} of ${count(total)} ${unit} (${percent} %), ${elapsed}`
}

/** Logs a line after a second and then every ten seconds. */
const log: Display = {
  firstMillis: 1000,
  everyMillis: 10_000,
  begin: () => {},
  show: (_, line) => Effect.logInfo(line),
  end: () => {},
}

/** Redraws one line about the operation that began last, and clears it when the operation ends. */
const onTerminal = (output: Output): Display => {
  const operations: Array<Operation> = []
  const isLatest = (operation: Operation) => operations[operations.length - 1] === operation
  return {
    firstMillis: 0,
    everyMillis: 200,
    begin: (operation) => void operations.push(operation),
    show: (operation, line) =>
      Effect.sync(() => {
        if (!isLatest(operation)) return
        // A line that wraps could not be redrawn. The cursor stays at its start, so that a line of the log replaces it.
        const columns = output.columns === undefined || output.columns < 2 ? 80 : output.columns
        output.write(`\r${[...line].slice(0, columns - 1).join("")}\x1b[K\r`)
      }),
    end: (operation) => {
      if (isLatest(operation)) output.write("\r\x1b[K")
      operations.splice(operations.indexOf(operation), 1)
    },
  }
}

/** Writes a line every ten seconds about the operation that began last. */
const inLines = (output: Output): Display => {
  const operations: Array<Operation> = []
  return {
    firstMillis: 10_000,
    everyMillis: 10_000,
    begin: (operation) => void operations.push(operation),
    show: (operation, line) =>
      Effect.sync(() => {
        if (operations[operations.length - 1] === operation) output.write(`${line}\n`)
      }),
    end: (operation) => void operations.splice(operations.indexOf(operation), 1),
  }
}

/** Returns the display of the service on `output`. */
export const forService = (output: Output): Display => output.isTTY === true ? onTerminal(output) : log

/** Returns the display of a command on `output`. It does not use the log, which is quiet in commands. */
export const forCommand = (output: Output): Display => output.isTTY === true ? onTerminal(output) : inLines(output)

/** The display of operations. Default: the log. */
export const Progress = Context.Reference<Display>("parlance/runtime/Progress", { defaultValue: () => log })

/** Shows the progress of the service: a redrawn line on a terminal, otherwise the log. */
export const layerService = Layer.sync(Progress, () => forService(process.stderr))
/** Shows the progress of a command on standard error, never in the log. */
export const layerCommand = Layer.sync(Progress, () => forCommand(process.stderr))

/** Runs an operation and shows its elapsed time and the amounts that it reports. */
export const withProgress = <A, E, R>(
  label: string,
  operate: (report: Report) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const display = yield* Progress
    const clock = yield* Clock.Clock
    const startedAt = clock.currentTimeMillisUnsafe()
    const operation = { label }
    let dueAt = startedAt + display.firstMillis
    let amount: Amount | undefined
    const show = Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      if (now < dueAt) return Effect.void
      dueAt = now + display.everyMillis
      return display.show(operation, lineOf(label, amount, now - startedAt))
    })
    const ticking = Effect.sleep(display.firstMillis).pipe(
      Effect.andThen(Effect.forever(Effect.andThen(show, Effect.sleep(display.everyMillis)))),
    )
    const report: Report = (next) =>
      Effect.suspend(() => {
        // The first amount is shown as soon as the first line may be, even if a line without an amount was just shown.
        if (amount === undefined) dueAt = startedAt + display.firstMillis
        amount = next
        return show
      })
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => display.begin(operation)),
      () => Effect.raceFirst(operate(report), ticking),
      () => Effect.sync(() => display.end(operation)),
    )
  })
