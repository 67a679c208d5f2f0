import type { NamedMember } from "../accounts/MemberNames.ts"
import { formerMember } from "../accounts/MemberNames.ts"

// Mentions in plain text. People write `@Ann Smith` or `@ann@example.com`. The text is stored with `<@ACCOUNT_ID>`, so
// that the name of a person who leaves is stored nowhere.

/** A text in its stored form. */
interface StoredText {
  readonly text: string
  /** Ids of the mentioned accounts, each once. */
  readonly mentions: ReadonlyArray<string>
}

/** A part of a text: plain, or the mention of a member. */
export interface TextPart {
  readonly text: string
  /** Id of the mentioned account. Undefined for plain text. */
  readonly mentioned?: string
}

const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}_]/u.test(char)

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

const canBeMentioned = (members: Iterable<NamedMember>) => [...members].filter(({ isMember }) => isMember)

/**
 * Returns the texts that mention members after the `@`, longest first: e-mail addresses and names. A name shared by
 * several members is ignored.
 */
const handlesOf = (members: Iterable<NamedMember>): ReadonlyArray<readonly [handle: string, id: string]> => {
  const all = canBeMentioned(members)
  const handles = handlesById(all)
  return all
    .flatMap(({ email, id, name }): Array<readonly [string, string]> => [
      [email, id],
      ...(name.trim() !== "" && handles.get(id) === name ? [[name, id] as const] : []),
    ])
    .sort(([a], [b]) => b.length - a.length)
}

/**
 * Returns the text that mentions each member, by the member's id: the name, or the e-mail address if another member has
 * this name.
 */
export const handlesById = (members: ReadonlyArray<NamedMember>): ReadonlyMap<string, string> => {
  const byName = Map.groupBy(canBeMentioned(members), ({ name }) => name.toLowerCase())
  const isShared = ({ id, name }: NamedMember) => byName.get(name.toLowerCase())?.some((other) => other.id !== id)
  return new Map(members.map((member) => [member.id, isShared(member) ? member.email : member.name]))
}

const token = /<@([^\s<>@]{1,100})>/g

/**
 * Finds the members that a text mentions, ignoring case: `@` at the beginning of a word, then the e-mail address or the
 * whole name, then the end of a word. The longest match wins.
 */
export const storeMentions = (written: string, members: Iterable<NamedMember>): StoredText => {
  const handles = handlesOf(members)
  const mentions = new Set<string>()
  let text = ""
  let at = 0
  while (at < written.length) {
    const found = written[at] === "@" && !isWord(written[at - 1])
      ? handles.find(([handle]) => {
        const end = at + 1 + handle.length
        return same(written.slice(at + 1, end), handle) && !isWord(written[end])
      })
      : undefined
    if (found === undefined) {
      text += written[at++]
      continue
    }
    const [handle, id] = found
    mentions.add(id)
    text += `<@${id}>`
    at += 1 + handle.length
  }
  return { text, mentions: [...mentions] }
}

/**
 * Returns the parts of a stored text, mentions with the present names of members. Only ids in `mentions` are mentions.
 */
export const partsOf = (
  { mentions, text }: StoredText,
  members: ReadonlyMap<string, NamedMember>,
): ReadonlyArray<TextPart> => {
  if (mentions.length === 0) return text === "" ? [] : [{ text }]
  const known = new Set(mentions)
  const handles = handlesById([...members.values()])
  const parts: Array<TextPart> = []
  let from = 0
  for (const match of text.matchAll(token)) {
    const id = match[1]!
    if (!known.has(id)) continue
    if (match.index > from) parts.push({ text: text.slice(from, match.index) })
    parts.push({ text: `@${handles.get(id) ?? formerMember}`, mentioned: id })
    from = match.index + match[0].length
  }
  if (from < text.length) parts.push({ text: text.slice(from) })
  return parts
}

/** Returns a stored text in the form that people write. */
export const readMentions = (stored: StoredText, members: ReadonlyMap<string, NamedMember>): string =>
  partsOf(stored, members).map(({ text }) => text).join("")
