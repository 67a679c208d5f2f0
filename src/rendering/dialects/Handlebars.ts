import { fetchFirst, type Notation, passLink, pathOf, sendToFewer, snippetOf, valueOf } from "./Notation.ts"

// Handlebars and Mustache. The patterns match the text between the braces.

const platform = "Handlebars (Iterable, SendGrid, Mandrill)"

/** Helpers that compare, with the operator of Liquid. */
export const comparisons: Readonly<Record<string, string>> = {
  ifeq: "==",
  eq: "==",
  equals: "==",
  is: "==",
  ifequals: "==",
  notequals: "!=",
  ifnoteq: "!=",
  ifneq: "!=",
  ne: "!=",
  neq: "!=",
  isnt: "!=",
  ifgt: ">",
  gt: ">",
  greaterthan: ">",
  ifgte: ">=",
  gte: ">=",
  greaterthanequal: ">=",
  iflt: "<",
  lt: "<",
  lessthan: "<",
  iflte: "<=",
  lte: "<=",
  lessthanequal: "<=",
  ifcontainsstr: "contains",
  contains: "contains",
  and: "and",
  or: "or",
}

/** Returns the name of a helper without case and underscores: `if_eq` and `ifEq` are one helper. */
export const helperWord = (name: string): string => name.toLowerCase().replaceAll("_", "")

/** A value of a helper: a text in quotes, a name in brackets or a path. */
const value = /"[^"]*"|'[^']*'|\[[^\]]*\](?:\.\S+)?|[^\s()]+/g

const valuesIn = (text: string): ReadonlyArray<string> => {
  const found: ReadonlyArray<string> = text.slice(0, 300).match(value) ?? []
  return found.map((one) => valueOf(/^\[[^\]]*\]$/.test(one) ? one.slice(1, -1) : one))
}

/** Returns the condition of an `#if`, whose value may be a helper in brackets or an expression in backticks. */
const conditionOf = (text: string): string => {
  const inner = text.trim().replace(/^\(|\)$/g, "")
  if (/^@(?:first|last)$/.test(inner)) return `forloop.${inner.slice(1)}`
  if (inner.startsWith("`")) return inner.replaceAll("`", "")
  const [, helper = "", rest = ""] = /^#?(\w+)\s+([^]+)$/.exec(inner) ?? []
  const operator = comparisons[helperWord(helper)]
  const [left, right] = valuesIn(rest)
  if (operator !== undefined && right !== undefined) return `${left} ${operator} ${right}`
  if (/^(?:not|ifnot)$/i.test(helper)) return `${left} == blank`
  return `${valueOf(inner.split(/\s/)[0]!)} != blank`
}

const block = ([, name = "", rest = ""]: ReadonlyArray<string>): string => {
  const word = helperWord(name)
  if (word === "if") return `{% if ${conditionOf(rest)} %}`
  if (word === "unless") return `{% unless ${conditionOf(rest)} %}`
  if (word === "each" || word === "foreach") {
    const [, item = "item"] = /\bas\s*\|\s*(\w+)/.exec(rest) ?? []
    return `{% for ${item} in ${pathOf(rest.trim().split(/\s/)[0] ?? "items")} %}`
  }
  if (word === "with") return `the whole path of each field, such as {{ ${pathOf(rest.split(/\s/)[0]!)}.name }}`
  if (comparisons[word] !== undefined || word === "not" || word === "ifnot") {
    return `{% if ${conditionOf(`${name} ${rest}`)} %}`
  }
  if (/catalog|collection/.test(word)) return fetchFirst
  if (word === "sendskip") return sendToFewer
  if (word === "assign") return `{% capture ${pathOf(rest.replace(/["']/g, "").split(/\s/)[0]!)} %}`
  if (word === "ifmatchesregexstr") {
    return `{% if ${pathOf(rest.trim().split(/\s/)[0] ?? "field")} contains "…" %}, or pass the result as a field`
  }
  if (word === "ifmodeq") {
    return "{% assign rest = forloop.index0 | modulo: 2 %}{% if rest == 0 %}"
  }
  if (/^(?:urlencode|breaklines|base64|lower|upper|math)$/.test(word)) {
    return "{% capture text %}…{% endcapture %}, then a filter such as {{ text | url_encode }}"
  }
  return `{% if ${pathOf(name)} != blank %}, or for a list {% for item in ${pathOf(name)} %}`
}

