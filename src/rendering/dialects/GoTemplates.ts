import { fieldOf, type Notation, passLink, writeOut } from "./Notation.ts"

// Templates of Go, as in listmonk, and the directives of SparkPost. The patterns match the text between the braces.

const platform = "Go templates (listmonk) or SparkPost"

/** Returns a field in Liquid for a path such as `.Subscriber.Attribs.city`. */
const goField = (path: string): string => {
  const plain = path.replace(/^[$.]+/, "").replace(/^Subscriber\.(?:Attribs\.)?/, "").replace(/^Tx\.Data\./, "event.")
  return fieldOf(plain === "" ? "item" : plain)
}

const goOperators: Readonly<Record<string, string>> = { eq: "==", ne: "!=", gt: ">", ge: ">=", lt: "<", le: "<=" }

const goCondition = (text: string): string => {
  const [, word = "", left = "", right = ""] =
    /^\(?\s*(eq|ne|gt|ge|lt|le)\s+(\S+)\s+([^)]+?)\s*\)?$/.exec(text.trim()) ?? []
  if (word === "") return `${goField(text.trim().split(/\s/).at(-1)!)} ${/^not\b/.test(text) ? "==" : "!="} blank`
  return `${goField(left)} ${goOperators[word]} ${/^[.$]/.test(right) ? goField(right) : right}`
}

/** Notations between two braces. */
export const goTemplates: ReadonlyArray<Notation> = [
  {
    platform,
    pattern: /^-?\s*(if|else\s*if|elseif)\s+([^]{1,300}?)\s*-?$/,
    write: ([, word, condition = ""]) => `{% ${word === "if" ? "if" : "elsif"} ${goCondition(condition)} %}`,
  },
  {
    platform,
    pattern: /^-?\s*(?:range|each)\s+(?:\$\w+\s*,\s*)?(?:\$(\w+)\s*:=\s*)?([.$\w]+)\s*-?$/,
    write: ([, item = "item", list = ""]) => `{% for ${item} in ${goField(list)} %}`,
  },
  {
    platform,
    pattern: /^-?\s*with\s+([.$][.\w]*)\s*-?$/,
    write: ([, path = ""]) => `{% if ${goField(path)} != blank %}`,
  },
  { platform, pattern: /^-?\s*(?:template|define|block)\s+["']/, write: writeOut },
  {
    platform: "listmonk",
    pattern: /^-?\s*(?:Unsubscribe|Manage|Optin)URL\s*\.?\s*-?$/,
    write: "{{ unsubscribe_url }}",
  },
  { platform: "listmonk", pattern: /^-?\s*(?:Message|Archive)URL\s*\.?\s*-?$/, write: passLink },
  {
    platform: "listmonk",
    pattern: /^-?\s*TrackLink\s+["']/,
    write: 'The plain address: links are tracked by a setting, as in <a href="{{ url }}">',
  },
  { platform: "listmonk", pattern: /^-?\s*TrackView\b/, write: "Remove it: opens are tracked by a setting" },
  { platform: "listmonk", pattern: /^-?\s*Date\s+["']/, write: "{{ 'now' | date: '%Y-%m-%d' }}" },
  {
    platform: "listmonk",
    pattern: /^-?\s*L\.T\b|^-?\s*(?:printf|html|safe\w+|Safe)\s+[.$("'`]/,
    write: "Write the words here, or pass them as a field",
  },
  {
    platform,
    pattern: /^-?\s*\$(\w+)\s*:?=\s*([^]{1,100}?)\s*-?$/,
    write: ([, name, value = ""]) => `{% assign ${name} = ${/^[.$]/.test(value) ? goField(value) : value} %}`,
  },
  { platform, pattern: /^-?\s*\/\*/, write: "{% comment %}…{% endcomment %}" },
  {
    platform,
    pattern: /^-?\s*(\$?\.[\w.]*)\s*(\|[^]{0,200})?$/,
    write: ([, path = "", filters]) => {
      const [, otherwise] = /\|\s*default\s+(["'][^"']*["'])/.exec(filters ?? "") ?? []
      return otherwise === undefined ? `{{ ${goField(path)} }}` : `{{ ${goField(path)} | default: ${otherwise} }}`
    },
  },
]
