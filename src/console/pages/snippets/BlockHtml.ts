/**
 * Returns the content of the body of compiled MJML, for a snippet. Columns beside each other need their widths, which MJML writes into
 * the head.
 */
export const bodyOf = (html: string): string => {
  const [, body = ""] = /<body[^>]*>\s*<div[^>]*>([^]*)<\/div>\s*<\/body>/.exec(html) ?? []
  const [widths = ""] = /@media only screen and \(min-width:\d+px\) \{\s*(?:\.mj-column-[^}]*\}\s*)+\}/.exec(html) ?? []
  const isOne = [...widths.matchAll(/\.mj-column-per-(\d+)/g)].every(([, share]) => share === "100")
  return isOne ? body.trim() : `<style>${widths}</style>\n${body.trim()}`
}
