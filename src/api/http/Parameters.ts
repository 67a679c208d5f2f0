import { Result, Schema } from "effect"
import { isStorable } from "../../domain/Attributes.ts"
import { decoder } from "../../domain/Faults.ts"
import type { Which } from "../../templates/TemplateRows.ts"
import { plusFault } from "./QueryFaults.ts"

/** Reads one parameter of a query, undefined if absent. Fails with the requirement that the parameter violates. */
export type ReadParameter<A> = (text: string | undefined) => Result.Result<A, string>

/** A parameter of a query: its entry in the OpenAPI document, and its reader. */
export type Parameter<A, S extends Schema.Top = Schema.optionalKey<Schema.String>> = S & {
  readonly read: ReadParameter<A>
}

/** The values of the parameters of an endpoint, without the earlier names of parameters. */
export type ValuesOf<P> = {
  readonly [name in keyof P as P[name] extends { readonly replacedBy: string } ? never : name]: P[name] extends
    { readonly read: ReadParameter<infer A> } ? A : never
}

/**
 * Describes an optional parameter. `HttpApiEndpoint` passes only texts of `schema` to the reader. Default: any text.
 */
export const described = <A, S extends Schema.Top = Schema.String>(
  description: string,
  read: ReadParameter<A>,
  schema?: S,
): Parameter<A, Schema.optionalKey<S>> =>
  Object.assign(Schema.optionalKey(schema ?? Schema.String).annotate({ description }), { read }) as never

/** Describes a required parameter. */
export const required = <A>(description: string, read: ReadParameter<A>): Parameter<A, Schema.String> =>
  Object.assign(Schema.String.annotate({ description }), { read })

/** Reads a whole number from `least` to `most`. Default: `otherwise`. */
export const whole = (least: number, most: number, otherwise: number, unit = ""): ReadParameter<number> => (text) => {
  const number = text === undefined ? otherwise : Number(text)
  return text?.trim() !== "" && Number.isInteger(number) && number >= least && number <= most
    ? Result.succeed(number)
    : Result.fail(`must be a whole number${unit} from ${least} to ${most}`)
}

const grouped = (number: number): string => number.toLocaleString("en-US")

/**
 * Describes the number of rows on a page: 1 to `most`, default `otherwise`. `unit` is a prefix that names the rows in
 * the description.
 */
export const limit = (most: number, otherwise: number, unit = ""): Parameter<number> =>
  described(`${unit}1 to ${grouped(most)}, default ${grouped(otherwise)}`, whole(1, most, otherwise))

/** Reads a numeric position of a list: the last id of the previous page, at least `least`. */
export const numericPosition =
  (detail = "must be the `next` of a page", least = 0): ReadParameter<number | undefined> => (text) =>
    text === undefined || (/^\d{1,15}$/.test(text) && Number(text) >= least)
      ? Result.succeed(text === undefined ? undefined : Number(text))
      : Result.fail(detail)

/** Reads a text that PostgreSQL can store and that `isValid` accepts. Otherwise fails with `detail`. */
export const text = (
  detail: string,
  isValid: (text: string) => boolean = () => true,
): ReadParameter<string | undefined> =>
(given) => given === undefined || (isStorable(given) && isValid(given)) ? Result.succeed(given) : Result.fail(detail)

/** Reads an e-mail address. Rejects white space, because a `+` that the caller did not escape arrives as a space. */
export const ofAddress = <A>(parameter: ReadParameter<A>): ReadParameter<A> => (given) => {
  const fault = given === undefined ? undefined : plusFault(given)
  return fault === undefined ? parameter(given) : Result.fail(fault)
}

/** Reads a position of a list: `next` of the previous page. */
export const position = (
  detail = "must be the `next` of a page",
  isValid?: (text: string) => boolean,
): ReadParameter<string | undefined> => text(detail, isValid)

/** Reads one of the given words. */
export const oneOf =
  <const Word extends string>(words: ReadonlyArray<Word>): ReadParameter<Word | undefined> => (given) => {
    const word = words.find((one) => one === given)
    return given === undefined || word !== undefined
      ? Result.succeed(word)
      : Result.fail(`must be one of ${words.join(", ")}`)
  }

/** Reads `true` or `false`. Default: false. */
export const flag: ReadParameter<boolean> = (given) =>
  given === undefined || given === "true" || given === "false"
    ? Result.succeed(given === "true")
    : Result.fail("must be true or false")

/** Reads a day, which begins at 00:00 UTC, or a time with an offset. */
export const time: ReadParameter<Date | undefined> = (given) => {
  if (given === undefined) return Result.succeed(undefined)
  const isComplete = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(given)
  const at = new Date(isComplete ? given : NaN)
  return Number.isNaN(at.getTime())
    ? Result.fail("must be a day or an ISO 8601 time with an offset, such as 2026-05-04 or 2026-05-04T09:30:00Z")
    : Result.succeed(at)
}

/**
 * Reads which templates a list contains: `false` for templates in use (the default), `true` for archived templates, or
 * `all`.
 */
export const archived: ReadParameter<Which> = (given) => {
  switch (given) {
    case undefined:
    case "false":
      return Result.succeed("in-use")
    case "true":
      return Result.succeed("archived")
    case "all":
      return Result.succeed("all")
    default:
      return Result.fail("must be true, false or all")
  }
}

/** Reads a text that `schema` accepts. */
export const valid = (schema: Schema.ConstraintDecoder<unknown>): ReadParameter<string | undefined> => {
  const decode = decoder(schema)
  return (given) => {
    const decoded = given === undefined ? undefined : decode(given)
    return decoded !== undefined && Result.isFailure(decoded)
      ? Result.fail(decoded.failure[0]!.detail)
      : Result.succeed(given)
  }
}
