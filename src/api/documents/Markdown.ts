import { Marked, type Token, type Tokens } from "marked"

/** A heading of a document, with the id by which it is linked. */
interface Heading {
  readonly level: number
  readonly text: string
  readonly id: string
}

/** A Markdown document as HTML. */
export interface RenderedDocument {
  readonly html: string
  readonly headings: ReadonlyArray<Heading>
  /** Its words without markup, by section, for the search. The first section has the id `""`. */
  readonly sections: ReadonlyArray<{ readonly id: string; readonly title: string; readonly text: string }>
}

/** Escapes text for HTML, in elements and in quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** Returns the id of a heading in the form of GitHub: lowercase, hyphens for spaces, no punctuation. */
export const slugOf = (text: string): string =>
  text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/gu, "-")

/** Returns inline Markdown without markup. */
const plainText = (text: string): string => text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "")

const textOf = (token: Tokens.Generic): string => {
  if (token.type === "table") {
    const { header, rows } = token as unknown as Tokens.Table
    return [header, ...rows].map((row) => row.map(({ text }) => plainText(text)).join(" ")).join("\n")
  }
  return token.type === "code" ? token["text"] : plainText(token.raw)
}

const headingsAmong = (tokens: ReadonlyArray<Token>): ReadonlyArray<Heading> => {
  const seen = new Map<string, number>()
  return tokens.filter((token): token is Tokens.Heading => token.type === "heading").map(({ depth, text }) => {
    const plain = plainText(text)
    const slug = slugOf(plain)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return { level: depth, text: plain, id: count === 0 ? slug : `${slug}-${count}` }
  })
}

/** Returns the headings of a Markdown text. Repeated ids get `-1`, `-2` and so on. */
export const headingsOf = (markdown: string): ReadonlyArray<Heading> => headingsAmong(new Marked().lexer(markdown))

/**
 * Renders a Markdown text. HTML in it is escaped. `linkOf` returns the address of a link. If it returns undefined, only
 * the text of the link is kept.
 */
export const render = (markdown: string, linkOf: (href: string) => string | undefined): RenderedDocument => {
  const tokens = new Marked().lexer(markdown)
  const headings = headingsAmong(tokens)
  const rest = [...headings]
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens }) {
        const { id } = rest.shift()!
        return `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const address = linkOf(href)
        return address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`
      },
      image: ({ text }) => escapeHtml(text),
      // Pictures are for readers of the repository. The service has the pages themselves.
      html: ({ text }) => text.startsWith("<picture>") ? "" : escapeHtml(text),
      table(token) {
        const cells = (row: ReadonlyArray<Tokens.TableCell>, tag: "th" | "td") =>
          `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`
        return `<div class="table" tabindex="0"><table><thead>${cells(token.header, "th")}</thead><tbody>${
          token.rows.map((row) => cells(row, "td")).join("")
        }</tbody></table></div>\n`
      },
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`,
    },
  })
  const sections: Array<{ id: string; title: string; text: string }> = [{ id: "", title: "", text: "" }]
  const titles = [...headings]
  for (const token of tokens) {
    if (token.type === "heading") {
      const { id, text } = titles.shift()!
      sections.push({ id, title: text, text: "" })
    } else if (token.type !== "space") sections.at(-1)!.text += `${textOf(token as Tokens.Generic)}\n`
  }
  return { html: marked.parser(tokens), headings, sections }
}
