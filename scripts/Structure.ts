/** A source file: its path from the root of the repository, and its text. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** The tables of each folder of `src/`. */
export interface Ownership {
  readonly owners: { readonly [folder: string]: ReadonlyArray<string> }
}

/** Returns the folder of a file in `src/`. A file directly in `src/` counts as a folder of its own. */
export const folderOf = (path: string): string => path.split("/")[1]!

const importing =
  /(?:^|\n)(?:import|export)\b[^;"'`]*?from "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)|(?:^|\n)import "(\.[^"]+)"/g

const resolve = (from: string, relative: string): string => new URL(relative, `file:///${from}`).pathname.slice(1)

/** Returns the files that a file imports by relative paths, as paths from the root of the repository. */
const importsOf = (path: string, text: string): ReadonlyArray<string> =>
  [...text.matchAll(importing)].map((found) => resolve(path, (found[1] ?? found[2] ?? found[3])!))

/** An import of another folder, or of another file. `from` and `to` are folders or paths of files. */
export interface Crossing {
  readonly from: string
  readonly to: string
  readonly file: string
}

/**
 * Returns the imports in `src/` from one folder into another, or from one file to another if `placeOf` returns the
 * path.
 */
export const crossingsOf = (
  files: ReadonlyArray<SourceFile>,
  placeOf: (path: string) => string = folderOf,
): ReadonlyArray<Crossing> =>
  files.flatMap(({ path, text }) =>
    importsOf(path, text).flatMap((target) => {
      if (!target.startsWith("src/")) return []
      const [from, to] = [placeOf(path), placeOf(target)]
      return from === to ? [] : [{ from, to, file: path }]
    })
  )

/** The file outside of `src/` that the product imports, for its version. */
const importedFromOutside: ReadonlySet<string> = new Set(["package.json"])

/** Returns imports of files outside of `src/`, which the container image does not contain. */
export const outsideImports = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.flatMap(({ path, text }) =>
    importsOf(path, text).filter((target) => !target.startsWith("src/") && !importedFromOutside.has(target)).map((
      target,
    ) => `${path} imports ${target}, which is not part of the product. Move what it needs to src/.`)
  )

/**
 * Returns a shortest cycle of imports through each folder or file that is on a cycle, such as `a → b → a`. A cycle of
 * folders names the importing files.
 */
export const cyclesOf = (crossings: ReadonlyArray<Crossing>): ReadonlyArray<string> => {
  const targets = new Map<string, Map<string, string>>()
  for (const { file, from, to } of crossings) {
    let all = targets.get(from)
    if (all === undefined) targets.set(from, all = new Map())
    if (!all.has(to)) all.set(to, file)
  }
  const found = new Map<string, string>()
  for (const start of [...targets.keys()].sort()) {
    const path = shortestCycle(targets, start)
    if (path === undefined) continue
    const key = [...new Set(path)].sort().join()
    const files = path.slice(1).map((to, i) => targets.get(path[i]!)!.get(to)!)
    const importers = files.every((file, i) => file === path[i]) ? "" : ` (${files.join(", ")})`
    if (!found.has(key)) found.set(key, path.join(" → ") + importers)
  }
  return [...found.values()]
}

const shortestCycle = (
  targets: ReadonlyMap<string, ReadonlyMap<string, string>>,
  start: string,
): ReadonlyArray<string> | undefined => {
  const seen = new Set<string>()
  let paths: ReadonlyArray<ReadonlyArray<string>> = [[start]]
  while (paths.length > 0) {
    const next: Array<ReadonlyArray<string>> = []
    for (const path of paths) {
      for (const to of targets.get(path.at(-1)!)?.keys() ?? []) {
        if (to === start) return [...path, to]
        if (seen.has(to)) continue
        seen.add(to)
        next.push([...path, to])
      }
    }
    paths = next
  }
  return undefined
}

const namingTables = /\b(?:FROM|JOIN|INTO|UPDATE|USING|TABLE|ONLY)\s+(?:ONLY\s+)?([a-z_]+)\b/g

/** Returns the tables that a file names in SQL, without duplicates, in alphabetical order. */
export const tablesOf = (text: string, tables: ReadonlySet<string>): ReadonlyArray<string> =>
  [...new Set([...text.matchAll(namingTables)].map((found) => found[1]!).filter((name) => tables.has(name)))].sort()

/** Returns the uses of other folders' tables in SQL. */
export const foreignTables = (files: ReadonlyArray<SourceFile>, { owners }: Ownership): ReadonlyArray<string> => {
  const ownerOf = new Map(Object.entries(owners).flatMap(([folder, tables]) => tables.map((table) => [table, folder])))
  const all = new Set(ownerOf.keys())
  return files.flatMap(({ path, text }) =>
    tablesOf(text, all).filter((table) => ownerOf.get(table) !== folderOf(path)).map((table) =>
      `${path}: SQL names the table ${table}, which belongs to src/${
        ownerOf.get(table)
      }. Call a function of that folder, or join an SQL fragment that it exports.`
    )
  )
}

const declaredServices =
  /^(?:export )?(?:class|const) (\w+)\s+(?:extends|=) (?:Context|HttpApiMiddleware)\.(?:Service|Reference)\b/gm

/** Returns services whose key differs from `parlance/`, the folder of their file below `src/`, and their name. */
export const serviceKeyFaults = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(declaredServices)].flatMap(([, name]) => {
      const key = `"${["parlance", ...path.split("/").slice(1, -1), name].join("/")}"`
      return text.includes(key) ? [] : [`${path}: the key of the service ${name} must be ${key}.`]
    })
  )

const exportedTypes = /^export (?:declare )?(?:abstract )?(?:interface|type|class) ([A-Za-z0-9_]+)/gm

/**
 * Returns type names that several files export, each with its files. Problems of the API are not included: a problem
 * has the name of its domain error, and code always writes it with its namespace.
 */
export const sharedTypeNames = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const declared = new Map<string, Set<string>>()
  for (const { path, text } of files) {
    if (path.startsWith("src/api/problems/")) continue
    for (const [, name] of text.matchAll(exportedTypes)) {
      const paths = declared.get(name!)
      if (paths === undefined) declared.set(name!, new Set([path]))
      else paths.add(path)
    }
  }
  return [...declared].filter(([, paths]) => paths.size > 1).map(([name, paths]) =>
    `The type name ${name} is exported by ${
      [...paths].sort().join(" and ")
    }. Name the concepts apart, or declare one once.`
  ).sort()
}

/** Returns tables of the schema that no folder or several folders own. */
export const ownershipFaults = (snapshot: string, { owners }: Ownership): ReadonlyArray<string> => {
  const listed = Object.values(owners).flat()
  const tables = [...snapshot.matchAll(/^CREATE (?:UNLOGGED )?TABLE (?:public\.)?([a-z_]+)/gm)].map((found) =>
    found[1]!
  )
  return [
    ...tables.filter((table) => !listed.includes(table)).map((table) => `${table} has no owner in schema/owners.json`),
    ...listed.filter((table) => !tables.includes(table)).map((table) =>
      `${table} in schema/owners.json does not exist`
    ),
    ...listed.filter((table, i) => listed.indexOf(table) !== i).map((table) => `${table} has two owners`),
  ]
}