const endOf = ([, name = ""]: ReadonlyArray<string>): string => {
  const word = name.toLowerCase()
  if (word === "each" || word === "foreach") return "{% endfor %}"
  if (word === "unless") return "{% endunless %}"
  if (word === "assign") return "{% endcapture %}"
  if (/catalog|collection|^sendskip$/.test(word)) return "Remove it"
  return word === "with"
    ? "Remove it, and write the whole path of each field"
    : "{% endif %}, or {% endfor %} for a list"
}

/** Helpers with the filters that replace them. `@1` is the first value, and `$2` the second without a change. */
export const helpers: Readonly<Record<string, string>> = {
  defaultifempty: "{{ @1 | default: $2 }}",
  upper: "{{ @1 | upcase }}",
  uppercase: "{{ @1 | upcase }}",
  lower: "{{ @1 | downcase }}",
  lowercase: "{{ @1 | downcase }}",
  capitalizefirst: "{{ @1 | capitalize }}",
  capitalize: "{{ @1 | titlecase }}",
  titlecase: "{{ @1 | titlecase }}",
  trim: "{{ @1 | strip }}",
  length: "{{ @1.size }}",
  join: "{{ @1 | join: $2 }}",
  abbreviate: "{{ @1 | truncate: $2 }}",
  cut: "{{ @1 | remove: $2 }}",
  slugify: "{{ @1 | slugify }}",
  striptags: "{{ @1 | strip_html }}",
  urlencode: "{{ @1 | url_encode }}",
  url: "{{ @1 | url_encode }}",
  md5: "{{ @1 | md5 }}",
  sha256: "{{ @1 | sha256 }}",
  base64: "{{ @1 | base64_encode }}",
  tojson: "{{ @1 | json }}",
  json: "{{ @1 | json }}",
  dateformat: "{{ @1 | date: '%-d %B %Y' }}",
  formatdate: "{{ @1 | date: '%-d %B %Y' }}",
  numberformat: "{{ @1 | number_with_delimiter }}",
  currency: "{{ @1 | money: 'USD' }}",
  formatcurrency: "{{ @1 | money: 'USD' }}",
  date: "{{ 'now' | date: '%Y-%m-%d' }}",
  now: "{{ 'now' | date: '%Y-%m-%d' }}",
  timestamp: "{{ 'now' | date: '%Y-%m-%d' }}",
  unsub: "{{ unsubscribe_url }}",
  sendskip: sendToFewer,
  snippet: "Save the shared block as a snippet, and write {% render @1 %}",
  lookup: "{{ @1[$2] }}",
  eachproperty: fetchFirst,
}

export const operators: Readonly<Record<string, string>> = {
  "+": "plus",
  "-": "minus",
  "*": "times",
  "/": "divided_by",
  "%": "modulo",
}

