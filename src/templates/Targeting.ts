import { type Attributes, innerTextOf, textOf } from "../domain/Attributes.ts"
import { SeededSet } from "../json/SeededMap.ts"
import { type Condition, type ConditionValue, decimalOf, type Operator, type Targeting } from "../domain/Targeting.ts"
import type { Budget } from "../rendering/Budget.ts"

/**
 * A variant's conditions, compiled for many checks. Each check is charged to the budget, if there is one, and throws
 * `LimitReached` past it.
 */
export interface Audience {
  readonly conditions: Targeting
  /** Whether every condition holds. */
  readonly holds: (attributes: Attributes, budget?: Budget) => boolean
  /** Returns the first condition, in the written order, that does not hold. `undefined` if all hold. */
  readonly failing: (attributes: Attributes, budget?: Budget) => Condition | undefined
  /**
   * Returns the reason why a request is not eligible, such as `targeting: requires tier in "gold", "silver"`.
   * `undefined` if it is eligible.
   */
  readonly whyNot: (attributes: Attributes, budget?: Budget) => string | undefined
}

/** Checks one condition on an attribute's values. An absent attribute has no values. */
type Check = (values: ReadonlyArray<string>, budget: Budget | undefined) => boolean

const absent: ReadonlyArray<string> = []

const any = (holds: (value: string, budget: Budget | undefined) => boolean): Check => (values, budget) => {
  // Nearly every attribute has one value. The loop with its closure call is slower.
  if (values.length === 1) return holds(values[0]!, budget)
  budget?.spend(values.length)
  return values.some((value) => holds(value, budget))
}

const not = (check: Check): Check => (values, budget) => !check(values, budget)

/** The numbers of lists and long texts, by their values, because the conditions of all variants use them. */
const numbers = new WeakMap<ReadonlyArray<string>, ReadonlyArray<number>>()

const numbersOf = (values: ReadonlyArray<string>): ReadonlyArray<number> => {
  const known = numbers.get(values)
  if (known !== undefined) return known
  const parsed = values.map(decimalOf)
  numbers.set(values, parsed)
  return parsed
}

/** Length up to which converting a text costs less than a look-up of its number. */
const shortText = 16

const number = (condition: Condition, holds: (value: number, bound: number) => boolean): Check => {
  const bound = decimalOf(textOf(condition.values[0]!))
  // Text that is not a decimal number is NaN, for which every comparison is false.
  return (values, budget) => {
    const [first] = values
    if (first === undefined) return false
    if (values.length === 1 && first.length <= shortText) return holds(decimalOf(first), bound)
    budget?.spend(values.length)
    return numbersOf(values).some((value) => holds(value, bound))
  }
}

/** Whether a value is one of the texts. Collisions matter only in large sets, and a `Set` caches the hash of a text. */
const isIn = (texts: ReadonlyArray<string>) => {
  if (texts.length <= 16) {
    const set = new Set(texts)
    return (value: string) => set.has(value)
  }
  const set = new SeededSet(texts)
  return (value: string, budget: Budget | undefined) => {
    // A `SeededSet` hashes the whole text, and is much slower above 512 characters.
    budget?.spend(value.length > 512 ? 200 + Math.floor(value.length / 4) : 1 + Math.floor(value.length / 16))
    return set.has(value)
  }
}

const checkOf = (condition: Condition): Check => {
  const texts = condition.values.map(textOf)
  const text = texts[0]!
  // The end of a value matches the white space at the end of an operand such as `"gold "`: both end a word.
  const part = innerTextOf(String(condition.values[0] ?? ""))
  switch (condition.op) {
    case "is":
      return any((value) => value === text)
    case "is_not":
      return not(any((value) => value === text))
    case "in":
      return any(isIn(texts))
    case "not_in":
      return not(any(isIn(texts)))
    case "exists":
      return (values) => values.length > 0
    case "not_exists":
      return (values) => values.length === 0
    case "starts_with":
      return part.endsWith(" ")
        ? any((value) => `${value} `.startsWith(part.trimStart()))
        : any((value) => value.startsWith(text))
    case "contains":
      return any((value, budget) => {
        budget?.search(value.length, part.length)
        return part === text || text === "" ? value.includes(part) : ` ${value} `.includes(part)
      })
    case "gt":
      return number(condition, (value, bound) => value > bound)
    case "gte":
      return number(condition, (value, bound) => value >= bound)
    case "lt":
      return number(condition, (value, bound) => value < bound)
    case "lte":
      return number(condition, (value, bound) => value <= bound)
  }
}

const words: { readonly [op in Operator]: string } = {
  is: "is",
  is_not: "is not",
  in: "in",
  not_in: "not in",
  exists: "exists",
  not_exists: "does not exist",
  starts_with: "starts with",
  contains: "contains",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
}

const quoted = (value: ConditionValue): string => typeof value === "string" ? JSON.stringify(value) : String(value)

/**
 * Describes a condition for people: `tier in "gold", "silver"`, `age >= 18`, `email exists`. The first five values are
 * named and the others counted.
 */
export const describe = ({ attribute, op, values }: Condition): string => {
  const named = values.slice(0, 5).map(quoted).join(", ")
  const rest = values.length > 5 ? ` and ${values.length - 5} more` : ""
  return named === "" ? `${attribute} ${words[op]}` : `${attribute} ${words[op]} ${named}${rest}`
}

/**
 * Compiles a variant's conditions. All must hold. A variant without conditions is for everyone.
 *
 * - Text is compared lowercased, without white space around it and without invisible differences (see `textOf`). An
 *   operand of `starts_with` or `contains` that ends in white space requires the end of a word. An attribute's name is
 *   compared exactly. Numbers and booleans of a condition are compared by their text (`true` is `"true"`), except by
 *   the numeric operators.
 * - `is`, `in`, `starts_with`, `contains` and the numeric operators hold if any value of the attribute does.
 *   `is_not` and `not_in` are the complements of `is` and `in`: they hold if no value of the attribute is named.
 * - An absent attribute (not sent, `null`, or an array without elements) fails every positive condition and satisfies
 *   `is_not`, `not_in` and `not_exists`.
 * - An empty string is a value: it exists, equals only `""`, and is not a number. Every value starts with and contains
 *   `""`.
 * - `gt`, `gte`, `lt`, `lte` compare as 64-bit floating point. The condition fails for a value that is not a finite
 *   decimal number (`"abc"`, `""`, `"0x10"`, `"1,5"`, `"1e999"`) or has more than 400 characters.
 */
export const compile = (targeting: Targeting): Audience => {
  const compiled = targeting.map((condition) => ({
    condition,
    attribute: condition.attribute,
    check: checkOf(condition),
  }))
  const failing = (attributes: Attributes, budget?: Budget): Condition | undefined => {
    for (let i = 0; i < compiled.length; i++) {
      const { attribute, check, condition } = compiled[i]!
      budget?.spend(1)
      if (!check(attributes.get(attribute) ?? absent, budget)) return condition
    }
    return undefined
  }
  return {
    conditions: targeting,
    failing,
    holds: (attributes, budget) => failing(attributes, budget) === undefined,
    whyNot: (attributes, budget) => {
      const condition = failing(attributes, budget)
      if (condition === undefined) return undefined
      const described = describe(condition)
      budget?.spend(5 + Math.floor(described.length / 16))
      return `targeting: requires ${described}`
    },
  }
}
