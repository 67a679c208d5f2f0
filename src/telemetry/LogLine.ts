import { Formatter, type LogLevel } from "effect"

/** A line of the log before it is formatted. `docs/operations/logs.md` lists its members. */
interface LogLine {
  readonly date: Date
  readonly level: LogLevel.LogLevel
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
  /** Causes with their stacks. Empty without a cause. */
  readonly cause: string
}

/** Returns a line as JSON, without a line break within it. Omits an empty `cause`. */
export const jsonOf = ({ annotations, cause, date, level, message }: LogLine): string =>
  Formatter.formatJson({
    timestamp: date.toISOString(),
    level: level.toUpperCase(),
    message,
    annotations,
    ...(cause === "" ? {} : { cause }),
  })
