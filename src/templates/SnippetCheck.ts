import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Sources } from "../checking/Checks.ts"
import { isDeepStrictEqual } from "node:util"
import { type Fault, InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import {
  isSnippetId,
  maxSnippets,
  nestingFault,
  reachedFrom,
  renderedBy,
  renderedIds,
  type SnippetFileInput,
  snippetIdRule,
  type SnippetSource,
  type SnippetSources,
  type SnippetUser,
  usersOf,
} from "../domain/Snippet.ts"
import * as Limits from "../rendering/Limits.ts"
import { liquidLengthOf } from "../rendering/Source.ts"
import type { SourceCheck } from "../rendering/SourceCheck.ts"
import { tellWarnings } from "../store/WarningTrail.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { findUses, readSnippets, readSnippetStamp, type SnippetRow, sourcesOf } from "./SnippetRows.ts"
import { readTemplates } from "./TemplateRows.ts"

/** Maximum number of variants that are checked with a changed snippet. All have the same snippet, so more add little. */
const checkedVariants = 100

/** A change of a snippet that can be saved. */
export interface CheckedSnippet {
  readonly before: SnippetRow | undefined
  readonly after: { readonly id: string; readonly name: string } & SnippetSource
  /** The templates that the change affects. */
  readonly templates: ReadonlyArray<SnippetUser>
}

/** Changes of snippets that can be saved together. Snippets that stay as they are, are left out. */
export interface CheckedSnippets {
  readonly changes: ReadonlyArray<CheckedSnippet>
  /** Equal as long as no snippet of the organization changes. */
  readonly stamp: string
}

/** Returns the pointer to an input, such as `/snippets/0`. Empty for the only one of a request. */
type PointerTo = (index: number) => string

/** A change with the place of its input. */
interface Placed extends CheckedSnippet {
  readonly at: string
}

const isSame = ({ after, before }: CheckedSnippet): boolean =>
  before !== undefined && before.text === after.text && before.name === after.name && before.format === after.format

const atText = (at: string) => ({ column, line, message }: SourceFault): Fault => ({
  pointer: `${at}/text`,
  detail: `line ${line}, column ${column}: ${message}`,
})

const idFaults = (inputs: ReadonlyArray<SnippetFileInput>, pointerTo: PointerTo): ReadonlyArray<Fault> => {
  const seen = new Set<string>()
  return inputs.flatMap(({ id }, index) => {
    const pointer = pointerTo(index) === "" ? "snippet" : `${pointerTo(index)}/id`
    const isRepeated = seen.has(id)
    seen.add(id)
    if (!isSnippetId(id)) return [{ pointer, detail: snippetIdRule }]
    return isRepeated ? [{ pointer, detail: "is the id of another snippet here" }] : []
  })
}

/** Returns the faults of a snippet that need no rendering. */
const plainFaults = (
  next: SnippetSources,
  { after: { format, id }, at, before, templates }: Placed,
): ReadonlyArray<Fault> => {
  const nesting = nestingFault(next, id)
  const liquid = [...next.values()].reduce((sum, { text }) => sum + liquidLengthOf(text), 0)
  const others = usersOf(next, id).filter((user) => user !== id)
  return [
    ...(before === undefined && next.size > maxSnippets
      ? [{ pointer: at, detail: `An organization has at most ${maxSnippets} snippets: delete one first` }]
      : []),
    ...(nesting === undefined ? [] : [{ pointer: `${at}/text`, detail: nesting }]),
    ...(liquid > Limits.liquidLength
      ? [{
        pointer: `${at}/text`,
        detail: `brings the tags and outputs of all snippets above ${Limits.liquidLength} characters: shorten some`,
      }]
      : []),
    ...(before !== undefined && before.format !== format && (templates.length > 0 || others.length > 0)
      ? [{ pointer: `${at}/format`, detail: "cannot change while the snippet is used: create another snippet" }]
      : []),
  ]
}

/** Checks changes of snippets before they are saved. */
export const snippetChecks = (sql: SqlClient.SqlClient, sources: SourceCheck["Service"]) => {
  /** Reads the variants that render a snippet, at most 100. */
  const readUsers = Effect.fnUntraced(function* (org: OrgSlug, templates: ReadonlyArray<SnippetUser>) {
    const users: Array<{ readonly place: string; readonly liquid: Sources }> = []
    for (const { copy_ids, template_id } of templates) {
      if (users.length >= checkedVariants) break
      const [template] = yield* readTemplates(sql, org, [template_id])
      for (const { formats, id, locales, vars } of template?.variants ?? []) {
        const place = `the variant ${JSON.stringify(id)} of the template ${JSON.stringify(template_id)}`
        if (copy_ids.includes(id)) users.push({ place, liquid: { vars, formats, locales } })
      }
    }
    return users.slice(0, checkedVariants)
  })

  /** Returns the faults and warnings that users of snippets get from their changes. */
  const causedIn = Effect.fnUntraced(function* (
    org: OrgSlug,
    now: SnippetSources,
    next: SnippetSources,
    changes: ReadonlyArray<Placed>,
  ) {
    const users = yield* readUsers(org, changes.flatMap(({ templates }) => templates))
    const checked = (all: SnippetSources) =>
      sources.checkAll(
        org,
        users.map(({ liquid }) => ({ ...liquid, snippets: reachedFrom(all, renderedBy([liquid])) })),
      )
    const [before, after] = [yield* checked(now), yield* checked(next)]
    const caused = (of: "faults" | "warnings"): ReadonlyArray<Fault> =>
      users.flatMap(({ place }, at) =>
        after[at]![of].filter((found) => !before[at]![of].some((known) => isDeepStrictEqual(known, found)))
          .map(({ message, variable }) => ({
            pointer: `${changes[0]!.at}/text`,
            detail: `${place}, variable ${JSON.stringify(variable)}: ${message}`,
          }))
      )
    return { faults: caused("faults"), warnings: caused("warnings") }
  })

  /** Checks the snippets alone, then the variants that render them. Returns faults, and reports warnings. */
  const renderingFaults = Effect.fnUntraced(function* (
    org: OrgSlug,
    now: SnippetSources,
    next: SnippetSources,
    changes: ReadonlyArray<Placed>,
  ) {
    const own = yield* sources.checkAll(
      org,
      changes.map(({ after: { format, text } }) => ({
        vars: { text },
        formats: { text: format },
        snippets: reachedFrom(next, renderedIds([text])),
      })),
    )
    yield* tellWarnings(changes.flatMap(({ at }, index) => own[index]!.warnings.map(atText(at))))
    const ownFaults = changes.flatMap(({ at }, index) => own[index]!.faults.map(atText(at)))
    if (ownFaults.length > 0) return ownFaults
    const { faults, warnings } = yield* causedIn(org, now, next, changes)
    yield* tellWarnings(warnings)
    return faults
  })

  /**
   * Checks snippets, and the variants that render them, without saving them. Reports warnings. Fails with `InvalidInput`
   * and every fault, and with `ChecksBusy` if too many checks are waiting.
   */
  return Effect.fnUntraced(function* (
    org: OrgSlug,
    inputs: ReadonlyArray<SnippetFileInput>,
    pointerTo: PointerTo = () => "",
  ) {
    const wrong = idFaults(inputs, pointerTo)
    if (wrong.length > 0) return yield* new InvalidInput({ faults: wrong })
    const stamp = yield* readSnippetStamp(sql, org)
    const rows = yield* readSnippets(sql, org)
    const now = sourcesOf(rows)
    const next = new Map(now)
    const all = inputs.map(({ id, ...input }, index) => {
      const before = rows.find((row) => row.id === id)
      const { format = before?.format ?? "text", name = before?.name ?? id, text } = input
      next.set(id, { format, text })
      return { before, after: { format, id, name, text }, templates: [], at: pointerTo(index) }
    }).filter((one) => !isSame(one))
    const changes = yield* Effect.forEach(all, (one) =>
      Effect.map(
        one.before === undefined ? Effect.succeed([]) : findUses(sql, org, usersOf(next, one.after.id)),
        (templates): Placed => ({ ...one, templates }),
      ))
    const plain = changes.flatMap((change) => plainFaults(next, change))
    const faults = plain.length > 0 || changes.length === 0 ? plain : yield* renderingFaults(org, now, next, changes)
    if (faults.length > 0) return yield* new InvalidInput({ faults })
    return { changes, stamp } satisfies CheckedSnippets
  })
}
