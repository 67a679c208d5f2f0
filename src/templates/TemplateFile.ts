import { Result, Schema, SchemaIssue } from "effect"
import type { ReadImport } from "../checking/Checks.ts"
import { pointerParts } from "../domain/Difference.ts"
import type { Fault } from "../domain/Errors.ts"
import { expectedType } from "../text/FaultMessages.ts"
import type { Template, TemplateInput, VariantInput } from "../domain/Template.ts"
import { changedSettings, TemplateInput as TemplateSchema } from "../domain/Template.ts"
import { SnippetFileInput } from "../domain/Snippet.ts"
import { sizeFaults } from "./ImportInput.ts"
import type { FileFault } from "../text/TextFaults.ts"
import type { FileMember, Located, PlacedFault } from "./FileValues.ts"
import { read } from "./TemplateFileSource.ts"
import { quoteAdvice } from "./YamlAdvice.ts"

export { format, joined } from "./TemplateFileText.ts"
export type { FileFault } from "../text/TextFaults.ts"

/** Content of a file: `templates`, and the `snippets` that they render, each in the form of the management API. */
export const File = Schema.Struct({
  snippets: Schema.optionalKey(Schema.Array(SnippetFileInput)),
  templates: Schema.Array(TemplateSchema),
})

/** Maximum number of reported faults of one file. */
const maxFaults = 1_000

/** The templates of a file, and their positions in it. */
export interface ReadFile {
  readonly templates: ReadonlyArray<TemplateInput>
  readonly snippets: ReadonlyArray<SnippetFileInput>
  /**
   * Returns a fault of the templates, with a pointer such as `/templates/0/variants/1/vars/subject`, at its position in
   * the file.
   */
  readonly faultAt: (fault: Fault) => FileFault
}

/** The readable parts of a file, with its faults. */
interface ExaminedFile extends ReadImport<FileFault> {
  /** All values of the file. Undefined if the text is not YAML. */
  readonly json: unknown
  readonly faultAt: ReadFile["faultAt"]
}

