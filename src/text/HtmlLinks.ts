// Finds the links of an HTML e-mail. Reads HTML like a browser's tokenizer (HTML Standard, 13.2.5), and the conditional
// comments of Outlook like Outlook.

// Character codes.
const [quote, apostrophe, hyphen, slash] = [0x22, 0x27, 0x2d, 0x2f]
const [less, equals, greater, question] = [0x3c, 0x3d, 0x3e, 0x3f]

/** White space of HTML: tab, line feed, form feed, carriage return, space. */
const isSpace = (code: number) => code === 0x20 || code === 9 || code === 10 || code === 12 || code === 13

/** Returns the code of an ASCII letter in lowercase. Other codes stay unchanged. */
export const lower = (code: number) => code >= 0x41 && code <= 0x5a ? code + 0x20 : code

/** Whether the code is an ASCII letter. */
export const isLetter = (code: number) => lower(code) >= 0x61 && lower(code) <= 0x7a

/** Elements whose content browsers treat as text. */
const textElements = new Set(["style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"])

/** Elements whose `href` is a link: of HTML, and the shapes of VML, of which Outlook's buttons are made. */
const linkElements = new Set(
  [
    "a",
    "area",
    ...["arc", "curve", "group", "image", "line", "oval", "polyline", "rect", "roundrect", "shape"].map((shape) =>
      `v:${shape}`
    ),
  ],
)

/** Longest name that is compared. Unit: characters. */
const maxName = 32

/**
 * Attributes that leave a link as it is written, with the value that they need; undefined for any value or none. The
 * first is SendGrid's, and the one that Parlance documents. SparkPost, Postmark, Mailgun, Mailchimp Transactional and
 * Amazon SES read the others. The attributes stay in the mail, because these platforms read them as well.
 */
const optOuts: ReadonlyMap<string, string | undefined> = new Map([
  ["clicktracking", "off"],
  ["data-msys-clicktrack", "0"],
  ["data-pm-no-track", undefined],
  ["disable-tracking", "true"],
  ["mc:disable-tracking", undefined],
  ["ses:no-track", undefined],
])

interface Tag {
  /** Name in lowercase. Empty for a name that is too long to matter. */
  readonly name: string
  /** The first character after the tag. */
  readonly end: number
  /** Value of the first `href` of a link element, without quotes. */
  readonly href: readonly [from: number, to: number] | undefined
  /** Whether the link opts out of tagging and measuring. */
  readonly isLeft: boolean
}

/** Returns a name in lowercase. Empty for a name that is too long to matter. */
const nameAt = (html: string, from: number, to: number): string =>
  to - from > maxName ? "" : html.slice(from, to).toLowerCase()

const isNameEnd = (code: number) => isSpace(code) || code === slash || code === greater

const skipSpace = (html: string, from: number): number => {
  let i = from
  while (i < html.length && isSpace(html.charCodeAt(i))) i++
  return i
}

interface Attribute {
  readonly nameEnd: number
  /** The value without quotes. An attribute without a value has an empty one at the end of its name. */
  readonly from: number
  readonly to: number
  readonly end: number
}

/** Reads the attribute whose name begins at `start`. Undefined if the text ends before its quote does. */
const readAttribute = (html: string, start: number): Attribute | undefined => {
  // The first character of a name may be any character, including `=`.
  let i = start + 1
  while (i < html.length && !isNameEnd(html.charCodeAt(i)) && html.charCodeAt(i) !== equals) i++
  const nameEnd = i
  i = skipSpace(html, i)
  if (html.charCodeAt(i) !== equals) return { nameEnd, from: nameEnd, to: nameEnd, end: i }
  i = skipSpace(html, i + 1)
  const first = html.charCodeAt(i)
  if (first === quote || first === apostrophe) {
    const to = html.indexOf(first === quote ? '"' : "'", i + 1)
    return to === -1 ? undefined : { nameEnd, from: i + 1, to, end: to + 1 }
  }
  const from = i
  while (i < html.length && !isSpace(html.charCodeAt(i)) && html.charCodeAt(i) !== greater) i++
  return { nameEnd, from, to: i, end: i }
}

/** Reads a start or end tag whose name begins at `from`. Undefined if the text ends before the tag does. */
const readTag = (html: string, from: number): Tag | undefined => {
  let i = from
  while (i < html.length && !isNameEnd(html.charCodeAt(i))) i++
  const name = nameAt(html, from, i)
  const isLink = linkElements.has(name)
  let href: Tag["href"]
  let isLeft = false
  for (;;) {
    while (i < html.length && (isSpace(html.charCodeAt(i)) || html.charCodeAt(i) === slash)) i++
    if (i >= html.length) return undefined
    if (html.charCodeAt(i) === greater) return { name, end: i + 1, href, isLeft }
    const start = i
    const attribute = readAttribute(html, start)
    if (attribute === undefined) return undefined
    i = attribute.end
    if (!isLink) continue
    const attributeName = nameAt(html, start, attribute.nameEnd)
    if (attributeName === "href") href ??= [attribute.from, attribute.to]
    else if (optOuts.has(attributeName)) {
      const needed = optOuts.get(attributeName)
      isLeft ||= needed === undefined || html.slice(attribute.from, attribute.to).trim().toLowerCase() === needed
    }
  }
}

/** Whether `text`, in lowercase, is at `from` in any case. */
const isTextAt = (html: string, from: number, text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (lower(html.charCodeAt(from + i)) !== text.charCodeAt(i)) return false
  return true
}

