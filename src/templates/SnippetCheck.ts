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
  renderedIds,
  type SnippetInput,
  type SnippetSource,
  type SnippetSources,
  type SnippetUser,
  usersOf,
} from "../domain/Snippet.ts"
import type { Vars } from "../domain/Template.ts"
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
  /** Equal as long as no snippet of the organization changes. */
  readonly stamp: string
}

const atText = ({ column, line, message }: SourceFault): Fault => ({
  pointer: "/text",
  detail: `line ${line}, column ${column}: ${message}`,
})

const reached = (snippets: SnippetSources, vars: Vars): SnippetSources =>
  reachedFrom(snippets, renderedIds(Object.values(vars)))

/** Returns the faults of a snippet that need no rendering. */
const plainFaults = (
  next: SnippetSources,
  { after: { format, id }, before, templates }: CheckedSnippet,
): ReadonlyArray<Fault> => {
  const nesting = nestingFault(next, id)
  const liquid = [...next.values()].reduce((sum, { text }) => sum + liquidLengthOf(text), 0)
  const others = usersOf(next, id).filter((user) => user !== id)
  return [
    ...(before === undefined && next.size > maxSnippets
      ? [{ pointer: "", detail: `An organization has at most ${maxSnippets} snippets: delete one first` }]
      : []),
    ...(nesting === undefined ? [] : [{ pointer: "/text", detail: nesting }]),
    ...(liquid > Limits.liquidLength
      ? [{
        pointer: "/text",
        detail: `brings the tags and outputs of all snippets above ${Limits.liquidLength} characters: shorten some`,
      }]
      : []),
    ...(before !== undefined && before.format !== format && (templates.length > 0 || others.length > 0)
      ? [{ pointer: "/format", detail: "cannot change while the snippet is used: create another snippet" }]
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
      for (const { formats, id, vars } of template?.variants ?? []) {
        const place = `the variant ${JSON.stringify(id)} of the template ${JSON.stringify(template_id)}`
        if (copy_ids.includes(id)) users.push({ place, liquid: { vars, formats } })
      }
    }
    return users.slice(0, checkedVariants)
  })

  /** Returns the faults and warnings that users of a snippet get from its change. */
  const causedIn = Effect.fnUntraced(function* (
    org: OrgSlug,
    now: SnippetSources,
    next: SnippetSources,
    templates: ReadonlyArray<SnippetUser>,
  ) {
    const users = yield* readUsers(org, templates)
    const checked = (all: SnippetSources) =>
      sources.checkAll(org, users.map(({ liquid }) => ({ ...liquid, snippets: reached(all, liquid.vars) })))
    const [before, after] = [yield* checked(now), yield* checked(next)]
    const caused = (of: "faults" | "warnings"): ReadonlyArray<Fault> =>
      users.flatMap(({ place }, at) =>
        after[at]![of].filter((found) => !before[at]![of].some((known) => isDeepStrictEqual(known, found)))
          .map(({ message, variable }) => ({
            pointer: "/text",
            detail: `${place}, variable ${JSON.stringify(variable)}: ${message}`,
          }))
      )
    return { faults: caused("faults"), warnings: caused("warnings") }
  })

  /** Checks the snippet alone, then the variants that render it. Returns faults, and reports warnings. */
  const renderingFaults = Effect.fnUntraced(function* (
    org: OrgSlug,
    now: SnippetSources,
    next: SnippetSources,
    { after: { format, text }, templates }: CheckedSnippet,
  ) {
    const vars = { text }
    const [own] = yield* sources.checkAll(org, [{ vars, formats: { text: format }, snippets: reached(next, vars) }])
    yield* tellWarnings(own!.warnings.map(atText))
    if (own!.faults.length > 0) return own!.faults.map(atText)
    const { faults, warnings } = yield* causedIn(org, now, next, templates)
    yield* tellWarnings(warnings)
    return faults
  })

  /**
   * Checks a snippet, and the variants that render it, without saving it. Reports warnings. Fails with `InvalidInput`
   * and every fault, and with `ChecksBusy` if too many checks are waiting.
   */
  return Effect.fnUntraced(function* (org: OrgSlug, id: string, input: SnippetInput) {
    if (!isSnippetId(id)) {
      const detail =
        "must be 1 to 64 lowercase letters, digits, hyphens or underscores, starting with a letter or digit"
      return yield* new InvalidInput({ faults: [{ pointer: "snippet", detail }] })
    }
    const stamp = yield* readSnippetStamp(sql, org)
    const rows = yield* readSnippets(sql, org)
    const before = rows.find((row) => row.id === id)
    const { format = before?.format ?? "text", name = before?.name ?? id, text } = input
    const now = sourcesOf(rows)
    const next = new Map(now).set(id, { format, text })
    const templates = before === undefined ? [] : yield* findUses(sql, org, usersOf(next, id))
    const change: CheckedSnippet = { before, after: { format, id, name, text }, templates, stamp }
    const plain = plainFaults(next, change)
    const faults = plain.length > 0 ? plain : yield* renderingFaults(org, now, next, change)
    if (faults.length > 0) return yield* new InvalidInput({ faults })
    return change
  })
}
