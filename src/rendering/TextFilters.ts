import { Context, filters as liquid } from "liquidjs"
import { createHash } from "node:crypto"
import { escape, percentEncoded, unescape } from "./Escaping.ts"
import type { FilterEntry } from "./FilterEntry.ts"
import { numberFault, numbersFault } from "./LiteralFaults.ts"
import type { Run } from "./Run.ts"
import { elements, flat, integer, isNothing, isRecord, list, Markup, text } from "./Values.ts"

/** Makes a filter of texts. A missing argument is the empty text. */
const onText = (
  needs: number,
  make: (run: Run, input: string, ...args: ReadonlyArray<string>) => unknown,
  shift = 3,
): FilterEntry => ({
  needs,
  apply: (input, args, run) => {
    const source = text(input, run)
    run.scan(source.length, shift)
    if (args.length === 0) return make(run, source)
    return make(
      run,
      source,
      ...args.map((arg) => {
        const given = text(arg, run)
        // Some arguments, such as the characters to strip, are read in full at every use.
        run.scan(given.length, shift)
        return given
      }),
    )
  },
})

// The filters of liquidjs charge this context, which has no limits. The filters of this module charge the run before
// they call a filter of liquidjs.
const context = new Context()

/** Returns a filter of liquidjs that reads nothing but its arguments, which must have the types it expects. */
const borrowed = (name: string) => {
  const found = liquid[name]!
  const handler = typeof found === "function" ? found : found.handler
  return (...args: [unknown, ...Array<unknown>]): unknown => Reflect.apply(handler, { context }, args)
}

/** Splits the text. An empty separator splits into characters, and never into halves of one. */
const pieces = (run: Run, source: string, separator: string): Array<string> => {
  run.search(source.length, separator.length)
  if (separator === "") {
    run.spend(source.length)
    return Array.from(source)
  }
  // Splits into as many pieces as the budget allows, plus one that shows that there are more.
  const parts = source.split(separator, run.stepsLeft + 1)
  run.spend(parts.length)
  return parts
}

const replace = (run: Run, source: string, found: string, replacement: string): string => {
  const parts = pieces(run, source, found)
  run.room(source.length + (parts.length - 1) * (replacement.length - found.length))
  return parts.join(replacement)
}

const replaceAt = (source: string, index: number, found: string, replacement: string): string =>
  index === -1 ? source : source.slice(0, index) + replacement + source.slice(index + found.length)

const replaceFirst = (run: Run, source: string, found: string, replacement: string): string => {
  run.search(source.length, found.length)
  return replaceAt(source, source.indexOf(found), found, replacement)
}

const replaceLast = (run: Run, source: string, found: string, replacement: string): string => {
  run.search(source.length, found.length)
  return replaceAt(source, source.lastIndexOf(found), found, replacement)
}

/** A filter that replaces a text. Without a second argument, it removes the text. */
const replacing = (make: typeof replace): FilterEntry => ({
  ...onText(1, (run, source, found, replacement = "") => make(run, source, found, replacement)),
  takes: 2,
})

const strip = (name: "strip" | "lstrip" | "rstrip"): FilterEntry => {
  const trim = borrowed(name)
  const chars = onText(0, (_, source, signs) => trim(source, signs === "" ? undefined : signs), 1)
  const space = onSpace((source) => String(trim(source)))
  return {
    needs: 0,
    takes: 1,
    rich: true,
    apply: (input, args, run, named) =>
      args.length === 0 ? space.apply(input, args, run, named) : chars.apply(input, args, run, named),
  }
}

const slugify = borrowed("slugify")
const slugs = new Set(["raw", "default", "pretty", "ascii", "latin", "none"])
const truncate = borrowed("truncate")
const truncatewords = borrowed("truncatewords")
const countWords = borrowed("number_of_words")
const stripHtml = borrowed("strip_html")
const slice = borrowed("slice")
const decodeBase64 = borrowed("base64_decode")
const encodeBase64 = borrowed("base64_encode")
const sha256 = borrowed("sha256")
const hmac = borrowed("hmac_sha256")

/** The setup of a hash costs microseconds, even for a short text. */
const hashed = (run: Run, digest: unknown): unknown => {
  run.spend(120)
  return digest
}

