/**
 * Percent-encodes `;` and `#` in the path of an address. The router reads both as the beginning of the query: without
 * the encoding, `/api/generate/demo;x=1` would reach `/api/generate/demo`, and the template `a;b` would be the template
 * `a`. In HTTP, `;` is a character of the path.
 */
export const withPlainPath = (url: string): string => {
  const at = url.search(/[;#?]/)
  if (at === -1 || url[at] === "?") return url
  const query = url.indexOf("?", at)
  const path = query === -1 ? url : url.slice(0, query)
  return path.replaceAll(";", "%3B").replaceAll("#", "%23") + (query === -1 ? "" : url.slice(query))
}