const helper = ([, name = "", rest = ""]: ReadonlyArray<string>): string | undefined => {
  const word = name.toLowerCase()
  const given = valuesIn(rest)
  const [first = "value", second = '""'] = given
  if (word === "insert") {
    const [, otherwise] = /["']default=([^"']*)["']/i.exec(rest) ?? []
    const field = pathOf(rest.trim().split(/\s/)[0]!)
    return otherwise === undefined ? `{{ ${field} }}` : `{{ ${field} | default: "${otherwise}" }}`
  }
  if (word === "math") {
    const [left, , right = "1"] = given
    const [, sign = "+"] = /["']([-+*/%])["']/.exec(rest) ?? []
    return `{{ ${left} | ${operators[sign]}: ${right} }}`
  }
  return helpers[word]?.replaceAll("@1", first).replaceAll("$2", second)
}

/** Whether a name is a link that this service makes or cannot make. */
const linkOf = (name: string): string | undefined =>
  /^unsub|opt_?out/i.test(name)
    ? "{{ unsubscribe_url }}"
    : /^(?:weblink|view_?in_?browser)/i.test(name)
    ? passLink
    : undefined

/** Notations between two braces. */
export const handlebars: ReadonlyArray<Notation> = [
  { platform, pattern: /^[~&{]*\s*#>?\s*\*?(\w+)\s*([^]{0,300}?)\s*~?\}?$/, write: block },
  { platform, pattern: /^~?\s*\/\s*(\w+)\s*~?$/, write: endOf },
  { platform, pattern: /^~?\s*\^\s*(\w[\w.]*)\s*~?$/, write: "{% if $1 == blank %}" },
  { platform, pattern: /^~?\s*(?:else|\^)\s*~?$/, write: "{% else %}" },
  {
    platform,
    pattern: /^~?\s*else\s*(if|unless)\s+([^]{1,300}?)\s*~?$/,
    write: ([, , condition = ""]) => `{% elsif ${conditionOf(condition)} %}`,
  },
  {
    platform,
    pattern: /^~?\s*else\s+(\w+\s[^]{1,300}?)\s*~?$/,
    write: (groups) => `{% elsif ${conditionOf(groups[1]!)} %}`,
  },
  { platform, pattern: /^~?!(?:--)?([^]{0,60})/, write: "{% comment %}…{% endcomment %}" },
  { platform, pattern: /^~?\s*>\s*["']?([\w./-]+)/, write: ([, name = ""]) => snippetOf(name) },
  {
    platform,
    pattern: /^\{\s*snippet\b\s*["']?([\w -]{0,80})/,
    write: ([, name = ""]) => snippetOf(name),
  },
  {
    platform,
    pattern: /^\{\s*([A-Za-z_][\w.]*)\s*\}$/,
    write: ([, name = ""]) => linkOf(name) ?? `{{ ${pathOf(name)} | raw }}`,
  },
  {
    platform,
    pattern: /^(?:\{|~?&(?!#?\w+;))[\s{]*([^]{1,300}?)[\s~}]*$/,
    write: (groups) => {
      const [, name = "", rest = ""] = /^(\w+)\s+([^]+)$/.exec(groups[1]!) ?? []
      return helper(["", name, rest]) ?? `{{ ${pathOf(groups[1]!)} | raw }}`
    },
  },
  {
    platform,
    pattern: /^~\s*([\w.]+)\s*~?$|^\s*([\w.]+)\s*~$/,
    write: ([, name, other]) => `{{- ${pathOf(name ?? other!)} -}}`,
  },
  {
    platform,
    pattern: /^\s*@(index|first|last|key)\s*$/,
    write: ([, name]) => name === "key" ? "{{ item[0] }}" : `{{ forloop.${name === "index" ? "index0" : name} }}`,
  },
  { platform, pattern: /^\s*@root\.([\w.]+)\s*$/, write: ([, path = ""]) => `{{ ${pathOf(path)} }}` },
  { platform, pattern: /^\s*(?:\.\.\/)+(?:this\.)?([\w.]+)\s*$/, write: ([, path = ""]) => `{{ ${pathOf(path)} }}` },
  { platform, pattern: /^\s*([A-Za-z]\w*)\s+((?:["'[(\w@.]|\.\.\/)[^|]{0,300})$/, write: helper },
  {
    platform: "Mandrill or Handlebars",
    pattern: /^\s*([A-Za-z_]\w*(?:\.[\w]+)*\.\[\d+\][\w.[\]]*)\s*$/,
    write: ([, path = ""]) => `{{ ${pathOf(path)} }}`,
  },
  {
    platform,
    pattern: /^\s*\[([^\]"'\n]{1,40} [^\]"'\n]{1,40})\]\s*$/,
    write: ([, path = ""]) => `{{ ${pathOf(path)} }}`,
  },
]
