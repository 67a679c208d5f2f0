import { bounded, folded } from "./FoldedText.ts"
import { type FoundPhrase, Phrases } from "./Phrases.ts"
import { type RefusalClass, refusalClasses, type RefusalFact } from "./RefusalTable.ts"

// Classifies refusals of mail servers by a table of facts. Pure, and linear in the length of hostile texts.

/** A refusal. Its texts may be hostile. */
export interface Refusal {
  /** The words of the receiver: a reply, a `Diagnostic-Code`, or the text of a bounce. */
  readonly said?: string | undefined
  /** The code from the reporting server itself, such as `5.1.1`. */
  readonly status?: string | undefined
}

export interface Classified {
  readonly class: RefusalClass
  /** The fact that decided, such as `"user unknown" (SMTP Field Manual)`. Undefined if no fact decided. */
  readonly because: string | undefined
  /** Clear words, if the text has any; otherwise the kind of the fact that decided: a code or a hint. Undefined if none did. */
  readonly evidence: "code" | "words" | "hint" | undefined
}

/** An enhanced code in a text. */
interface NamedCode {
  readonly level: "4" | "5"
  /** The code without its first digit, such as `1.1`. */
  readonly detail: string
}

/** The enhanced codes in a text, without parts of IP addresses and version numbers. */
const codesIn = (text: string): ReadonlyArray<NamedCode> =>
  [...text.matchAll(/(?<![\d.])([45])\.(\d{1,3})\.(\d{1,3})(?!\d|\.\d)/g)].map((found) => ({
    level: found[1] as NamedCode["level"],
    detail: `${Number(found[2])}.${Number(found[3])}`,
  }))

