import { fetchFirst, fieldOf, type Notation, ownWords, passLink, snippetOf } from "./Notation.ts"

// Outputs and tags of languages that look like Liquid: Braze, Marketo, HubSpot, Klaviyo, Jinja and JavaScript. The
// patterns match the text between the braces or percent signs.

/** Names in Braze of data that this service does not have, with what to do. */
export const brazeRemedies: Readonly<Record<string, string>> = {
  campaign: "Write the name here, or pass it as a field, such as {{ campaign }}",
  canvas: "Write the name here, or pass it as a field, such as {{ campaign }}",
  card: "Write the name here, or pass it as a field, such as {{ campaign }}",
  subscribed_state: "Use the targeting of the variant with an attribute: unsubscribed people get no message anyway",
  most_recently_used_device: fetchFirst,
  targeted_device: fetchFirst,
  catalog_items: fetchFirst,
}

const brazeField = /(?:([a-z_]+)\.)?\$\{\s*([^{}\n]{1,80}?)\s*\}/g

const brazeTriggers = /^(?:event_properties|canvas_entry_properties|api_trigger_properties|context)$/

/** Returns Liquid without the braces of Braze: `tier` for `{{custom_attribute.${tier}}}`. */
const withoutBraze = (text: string): string =>
  text.replace(brazeField, (_, from: string | undefined, name: string) => {
    if (/unsubscribed_url$/.test(name)) return "unsubscribe_url"
    const field = fieldOf(name)
    return from !== undefined && brazeTriggers.test(from) ? `event${field.startsWith("[") ? "" : "."}${field}` : field
  }).replace(/\{\{-?|-?\}\}/g, "").replace(/\s+/g, " ").trim().slice(0, 120)

