const kinds: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "true or false",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
}

const bounds: ReadonlyArray<readonly [expected: RegExp, requirement: string]> = [
  [/^a value with a length of at least 1$/, "must not be empty"],
  [/^a value with (a length|a size|at least|at most) ?/, "must have $1 "],
  [/^a value between (\S+) and (\S+)$/, "must be between $1 and $2"],
  [/^a value greater than or equal to /, "must be at least "],
  [/^a value less than or equal to /, "must be at most "],
  [/^a value (greater|less) than /, "must be $1 than "],
  [/^a string that will be decoded as /, "must be "],
  [/^<filter>$|^a valid value$/, "is not valid"],
]

/** Splits alternatives such as `"text" | "html"`. A bar within quotes is text. */
const alternativesOf = (expected: string): ReadonlyArray<string> =>
  expected.match(/(?:"(?:[^"\\]|\\.)*"|[^|"])+/g)?.map((one) => one.trim()) ?? [expected]

const listed = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

/** The type in the fault of a schema. A capitalized name is an object schema of the OpenAPI document. */
export const expectedType = (name: string): string => /^[A-Z]\w*$/.test(name) ? "object" : name

const requirementOf = (expected: string): string => {
  const bound = bounds.find(([form]) => form.test(expected))
  if (bound !== undefined) return expected.replace(bound[0], bound[1])
  const alternatives = alternativesOf(expected)
  // `null` is not listed: a member that may be null may also be absent.
  const named = alternatives.length > 1 ? alternatives.filter((one) => one !== "null") : alternatives
  return `must be ${listed(named.map((one) => kinds[expectedType(one)] ?? one))}`
}

/**
 * The message of a schema issue as a predicate that follows the name of the faulty member: `is required` for
 * `Missing key`, `must be an object` for `Expected object | null`. Returns messages of our own schemas unchanged.
 */
export const plainMessage = (message: string): string => {
  if (message === "Missing key") return "is required"
  return message.startsWith("Expected ") ? requirementOf(message.slice("Expected ".length)) : message
}
