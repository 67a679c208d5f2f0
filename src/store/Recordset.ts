import type { Effect } from "effect"
import { Statement } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

/** The JSON type of values by SQL type. */
interface Values {
  readonly bigint: number | string
  readonly boolean: boolean
  readonly date: string
  readonly float8: number
  readonly int: number
  readonly jsonb: unknown
  readonly smallint: number
  readonly text: string
  readonly "text[]": ReadonlyArray<string>
  readonly uuid: string
}

/** SQL types by the names of columns. */
type Columns = { readonly [name: string]: keyof Values }

/** A row with a value or NULL for each column. Other fields are ignored. */
export type RowOf<C extends Columns> = { readonly [Name in keyof C]: Values[C[Name]] | null | undefined }

/** A row with a value for each column. */
export type FullRow<C extends Columns> = { readonly [Name in keyof C]: Values[C[Name]] }

const definitions = new WeakMap<Columns, string>()

/** Returns the column definitions of a table, such as `id bigint, name text`. */
const definitionOf = (columns: Columns): string => {
  let definition = definitions.get(columns)
  if (definition === undefined) {
    definition = Object.entries(columns).map(([name, type]) => `${name} ${type}`).join(", ")
    definitions.set(columns, definition)
  }
  return definition
}

/** A statement with up to this many rows uses the plan of earlier calls. */
const rowsOfKeptPlan = 200

/**
 * Returns the statement with a new plan for this call if it searches for many rows. PostgreSQL keeps a plan until the
 * table is analyzed again. A plan from the time when a partition had few pages reads the whole partition for each row.
 */
export const plannedFor = <A>(
  rows: number,
  statement: Statement.Statement<A>,
): Effect.Effect<ReadonlyArray<A>, SqlError> => rows > rowsOfKeptPlan ? statement.unprepared : statement

/**
 * Returns the table `rows`, named `r` or `alias`, for the FROM clause of a statement. The rows are one parameter, so
 * the text of the statement does not depend on their number and its prepared form is reused. On a hot path, make
 * `columns` a constant, so that its definitions are built once.
 */
export const recordset = <const C extends Columns>(
  rows: ReadonlyArray<RowOf<NoInfer<C>>>,
  columns: C,
  alias = "r",
): Statement.Fragment =>
  Statement.fragment([
    Statement.literal("json_to_recordset("),
    Statement.parameter(JSON.stringify(rows)),
    Statement.literal(`::text::json) AS ${alias}(${definitionOf(columns)})`),
  ])
