import { Effect } from "effect"

/**
 * Passwords that the list of `@zxcvbn-ts/language-common` lacks: the name of the product, and sequences of the
 * keyboard.
 */
const others =
  "parlance abc abcd abcdefghij letmeinplease correcthorsebatterystaple thisisapassword yourpassword testpassword " +
  "0123456789 0987654321 9876543210 741852963a poiuytrewq mnbvcxzlkj qwertyuiopas qwertyuiop[] asdfghjkl;"

let words: Promise<ReadonlySet<string>> | undefined

/** Loads about 50,000 leaked passwords in lowercase (3 MB). Only nodes on which people choose passwords load them. */
const loadWords = (): Promise<ReadonlySet<string>> =>
  words ??= import("@zxcvbn-ts/language-common").then(({ dictionary }) =>
    new Set([...dictionary["passwords-common"], ...others.split(" ")])
  )

/**
 * A word and its usual ending: up to four digits or a sequence such as 123456, with an optional symbol before and after
 * it.
 */
const ending = /^(.*?)[!#$%&*+.@_-]?(?:\d{1,4}|0?1234\d{1,5})?[!#$%&*+.@_-]?$/s

/** Whether a text repeats a piece of up to six characters, such as `adminadmin` and `qweqweqweq`. */
const isRepeated = (text: string): boolean =>
  [1, 2, 3, 4, 5, 6].some((size) =>
    text.length > size && Array.from(text).every((sign, at, all) => sign === all[at % size])
  )

/**
 * Whether a password is among the first guesses, in any case: a leaked one, a repeated piece, or either with a usual
 * ending.
 */
export const isCommon = (password: string): Effect.Effect<boolean> =>
  Effect.map(Effect.promise(loadWords), (words) => {
    const lower = password.toLowerCase()
    return [lower, ending.exec(lower)?.[1] ?? ""].some((word) => words.has(word) || isRepeated(word))
  })
