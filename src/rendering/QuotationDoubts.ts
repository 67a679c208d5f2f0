import { partsOf } from "./dialects/Parts.ts"
import { Refused } from "./Refused.ts"
import { hasLiquid } from "./Source.ts"
import type { SourceFinding } from "./SourceFinding.ts"
import type { SourceParts } from "./StrictReader.ts"
import { readStrictly } from "./StrictReading.ts"

// Finds quotation marks that are probably missing, and Liquid within them, which is a text.

/** Filters whose first argument is the name of a property. */
const takesProperty = /^(?:map|where|reject|find|find_index|has|group_by|sort|sort_natural|sum)$/

const currency = /^[A-Z]{3}$/

/** A tag or output up to the end of its first text in quotes, which contains an output. */
const outputInText = /^\{[{%][^{}"'%]{0,200}(["'])[^"'{}]{0,200}(\{\{[^"'{}]{0,100}\}\})[^"'{}]{0,200}\1/

const filtersOf = (source: string): SourceParts["filters"] => {
  try {
    return readStrictly(source).filters
  } catch (error) {
    // Reported as a fault.
    if (error instanceof Refused) return []
    throw error
  }
}

/** Finds names of properties and currencies without quotation marks: `map: title` reads the field `title`. */
const withoutQuotes = (source: string, locals: ReadonlySet<string>): ReadonlyArray<SourceFinding> =>
  filtersOf(source).flatMap(({ args: [first], name }) => {
    const root = first?.root
    if (first === undefined || root === undefined || locals.has(root)) return []
    if (first.end - first.begin !== root.length) return []
    const what = takesProperty.test(name)
      ? "property"
      : name.startsWith("money") && currency.test(root)
      ? "currency"
      : ""
    return what === "" ? [] : [{
      begin: first.begin,
      message: `${root} without quotes is the value of a field. For the ${what}, write ${name}: "${root}"`,
    }]
  })

/** Warns of names that are probably texts, and of Liquid in texts. */
export const quotationDoubts = (source: string): ReadonlyArray<SourceFinding> => {
  if (!hasLiquid(source)) return []
  const { liquid, locals } = partsOf(source)
  const inTexts = liquid.flatMap(({ begin }): ReadonlyArray<SourceFinding> => {
    const [found, , shown = ""] = outputInText.exec(source.slice(begin, begin + 800)) ?? []
    return found === undefined ? [] : [{
      begin: begin + found.lastIndexOf(shown),
      message: `${shown} in quotes is shown as it is. Write a filter, as in "Hi " | append: name, or ` +
        "{% capture text %}Hi {{ name }}{% endcapture %}",
    }]
  })
  return [...inTexts, ...withoutQuotes(source, locals)]
}
