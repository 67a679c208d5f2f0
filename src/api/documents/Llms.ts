import { firstSentence, type Library } from "./Library.ts"
import { groupOf } from "./Pages.ts"

/** Documents for language models. Files outside docs/ are left out, because their links are relative to another folder. */
const documentsOf = (library: Library) => [...library.values()].filter(({ path }) => path.toLowerCase() === path)

/** Returns `/llms-full.txt`: the text of all documents except decisions, each below its address. */
export const llmsFullText = (library: Library): string =>
  documentsOf(library)
    .filter(({ path }) => groupOf(path) !== "Decisions")
    .map(({ markdown, path }) => `<!-- /docs/${path}.md -->\n\n${markdown.trim()}\n`)
    .join("\n")

/**
 * Returns `/llms.txt`: the documents as a list of links to their Markdown, for language models (llmstxt.org). Decisions
 * are in the section `Optional`, which a reader with a small context leaves out.
 */
export const llmsText = (library: Library): string => {
  const byGroup = Map.groupBy(documentsOf(library), ({ path }) => groupOf(path))
  const list = (group: string) =>
    (byGroup.get(group) ?? []).map((document) => {
      const sentence = firstSentence(document)
      return `- [${document.title}](/docs/${document.path}.md)${sentence === "" ? "" : `: ${sentence}`}`
    }).join("\n")
  return `# Parlance

> Parlance selects the variant of a message that works best for each user, renders its Liquid, and learns from opens, clicks and
> conversions. It also sends e-mail and recommends send times. Its users run it themselves, on PostgreSQL.

- [OpenAPI document](/openapi.json): every operation with schemas, errors and examples
- [All documents in one text](/llms-full.txt), without the decisions
- [Problems](/problems): every error with its remedy

${["Guide", "Integrations", "Operations", "Reference"].map((group) => `## ${group}\n\n${list(group)}`).join("\n\n")}

## Optional

${list("Decisions")}
`
}
