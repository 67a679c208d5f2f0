import { Schema } from "effect"

// Faults in texts that people write.

/** A fault of one variable's source; `line` and `column` count from 1, columns in UTF-16 code units. */
export const SourceFault = Schema.Struct({
  variable: Schema.String,
  line: Schema.Int,
  column: Schema.Int,
  message: Schema.String,
})
export type SourceFault = typeof SourceFault.Type

/** One reason why a file was refused. */
export interface FileFault {
  /** The file's name, as given. */
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  /** Counted from 1, in UTF-16 code units. */
  readonly column: number
  /** Place in the content, such as `templates[0].variants[1].vars.subject`; empty for the file as a whole. */
  readonly path: string
  readonly message: string
}
