import { messageNames } from "./MessageNames.ts"
import {
  type ChannelKind,
  channels,
  confirmingVerbs,
  denying,
  deviceVerbs,
  fillers,
  groupWords,
  machineWords,
  type MessageMeaning,
  personalWords,
  plainChannels,
  programVerbs,
  seenVerbs,
  senders,
  suppressing,
  verbs,
} from "./MessageWords.ts"

/** The meaning of the name of a message event. */
export interface MessageEvent {
  /** `subscription_state`: a member of the event says whether the person opted in or out. */
  readonly meaning: MessageMeaning | "subscription_state"
  /** Whether the event may concern e-mail. */
  readonly isEmail: boolean
  /** The name says that a program caused the event. */
  readonly automated?: true
  /** The opt-out or opt-in concerns one list, group, channel or type of messages. */
  readonly ofGroup?: true
}

type Phrase =
  | { readonly kind: "channel"; readonly channel: ChannelKind; readonly isPlain: boolean }
  | { readonly kind: "verb"; readonly meaning: MessageMeaning; readonly verb: string }
  | { readonly kind: "sender" }
  | { readonly kind: "group" }
  | { readonly kind: "filler" }

const meanings = Object.keys(verbs) as ReadonlyArray<MessageMeaning>

/** All phrases. A phrase in several tables has the meaning of the later one. */
const phrases: ReadonlyMap<string, Phrase> = new Map<string, Phrase>([
  ...Array.from(fillers, (word): [string, Phrase] => [word, { kind: "filler" }]),
  ...Array.from(groupWords, (word): [string, Phrase] => [word, { kind: "group" }]),
  ...senders.map((name): [string, Phrase] => [name, { kind: "sender" }]),
  ...(Object.keys(channels) as ReadonlyArray<ChannelKind>).flatMap((channel) =>
    channels[channel].map((name): [string, Phrase] => [
      name,
      { kind: "channel", channel, isPlain: plainChannels.has(name) },
    ])
  ),
  ...meanings.flatMap((meaning) =>
    verbs[meaning]!.map((verb): [string, Phrase] => [verb, { kind: "verb", meaning, verb }])
  ),
])

const maxWords = Math.max(...[...phrases.keys()].map((phrase) => phrase.split(" ").length))

/** Maximum number of words of a name, and of unknown words before its channel. */
const maxNameWords = 14
const maxUnknown = 4

/** Returns the words of a name in lowercase: `emailUnSubscribe` is `email un subscribe`. */
const wordsOf = (name: string): ReadonlyArray<string> =>
  name
    .replace(/iOS/g, "ios")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")

/** The parts of a name. */
interface Parts {
  readonly channels: ReadonlyArray<Extract<Phrase, { kind: "channel" }>>
  readonly verbs: ReadonlyArray<Extract<Phrase, { kind: "verb" }>>
  readonly hasSender: boolean
  readonly hasGroup: boolean
  /** Unknown words before the first channel. */
  readonly before: ReadonlyArray<string>
  readonly endsInVerb: boolean
}

/** Splits a name into its longest phrases. Undefined if an unknown word follows a channel or a verb. */
const partsOf = (words: ReadonlyArray<string>): Parts | undefined => {
  const found: Array<Phrase> = []
  const before: Array<string> = []
  for (let at = 0; at < words.length;) {
    let length = Math.min(maxWords, words.length - at)
    while (length > 0 && !phrases.has(words.slice(at, at + length).join(" "))) length--
    if (length > 0) found.push(phrases.get(words.slice(at, at + length).join(" "))!)
    else if (found.some(({ kind }) => kind === "channel" || kind === "verb") || before.length === maxUnknown) {
      return undefined
    } else before.push(words[at]!)
    at += Math.max(1, length)
  }
  return {
    channels: found.filter((phrase) => phrase.kind === "channel"),
    verbs: found.filter((phrase) => phrase.kind === "verb"),
    hasSender: found.some(({ kind }) => kind === "sender"),
    hasGroup: found.some(({ kind }) => kind === "group"),
    before,
    endsInVerb: found.at(-1)?.kind === "verb",
  }
}

const isEmailKind = (kind: ChannelKind | undefined): boolean => kind !== "other"