const escapeUri = onText(
  0,
  (_, source) => encodeURI(source.toWellFormed()).replace(/%5B/g, "[").replace(/%5D/g, "]"),
  1,
)

const plus = (encoded: string) => encoded.replace(/%20/g, "+")

const htmlOf = (value: unknown, run: Run): string =>
  value instanceof Markup ? value.html : escape(text(value, run), run)

/** Joins texts. If one is markup, the result is markup, in which the other texts are escaped. */
const concatenate = (parts: ReadonlyArray<unknown>, run: Run): unknown => {
  const texts = parts.map((part) => {
    const source = text(part, run)
    run.scan(source.length)
    return source
  })
  run.room(texts.reduce((length, source) => length + source.length, 0))
  if (!parts.some((part) => part instanceof Markup)) return texts.join("")
  return new Markup(texts.join(""), parts.map((part) => htmlOf(part, run)).join(""))
}

/** Changes only white space, so markup stays markup. `change` is linear in the length of the text. */
const onSpace = (change: (source: string) => string): FilterEntry => ({
  needs: 0,
  rich: true,
  apply: (input, _, run) => {
    const source = text(input, run)
    run.scan(source.length, 1)
    if (!(input instanceof Markup)) return change(source)
    run.scan(input.html.length, 1)
    return new Markup(change(source), change(input.html))
  },
})

const breakLines = (source: string) => source.replace(/\r?\n/g, "<br />\n")

const titled = (word: string) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()

