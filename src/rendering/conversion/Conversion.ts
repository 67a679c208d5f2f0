import type { ConvertedSource } from "../../checking/Checks.ts"
import { type CopyPlatform, copyPlatforms } from "../../domain/CopyPlatform.ts"
import type { Format } from "../../domain/Template.ts"
import { checkSources } from "../CheckSources.ts"
import { fieldOf } from "../dialects/Notation.ts"
import { groupingMessage } from "../Groupings.ts"
import { AmpScript } from "./AmpScript.ts"
import { Django, hubspotFunctions } from "./Django.ts"
import { NoEquivalent } from "./Expression.ts"
import { Handlebars } from "./Handlebars.ts"
import { LiquidFamily } from "./LiquidFamily.ts"
import { MergeTags } from "./MergeTags.ts"
import { CopyNames } from "./Names.ts"
import { convertPlaceholders } from "./Placeholders.ts"
import { type CopyFacts, platforms } from "./Platforms.ts"
import { Result } from "./Result.ts"

const run = (result: Result, platform: CopyFacts, format: Format): void => {
  const names = new CopyNames(result, platform.roots)
  const manner = { truth: "zero" as const, dates: platform.dates }
  const speech = { ...manner, names, functions: hubspotFunctions(names), operations: {}, flags: new Set<string>() }
  switch (platform.family) {
    case "liquid":
      return new LiquidFamily(result, names, platform.linksHaveWords === true).convert()
    case "handlebars":
      return new Handlebars(result, speech, platform.looksOutside === true, format === "text").convert()
    case "django":
      return new Django(result, speech).convert()
    case "merge":
      return new MergeTags(result).convert()
    case "ampscript":
      return new AmpScript(result).convert()
    case "placeholders":
      return convertPlaceholders(result, platform.placeholders)
  }
}

/** Finds what the result may not have when it is saved, at its place in the source. */
const checkResult = (result: Result, format: Format, family: CopyFacts["family"]): void => {
  const { checked, segments } = result
  const lines = checked.split("\n")
  const begins: Array<number> = []
  let begin = 0
  for (const line of lines) {
    begins.push(begin)
    begin += line.length + 1
  }
  const sourceOf = (line: number, column: number): number => {
    const offset = (begins[line - 1] ?? 0) + column - 1
    const segment = segments.findLast((one) => one.offset <= offset)
    return Math.min(segment?.at ?? 0, result.source.length)
  }
  // Liquid in MJML has the rules of HTML. MJML itself is compiled when the variant is saved.
  const checkedAs = format === "text" ? "text" : "html"
  const { faults, warnings } = checkSources({
    vars: { text: checked },
    formats: { text: checkedAs },
    // A person saves the snippets later.
    snippets: new Map([...result.snippets].map((id) => [id, { text: "", format: checkedAs }])),
  })
  for (const [state, list] of [["mend", faults], ["check", warnings]] as const) {
    for (const { column, line, message } of list) {
      // Conditions of other languages were grouped by the conversion.
      if (family !== "liquid" && message === groupingMessage) continue
      const at = sourceOf(line, column)
      result.find(state, at, result.source.slice(at, at + 80), message)
    }
  }
}

/** Names placeholders that may be ordinary text. */
const notePlaceholders = (result: Result, pattern: RegExp): void => {
  for (const match of result.source.matchAll(pattern)) {
    const message = `Write {{ ${fieldOf(match[2]!)} }} if this is a substitution tag`
    result.find("check", match.index, match[0], message)
  }
}

/** The fields of HTML are escaped here, and are not on some platforms. */
const noteEscaping = (result: Result, title: string): void => {
  const names = [...new Set(result.fields.values())].slice(0, 10).join(", ")
  const at = Math.max(0, result.source.search(/\{[{%]|%%|\*\||%[A-Z]|\[/))
  result.find(
    "check",
    at,
    result.source.slice(at, at + 60),
    `Write | raw behind fields that contain HTML: ${title} inserts fields as they are, and here they are escaped: ${names}`,
  )
}

/**
 * Converts a source of another platform to our Liquid. A construct without an equivalent remains as it was, and is a
 * finding with its remedy. The result is checked as before saving. Expects a text without a `refusalOf`.
 */
export const convert = (source: string, from: CopyPlatform, format: Format): ConvertedSource => {
  const platform: CopyFacts = platforms[from]
  const result = new Result(source)
  try {
    run(result, platform, format)
  } catch (error) {
    if (!(error instanceof NoEquivalent)) throw error
    result.find("mend", 0, source.slice(0, 60), error.remedy)
    return { liquid: source, findings: result.findings, fields: [] }
  }
  checkResult(result, format, platform.family)
  if (platform.mayBePlaceholder !== undefined) notePlaceholders(result, platform.mayBePlaceholder)
  if (platform.isUnescaped && format !== "text" && result.fields.size > 0) noteEscaping(result, copyPlatforms[from])
  return {
    liquid: result.liquid,
    findings: result.findings.toSorted((one, other) => one.line - other.line || one.column - other.column),
    fields: [...result.fields].map(([from, to]) => ({ from, to })),
  }
}
