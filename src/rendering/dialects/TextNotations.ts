import {
  fetchFirst,
  fieldOf,
  isUsualField,
  type Notation,
  ofPlatform,
  ownWords,
  passLink,
  valueOf,
  writeOut,
} from "./Notation.ts"

// Notations outside of Liquid, which would be sent to people as they are. The first notation that matches at a place
// is the one that is reported.

const unsubscribe = "{{ unsubscribe_url }}"
const preferences = "Write {{ unsubscribe_url }}, or pass the address of your preferences page as a field"

/** Merge tags of Mailchimp with a meaning of their own. Others are fields. */
export const mergeTags: Readonly<Record<string, string>> = {
  UNSUB: unsubscribe,
  ARCHIVE: passLink,
  UPDATE_PROFILE: preferences,
  "MC:DATE": "{{ 'now' | date: '%-d %B %Y' }}",
  FORWARD: "Remove it: there is no such link",
  CURRENT_YEAR: "{{ 'now' | date: '%Y' }}",
  DATE: "{{ 'now' | date: '%-d %B %Y' }}",
  "MC:SUBJECT": "Write the subject in the variable `subject`",
  MC_PREVIEW_TEXT: "Write the preheader in the variable `preheader`",
  CAMPAIGN_UID: ofPlatform,
  EMAIL_UID: ofPlatform,
  UNIQID: ofPlatform,
  MC_LANGUAGE: ofPlatform,
  ABOUT_LIST: "Remove it: there is no such link",
}

export const mergeFilters: Readonly<Record<string, string>> = {
  TITLE: "titlecase",
  UPPER: "upcase",
  LOWER: "downcase",
  URL: "url_encode",
  HTML: "raw",
}

/** Returns the Liquid of a condition of Mailchimp such as `PLAN=pro` or `AGE >= 18`. */
const mergeCondition = (text: string): string => {
  const [, name, operator, value = ""] = /^([^=!<>]+?)\s*(!=|>=|<=|=|>|<)\s*(.*)$/.exec(text.trim()) ?? []
  if (name === undefined) return `${fieldOf(text)} != blank`
  const right = /^-?\d+(?:\.\d+)?$/.test(value) ? value : `'${value.replaceAll("'", "")}'`
  return `${fieldOf(name)} ${operator === "=" ? "==" : operator} ${right}`
}

const mergeTag = ([, inner = ""]: ReadonlyArray<string>): string | undefined => {
  const tag = inner.trim()
  const [, head = "", rest = ""] = /^([A-Za-z_]+):?(.*)$/s.exec(tag) ?? []
  const word = head.toUpperCase()
  if (word === "IF") return `{% if ${mergeCondition(rest)} %}`
  if (word === "IFNOT") return `{% unless ${mergeCondition(rest)} %}`
  if (word === "ELSEIF") return `{% elsif ${mergeCondition(rest)} %}`
  if (word === "ELSE") return "{% else %}"
  if (word === "END") return /IFNOT/i.test(rest) ? "{% endunless %}" : "{% endif %}"
  if (/^(?:INTERESTED|GROUPINGS?|GROUP)$/.test(word)) {
    return "{% if interests contains 'name' %}, with the groups as a field"
  }
  const known = mergeTags[tag.toUpperCase()] ?? mergeTags[word]
  if (known !== undefined) return known
  if (/^(?:FEED|RSS)/.test(word)) return fetchFirst
  if (word === "LIST" || (word === "HTML" && /^LIST/i.test(rest))) return ownWords
  const filter = mergeFilters[word]
  if (filter !== undefined && rest !== "") return `{{ ${fieldOf(rest)} | ${filter} }}`
  const [name = "", fallback] = tag.split("|")
  if (/^[A-Z][A-Z_]+:./.test(name)) {
    return `Write the words here, or pass them as a field, such as {{ ${fieldOf(word)} }}`
  }
  if (!/^[\p{L}_][\p{L}\p{N}_: -]*$/u.test(name.trim())) return undefined
  return fallback === undefined ? `{{ ${fieldOf(name)} }}` : `{{ ${fieldOf(name)} | default: "${fallback}" }}`
}