/** Where servers and their clients write a reply code, the surest place first. */
const replyPlaces: ReadonlyArray<RegExp> = [
  // Before an enhanced code, or after words that announce a reply.
  /(?<![\d.])([45])\d\d(?=[ -]{1,3}#?\1\.\d{1,3}\.\d)|(?<=(?:\bsaid:?|\banswered:?|<<<|->) ?)[45]\d\d(?=[\s-]|$)/gi,
  /(?<=^[ \t]{0,9})[45]\d\d(?=[\s-]|$)(?! ?m?s\b)/gim,
  // A number after a colon or "port" is a port, and one before "ms" or "s" a time.
  /(?<![\d.:]|\bport )[45]\d\d(?=[\s-]|$)(?! ?m?s\b)/gi,
]

/**
 * Returns the last reply code in the surest place of a text, such as `550`, and the part of the text that it concerns: a
 * transcript may begin with temporary replies, and end with the one that decided.
 */
const replyIn = (said: string): { readonly code: string | undefined; readonly part: string } => {
  for (const place of replyPlaces) {
    const all = [...said.matchAll(place)]
    // 503 only says that an earlier command was refused.
    const others = all.filter(([code]) => code !== "503")
    const replies = others.length === 0 ? all : others
    const code = replies.at(-1)?.[0]
    if (code === undefined) continue
    const first = replies.findLastIndex(([other]) => other[0] !== code[0]) + 1
    return { code, part: first === 0 ? said : said.slice(replies[first]!.index) }
  }
  return { code: undefined, part: said }
}

const isOfCode = (code: string, detail: string): boolean => {
  const range = /^X\.(\d+)\.(?:\*|(\d+)-(\d+))$/.exec(code)
  if (range === null) return code === `X.${detail}`
  const [subject, number] = detail.split(".")
  const [, ofSubject, from = "0", to = "999"] = range
  return subject === ofSubject && Number(from) <= Number(number) && Number(number) <= Number(to)
}

/** The facts about codes alone. A later fact replaces an earlier one of an equal code. */
class Codes {
  readonly #exact = new Map<string, RefusalFact>()
  /** Of ranges and whole subjects, the narrowest first. */
  #ranges: ReadonlyArray<RefusalFact> = []

  add(fact: RefusalFact): void {
    const { code = "" } = fact
    if (/^X\.\d+\.\d+$|^\d+$/.test(code)) this.#exact.set(code, fact)
    else {
      this.#ranges = [fact, ...this.#ranges.filter((other) => other.code !== code)]
        .sort((a, b) => Number(a.code!.endsWith("*")) - Number(b.code!.endsWith("*")))
    }
  }

  ofReply(reply: string | undefined): RefusalFact | undefined {
    return reply === undefined ? undefined : this.#exact.get(reply)
  }

  /** Returns the fact of the first code that has a fact, and the first digit of that code. */
  first(named: ReadonlyArray<NamedCode>): { readonly fact: RefusalFact; readonly level: string } | undefined {
    for (const { detail, level } of named) {
      const fact = this.#exact.get(`X.${detail}`) ?? this.#ranges.find(({ code }) => isOfCode(code!, detail))
      if (fact !== undefined) return { fact, level }
    }
    return undefined
  }
}

type Found = FoundPhrase<RefusalFact>

const lengthOf = ({ spans }: Found): number => spans.reduce((sum, [at, end]) => sum + end - at, 0)

const isWithin = (one: Found, other: Found): boolean => {
  const more = lengthOf(other) - lengthOf(one)
  if (more < 0 || (more === 0 && (other.of.code === undefined || one.of.code !== undefined))) return false
  return one.spans.every(([at, end]) => other.spans.some(([from, to]) => from <= at && end <= to))
}

/** Returns the phrases that are not part of a longer phrase, or of a phrase with a code, in the same place. */
const longest = (found: ReadonlyArray<Found>): ReadonlyArray<Found> =>
  found.filter((one) => !found.some((other) => isWithin(one, other)))

const severity = (fact: RefusalFact): number => refusalClasses.indexOf(fact.class)

/** Returns the fact that blames the address least, so that no working address is suppressed. */
const mildest = (facts: ReadonlyArray<RefusalFact>): RefusalFact | undefined =>
  [...facts].sort((a, b) => severity(a) - severity(b))[0]

/**
 * Returns the fact that decides between a code and words of one receiver. `hint`: weak words. All words outweigh a weak
 * code and a code of a missing mailbox. Other codes outweigh hints, and words of a missing mailbox without a code.
 * Other words decide if their fact has a code, otherwise the fact that blames the address least.
 */
const ofReceiver = (
  code: RefusalFact | undefined,
  words: RefusalFact | undefined,
  hint: RefusalFact | undefined,
): RefusalFact | undefined => {
  if (code === undefined || code.weak === true || code.class === "no-such-mailbox") return words ?? hint ?? code
  if (words === undefined || (words.class === "no-such-mailbox" && words.code === undefined)) return code
  return words.code === undefined ? mildest([code, words]) : words
}

const becauseOf = ({ code, phrase, source }: RefusalFact): string =>
  [code, phrase === undefined ? undefined : JSON.stringify(phrase), `(${source})`].filter((part) => part !== undefined)
    .join(" ")

const evidenceOf = ({ phrase }: RefusalFact) => phrase === undefined ? "code" : "hint"

/** Classes that a temporary reply does not establish. */
const permanent: ReadonlySet<RefusalClass | undefined> = new Set(["no-such-mailbox", "disabled", "unknown", undefined])

/** Returns the class of a refusal. */
export type Classify = (refusal: Refusal) => Classified

/** Returns a classifier by `facts`. A later fact replaces an earlier fact of an equal code and phrase. */
export const makeClassifier = (facts: ReadonlyArray<RefusalFact>): Classify => {
  const codes = new Codes()
  const phrases = new Phrases<RefusalFact>()
  const latest = new Map(facts.map((fact) => [`${fact.code} ${folded(fact.phrase ?? "")}`, fact]))
  for (const fact of latest.values()) {
    if (fact.phrase === undefined) codes.add(fact)
    else phrases.add(fact.phrase, fact)
  }
  return ({ said = "", status = "" }) => {
    const { code: reply, part } = replyIn(bounded(said))
    const text = folded(part)
    const named = codesIn(text)
    const found = longest(
      phrases.in(text).filter(({ of: { code } }) =>
        code === undefined || code === reply || named.some(({ detail }) => isOfCode(code, detail))
      ),
    ).map(({ of }) => of)
    const coded = codes.first(named)
    const known = found.filter((fact) => fact.class !== "unknown")
    const receiver = ofReceiver(
      coded?.fact,
      mildest(known.filter(({ weak }) => weak !== true)),
      mildest(known.filter(({ weak }) => weak === true)),
    ) ?? codes.ofReply(reply)
    const reported = codes.first(codesIn(status))
    // Servers derive the status of a reply without a code from its first digits: 550 becomes 5.1.1.
    const isGuess = reply !== undefined && /\p{L}{2}/u.test(text) && reported?.fact.class === "no-such-mailbox"
    const decided = receiver ?? (isGuess ? undefined : reported?.fact) ?? found[0]
    const level = reply?.[0] ?? coded?.level ?? named[0]?.level ?? codesIn(status)[0]?.level
    return level === "4" && permanent.has(decided?.class)
      ? { class: "temporary", because: "the reply is a temporary one", evidence: undefined }
      : {
        class: decided?.class ?? "unknown",
        because: decided && becauseOf(decided),
        evidence: found.some(({ weak }) => weak !== true) ? "words" : decided && evidenceOf(decided),
      }
  }
}
