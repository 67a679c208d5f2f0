import * as Json from "../../json/Json.ts"
import { folded } from "./FoldedText.ts"
import { alternatives } from "./Phrases.ts"

// Facts about refusals of mail servers. `refusals.json` has the facts of the service, and an operator adds a file of
// the same form.

/**
 * Classes of refusals, from the class that blames the address least:
 *
 *     sender-policy      the server refuses this sender: address, IP, DNS, authentication, rate, quota
 *     content-policy     the server refuses the content or the size of the message
 *     mailbox-full       the mailbox accepts mail again once it has room
 *     disabled           the mailbox is disabled, suspended, or has moved
 *     no-such-mailbox    the address does not exist, or its domain accepts no mail
 *     temporary          the server could not be reached, or the attempts ended
 *     unknown            the refusal has no known reason
 */
export const refusalClasses = [
  "sender-policy",
  "content-policy",
  "mailbox-full",
  "disabled",
  "no-such-mailbox",
  "temporary",
  "unknown",
] as const
export type RefusalClass = (typeof refusalClasses)[number]

/** One fact about refusals. A fact with a code and a phrase applies only to refusals with both. */
export interface RefusalFact {
  /**
   * An enhanced code (RFC 3463) with `X` for its first digit, such as `X.1.1`, `X.7.*` or `X.7.606-649`, or a reply
   * code, such as `552`.
   */
  readonly code?: string
  /**
   * Words of the server, compared without case and accents. `*` stands for up to 60 characters, and `{user|mailbox}` for one of
   * several texts.
   */
  readonly phrase?: string
  readonly class: RefusalClass
  /** Marks a hint, which decides only if no other fact does. */
  readonly weak?: true
  /** The server or provider with this refusal. Undefined for refusals of many servers. */
  readonly receiver?: string
  /** The publication of the fact. */
  readonly source: string
  /** The day on which the source was read, `YYYY-MM-DD`. */
  readonly date: string
}

/** Maximum length of a member, and maximum number of facts in a file. */
const maxText = 200
const maxFacts = 10_000

/** Maximum number of texts that the alternatives of a phrase stand for. */
const maxAlternatives = 300

const codeForm = /^(?:X\.\d{1,3}\.(?:\*|\d{1,3}(?:-\d{1,3})?)|[45]\d\d)$/

const members: ReadonlySet<string> = new Set(["class", "code", "date", "phrase", "receiver", "source", "weak"])

/** Returns the fault of a phrase; undefined if it has none. */
const phraseFault = (phrase: string): string | undefined => {
  const choices = [...phrase.matchAll(/\{([^{}]*)\}/g)].map(([, options = ""]) => options.split("|").length)
  if (/[{}]/.test(phrase.replace(/\{[^{}]*\}/g, ""))) return "phrase must close each {, and have no { within another"
  if (choices.reduce((product, count) => product * count, 1) > maxAlternatives) {
    return `phrase must stand for at most ${maxAlternatives} texts`
  }
  return alternatives(phrase).some((one) => folded(one).split("*").some((part) => part.trim().length < 3))
    ? "phrase must have at least three characters, also before and after each *"
    : undefined
}

/** Returns the fault of a fact; undefined if it has none. */
const faultOf = (fact: unknown): string | undefined => {
  if (typeof fact !== "object" || fact === null || Array.isArray(fact)) return "is no JSON object"
  const given = fact as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).find((name) => !members.has(name))
  if (unknown !== undefined) return `has the unknown member ${JSON.stringify(unknown)}`
  const texts = Object.entries(given).find(([name, value]) =>
    name !== "weak" && (typeof value !== "string" || value.trim() === "" || value.length > maxText)
  )
  if (texts !== undefined) return `${texts[0]} must be a text of 1 to ${maxText} characters`
  if (!refusalClasses.some((name) => name === given["class"])) {
    return `class must be one of ${refusalClasses.join(", ")}`
  }
  if (given["code"] === undefined && given["phrase"] === undefined) return "needs a code, a phrase, or both"
  if (given["code"] !== undefined && !codeForm.test(String(given["code"]))) {
    return "code must be like X.1.1, X.7.*, X.7.606-649 or 552"
  }
  const phrase = given["phrase"] === undefined ? undefined : phraseFault(String(given["phrase"]))
  if (phrase !== undefined) return phrase
  if (given["weak"] !== undefined && given["weak"] !== true) return "weak must be true, or left out"
  if (given["source"] === undefined) return "needs a source"
  return /^\d{4}-\d\d-\d\d$/.test(String(given["date"])) ? undefined : "date must be a day such as 2026-11-29"
}

/** The facts of a file, or its faults with the numbers of their lines. */
export type ReadFacts = { readonly facts: ReadonlyArray<RefusalFact> } | { readonly faults: ReadonlyArray<string> }

/** Maximum number of reported faults. */
const maxFaults = 10

/**
 * Reads a file with one fact on each line, as a JSON object. Ignores the brackets of a list, commas at the ends of
 * lines, and empty lines, so that lines of `refusals.json` can be copied.
 */
export const readFacts = (text: string): ReadFacts => {
  const facts: Array<RefusalFact> = []
  const faults: Array<string> = []
  for (const [index, line] of text.split("\n").entries()) {
    const stated = line.trim().replace(/,$/, "")
    if (stated === "" || stated === "[" || stated === "]") continue
    let fact: unknown
    try {
      fact = Json.parse(stated)
    } catch {
      fact = undefined
    }
    const fault = fact === undefined ? "is not JSON: write one object on each line" : faultOf(fact)
    if (fault === undefined) facts.push(fact as RefusalFact)
    else faults.push(`line ${index + 1} ${fault}`)
    if (faults.length === maxFaults) return { faults }
    if (facts.length > maxFacts) {
      return { faults: [`line ${index + 1} is one fact too many: at most ${maxFacts} are read`] }
    }
  }
  return faults.length > 0 ? { faults } : { facts }
}
