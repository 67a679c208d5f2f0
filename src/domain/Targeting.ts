import { Effect, Schema } from "effect"
import { isStorable, textOf } from "./Attributes.ts"
import { described } from "./described.ts"

/** Operators of a targeting condition, with their values: no value, one value, one number, or a list of up to 1,000. */
export const operands = {
  is: "one",
  is_not: "one",
  in: "list",
  not_in: "list",
  exists: "none",
  not_exists: "none",
  starts_with: "one",
  contains: "one",
  gt: "number",
  gte: "number",
  lt: "number",
  lte: "number",
} as const

/** Schema for the name of an operator of a condition. */
export type Operator = keyof typeof operands
export const Operator = Schema.Literals(Object.keys(operands) as ReadonlyArray<Operator>)

const storable = Schema.makeFilter<string>((value) =>
  isStorable(value) ? undefined : "must be well-formed Unicode without NUL"
)

/** An operand of a condition. Text is compared in lowercase, like `attrs`. */
export const ConditionValue = Schema.Union([Schema.String.check(storable), Schema.Finite, Schema.Boolean])
export type ConditionValue = typeof ConditionValue.Type

/** Longer texts are no numbers. The longest text of a number by `String` has 25 characters. */
const maxDecimal = 400

/**
 * Parses decimal notation (`18`, `-0.5`, `1e3`). Returns NaN for any other text: `""`, `0x10`, `1,5`, ` 5 `,
 * `infinity`, numbers too large to be finite, and texts of more than 400 characters.
 */
export const decimalOf = (text: string): number => {
  if (text.length > maxDecimal) return Number.NaN
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number.NaN
  const number = Number(text)
  return Number.isFinite(number) ? number : Number.NaN
}

const arity = Schema.makeFilter<{
  readonly attribute: string
  readonly op: Operator
  readonly values: ReadonlyArray<ConditionValue>
}>(
  ({ op, values }) => {
    const kind = operands[op]
    if (kind === "none") {
      return values.length === 0 ? undefined : { path: ["values"], issue: `must be empty for \`${op}\`` }
    }
    if (kind === "list") {
      return values.length >= 1 && values.length <= 1000
        ? undefined
        : { path: ["values"], issue: `must have 1 to 1,000 values for \`${op}\`` }
    }
    if (values.length !== 1) return { path: ["values"], issue: `must have exactly one value for \`${op}\`` }
    return kind === "number" && Number.isNaN(decimalOf(textOf(values[0]!)))
      ? { path: ["values", 0], issue: `must be a decimal number for \`${op}\`` }
      : undefined
  },
)

/**
 * One condition on a request's `attrs`. `exists` and `not_exists` have no values, `in` and `not_in` have 1 to 1,000,
 * all others have one. The value of `gt`, `gte`, `lt` and `lte` is a number or its decimal text.
 */
export const Condition = Schema.Struct({
  attribute: described(
    Schema.String.check(storable, Schema.isMinLength(1), Schema.isMaxLength(200)),
    "Name of an attribute, as in `attrs`",
  ),
  op: described(Operator, "How the attribute compares with the values"),
  values: described(
    Schema.Array(ConditionValue),
    "None for `exists` and `not_exists`, 1 to 1,000 for `in` and `not_in`, one otherwise, a number for `gt`, `gte`, `lt` and `lte`",
  ).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
}).check(arity).annotate({ identifier: "Condition" })
export type Condition = typeof Condition.Type

/** Up to 50 conditions of a variant, which must all hold. Empty: everyone. */
export const Targeting = Schema.Array(Condition).check(Schema.isMaxLength(50))
export type Targeting = typeof Targeting.Type
