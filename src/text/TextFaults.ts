import { Schema } from "effect"

// Faults in texts that people write.

/**
 * A fault or a warning in the source of a variable, in the variant's locale `locale` or, without one, in the default
 * locale. `line` and `column` begin at 1. Unit of columns: UTF-16 code units.
 */
export const SourceFault = Schema.Struct({
  variable: Schema.String,
  line: Schema.Int,
  column: Schema.Int,
  message: Schema.String,
  locale: Schema.optionalKey(Schema.String),
})
export type SourceFault = typeof SourceFault.Type

/** Returns the variable of a fault for people: `subject`, or `subject (de)` for a text in another locale. */
export const sourceName = ({ locale, variable }: Pick<SourceFault, "locale" | "variable">): string =>
  locale === undefined ? variable : `${variable} (${locale})`

/** One reason why a file was refused. */
export interface FileFault {
  /** The name of the file, given by the caller. */
  readonly file: string
  /** Begins at 1. */
  readonly line: number
  /** Begins at 1. Unit: UTF-16 code units. */
  readonly column: number
  /** Place in the content, such as `templates[0].variants[1].vars.subject`. Empty for a fault of the whole file. */
  readonly path: string
  readonly message: string
}