const braze = (open: string, close: string): Notation => ({
  platform: "Braze",
  pattern: /^[^]*\$\{[^]*$/,
  write: ([text = ""]) => {
    const [, from = "", name = ""] = /([a-z_]+)\.\$\{\s*([^{}]{0,80})/.exec(text) ?? []
    if (from === "content_blocks") return snippetOf(name)
    return brazeRemedies[from] ?? `${open} ${withoutBraze(text)} ${close}`
  },
})

const marketoDefault = /^([^:]*?)(?::\s*(?:default|edit)\s*=\s*([^]*))?$/

/** Notations of outputs. Content with one of them is refused. */
export const foreignOutputs: ReadonlyArray<Notation> = [
  braze("{{", "}}"),
  {
    platform: "Marketo",
    pattern:
      /^(?:lead|company|member|trigger|campaign|program|my)\.([^|{}]{1,100}(?::\s*(?:default|edit)\s*=|\s)[^|{}]{0,100})$/,
    write: ([, text = ""]) => {
      const [, name = "", otherwise] = marketoDefault.exec(text) ?? []
      return otherwise === undefined || otherwise === ""
        ? `{{ ${fieldOf(name)} }}`
        : `{{ ${fieldOf(name)} | default: "${otherwise.replaceAll('"', "").trim()}" }}`
    },
  },
  {
    platform: "Marketo",
    pattern: /^system\.(\w+)$/,
    write: ([, name = ""]) =>
      /^unsub/i.test(name)
        ? "{{ unsubscribe_url }}"
        : /view/i.test(name)
        ? passLink
        : "Pass the value as a field, such as {{ value }}",
  },
  {
    platform: "HubSpot",
    pattern: /^personalization_token\(\s*["'](?:contact\.|company\.)?([\w.]+)["']\s*(?:,\s*["']([^"']*)["']\s*)?\)$/,
    write: ([, name = "", otherwise]) =>
      otherwise === undefined ? `{{ ${fieldOf(name)} }}` : `{{ ${fieldOf(name)} | default: '${otherwise}' }}`,
  },
  { platform: "HubSpot", pattern: /^(?:crm_\w+|hubdb_\w+|get_\w+)\(/, write: fetchFirst },
  {
    platform: "JavaScript or PHP",
    pattern: /^([A-Za-z_][\w.]*)\s*(?:\|\||\?\?|\?:)\s*((?:"[^"]*"|'[^']*'|[\w.]+))$/,
    write: "{{ @1 | default: $2 }}",
  },
  {
    platform: "JavaScript or Twig",
    pattern: /^([A-Za-z_][\w.]*)\s*\?(?!\?)\s*("[^"]*"|'[^']*'|[\w.]+)\s*:\s*("[^"]*"|'[^']*'|[\w.]+)$/,
    write: "{% if @1 %}{{ $2 }}{% else %}{{ $3 }}{% endif %}",
  },
  {
    platform: "HubSpot or Jinja",
    pattern: /^("[^"]*"|'[^']*'|[\w.]+)\s+if\s+([^]{1,80}?)\s+else\s+("[^"]*"|'[^']*'|[\w.]+)$/,
    write: "{% if $2 %}{{ $1 }}{% else %}{{ $3 }}{% endif %}",
  },
  {
    platform: "HubSpot or Jinja",
    pattern: /^("[^"]*"|'[^']*'|[\w.]+)\s*~\s*("[^"]*"|'[^']*'|[\w.]+)/,
    write: "{{ $1 }}{{ $2 }}",
  },
  {
    platform: "Mailjet",
    pattern: /^(?:var|data):([A-Za-z_]\w*)(?::\s*"([^"]*)")?$/,
    write: ([, name = "", otherwise]) =>
      otherwise === undefined ? `{{ ${fieldOf(name)} }}` : `{{ ${fieldOf(name)} | default: "${otherwise}" }}`,
  },
  {
    platform: "PHP",
    pattern: /^\$?([A-Za-z_]\w*)->([A-Za-z_]\w*)$/,
    write: "{{ $1.$2 }}",
  },
  { platform: "Go or PHP", pattern: /^\$([A-Za-z_][\w.]*)$/, write: "{{ @1 }}" },
  {
    platform: "a mail merge",
    pattern: /^([A-Za-z]\w*(?: (?!(?:and|or|not|contains|in|is|if|else)\b)[A-Za-z]\w*){1,3})$/,
    write: "{{ @1 }}",
  },
]

/** Notations of tags. Content with one of them is refused. */
export const foreignTagTexts: ReadonlyArray<Notation> = [
  braze("{%", "%}"),
  { platform: "Twig or PHP", pattern: /^else\s*if\s+([^]{1,200})$/, write: "{% elsif $1 %}" },
  {
    platform: "Klaviyo, HubSpot or Django",
    pattern: /^(if|elsif|elif|unless)\s+("[^"]*"|'[^']*'|[\w.]+)\s+(not\s+)?in\s+([\w.]+)/,
    write: ([, word = "", needle = "", not, list = ""]) => {
      const tag = word === "elif" ? "elsif" : word
      return not === undefined ? `{% ${tag} ${list} contains ${needle} %}` : `{% unless ${list} contains ${needle} %}`
    },
  },
  {
    platform: "HubSpot or Jinja",
    pattern: /^(if|elsif|elif|unless)\s+([\w.]+)\s+is\s+(not\s+)?(defined|none|undefined|null|empty)\b/,
    write: ([, word = "", name, not, what = ""]) => {
      const isThere = (what === "defined") === (not === undefined)
      return `{% ${word === "elif" ? "elsif" : word} ${name} ${isThere ? "!=" : "=="} blank %}`
    },
  },
  {
    platform: "HubSpot or Jinja",
    pattern: /^for\s+(\w+)\s+in\s+range\(\s*(?:(\d+)\s*,\s*)?(\w+)\s*\)/,
    write: ([, item, from = "0", to = ""]) =>
      `{% for ${item} in (${from}..${/^\d+$/.test(to) ? Number(to) - 1 : to}) %}`,
  },
  {
    platform: "HubSpot, Klaviyo or Django",
    pattern: /^for\s+(\w+)\s*,\s*(\w+)\s+in\s+([\w.]+?)(?:\.items)?(?:\(\s*\))?$/,
    write: "{% for pair in $3 %}, with {{ pair[0] }} and {{ pair[1] }}",
  },
  {
    platform: "Klaviyo or Django",
    pattern: /^for\s+(\w+)\s+in\s+([\w.]+)\s*\|\s*slice:\s*["']:(\d+)["']/,
    write: "{% for $1 in $2 limit: $3 %}",
  },
  {
    platform: "JavaScript or PHP",
    pattern: /^(if|elsif|elif|unless)\s+([^"']{0,80}?)\s*(?:&&|\|\|)\s*([^]{0,100})$/,
    write: ([text = "", word = "", left = "", right = ""]) =>
      `{% ${word === "elif" ? "elsif" : word} ${left} ${text.includes("&&") ? "and" : "or"} ${right} %}`,
  },
]

/** Names of the state of a loop in other languages, with Liquid's names. */
export const loopNames: Readonly<Record<string, string>> = {
  "forloop.counter": "forloop.index",
  "forloop.counter0": "forloop.index0",
  "forloop.revcounter": "forloop.rindex",
  "forloop.revcounter0": "forloop.rindex0",
  "loop.index": "forloop.index",
  "loop.index0": "forloop.index0",
  "loop.revindex": "forloop.rindex",
  "loop.first": "forloop.first",
  "loop.last": "forloop.last",
  "loop.length": "forloop.length",
}

/** Notations of outputs that are fields of our own if the caller passes them. Content with one is saved with a warning. */
export const doubtfulOutputs: ReadonlyArray<Notation> = [
  {
    platform: "Go templates (listmonk) or SparkPost",
    pattern: /^end$/,
    write: "{% endif %}, or {% endfor %} after a loop",
  },
  { platform: "Handlebars (Iterable, SendGrid, Mandrill)", pattern: /^this$/, write: "{{ item }}" },
  { platform: "Handlebars (Iterable, SendGrid, Mandrill)", pattern: /^this\.([\w.]{1,80})$/, write: "{{ item.$1 }}" },
  { platform: "Jinja or Twig", pattern: /^now\s*\|\s*date\s*:\s*("[^"]*"|'[^']*')/, write: "{{ 'now' | date: $1 }}" },
  { platform: "Customer.io", pattern: /^snippets\.([\w-]{1,80})$/, write: ([, name = ""]) => snippetOf(name) },
  { platform: "Marketo", pattern: /^my\.([\w.]{1,80})$/, write: "{{ @1 }}" },
  {
    platform: "HubSpot",
    pattern: /^site_settings\.\w+$/,
    write: ownWords,
  },
  {
    platform: "Klaviyo",
    pattern: /^organization\.(?:name|full_address|url)$/,
    write: ownWords,
  },
]
