// Checks that a distributed PostgreSQL can distribute the tables of organizations by `org_slug`. Reads the schema and
// the statements of `src/`. A parameter of a fragment compares by its name. A function of another file that returns a
// fragment is not inlined, so its tables and equalities do not count.
import { type Query, queryTables, type TableUse } from "./SqlJoins.ts"
import { exportedTexts, statementsOf } from "./SqlStatements.ts"
import type { SourceFile } from "./Structure.ts"

/** The column by which tables are distributed. */
export const distributionColumn = "org_slug"

/** Exceptions from the rule, each with its reason. */
export interface DistributionExceptions {
  /** Tables without the column: a copy on every server, or all rows on one. */
  readonly tables: { readonly [table: string]: string }
  /** Keys without the column, as `table (columns)`. */
  readonly keys: { readonly [key: string]: string }
  /** Statements that join tables without equality of the column, as `file: tables`. */
  readonly joins: { readonly [join: string]: string }
}

interface Table {
  readonly name: string
  readonly isDistributed: boolean
  readonly keys: ReadonlyArray<ReadonlyArray<string>>
}

const columnsIn = (list: string): ReadonlyArray<string> => list.split(",").map((column) => column.trim())

/** Returns the tables of the schema, with their primary and unique keys. */
const tablesIn = (snapshot: string): ReadonlyArray<Table> => {
  const indexes = [
    ...snapshot.matchAll(/^CREATE UNIQUE INDEX \w+ ON (?:ONLY )?(?:public\.)?(\w+) USING \w+ \(([^)]*)\)/gm),
  ]
  return [...snapshot.matchAll(/^CREATE (?:UNLOGGED )?TABLE (?:public\.)?(\w+) \(\n([^;]*)\n\)/gm)].map(
    ([, name, body]) => ({
      name: name!,
      isDistributed: new RegExp(`^ +${distributionColumn} `, "m").test(body!),
      keys: [
        ...[...body!.matchAll(/^ +(?:PRIMARY KEY|UNIQUE) \(([^)]*)\)/gm)].map((found) => columnsIn(found[1]!)),
        ...indexes.filter((found) => found[1] === name).map((found) => columnsIn(found[2]!)),
      ],
    }),
  )
}

/** Returns the tables whose rows belong to one organization each. */
export const distributedTables = (snapshot: string): ReadonlySet<string> =>
  new Set(tablesIn(snapshot).filter(({ isDistributed }) => isDistributed).map(({ name }) => name))

const separateUses = (uses: ReadonlyArray<TableUse>): ReadonlyArray<string> =>
  new Set(uses.map(({ group }) => group)).size < 2 ? [] : [...new Set(uses.map(({ table }) => table))].sort()

/** Returns the joins of a file whose tables are not all connected by equality of the column, as `file: tables`. */
const joinsOf = (
  { path, text }: SourceFile,
  distributed: ReadonlySet<string>,
  shared: ReadonlyMap<string, string>,
): ReadonlyArray<string> => {
  const query: Query = { distributed, column: distributionColumn }
  return statementsOf(text, shared).flatMap((statement) => {
    const tables = separateUses(queryTables(statement, query))
    return tables.length === 0 ? [] : [`${path}: ${tables.join(", ")}`]
  })
}

const compare = (
  found: ReadonlyArray<string>,
  allowed: { readonly [name: string]: string },
  faultOf: (name: string) => string,
): ReadonlyArray<string> => [
  ...[...new Set(found)].filter((name) => allowed[name] === undefined).map(faultOf),
  ...Object.keys(allowed).filter((name) => !found.includes(name)).map((name) =>
    `schema/distribution.json: the exception "${name}" applies to nothing. Remove it.`
  ),
]

/** Returns tables, keys and joins without the column that are no exception, and exceptions that apply to nothing. */
export const distributionFaults = (
  snapshot: string,
  files: ReadonlyArray<SourceFile>,
  exceptions: DistributionExceptions,
): ReadonlyArray<string> => {
  const tables = tablesIn(snapshot)
  const distributed = distributedTables(snapshot)
  const texts = (known: ReadonlyMap<string, string>) =>
    new Map(files.flatMap(({ text }) => [...exportedTexts(text, known)]))
  // An exported text may contain another one.
  const shared = texts(texts(new Map()))
  const remedy = "or list it with a reason in schema/distribution.json"
  return [
    ...compare(
      tables.filter(({ isDistributed }) => !isDistributed).map(({ name }) => name),
      exceptions.tables,
      (name) => `The table ${name} has no ${distributionColumn}. Add the column, ${remedy}.`,
    ),
    ...compare(
      tables.filter(({ isDistributed }) => isDistributed).flatMap(({ keys, name }) =>
        keys.filter((columns) => !columns.includes(distributionColumn)).map((columns) =>
          `${name} (${columns.join(", ")})`
        )
      ),
      exceptions.keys,
      (key) => `The key ${key} has no ${distributionColumn}. Add the column, ${remedy}.`,
    ),
    ...compare(
      files.flatMap((file) => joinsOf(file, distributed, shared)),
      exceptions.joins,
      (join) => `${join} are joined without equality of ${distributionColumn}. Add it to the condition, ${remedy}.`,
    ),
  ]
}
