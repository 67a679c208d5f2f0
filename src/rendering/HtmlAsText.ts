import type { RenderedFormat } from "../domain/Template.ts"
import { withoutLiquid } from "./Places.ts"
import type { SourceFinding } from "./SourceFinding.ts"

/** Elements whose start tag alone shows that a text is HTML. Names such as `b` need an end tag or an attribute. */
const alone =
  "article|body|br|center|div|footer|h[1-6]|head|header|hr|html|img|li|ol|p|section|span|table|tbody|td|th|tr|ul"

/** Elements of e-mails. Other words in angle brackets, such as `<name>`, are placeholders or addresses. */
const known =
  `${alone}|a|abbr|b|blockquote|button|code|del|em|font|i|ins|label|mark|pre|q|s|small|strike|strong|style|sub|sup|title|u`

const tag = new RegExp(
  `<!doctype\\s+html|<(?:${alone})\\s*/?>|</(?:${known})\\s*>|<(?:${known})\\s[^<>]{0,200}?=`,
  "i",
)

/** Returns a warning about HTML in a variable of the format `text`, at its first tag. */
export const htmlAsText = (source: string, format: RenderedFormat): ReadonlyArray<SourceFinding> => {
  if (format !== "text" || !source.includes("<")) return []
  const found = tag.exec(withoutLiquid(source))
  if (found === null) return []
  const shown = JSON.stringify(/^<[!/]?\w*/.exec(found[0])![0])
  return [{
    begin: found.index,
    message:
      `contains HTML, such as ${shown}, but its format is text: values are not escaped, and links are not tagged. ` +
      "Set the format html, or remove the tags",
  }]
}
