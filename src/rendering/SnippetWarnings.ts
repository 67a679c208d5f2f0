import { Result } from "effect"
import type { RenderedFormat } from "../domain/Template.ts"
import { stepsOnly } from "./Budget.ts"
import { observe, parseVars } from "./Renderer.ts"
import { Refused } from "./Refused.ts"
import type { SnippetSources } from "../domain/Snippet.ts"
import type { SourceFinding } from "./SourceFinding.ts"
import type { SnippetUse } from "./StrictReader.ts"
import { readStrictly } from "./StrictReading.ts"

const usesIn = (source: string): ReadonlyArray<SnippetUse> => {
  if (!source.includes("render")) return []
  try {
    return readStrictly(source).renders
  } catch (error) {
    // Reported as a fault.
    if (error instanceof Refused) return []
    throw error
  }
}

/** Returns warnings about the arguments of a tag: missing arguments, and arguments that the snippet does not use. */
const argumentWarnings = ({ id, names }: SnippetUse, snippets: SnippetSources): ReadonlyArray<string> => {
  const snippet = snippets.get(id)
  if (snippet === undefined || snippet.text === "") return []
  const unused = names.filter((name) => name !== id && !snippet.text.includes(name))
  // Renders the snippet alone, because the tag may be in a branch that sample values do not reach.
  const source = `{% render '${id}'${names.map((name) => `, ${name}: nil`).join("")} %}`
  const parsed = parseVars({ source }, { source: "html" })
  const observed = Result.isSuccess(parsed)
    ? observe(parsed.success, {}, { snippets, now: 0, budget: stepsOnly() })
    : []
  const needed = observed.flatMap(({ missingInSnippets }) =>
    missingInSnippets.flatMap(({ message, missing }) => missing?.snippet === id ? [message] : [])
  )
  return [
    ...needed,
    ...unused.map((name) => `the snippet "${id}" does not use "${name}": correct the name, or delete the argument`),
  ]
}

/** Finds tags whose arguments do not fit the snippet that they render. */
export const snippetWarnings = (
  source: string,
  _format: RenderedFormat,
  snippets: SnippetSources,
): ReadonlyArray<SourceFinding> => {
  const known = new Map<string, ReadonlyArray<string>>()
  return usesIn(source).flatMap((use) => {
    const key = `${use.id} ${use.names.join(" ")}`
    const messages = known.get(key) ?? argumentWarnings(use, snippets)
    known.set(key, messages)
    return messages.map((message) => ({ begin: use.begin, message }))
  })
}