/** The filters of text. */
export const textFilters: Record<string, FilterEntry> = {
  append: { needs: 1, rich: true, apply: (input, [end], run) => concatenate([input, end], run) },
  prepend: { needs: 1, rich: true, apply: (input, [start], run) => concatenate([start, input], run) },
  downcase: onText(0, (_, source) => source.toLowerCase()),
  upcase: onText(0, (_, source) => source.toUpperCase()),
  capitalize: onText(0, (_, source) => source.charAt(0).toUpperCase() + source.slice(1).toLowerCase()),
  /** Every word with its first letter in upper case and the others in lower case. */
  titlecase: onText(0, (_, source) => source.replace(/[\p{L}\p{M}][\p{L}\p{M}'’]*/gu, titled), 1),
  strip: strip("strip"),
  lstrip: strip("lstrip"),
  rstrip: strip("rstrip"),
  strip_newlines: onSpace((source) => source.replace(/\r?\n/g, "")),
  squish: onSpace((source) => source.replace(/\s+/g, " ").trim()),
  normalize_whitespace: onSpace((source) => source.replace(/\s+/g, " ")),
  newline_to_br: {
    needs: 0,
    rich: true,
    apply: (input, _, run) => {
      const source = text(input, run)
      run.scan(source.length, 1)
      return new Markup(breakLines(source), breakLines(htmlOf(input, run)))
    },
  },
  strip_html: onText(0, (_, source) => stripHtml(source), 1),
  escape: onText(0, (run, source) => escape(source, run)),
  xml_escape: onText(0, (run, source) => escape(source, run)),
  escape_once: onText(0, (run, source) => escape(unescape(source, run), run)),

  remove: onText(1, (run, source, found) => replace(run, source, found, "")),
  remove_first: onText(1, (run, source, found) => replaceFirst(run, source, found, "")),
  remove_last: onText(1, (run, source, found) => replaceLast(run, source, found, "")),
  replace: replacing(replace),
  replace_first: replacing(replaceFirst),
  replace_last: replacing(replaceLast),
  split: onText(1, (run, source, separator) => {
    const parts = pieces(run, source, separator)
    // As in Ruby: no empty pieces at the end.
    while (parts.at(-1) === "") parts.pop()
    return parts
  }),

  truncate: {
    needs: 0,
    takes: 2,
    faultOf: ([length]) => numberFault(length),
    apply: (input, [length, end], run) => {
      const source = text(input, run)
      const mark = isNothing(end) ? "..." : text(end, run)
      run.scan(source.length + mark.length, 2)
      return truncate(source, integer(length, run, "truncate", 50), mark)
    },
  },
  truncatewords: {
    needs: 0,
    takes: 2,
    faultOf: ([words]) => numberFault(words),
    apply: (input, [words, end], run) => {
      const source = text(input, run)
      run.scan(source.length, 0)
      return truncatewords(source, integer(words, run, "truncatewords", 15), isNothing(end) ? "..." : text(end, run))
    },
  },
  number_of_words: { ...onText(0, (_, source, mode) => countWords(source, mode), 0), takes: 1 },
  /** Characters or elements from `begin` on. Default length: 1. A negative `begin` counts from the end. */
  slice: {
    needs: 1,
    takes: 2,
    faultOf: (args) => numbersFault(args, undefined),
    apply: (input, [begin, length], run) => {
      const source = Array.isArray(input) ? list(input, run) : text(input, run)
      run.scan(source.length, 2)
      return slice(source, integer(begin, run, "slice", 0), integer(length, run, "slice", 1))
    },
  },
  slugify: {
    ...onText(0, (_, source, mode = "default") => slugify(source, slugs.has(mode) ? mode : "default"), 0),
    takes: 1,
  },

  url_encode: onText(0, (_, source) => plus(encodeURIComponent(source.toWellFormed())), 1),
  cgi_escape: onText(
    0,
    (_, source) => plus(percentEncoded(source)),
    1,
  ),
  /** Every character that is not unreserved (RFC 3986), a space as `%20`: for query values, `mailto:` and `sms:`. */
  url_param_escape: onText(0, (_, source) => percentEncoded(source), 1),
  uri_escape: escapeUri,
  url_escape: escapeUri,
  /** A text that is not URL-encoded is returned unchanged. */
  url_decode: onText(0, (run, source) => {
    try {
      return decodeURIComponent(source.replace(/\+/g, " "))
    } catch {
      run.spend(50)
      run.complain("url_decode: the text is not URL-encoded")
      return source
    }
  }, 1),
  base64_encode: onText(0, (_, source) => encodeBase64(source.toWellFormed()), 2),
  /** Empty for invalid Base64. */
  base64_decode: onText(0, (run, source) => {
    try {
      return decodeBase64(source)
    } catch {
      run.spend(150)
      run.complain("base64_decode: the text is not Base64")
      return undefined
    }
  }, 2),
  /** The text between the quotes of its JSON form. */
  json_escape: onText(0, (_, source) => JSON.stringify(source).slice(1, -1), 1),
  md5: onText(0, (run, source) => hashed(run, createHash("md5").update(source.toWellFormed()).digest("hex")), 2),
  sha256: onText(0, (run, source) => hashed(run, sha256(source)), 2),
  hmac_sha256: onText(1, (run, source, key) => hashed(run, hmac(source, key)), 2),

  /** The elements joined by the separator. Default: a space. Elements of inner lists count as elements. */
  join: {
    needs: 0,
    takes: 1,
    rich: true,
    apply: (input, [separator], run) => {
      const parts = flat(list(input, run), run)
      const between = isNothing(separator) ? " " : text(separator, run)
      const whole = joined(parts, between, run)
      if (!(separator instanceof Markup)) return whole
      return new Markup(whole, joined(parts.map((part) => escape(text(part, run), run)), separator.html, run))
    },
  },
  array_to_sentence_string: {
    needs: 0,
    takes: 1,
    apply: (input, [connector], run) => {
      const parts = list(input, run)
      const last = parts.length - 1
      const word = isNothing(connector) ? "and" : text(connector, run)
      if (last < 1) return text(parts, run)
      const comma = last > 1 ? "," : ""
      return `${joined(parts.slice(0, last), ", ", run)}${comma} ${word} ${text(parts[last], run)}`
    },
  },
  /** Code units of a text, elements of a list, or members of an object. 0 for other values. */
  size: {
    needs: 0,
    apply: (input, _, run) =>
      typeof input === "string"
        ? input.length
        : Array.isArray(input) || isRecord(input)
        ? elements(input, run).length
        : 0,
  },
}

const joined = (parts: ReadonlyArray<unknown>, separator: string, run: Run): string => {
  let whole = ""
  for (const [index, part] of parts.entries()) {
    const next = text(part, run)
    run.scan(next.length + separator.length)
    run.room(whole.length + next.length + separator.length)
    whole += index === 0 ? next : separator + next
  }
  return whole
}