/** Personalization strings of Marketing Cloud with a meaning of their own. Others are fields. */
export const marketingCloudStrings: Readonly<Record<string, string>> = {
  unsub_center_url: unsubscribe,
  one_click_unsub_url: unsubscribe,
  subscription_center_url: unsubscribe,
  profile_center_url: preferences,
  view_email_url: passLink,
  member_busname: ownWords,
  member_addr: ownWords,
  member_city: ownWords,
  member_state: ownWords,
  member_postalcode: ownWords,
  member_country: ownWords,
  xtyear: "{{ 'now' | date: '%Y' }}",
  xtmonth: "{{ 'now' | date: '%B' }}",
  xtmonthnumeric: "{{ 'now' | date: '%-m' }}",
  xtday: "{{ 'now' | date: '%-d' }}",
  xtdayofweek: "{{ 'now' | date: '%A' }}",
  xtshortdate: "{{ 'now' | date: '%-m/%-d/%Y' }}",
  xtlongdate: "{{ 'now' | date: '%A, %B %-d, %Y' }}",
  jobid: ofPlatform,
  _jobid: ofPlatform,
  listid: ofPlatform,
  _listid: ofPlatform,
  listname_: ofPlatform,
  _listname: ofPlatform,
  emailname_: ofPlatform,
  _emailid: ofPlatform,
}

