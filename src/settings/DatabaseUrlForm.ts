// Finds texts that are no URL of PostgreSQL, such as the strings of other clients. No fault contains a part of the text,
// which may have a password.

const example = "postgres://user:password@host:5432/database"

/** Forms in which providers and tools show an address, and how to make a URL of each. */
const otherForms: ReadonlyArray<readonly [form: RegExp, fault: string]> = [
  [/^psql\s/, "is a command. Keep only the URL in it, without quotation marks"],
  [
    /^["'`]|["'`]$/,
    "begins or ends with a quotation mark, which is part of the value here. Remove the quotation marks",
  ],
  [/^(?:export\s+)?[A-Z_]+_URL\s*=/, "begins with the name of a setting. Keep only the text after the ="],
  [/^\$\{?\w+\}?$/, "is the name of a variable that nothing has replaced. Set the value of the variable"],
  [/^jdbc:/i, `begins with jdbc:. Remove that, so that it begins as ${example}`],
  [
    /^(?:postgres(?:ql)?\+\w+|cockroachdb|ysql|pgsql):/i,
    `begins with the name of a driver. Begin it with postgres://, such as ${example}`,
  ],
  [
    /^[A-Za-z ]+\s*=/,
    `is a list of keywords and values. Write them as a URL: ${example}?sslmode=require`,
  ],
  // deno-lint-ignore no-control-regex
  [/[\0-\x1f]/, "has a line break or another control character. Write it in one line"],
  [
    /^postgres(?:ql)?:\/\/(?:[^/?]*@)?[^/?@]*,[^/?@]*(?:[/?]|$)/i,
    "has several hosts. Give the one address that leads to the primary, see docs/operations/cluster.md",
  ],
  [
    /^[^?#]*:(?:\[YOUR-PASSWORD\]|\$\{\w+\}|<\w+>|\*{4,})@/i,
    "has a placeholder in place of the password. Write the password, percent-encoded",
  ],
  [/%00/, "has %00, which PostgreSQL accepts in no name or password. Remove it"],
]

/** libpq accepts a URL without a host, as for sockets: `postgres://user@/database?host=/cloudsql/name`. */
const withHost = (text: string): string =>
  text.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#]*@(?=[:/?]|$)|(?=:\d*(?:[/?]|$))))/i, "$1localhost")

const decodes = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Parses the text of `DATABASE_URL`, without white space and a byte order mark around it, or returns its fault. */
export const urlOf = (given: string): URL | string => {
  const text = given.trim()
  const other = otherForms.find(([form]) => form.test(text))
  if (other !== undefined) return other[1]
  const url = /^postgres(?:ql)?:\/\//i.test(text) ? URL.parse(withHost(text)) : null
  if (url === null) {
    return `must be a URL such as ${example}. Percent-encode characters such as / ? # @ : of the password. The port must ` +
      "be at most 65535"
  }
  if (url.hash !== "") return "has a #. Percent-encode it as %23"
  // A password with a / ends the part with the host, and the rest would be taken for the database.
  if (/[/@&;]/.test(url.pathname.slice(1))) {
    return "has one of / @ & ; after the name of the database begins. Percent-encode these characters in the password " +
      "and in names, and write ? before the first parameter and & between parameters"
  }
  return [url.username, url.password, url.hostname, url.pathname].every(decodes)
    ? url
    : "is not percent-encoded correctly. Write %25 for a percent sign"
}