/** Whether the tag of this name, such as `</style`, is at `from`. */
const isTagAt = (html: string, from: number, start: string): boolean =>
  isNameEnd(html.charCodeAt(from + start.length)) && isTextAt(html, from, start)

/** Position of the end tag of a text element, or -1. */
const endOfText = (html: string, from: number, name: string): number => {
  let i = html.indexOf("</", from)
  while (i !== -1 && !isTagAt(html, i, `</${name}`)) i = html.indexOf("</", i + 2)
  return i
}

/** Position of the end tag of a script, or -1. A script within `<!--` and `-->` has its own end tag. */
const endOfScript = (html: string, from: number): number => {
  let nesting: "none" | "comment" | "script" = "none"
  for (let i = from; i < html.length; i++) {
    const code = html.charCodeAt(i)
    if (code === hyphen) {
      if (nesting !== "none" && html.startsWith("-->", i)) nesting = "none"
    } else if (code === less) {
      if (nesting === "none" && html.startsWith("<!--", i)) {
        nesting = "comment"
        i++ // its hyphens may belong to the end
      } else if (nesting === "comment" && isTagAt(html, i, "<script")) nesting = "script"
      else if (isTagAt(html, i, "</script")) {
        if (nesting !== "script") return i
        nesting = "comment"
      }
    }
  }
  return -1
}

/** The first character after the comment at `from`, or -1. */
const endOfComment = (html: string, from: number): number => {
  const content = from + "<!--".length
  // `<!-->` and `<!--->` are comments.
  for (let i = html.indexOf("--", from + 2); i !== -1; i = html.indexOf("--", i + 1)) {
    if (html.charCodeAt(i + 2) === greater) return i + 3
    if (i >= content && html.startsWith("!>", i + 2)) return i + 4
  }
  return -1
}

/**
 * The first character after markup that is neither tag nor text: comments, declarations, instructions. -1 if it does
 * not end.
 */
const endOfOther = (html: string, from: number): number => {
  if (html.startsWith("<!--", from)) return endOfComment(html, from)
  const end = html.indexOf(">", from + 2)
  return end === -1 ? -1 : end + 1
}

/** The start of a conditional comment, such as `<!--[if (gte mso 9)|(IE)]>`. */
const conditional = /<!--\[if\s[^\]<>]{1,200}\]>/iy

/** The first character after the start of the conditional comment at `from`, or -1 for other text. */
const endOfCondition = (html: string, from: number): number => {
  conditional.lastIndex = from
  return conditional.test(html) ? conditional.lastIndex : -1
}

/**
 * Receives the position of a link's URL in the text, without quotes, and whether the link opts out. Returns false to end
 * the search.
 */
type Visit = (from: number, to: number, isLeft: boolean) => boolean

/** Receives the position of the text of a script. */
type VisitScript = (from: number, to: number) => void

class Search {
  bodyEnd = -1
  isEnded = false

  constructor(readonly visit: Visit, readonly visitScript: VisitScript) {}

  /** Reads a text that is at `offset` of the whole one. `isCondition`: it is the content of a conditional comment. */
  read(html: string, offset: number, isCondition: boolean): void {
    let i = html.indexOf("<")
    while (i !== -1 && !this.isEnded) {
      const first = html.charCodeAt(i + 1)
      const isEnd = first === slash && isLetter(html.charCodeAt(i + 2))
      if (isEnd || isLetter(first)) {
        const tag = readTag(html, isEnd ? i + 2 : i + 1)
        if (tag === undefined) return
        if (!isEnd) i = this.#start(html, offset, tag)
        else {
          if (tag.name === "body" && !isCondition) this.bodyEnd = offset + i
          i = tag.end
        }
      } else if (first === 0x21 || first === question || first === slash) {
        i = this.#other(html, offset, i, isCondition)
      } else i++
      if (i === -1) return
      i = html.indexOf("<", i)
    }
  }

  /** Handles a start tag. Returns where to go on, or -1. */
  #start(html: string, offset: number, { end, href, isLeft, name }: Tag): number {
    if (href !== undefined) this.isEnded = !this.visit(offset + href[0], offset + href[1], isLeft)
    else if (name === "plaintext") return -1
    else if (name === "script") {
      const scriptEnd = endOfScript(html, end)
      this.visitScript(offset + end, offset + (scriptEnd === -1 ? html.length : scriptEnd))
      return scriptEnd
    } else if (textElements.has(name)) return endOfText(html, end, name)
    return end
  }

  /** Skips a comment or declaration, but reads the content of a conditional comment. */
  #other(html: string, offset: number, at: number, isCondition: boolean): number {
    const start = endOfCondition(html, at)
    if (start === -1) return endOfOther(html, at)
    // Comments cannot be nested, so this one has no end of its own.
    if (isCondition) return start
    const end = endOfComment(html, at)
    // The tags of the content end with the comment, as they do for every other mail program.
    if (end !== -1) this.read(html.slice(start, end), offset + start, true)
    return end
  }
}

/**
 * Calls `visit` for each link: the first `href` of each `a`, `area` and VML shape, also in conditional comments such as
 * `<!--[if mso]>`. A link with an attribute such as `clicktracking=off` opts out. Skips other comments, the text of
 * scripts and styles, and tags that do not end. Calls `visitScript` for the text of each script. Returns the position of the last
 * `</body>`, or -1. Needs linear time.
 */
export const eachLink = (html: string, visit: Visit, visitScript: VisitScript = () => {}): number => {
  const search = new Search(visit, visitScript)
  search.read(html, 0, false)
  return search.bodyEnd
}