/** Functions of AMPscript that look data up. */
export const lookups =
  /\b(?:Lookup\w*|\w*Rows?|ClaimRow\w*|HTTPGet|HTTPPost|RetrieveSalesforceObjects|BuildRowsetFrom\w+)\s*\(/i

const ampFilters: ReadonlyArray<readonly [RegExp, string]> = [
  [/^v\(\s*@(\w+)\s*\)$/i, "{{ @1 }}"],
  [/^(?:AttributeValue|QueryParameter)\(\s*["']([^"']+)["']\s*\)$/i, "{{ @1 }}"],
  [/^ProperCase\(\s*@?([\w ]+)\s*\)$/i, "{{ @1 | titlecase }}"],
  [/^Uppercase\(\s*@?([\w ]+)\s*\)$/i, "{{ @1 | upcase }}"],
  [/^Lowercase\(\s*@?([\w ]+)\s*\)$/i, "{{ @1 | downcase }}"],
  [/^FormatDate\(\s*@?([\w ]+)/i, "{{ @1 | date: '%-d %B %Y' }}"],
  [/^Format(?:Currency|Number)\(\s*@?([\w ]+)/i, "{{ @1 | money: 'USD' }}"],
  [/^ContentBlockBy\w+\(/i, writeOut],
  [/^(?:RedirectTo|WrapLongURL)\(\s*@?([\w ]+)\s*\)$/i, "{{ @1 }}"],
  [/^(?:CloudPagesURL|MicrositeURL)\(/i, "Pass the address of the page as a field, such as {{ page_url }}"],
]

const ampComparison =
  /^(?:not\s+)?(?:(?:empty|isnull)\s*\()?\s*(?:@?(\w+)|\[([^\]]{1,60})\])\)?\s*(==|!=|>=|<=|>|<)?\s*("[^"]*"|'[^']*'|[\w.]+)?/i

/** Returns a condition of AMPscript in Liquid: `not empty(@code)`, `@tier == 'Gold' AND @orders > 1`. */
const ampCondition = (text: string): string =>
  text.replace(/\s+then\s*$/i, "").split(/\s+(and|or)\s+/i).map((part, at) => {
    if (at % 2 === 1) return part.toLowerCase()
    const [, variable, attribute = "x", operator, right = ""] = ampComparison.exec(part.trim()) ?? []
    const field = fieldOf(variable ?? attribute)
    if (operator !== undefined) return `${field} ${operator} ${valueOf(right)}`
    return `${field} ${/^(?:empty|isnull)/i.test(part.trim()) ? "==" : "!="} blank`
  }).join(" ")

const ampValue = (groups: ReadonlyArray<string>): string => {
  const inner = groups[1]!.trim()
  if (lookups.test(inner)) return fetchFirst
  for (const [pattern, write] of ampFilters) {
    const [, name] = pattern.exec(inner) ?? []
    if (name !== undefined) return write.replace("@1", fieldOf(name))
    if (pattern.test(inner)) return write
  }
  const [, condition] = /^IIF\(\s*([^]{1,100}?)\s*,/i.exec(inner) ?? []
  return condition === undefined
    ? "Compute the value before the call, and pass it as a field, such as {{ value }}"
    : `{% if ${ampCondition(condition)} %}…{% else %}…{% endif %}`
}

const ampBlock = (groups: ReadonlyArray<string>): string => {
  const inner = groups[1]!
  if (lookups.test(inner)) return fetchFirst
  const [, name, value] = /\bSET\s+@(\w+)\s*=\s*([^\n\]]{1,80})/i.exec(inner) ?? []
  if (name !== undefined) {
    const [, attribute] = /^AttributeValue\(\s*["']([^"']+)["']/i.exec(value!) ?? []
    const simple = attribute === undefined ? value!.trim().replace(/\s*IF\b.*$/i, "") : fieldOf(attribute)
    return `{% assign ${name} = ${/^[\w@"'[][^()]*$/.test(simple) ? valueOf(simple) : fieldOf(name)} %}`
  }
  const [, keyword = "", condition = "x"] = /^\s*(ELSEIF|IF|ELSE|ENDIF|NEXT|FOR)\b\s*([^\n]{1,100})?/i.exec(inner) ?? []
  switch (keyword.toUpperCase()) {
    case "IF":
      return `{% if ${ampCondition(condition)} %}`
    case "ELSEIF":
      return `{% elsif ${ampCondition(condition)} %}`
    case "ELSE":
      return "{% else %}"
    case "ENDIF":
      return "{% endif %}"
    case "FOR":
      return "{% for item in items %}"
    case "NEXT":
      return "{% endfor %}"
  }
  return "Write the logic in Liquid, such as {% assign name = first_name %} and {% if name != blank %}"
}

/** Helpers of Rails with the filter that replaces them. */
const railsFilters: Readonly<Record<string, string>> = {
  number_to_currency: "money: 'USD'",
  number_with_delimiter: "number_with_delimiter",
  truncate: "truncate: 30",
  pluralize: "pluralize: 'item', 'items'",
  strip_tags: "strip_html",
  simple_format: "newline_to_br",
  l: "date: '%-d %B %Y'",
  titleize: "titlecase",
  capitalize: "capitalize",
  humanize: "capitalize",
  upcase: "upcase",
  downcase: "downcase",
  strip: "strip",
  strftime: "date: '%-d %B %Y'",
}

/** Returns the Liquid of a value of ERB, EJS or lodash. */
const scriptletValue = (code: string): string => {
  const inner = code.replace(/^(?:escape\w*|h|raw)\s*[(\s]\s*/, "").replaceAll("&.", ".")
  const [, test, yes, no] = /^@?([\w.]+)\??\s*\?\s*("[^"]*"|'[^']*')\s*:\s*("[^"]*"|'[^']*')/.exec(inner) ?? []
  if (test !== undefined) return `{% if ${fieldOf(test)} %}{{ ${yes} }}{% else %}{{ ${no} }}{% endif %}`
  const [, otherwise] = /\|\|\s*("[^"]*"|'[^']*')/.exec(inner) ?? []
  const ending = otherwise === undefined ? "" : ` | default: ${otherwise}`
  const [, helper = "", given = ""] = /^(\w+)(?:\s*\(\s*|\s+)@?([\w.]*)/.exec(inner) ?? []
  if (Object.hasOwn(railsFilters, helper) && given !== "") return `{{ ${fieldOf(given)} | ${railsFilters[helper]} }}`
  if (helper === "link_to") return 'Write a link, such as <a href="{{ url }}">Words</a>'
  if (/^(?:t|translate|I18n)$/.test(helper)) return ownWords
  const [, path = "value"] = /^@?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*)/.exec(inner) ?? []
  if (inner.startsWith(`${path}(`)) {
    return "Compute the value before the call, and pass it as a field, such as {{ value }}"
  }
  const method = path.slice(path.lastIndexOf(".") + 1)
  return path.includes(".") && Object.hasOwn(railsFilters, method)
    ? `{{ ${fieldOf(path.slice(0, path.lastIndexOf(".")))} | ${railsFilters[method]}${ending} }}`
    : `{{ ${fieldOf(path)}${ending} }}`
}

/** Returns the Liquid of a tag of ERB, EJS or lodash. */
const scriptlet = ([, sign = "", body = ""]: ReadonlyArray<string>): string | undefined => {
  const inner = body.replace(/[-;]\s*$/, "").trim()
  if (/^(?:asm_group_unsubscribe|asm_preferences|unsubscribe)/i.test(inner)) return unsubscribe
  if (/^(?:body|subject)$/i.test(inner)) return "Write the text here, in place of the layout"
  if (sign === "#") return "{% comment %}…{% endcomment %}"
  if (sign !== "") {
    if (/^(?:include|render|partial|yield|content_for)\b/.test(inner)) return writeOut
    return scriptletValue(inner)
  }
  const [, word = "", rest = ""] = /^(?:\}\s*)?(if|unless|elsif|else\s*if|else|end|\})?\s*([^]*)$/.exec(inner) ?? []
  const condition = rest.replace(/^\(|\)?\s*\{?$/g, "").replace(/@|\.(?:present|any)\?|\?(?=\s|$)/g, "").trim().slice(
    0,
    60,
  )
  const [, list, item] = /^@?([\w.]+)\.(?:each|forEach)\b[^|(]*[|(]?\s*(?:function\s*\()?\s*(\w+)/.exec(inner) ?? []
  if (list !== undefined) return `{% for ${item} in ${fieldOf(list)} %}`
  if (word === "if" || word === "unless") return `{% ${word} ${condition} %}`
  if (word.startsWith("els") && condition !== "") return `{% elsif ${condition.replace(/^if\s*\(?/, "")} %}`
  if (word === "else") return "{% else %}"
  if (word === "end" || word === "}") return "{% endif %}"
  return "Write the logic in Liquid, such as {% if name != blank %}"
}

/** Signs that occur nowhere else. Content with one of them is refused. */
export const strongNotations: ReadonlyArray<Notation> = [
  { platform: "Mandrill", pattern: /\*\|UNSUB:[^|\n]{0,200}\|\*/gi, write: unsubscribe },
  {
    platform: "Mailchimp or Mandrill",
    pattern: /(?<!\d)\*\|([^|\n]{1,100}(?:\|[^|*\n]{1,100})?)\|\*/g,
    write: mergeTag,
  },
  { platform: "Marketing Cloud", pattern: /%%\[((?:(?!\]%%)[^]){0,200})(?:\]%%)?/g, write: ampBlock },
  { platform: "Marketing Cloud", pattern: /%%=([^\n]{1,300}?)=%%/g, write: ampValue },
  {
    platform: "Marketing Cloud or Pardot",
    pattern: /(?<![\d%])%%(?:__)?([A-Za-z][\w.]*(?: [\w.]+){0,4})(?:__)?%%(?!%)/g,
    write: ([, name = ""]) => marketingCloudStrings[name.toLowerCase()] ?? `{{ ${fieldOf(name)} }}`,
  },
  {
    platform: "Marketing Cloud",
    pattern: /<script\b[^>]{0,100}\brunat\s*=\s*["']?server/gi,
    write: "Compute the values before the call, and pass them as fields, such as {{ value }}",
  },
  {
    platform: "Mailgun",
    pattern: /%(?:mailing_list_|tag_)?unsubscribe_(?:url|email)%/g,
    write: unsubscribe,
  },
  {
    platform: "Mailgun",
    pattern: /%recipient[._]([A-Za-z][\w. -]{0,60})(?:\|([^%\n]{0,60}))?%/g,
    write: ([, name = "", fallback]) =>
      fallback === undefined
        ? `{{ ${fieldOf(name)} }}`
        : `{{ ${fieldOf(name)} | default: "${fallback.replaceAll('"', "").trim()}" }}`,
  },
  {
    platform: "PHP",
    pattern: /<\?(?:=|php\b)\s*(?:echo\s+)?(?:\$([A-Za-z_]\w{0,60}))?/g,
    write: ([, name]) =>
      name === undefined ? "Write the logic in Liquid, such as {% if name != blank %}" : `{{ ${fieldOf(name)} }}`,
  },
  { platform: "ERB, EJS or SendGrid", pattern: /<%([=#-]?)((?:[^%<]|%(?!>)|<(?!%)){1,500})%>/g, write: scriptlet },
  {
    platform: "SendGrid or Template Toolkit",
    pattern: /\[%[-+=]?\s*([A-Za-z][\w.: ]{0,80}?)\s*(?:\|\s*([^%\]]{0,60}?)\s*)?[-+]?%\]/g,
    write: ([, name = "", fallback]) => {
      const word = /^(IF|ELSIF|ELSE|END|UNLESS|FOREACH)\b\s*(.*)$/.exec(name)
      if (word?.[1] === "END") return "{% endif %}"
      if (word?.[1] === "ELSE") return "{% else %}"
      if (word?.[1] === "FOREACH") return "{% for item in items %}"
      if (word !== null) return `{% ${word[1]!.toLowerCase()} ${word[2]} %}`
      if (/^unsubscribe/i.test(name)) return unsubscribe
      const field = fieldOf(name.replace(/^member:/i, ""))
      return fallback === undefined ? `{{ ${field} }}` : `{{ ${field} | default: "${fallback.replaceAll('"', "")}" }}`
    },
  },
  {
    platform: "Salesforce or AWeber",
    pattern: /\{!\$?([A-Za-z][\w.]{0,80})\}/g,
    write: ([, name = ""]) =>
      /^(?:remove|unsub)/i.test(name)
        ? unsubscribe
        : `{{ ${fieldOf(name.replace(/^\w+\./, "").replace(/_fix$|__c$/, ""))} }}`,
  },
  {
    platform: "Brevo",
    pattern: /\{IF,\s*([A-Za-z_]\w{0,60})\s*,\s*([<>]=?|!?=)\s*,\s*([^}\n]{0,80})\}/g,
    write: ([, name = "", operator = "=", value = ""]) =>
      `{% if ${mergeCondition(`${name}${operator}${value}`)} %}…{% else %}…{% endif %}`,
  },
  {
    platform: "Oracle or Responsys",
    pattern: /\$\((if|elseif|else|endif)\b(?:\s*\[Field:\s*([A-Za-z][\w ]{0,60})\])?[^)\n]{0,60}\)/gi,
    write: ([, word = "", name = "x"]) =>
      /^else$|^endif$/i.test(word)
        ? `{% ${word.toLowerCase()} %}`
        : `{% ${/^if$/i.test(word) ? "if" : "elsif"} ${fieldOf(name)} != blank %}`,
  },
  {
    platform: "Oracle or Responsys",
    pattern: /\[Field:\s*([A-Za-z][\w ]{0,60})\]/g,
    write: ([, name = ""]) => `{{ ${fieldOf(name)} }}`,
  },
  {
    platform: "Mautic",
    pattern: /\{contactfield=([\w-]{1,60})(?:\|([^}\n]{0,80}))?\}/g,
    write: ([, name = "", fallback]) =>
      fallback === undefined ? `{{ ${fieldOf(name)} }}` : `{{ ${fieldOf(name)} | default: "${fallback}" }}`,
  },
  {
    platform: "Mautic or MailPoet",
    pattern: /\{(?:unsubscribe_(?:url|link|text)|unsubscribe|unsubscribeLink)\}/g,
    write: unsubscribe,
  },
  { platform: "Mautic", pattern: /\{webview_(?:url|text)\}/g, write: passLink },
  {
    platform: "Zoho Campaigns",
    pattern: /\$\[([A-Za-z][\w: ]{0,60})(?:\|[^\]\n]{0,100})?\]\$/g,
    write: ([, name = ""]) => /UNSUB/i.test(name) ? unsubscribe : `{{ ${fieldOf(name)} }}`,
  },
  {
    platform: "Campaign Monitor",
    pattern: /\[([A-Za-z][\w ]{0,60}),\s*fallback=([^\]\n]{0,80})\]/g,
    write: ([, name = "", fallback = ""]) => `{{ ${fieldOf(name)} | default: "${fallback.replaceAll('"', "")}" }}`,
  },
  {
    platform: "Campaign Monitor",
    pattern: /<(unsubscribe|webversion|preferences|forwardtoafriend)\b[^>\n]{0,200}>/gi,
    write: ([, name = ""]) =>
      name.toLowerCase() === "webversion" ? passLink : '<a href="{{ unsubscribe_url }}">Unsubscribe</a>',
  },
  {
    platform: "SendGrid, phpList or Brevo",
    pattern: /\bhref\s*=\s*["']?\[\s*(unsubscribe\w*|preferences\w*|weblink|mirror|link_\w+)\s*\]/gi,
    write: ([, name = ""]) => /weblink|mirror|browser/i.test(name) ? passLink : 'href="{{ unsubscribe_url }}"',
  },
  {
    platform: "Eloqua",
    pattern: /<span\b[^>]{0,200}\bclass\s*=\s*["']?eloquaemail["']?[^>]{0,100}>\s*([\w ]{1,60})/gi,
    write: ([, name = ""]) => `{{ ${fieldOf(name.replace(/\d+$/, ""))} }}`,
  },
  {
    platform: "Keap",
    pattern: /~(Contact|Company|Owner|User|Affiliate|Order|Link|Opportunity)\.([A-Z_]\w{0,60})~/g,
    write: "{{ @2 }}",
  },
  {
    platform: "Velocity (Marketo)",
    pattern: /#(if|elseif|foreach|set)\s*\(\s*\$!?\{?([A-Za-z_][\w.]{0,80})/g,
    write: ([, word = "", name = ""]) =>
      word === "set"
        ? `{% assign ${name} = … %}`
        : word === "foreach"
        ? "{% for item in items %}"
        : `{% ${word === "if" ? "if" : "elsif"} ${fieldOf(name.replace(/^lead\./, ""))} != blank %}`,
  },
  {
    platform: "FreeMarker",
    pattern: /<(\/?)#(if|elseif|else|list|assign|macro|include)\b\s*([A-Za-z_][\w.]{0,60})?/g,
    write: ([, end = "", word = "", name = "x"]) => {
      if (word === "list") return end === "" ? `{% for item in ${fieldOf(name)} %}` : "{% endfor %}"
      if (word === "if") return end === "" ? `{% if ${fieldOf(name)} != blank %}` : "{% endif %}"
      if (word === "elseif") return `{% elsif ${fieldOf(name)} != blank %}`
      if (word === "else") return "{% else %}"
      return word === "assign" ? `{% assign ${name} = … %}` : writeOut
    },
  },
  {
    platform: "Iterable",
    pattern: /\[\[\s*[#/]\s*(each|if|unless|with)\b[^\]\n]{0,100}\]\]/g,
    write: `A data feed is not available. ${fetchFirst}`,
  },
  {
    platform: "Django or Jinja",
    pattern: /\{#(?:-|\s)[^\n{}]{0,300}?(?:-|\s)#\}/g,
    write: "{% comment %}…{% endcomment %}",
  },
  {
    platform: "ICU MessageFormat",
    pattern: /\{\s*(\w{1,40})\s*,\s*(?:plural|selectordinal)\s*,/g,
    write: '{{ @1 }} {{ @1 | pluralize: "item", "items" }}',
  },
  {
    platform: "ICU MessageFormat",
    pattern: /\{\s*(\w{1,40})\s*,\s*select\s*,/g,
    write: "{% case @1 %}{% when 'value' %}…{% endcase %}",
  },
  {
    platform: "listmonk",
    pattern: /https?:\/\/[^\s"'<>@]{1,300}@TrackLink\b/g,
    write: "Write the address without @TrackLink, as {{ url }} or as text",
  },
]

/** Signs that occur in other texts too, such as samples of code. Content with one of them is saved with a warning. */
export const weakNotations: ReadonlyArray<Notation> = [
  {
    platform: "JavaScript, Braze or Velocity",
    pattern: /\$!?\{\s*(?:lead\.|user\.|this\.|contact\.)?([A-Za-z_][\w.]{0,60})\s*\}/g,
    write: "{{ @1 }}",
  },
  { platform: "Ruby or Freemarker", pattern: /#\{\s*([A-Za-z_][\w.]{0,60})\s*\}/g, write: "{{ @1 }}" },
  { platform: "MailerLite or Smarty", pattern: /\{\$([A-Za-z_][\w.]{0,60})(?:\|[^}\n]{0,60})?\}/g, write: "{{ @1 }}" },
  {
    platform: "Iterable, Mailjet, GetResponse or Constant Contact",
    pattern: /\[\[\s*(?:(?:data|var):)?([A-Za-z_][\w.]{0,60})(?::"[^"\n]{0,60}"|\s+OR\s+"[^"\n]{0,60}")?\s*\]\]/g,
    write: "{{ @1 }}",
  },
  {
    platform: "ActiveCampaign",
    pattern: /(?<![\w%])%(?![0-9A-F]{2})([A-Z][A-Z0-9_-]{2,40})%(?![\w%])/g,
    write: ([, name = ""]) =>
      /^UNSUB/.test(name) ? unsubscribe : name === "WEBCOPY" ? passLink : `{{ ${fieldOf(name)} }}`,
  },
  { platform: "Dotdigital", pattern: /(?<![\w@])@([A-Z][A-Z_]{2,40})@(?![\w@])/g, write: "{{ @1 }}" },
  {
    platform: "another platform",
    pattern: /(?<![\w{$#%])\{([A-Za-z][\w ]{2,20})\}(?!\})/g,
    write: ([, name = ""]) => isUsualField(name) ? `{{ ${fieldOf(name)} }}` : undefined,
  },
  {
    platform: "phpList, Brevo or Mailtrain",
    pattern: /(?<![\w[])\[((?:MERGE_)?[A-Z][A-Z_ ]{2,30})\](?![\w(\]])/g,
    write: ([, name = ""]) =>
      /^UNSUBSCRIBE/.test(name)
        ? unsubscribe
        : isUsualField(name.replace(/^MERGE_/, ""))
        ? `{{ ${fieldOf(name.replace(/^MERGE_/, ""))} }}`
        : undefined,
  },
  {
    platform: "another platform",
    pattern:
      /(?<![\w{$#%])\{((?:user|customer|contact|recipient|subscriber|member|client)[._ ]\w{2,20}|name)\}(?!\})/gi,
    write: ([, name = ""]) => `{{ ${fieldOf(name)} }}`,
  },
  { platform: "another platform", pattern: /(?<![{\w])\{\s*([A-Za-z_]\w{1,40})\s*\}\}(?!\})/g, write: "{{ @1 }}" },
  {
    platform: "another platform",
    pattern: /(?:##|@@|«|%[{(]|(?<![\w%])%)\s?([A-Za-z][\w ]{2,20}?)\s?(?:##|@@|»|\)s|\}|%(?![\w%]))/g,
    // In some languages, « » are quotation marks.
    write: ([whole = "", name = ""]) =>
      (isUsualField(name) && !/^«\s?(?:company|email|phone)/i.test(whole)) || name === "name"
        ? `{{ ${fieldOf(name)} }}`
        : undefined,
  },
  {
    platform: "SendGrid",
    pattern:
      /(?<![\w[])\[(unsubscribe(?:_preferences)?|weblink|sender_(?:name|address|city|state|zip))\](?![\w(\]:])/gi,
    write: ([, name = ""]) => /^unsub/i.test(name) ? unsubscribe : /^web/i.test(name) ? passLink : ownWords,
  },
  {
    platform: "a mail merge",
    pattern: /(?:<<|&lt;&lt;)\s?([A-Za-z][\w ]{1,30}?)\s?(?:>>|&gt;&gt;)/g,
    write: ([, name = ""]) => isUsualField(name) ? `{{ ${fieldOf(name)} }}` : undefined,
  },
  {
    platform: "Responsys or Emarsys",
    pattern: /\$(?:\()?([A-Za-z][\w ]{2,20})(?:\)|\$)/g,
    write: ([, name = ""]) => isUsualField(name) ? `{{ ${fieldOf(name)} }}` : undefined,
  },
  {
    platform: "ERB or EJS",
    pattern: /&lt;%=\s*@?([A-Za-z_][\w.]{0,60})[^&\n]{0,60}%&gt;/g,
    write: "{{ @1 }}",
  },
]