const listed = (words: ReadonlyArray<string>, last: string): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`

const kinds: { readonly [word: string]: string } = {
  array: "a list",
  boolean: "true or false",
  number: "a number",
  object: "a mapping",
  string: "text",
}

/**
 * Converts the schema's requirement to the terms of the file: `must be "text" or "html"` for `Expected "text" |
 * "html"`.
 */
const inWords = (message: string): string => {
  if (message === "Missing key") return "is missing"
  if (!message.startsWith("Expected ")) return message
  const expected = message.slice("Expected ".length).split(" | ").map((word) => kinds[expectedType(word)] ?? word)
  return `must be ${listed(expected, "or")}`
}

/** The beginning of the fault of an unknown member. Its position is the name and not the value. */
const unknown = "is unknown"

const unknownMember = ({ ast }: SchemaIssue.UnexpectedKey): string => {
  const known = ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []
  return known.length === 0
    ? "must be a name of 1 to 100 characters of well-formed Unicode without control characters"
    : `${unknown}. Known members: ${listed(known, "and")}`
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => issue._tag === "UnexpectedKey" ? unknownMember(issue) : SchemaIssue.defaultLeafHook(issue),
})

const member = (located: Located | undefined, name: PropertyKey): Located | undefined =>
  located?.members?.get(String(name))?.at

const elements = (located: Located | undefined): ReadonlyArray<Located> =>
  Array.isArray(located?.value) ? [...located.members!.values()].map(({ at }) => at) : []

/** Position of a fault at `path`: the name of a member, an element, or the object that lacks the member. */
const placeOf = (root: Located, path: ReadonlyArray<PropertyKey>, atName: boolean): number => {
  let offset = root.offset
  let located: Located | undefined = root
  for (const [index, name] of path.entries()) {
    const found: FileMember | undefined = located?.members?.get(String(name))
    if (found === undefined) return offset
    offset = atName && index === path.length - 1 ? found.keyOffset : found.at.offset
    located = found.at
  }
  return offset
}

const yes = /^(?:yes|on|y)$/i
const no = /^(?:no|off|n)$/i

/** Returns the advice on a text where a number or a boolean belongs. */
const adviceOnText = (text: string, message: string): string => {
  if (message === "must be true or false") {
    if (/^(?:true|false)$/i.test(text)) return `${message}: write ${text.toLowerCase()} without quotes`
    return yes.test(text) ? `${message}: write true` : no.test(text) ? `${message}: write false` : message
  }
  const number = text.trim().replace(/^(-?\d+),(\d+)$/, "$1.$2")
  return message === "must be a number" && /^-?\d+(?:\.\d+)?$/.test(number) ? `${message}: write ${number}` : message
}

/** Lists of texts and numbers, which people write as one text. */
const plainLists: ReadonlySet<unknown> = new Set(["tags", "link_domains", "conversion_events", "values"])

/** Returns the advice on a value where the list `name` belongs. */
const listAdvice = (name: unknown, { source, value }: Located): string => {
  if (value === null) return ""
  if (!plainLists.has(name) || typeof value === "object" || /[,[\]{}:#"']/.test(String(value))) {
    return ': begin each element with "- " on a line of its own'
  }
  return `: write [${typeof value === "string" ? value : `"${source ?? String(value)}"`}]`
}

/** Adds to a fault what to write instead. */
const advice = (located: Located | undefined, name: unknown, message: string): string => {
  if (located === undefined) return message
  const { line = "", source, value } = located
  if (message === "must be a list") return `${message}${listAdvice(name, located)}`
  if (message.startsWith("must be a mapping") && Array.isArray(value)) {
    return `${message}: write its members without "- "`
  }
  if (typeof value === "string") return adviceOnText(value, message)
  if (message !== "must be text") return message
  if (
    typeof value === "number" || typeof value === "boolean" || (value === null && source !== undefined && source !== "")
  ) {
    return `must be text: put ${source} in quotes, "${source}"`
  }
  if (line !== "" && !line.startsWith("#")) return `must be text: ${quoteAdvice(line)}`
  if (value !== null) return message
  return `must be text, but nothing is there: write "" for no text${line === "" ? "" : `, or ${quoteAdvice(line)}`}`
}

const schemaFaults = (root: Located, issue: SchemaIssue.Issue): ReadonlyArray<PlacedFault> =>
  issuesOf(issue).issues.map(({ message: expected, path: segments = [] }) => {
    const message = inWords(expected)
    const path = segments.map((segment) => typeof segment === "object" ? segment.key : segment)
    const found = path.reduce(member, root as Located | undefined)
    const offset = placeOf(root, path, message.startsWith(unknown))
    // The schema of a list that must not be empty reports its first element as missing.
    return message === "is missing" && path.at(-1) === 0
      ? { offset, path: path.slice(0, -1), message: "must not be empty" }
      : { offset, path, message: advice(found, path.at(-1), message) }
  })

/** Returns the faults of ids that occur twice among `items`. */
const repeated = (
  items: ReadonlyArray<Located>,
  path: ReadonlyArray<PropertyKey>,
  message: string,
): ReadonlyArray<PlacedFault> => {
  const seen = new Set<unknown>()
  return items.flatMap((item, index) => {
    const id = member(item, "id")
    if (typeof id?.value !== "string" || !seen.has(id.value)) {
      seen.add(id?.value)
      return []
    }
    return [{ offset: id.offset, path: [...path, index, "id"], message }]
  })
}

/**
 * Returns the faults of numbers that targeting would compare by a text other than the written one: `01067` as `1067`,
 * `1.50` as `1.5`.
 */
const rewritten = (variant: Located, path: ReadonlyArray<PropertyKey>): ReadonlyArray<PlacedFault> =>
  elements(member(variant, "targeting")).flatMap((condition, index) =>
    elements(member(condition, "values")).flatMap(({ offset, source, value }, at) =>
      typeof value !== "number" || String(value) === source || Object.is(value, -0) ? [] : [{
        offset,
        path: [...path, "targeting", index, "values", at],
        message: `would be compared as ${value}: put ${source} in quotes`,
      }]
    )
  )

/** Returns the faults of formats and translations without a variable. */
const strayNames = (variant: Located, path: ReadonlyArray<PropertyKey>): ReadonlyArray<PlacedFault> => {
  const vars = member(variant, "vars")?.members
  if (vars === undefined) return []
  const locales = member(variant, "locales")
  const named: ReadonlyArray<readonly [ReadonlyArray<string>, Located | undefined]> = [
    [["formats"], member(variant, "formats")],
    ...[...locales?.members ?? []].map(([tag, { at }]) => [["locales", tag], at] as const),
  ]
  return named.flatMap(([where, texts]) =>
    [...texts?.members ?? []].filter(([name]) => !vars.has(name)).map(([name, { keyOffset }]) => ({
      offset: keyOffset,
      path: [...path, ...where, name],
      message: "names no variable of this variant",
    }))
  )
}

/** Returns the faults that concern several values, which a schema cannot express. */
const crossFaults = (root: Located): ReadonlyArray<PlacedFault> => {
  const templates = elements(member(root, "templates"))
  return [
    ...repeated(templates, ["templates"], "is the id of another template of this file"),
    ...templates.flatMap((template, index) => {
      const variants = elements(member(template, "variants"))
      const path = ["templates", index, "variants"]
      return [
        ...repeated(variants, path, "is the id of another variant of this template"),
        ...variants.flatMap((variant, at) => [
          ...rewritten(variant, [...path, at]),
          ...strayNames(variant, [...path, at]),
        ]),
      ]
    }),
  ]
}

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((segment) =>
    typeof segment === "number"
      ? `[${segment}]`
      : /^[A-Za-z_][\w-]*$/.test(String(segment))
      ? `.${String(segment)}`
      : `[${JSON.stringify(String(segment))}]`
  ).join("").replace(/^\./, "")

/**
 * Converts a path of texts, such as the parts of a JSON pointer, to the form of `pathText`, with elements of lists by
 * number.
 */
const pathOf = (root: Located, path: ReadonlyArray<string>): string => {
  let located: Located | undefined = root
  return pathText(path.map((name) => {
    const isList = Array.isArray(located?.value)
    located = member(located, name)
    return isList ? Number(name) : name
  }))
}

const decode = Schema.decodeUnknownResult(File)
const decodeOne = Schema.decodeUnknownResult(TemplateSchema)

/** Returns the content of a file without the members that begin with `x-`, which are a place for shared parts. */
const withoutShared = (value: unknown): unknown =>
  Object.fromEntries(Object.entries(value as object).filter(([name]) => !name.startsWith("x-")))

/** Returns up to 1,000 faults in the order of the file. Faults with equal position and text are listed once. */
export const inOrder = (faults: ReadonlyArray<FileFault>): ReadonlyArray<FileFault> => {
  // The value of an anchor is decoded once for each of its aliases.
  const unique = new Map<string, FileFault>()
  for (const fault of faults) {
    const key = `${fault.line}:${fault.column}:${fault.message}`
    if (!unique.has(key)) unique.set(key, fault)
  }
  return [...unique.values()].sort((a, b) => a.line - b.line || a.column - b.column).slice(0, maxFaults)
}

/**
 * Examines the form of a template file, YAML or JSON (which is a part of YAML). `docs/guide/templates.md` describes the
 * members of a file.
 *
 * Lists all faults, up to 1,000, in the order of the file. Faults of the YAML syntax are listed alone, because the
 * content of a broken text is a guess. Other faults are members that are unknown, missing or refused by
 * `TemplateInput`, a repeated id, a format without a variable, and numbers among targeting's values that would be
 * compared by a text other than the written one (`01067`). Members at the top whose names begin with `x-` are ignored:
 * they hold parts that aliases share. Limits: 1,000 templates, 2,000 variants, and the limits of
 * `TemplateFileSource.read`. Liquid is not checked.
 */
export const examine = (text: string, fileName: string): ExaminedFile => {
  const { faults, positionOf, root } = read(text)
  const refuse = (
    faults: ReadonlyArray<PlacedFault>,
    templates: ExaminedFile["templates"] = [],
    snippets: ExaminedFile["snippets"] = [],
  ): ExaminedFile => ({
    templates,
    snippets,
    faults: inOrder(
      faults.map(({ message, offset, path }) => ({
        file: fileName,
        ...positionOf(offset),
        path: pathText(path),
        message,
      })),
    ),
    json: root?.value,
    faultAt: ({ detail, pointer }) => {
      const path = pointerParts(pointer)
      const offset = root === undefined ? 0 : placeOf(root, path, true)
      return {
        file: fileName,
        ...positionOf(offset),
        path: root === undefined ? "" : pathOf(root, path),
        message: detail,
      }
    },
  })
  if (root === undefined) return refuse(faults)
  if (root.members === undefined || Array.isArray(root.value)) {
    return refuse([...faults, {
      offset: root.offset,
      path: [],
      message: "must be a mapping with the member `templates`",
    }])
  }
  const list = elements(member(root, "templates"))
  const tooMany = sizeFaults(list.map(({ value }) => value))
  if (tooMany.length > 0) {
    const offset = placeOf(root, ["templates"], true)
    return refuse([...faults, ...tooMany.map(({ detail }) => ({ offset, path: ["templates"], message: detail }))])
  }
  const decoded = decode(withoutShared(root.value), { errors: "all", onExcessProperty: "error" })
  // A value that could not be read is null and already has its fault.
  const unread = new Set(faults.map(({ offset }) => offset))
  const all = [
    ...faults,
    ...(Result.isFailure(decoded) ? schemaFaults(root, decoded.failure.issue) : [])
      .filter(({ offset }) => !unread.has(offset)),
    ...crossFaults(root),
  ]
  if (Result.isSuccess(decoded) && all.length === 0) {
    return refuse([], decoded.success.templates, decoded.success.snippets)
  }
  const faulty = new Set(all.filter(({ path }) => path[0] === "templates").map(({ path }) => path[1]))
  return refuse(
    all,
    list.map(({ value }, index) => {
      const one = faulty.has(index) ? undefined : decodeOne(value)
      return one !== undefined && Result.isSuccess(one) ? one.success : null
    }),
  )
}

/** Reads the templates of a file, or lists all faults: see `examine`. */
export const readFile = (
  text: string,
  fileName: string,
): Result.Result<ReadFile, ReadonlyArray<FileFault>> => {
  const { faultAt, faults, snippets, templates } = examine(text, fileName)
  return faults.length > 0
    ? Result.fail(faults)
    : Result.succeed({ templates: templates.flatMap((one) => one ?? []), snippets, faultAt })
}

/** Returns the templates of a file: see `readFile`. */
export const parse = (
  text: string,
  fileName: string,
): Result.Result<ReadonlyArray<TemplateInput>, ReadonlyArray<FileFault>> =>
  Result.map(readFile(text, fileName), ({ templates }) => templates)

const variantInputOf = (variant: Template["variants"][number]): VariantInput => ({
  id: variant.id,
  ...(variant.name === variant.id ? {} : { name: variant.name }),
  ...(variant.active ? {} : { active: false }),
  vars: variant.vars,
  ...(Object.keys(variant.locales).length === 0 ? {} : { locales: variant.locales }),
  ...(Object.keys(variant.formats).length === 0 ? {} : { formats: variant.formats }),
  ...(variant.targeting.length === 0 ? {} : { targeting: variant.targeting }),
  ...(variant.seasons.length === 0 ? {} : { seasons: variant.seasons }),
  ...(Object.keys(variant.components).length === 0 ? {} : { components: variant.components }),
})

/** Converts a stored template to its author's form: without defaults and without columns added by the store. */
export const inputOf = (template: Template): TemplateInput => ({
  id: template.id,
  name: template.name,
  ...changedSettings(template),
  ...(template.archived_at === null ? {} : { archived: true }),
  ...(template.variants.length === 0 ? {} : { variants: template.variants.map(variantInputOf) }),
})
