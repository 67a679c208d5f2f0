// The form of the tables of notations, and the words in which a replacement is written.

/** A notation of another platform. */
export interface Notation {
  /** The platforms that use it, as named in messages. */
  readonly platform: string
  /** Matches the notation, or its beginning. Quantifiers are bounded, so that a search needs linear time. */
  readonly pattern: RegExp
  /**
   * The replacement in Liquid. Without an equivalent, a sentence with the remedy. In a text, `$1` is the first group
   * of the pattern, and `@1` is the field that the first group names. Undefined: the match is no such notation.
   */
  readonly write: string | ((groups: ReadonlyArray<string>) => string | undefined)
}

/** Names that platforms give to the usual fields of a person, in lower case without spaces, `_` and `-`. */
const usualFields: ReadonlyMap<string, string> = new Map([
  ["fname", "first_name"],
  ["firstname", "first_name"],
  ["givenname", "first_name"],
  ["vorname", "first_name"],
  ["prenom", "first_name"],
  ["lname", "last_name"],
  ["lastname", "last_name"],
  ["surname", "last_name"],
  ["familyname", "last_name"],
  ["nachname", "last_name"],
  ["fullname", "full_name"],
  ["email", "email"],
  ["emailaddress", "email"],
  ["emailaddr", "email"],
  ["phone", "phone"],
  ["phonenumber", "phone"],
  ["company", "company"],
  ["companyname", "company"],
])

const compact = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, "")

/** Whether a name is a usual field of a person, such as `FNAME` or `First Name`. */
export const isUsualField = (name: string): boolean => usualFields.has(compact(name))

const isPath = (text: string): boolean => /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*$/.test(text)

/**
 * Returns a path in Liquid with the names as they are: `items[0].title` for `items.0.title`, and `['Loyalty Points']`
 * for a name with spaces.
 */
export const pathOf = (name: string): string => {
  const plain = name.trim().replace(/^[@$.]+/, "").replace(/\.\[?(\d+)\]?/g, "[$1]")
  return isPath(plain) ? plain : `['${plain.replace(/['"\n]/g, "").slice(0, 60)}']`
}

/** Returns a field in Liquid: `first_name` for `FNAME` or `First Name`. Names in lower case stay as they are. */
export const fieldOf = (name: string): string => {
  const path = pathOf(name)
  if (/^[a-z]\S*$/.test(path)) return path
  return usualFields.get(compact(name.trim())) ??
    (path === path.toUpperCase() && isPath(path) ? path.toLowerCase() : path)
}

/** Returns a value in Liquid: a text in quotes or a number without a change, otherwise a field. */
export const valueOf = (text: string): string => {
  const plain = text.trim()
  return /^(?:"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)$/.test(plain) ? plain : pathOf(plain.replace(/^this\./, ""))
}

/** Returns the replacement for a match. */
export const replacementOf = ({ write }: Notation, groups: ReadonlyArray<string>): string | undefined =>
  typeof write === "string"
    ? write.replace(/([$@])(\d)/g, (_, kind: string, at: string) => {
      const group = groups[Number(at)] ?? ""
      return kind === "@" ? fieldOf(group) : group.trim()
    })
    : write(groups)

/** Returns the beginning of a notation as messages quote it. */
export const excerptOf = (text: string): string => {
  const [first = ""] = text.trim().split("\n")
  return first.length > 60 ? `${first.slice(0, 60)}…` : first
}

/** The remedy for data that a platform looks up while it renders. */
export const fetchFirst = "Look the data up before the call, and pass it as a field, such as {{ items[0].title }}"

/** The remedy for a tag that cancels the message of a person. */
export const sendToFewer =
  "Choose who gets the message by the targeting of the variant, or write {% if name != blank %}"

/** The remedy for a shared block of copy. */
export const writeOut = "Save the shared block as a snippet, and write {% render 'footer' %}"

/** Returns the id of a snippet for the name of another platform's shared block. Empty if it has no letter or digit. */
export const snippetIdOf = (name: string): string =>
  name.toLowerCase().replace(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+|-+$/g, "").slice(0, 64)

/** Returns the tag of a snippet with the name of another platform's shared block: `{% render 'my-footer' %}`. */
export const snippetOf = (name: string): string => {
  const id = snippetIdOf(name)
  return id === "" ? writeOut : `Save the shared block as a snippet, and write {% render '${id}' %}`
}

/** The remedy for a value that the platform makes, such as the name of a campaign. */
export const ofPlatform = "Write the value here, or pass it as a field: the other platform makes it"

/** The remedy for words that a platform inserts about the company. */
export const ownWords = "Write the words here, or pass them as a field, such as {{ company }}"

/** The remedy for a link that this service does not make. */
export const passLink = "Pass the address as a field, such as {{ browser_url }}"
