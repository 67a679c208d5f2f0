import * as Decimals from "./Decimals.ts"
import type { Decimal } from "./Decimals.ts"
import type { FilterEntry } from "./FilterEntry.ts"
import { divisorFault, numberFault, numbersFault } from "./LiteralFaults.ts"
import type { Run } from "./Run.ts"
import { isNothing, isTrue, list, memberAt, readDecimal, text } from "./Values.ts"

/** Reads a number. Records any other value and returns undefined. */
const decimalIn = (name: string, value: unknown, run: Run): Decimal | undefined => {
  if (typeof value === "number" && Number.isFinite(value)) return value
  const read = readDecimal(value, run)
  if ("value" in read) return read.value
  run.complain(`${name}: ${read.wrong}`)
  return undefined
}

/** Returns the result of a filter. Nothing for a number beyond the doubles, which it records. */
const resultOf = (name: string, result: Decimal, run: Run): unknown => {
  if (typeof result !== "number") run.spend(50)
  const value = Decimals.toValue(result)
  if (value === undefined) run.complain(`${name}: the result is a number beyond 1.8e308`)
  return value
}

/** Calculates with a number and an argument. Undefined without a result. */
type Calculate = (input: Decimal, argument: Decimal, run: Run, args: ReadonlyArray<unknown>) => Decimal | undefined

/**
 * Makes a filter of numbers, which records a value that is not a number. A text that is not a number stays as it is, because
 * a recipient would take any other text for the right one. With such an argument the result is nothing. `steps`: the
 * work with the longest numbers.
 */
const arithmetic = (name: string, needs: number, calculate: Calculate, steps = 100): FilterEntry => ({
  needs,
  faultOf: ([argument], input) => numbersFault([argument], input),
  apply: (input, args, run) => {
    const left = decimalIn(name, input, run)
    if (left === undefined) return typeof input === "string" ? input : undefined
    const right = decimalIn(name, args[0], run)
    if (right === undefined) return undefined
    if (typeof left !== "number" || typeof right !== "number") run.spend(steps)
    const result = calculate(left, right, run, args)
    return result === undefined ? undefined : resultOf(name, result, run)
  },
})

/** Makes a filter that divides. Nothing if the divisor is 0. */
const division = (name: string, calculate: Calculate): FilterEntry => ({
  ...arithmetic(name, 1, (input, divisor, run, args) => {
    if (!Decimals.isZero(divisor)) return calculate(input, divisor, run, args)
    run.complain(`${name}: the divisor is 0`)
    return undefined
  }, 2_000),
  faultOf: ([divisor], input) => numberFault(input) ?? divisorFault(divisor),
})

const placesOf = (places: Decimal): number => Math.min(Math.max(Math.trunc(Decimals.toNumber(places)), -400), 400)

/** The filters that calculate. */
export const arithmeticFilters: Record<string, FilterEntry> = {
  abs: arithmetic("abs", 0, Decimals.abs),
  ceil: arithmetic("ceil", 0, Decimals.ceil),
  floor: arithmetic("floor", 0, Decimals.floor),
  /** Rounds half away from zero, to the number of decimals in the argument. Default: 0. */
  round: { ...arithmetic("round", 0, (value, places) => Decimals.round(value, placesOf(places))), takes: 1 },
  at_least: arithmetic("at_least", 1, (value, least) => Decimals.compare(value, least) < 0 ? least : value),
  at_most: arithmetic("at_most", 1, (value, most) => Decimals.compare(value, most) > 0 ? most : value),
  plus: arithmetic("plus", 1, Decimals.plus),
  minus: arithmetic("minus", 1, Decimals.minus),
  times: arithmetic("times", 1, Decimals.times),
  /** The result has the sign of the divisor, as in Ruby. */
  modulo: division("modulo", Decimals.modulo),
  /** Keeps decimals (10 by 4 is 2.5) unless the second argument is true. */
  divided_by: {
    ...division("divided_by", (input, divisor, _, [, whole]) => {
      const quotient = Decimals.dividedBy(input, divisor)
      return isTrue(whole) ? Decimals.floor(quotient) : quotient
    }),
    takes: 2,
  },
  to_integer: arithmetic("to_integer", 0, Decimals.truncate),
  /**
   * Adds the elements, or their members at a path. Nothing if one of them is not a number, because the total would be
   * wrong. An element without a value adds 0. A path that no element has is recorded: its name may be wrong.
   */
  sum: {
    needs: 0,
    takes: 1,
    apply: (input, [path], run) => {
      const value = memberAt(path, run)
      const elements = list(input, run)
      let total: Decimal = 0
      let isFound = isNothing(path) || elements.length === 0
      for (const element of elements) {
        const found = value(element)
        isFound ||= found !== undefined
        const addend = decimalIn("sum", found, run)
        if (addend === undefined) return undefined
        total = Decimals.plus(total, addend)
        if (typeof total !== "number") run.spend(100)
      }
      if (!isFound) {
        const shown = JSON.stringify(text(path, run).slice(0, 64))
        run.complain(`sum: no element has ${shown}, so the total is 0: correct the name`)
      }
      return resultOf("sum", total, run)
    },
  },
}
