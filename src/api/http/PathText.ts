/**
 * An address whose path has `;` and `#` percent-encoded. The router takes both for the beginning of the query, so that `/api/generate/demo;x=1`
 * was a request to `/api/generate/demo`, and a template `a;b` was the template `a`. In HTTP, `;` is a character of the path.
 */
export const withPlainPath = (url: string): string => {
  const at = url.search(/[;#?]/)
  if (at === -1 || url[at] === "?") return url
  const query = url.indexOf("?", at)
  const path = query === -1 ? url : url.slice(0, query)
  return path.replaceAll(";", "%3B").replaceAll("#", "%23") + (query === -1 ? "" : url.slice(query))
}
