import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { isStorable } from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { Which } from "../../templates/TemplateRows.ts"
import type { InvalidRequest } from "../Problems.ts"
import { invalid, query } from "./Requests.ts"
import { plusFault, separatorFaults } from "./QueryFaults.ts"
import { ofParameters, warn } from "./Warnings.ts"

/** Reads one parameter of a query, undefined if absent. Fails with the requirement that the parameter violates. */
export type Parameter<A> = (text: string | undefined) => Result.Result<A, string>

/** The values of parameters. */
export type ValuesOf<P> = { readonly [name in keyof P]: P[name] extends Parameter<infer A> ? A : never }

/** A whole number from `least` to `most`; `otherwise` when it is not given. */
export const whole = (least: number, most: number, otherwise: number, unit = ""): Parameter<number> => (text) => {
  const number = text === undefined ? otherwise : Number(text)
  return text?.trim() !== "" && Number.isInteger(number) && number >= least && number <= most
    ? Result.succeed(number)
    : Result.fail(`must be a whole number${unit} from ${least} to ${most}`)
}

/** The rows of a page: 1 to `most`; `otherwise` when it is not given. */
export const limit = (most: number, otherwise: number): Parameter<number> => whole(1, most, otherwise)

/** The cursor of a list by number: the id that the previous page ended with, `least` or more. */
export const numericCursor =
  (detail = "must be the `next` of a page", least = 0): Parameter<number | undefined> => (text) =>
    text === undefined || (/^\d{1,15}$/.test(text) && Number(text) >= least)
      ? Result.succeed(text === undefined ? undefined : Number(text))
      : Result.fail(detail)

/** A text that can be stored and, where that is given, is valid. */
export const text = (
  detail: string,
  isValid: (text: string) => boolean = () => true,
): Parameter<string | undefined> =>
(given) => given === undefined || (isStorable(given) && isValid(given)) ? Result.succeed(given) : Result.fail(detail)

/** A parameter that is an e-mail address. A space in it is a `+` that the caller has not escaped. */
export const ofAddress = <A>(parameter: Parameter<A>): Parameter<A> => (given) => {
  const fault = given === undefined ? undefined : plusFault(given)
  return fault === undefined ? parameter(given) : Result.fail(fault)
}

/** The cursor of a list: `next` of the previous page. */
export const cursor = (
  detail = "must be the `next` of a page",
  isValid?: (text: string) => boolean,
): Parameter<string | undefined> => text(detail, isValid)

/** One of some words. */
export const oneOf =
  <const Word extends string>(words: ReadonlyArray<Word>): Parameter<Word | undefined> => (given) => {
    const word = words.find((one) => one === given)
    return given === undefined || word !== undefined
      ? Result.succeed(word)
      : Result.fail(`must be one of ${words.join(", ")}`)
  }

/** `true` or `false`; false when it is not given. */
export const flag: Parameter<boolean> = (given) =>
  given === undefined || given === "true" || given === "false"
    ? Result.succeed(given === "true")
    : Result.fail("must be true or false")

/** A day, which begins at 00:00 UTC, or a time with an offset. */
export const time: Parameter<Date | undefined> = (given) => {
  if (given === undefined) return Result.succeed(undefined)
  const isComplete = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(given)
  const at = new Date(isComplete ? given : NaN)
  return Number.isNaN(at.getTime())
    ? Result.fail("must be a day or an ISO 8601 time with an offset, such as 2026-05-04 or 2026-05-04T09:30:00Z")
    : Result.succeed(at)
}

/** Which templates a list has: `false` those in use, `true` the archived ones, `all` both. Default `false`. */
export const archived: Parameter<Which> = (given) => {
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

/**
 * Reads the parameters of a query. Fails with `InvalidRequest` and every fault, `others` included. Warns of parameters without
 * effect.
 */
export const parameters = <P extends { readonly [name: string]: Parameter<unknown> }>(
  request: HttpServerRequest.HttpServerRequest,
  wanted: P,
  others: ReadonlyArray<Fault> = [],
): Effect.Effect<ValuesOf<P>, InvalidRequest> => {
  const asked = query(request)
  const faults: Array<Fault> = []
  const values: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(wanted)) {
    const value = read(asked.get(name) ?? undefined)
    if (Result.isFailure(value)) faults.push({ pointer: name, detail: value.failure })
    else values[name] = value.success
  }
  faults.push(...others, ...separatorFaults(asked))
  return faults.length > 0
    ? Effect.fail(invalid(faults))
    : Effect.as(warn(request, ofParameters(asked, (name) => Object.hasOwn(wanted, name))), values as ValuesOf<P>)
}