/** Whether messages of a channel have a verb. */
const hasVerb = (kind: ChannelKind | undefined, { meaning, verb }: Parts["verbs"][number]): boolean => {
  if (programVerbs.has(verb)) return kind === "program"
  if (deviceVerbs.has(verb)) return kind === "other"
  if (kind === "program" || kind === "newsletter") return !seenVerbs.has(verb) && meaning !== "opt_in"
  return true
}

/**
 * Returns the meaning of the verbs of a name. A verb that suppresses an address does not count next to a verb that denies
 * it: `Unsubscribe Failed` is no opt-out, and `Spam Blocked` is no complaint.
 */
const meaningOf = (found: Parts["verbs"]): MessageMeaning => {
  const has = (meaning: MessageMeaning) => found.some((verb) => verb.meaning === meaning)
  const meaning = meanings.find(has)!
  if (!suppressing.has(meaning)) return meaning
  if (meaning === "spam" && (has("bounce") || has("soft_bounce"))) return "failed"
  const denials = found.filter(({ meaning, verb }) => denying.has(meaning) && !confirmingVerbs.has(verb))
  if (denials.length === 0) return meaning
  return meaning !== "unsubscribe" && denials.some(({ meaning }) => meaning === "failed") ? "failed" : "ignored"
}

const byWords = (words: ReadonlyArray<string>): MessageEvent | undefined => {
  const parts = partsOf(words)
  if (parts === undefined || parts.verbs.length === 0) return undefined
  const { before, channels, endsInVerb, hasGroup } = parts
  const channel = channels.find(({ channel }) => channel !== "any" && channel !== "program") ?? channels[0]
  if (channel === undefined) return undefined
  const kind = channel.channel
  if (!parts.verbs.every((verb) => hasVerb(kind, verb))) return undefined
  const meaning = meaningOf(parts.verbs)
  const isOptIn = meaning === "opt_in"
  if (before.length > 0) {
    const isNamed = channel.isPlain && endsInVerb && !isOptIn && meaning !== "ignored" && meaning !== "conversion"
    if (!isNamed || before.some((word) => personalWords.has(word))) return undefined
  }
  const isEmail = isEmailKind(kind)
  if (isOptIn && kind === "any") return undefined
  if (isOptIn && !isEmail) return { meaning: "ignored", isEmail }
  const ofGroup = hasGroup && (isOptIn || meaning === "unsubscribe")
  return { meaning, isEmail, ...(ofGroup ? { ofGroup } : {}) }
}

/** Removes the name of a messaging platform from the beginning of a name. */
const withoutSender = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  for (let length = 3; length > 0; length--) {
    if (length < words.length && phrases.get(words.slice(0, length).join(" "))?.kind === "sender") {
      return withoutSender(words.slice(length))
    }
  }
  return words
}

/** Removes the beginning of the names of Braze Currents, such as `users.messages.email.Open`. */
const withoutPath = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words[0] !== "users" ? words : words[1] === "messages" ? words.slice(2) : words.slice(1)

const read = (name: string): MessageEvent | undefined => {
  const all = withoutPath(wordsOf(name))
  if (all.length === 0 || all.length > maxNameWords) return undefined
  const words = withoutSender(all.filter((word) => !machineWords.has(word)))
  const listed = messageNames.get(words.join(" "))
  const found = listed === undefined ? byWords(words) : {
    meaning: listed.meaning,
    isEmail: isEmailKind(listed.channel),
    ...(listed.ofGroup === true ? { ofGroup: listed.ofGroup } : {}),
  }
  return found !== undefined && words.length < all.length && all.some((word) => machineWords.has(word))
    ? { ...found, automated: true }
    : found
}

/** Meanings of the names seen last. Few enough that names with colliding hashes cost little. */
const kept = new Map<string, MessageEvent | null>()
const maxKept = 1_000

/**
 * Returns the meaning of a name if messaging platforms use it for what happened to a message, such as `SMS Rejected`,
 * `emailUnSubscribe` or `Campaign Control Group Entered`. Undefined for all other names, such as `Trial Started`.
 */
export const messageEventOf = (name: string): MessageEvent | undefined => {
  const known = kept.get(name)
  if (known !== undefined) return known ?? undefined
  const found = read(name)
  if (kept.size >= maxKept) kept.clear()
  kept.set(name, found ?? null)
  return found
}
