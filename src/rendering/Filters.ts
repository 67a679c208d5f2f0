import { date, dateToString, timeZone } from "./Dates.ts"
import type { FilterEntry } from "./FilterEntry.ts"
import { listFilters } from "./ListFilters.ts"
import { numberFilters } from "./NumberFilters.ts"
import type { Run } from "./Run.ts"
import { textFilters } from "./TextFilters.ts"
import { Emptiness, empty, integer, isTrue, json, number, plain } from "./Values.ts"

/** Makes a filter of numbers. Other values count as 0. */
const onNumbers = (needs: number, make: (input: number, arg: number, run: Run) => unknown): FilterEntry => ({
  needs,
  apply: (input, [arg], run) => make(number(input, run), number(arg, run), run),
})

const decimals = (value: number, exponent: number): number => {
  const [digits, power = "0"] = String(value).split("e")
  return Number(`${digits}e${Number(power) + exponent}`)
}

/** Rounds half away from zero, to `places` decimals. Negative `places` round to tens, hundreds and so on. */
const round = (value: number, places: number): number => {
  const scaled = decimals(Math.abs(value), places)
  if (!(scaled <= Number.MAX_SAFE_INTEGER)) return value
  return Math.sign(value) * decimals(Math.round(scaled), -places)
}

const byZero = (name: string, run: Run): undefined => {
  run.complain(`${name}: the divisor is 0`)
  return undefined
}

const toJson: FilterEntry = {
  needs: 0,
  apply: (input, [indent], run) => json(input, run, Math.min(Math.max(integer(indent, run), 0), 10)),
}

const otherFilters: Record<string, FilterEntry> = {
  abs: onNumbers(0, (value) => Math.abs(value)),
  ceil: onNumbers(0, (value) => Math.ceil(value)),
  floor: onNumbers(0, (value) => Math.floor(value)),
  round: onNumbers(0, (value, places) => round(value, Math.min(Math.max(Math.trunc(places), -400), 400))),
  at_least: onNumbers(1, (value, least) => Math.max(value, least)),
  at_most: onNumbers(1, (value, most) => Math.min(value, most)),
  plus: onNumbers(1, (left, right) => left + right),
  minus: onNumbers(1, (left, right) => left - right),
  times: onNumbers(1, (left, right) => left * right),
  /** The result has the sign of the divisor, as in Ruby. Nothing if the divisor is 0. */
  modulo: onNumbers(1, (left, right, run) => right === 0 ? byZero("modulo", run) : ((left % right) + right) % right),
  /** Keeps decimals (10 by 4 is 2.5) unless the third argument is true. Nothing if the divisor is 0. */
  divided_by: {
    needs: 1,
    apply: (input, [divisor, whole], run) => {
      const by = number(divisor, run)
      if (by === 0) return byZero("divided_by", run)
      const quotient = number(input, run) / by
      return isTrue(whole) ? Math.floor(quotient) : quotient
    },
  },
  to_integer: { needs: 0, apply: (input, _, run) => integer(input, run) },

  date: { needs: 0, rich: true, apply: (input, [format, zone], run) => date(input, plain(format), plain(zone), run) },
  time_zone: { needs: 1, rich: true, apply: (input, [zone], run) => timeZone(input, plain(zone), run) },
  date_to_xmlschema: { needs: 0, apply: (input, _, run) => date(input, "%Y-%m-%dT%H:%M:%S%:z", undefined, run) },
  date_to_rfc822: { needs: 0, apply: (input, _, run) => date(input, "%a, %d %b %Y %H:%M:%S %z", undefined, run) },
  date_to_string: { needs: 0, apply: (input, [type, style], run) => dateToString(input, "%b", type, style, run) },
  date_to_long_string: { needs: 0, apply: (input, [type, style], run) => dateToString(input, "%B", type, style, run) },

  /**
   * Returns the argument instead of nothing, `false`, and an empty text, list or object. `allow_false: true` keeps
   * `false`.
   */
  default: {
    needs: 1,
    rich: true,
    apply: (input, [otherwise], run, named) => {
      if (input instanceof Emptiness || empty.matches(plain(input), run)) return otherwise
      if (input === false && isTrue(named.get("allow_false"))) return false
      return isTrue(input) ? input : otherwise
    },
  },
  raw: { needs: 0, apply: (input) => input },
  json: toJson,
  jsonify: toJson,
  inspect: toJson,
}

/**
 * All filters by name: the filters of liquidjs, except filters that evaluate an expression from a value (`where_exp`
 * and similar, because data must not become code) and `sample` (a retry must render the same content).
 */
export const filters: ReadonlyMap<string, FilterEntry> = new Map(
  Object.entries({ ...textFilters, ...listFilters, ...numberFilters, ...otherFilters }),
)

/** Filters whose result is inserted into HTML unchanged: `raw`, and filters that escape their result. */
export const escaped: ReadonlySet<string> = new Set(["raw", "escape", "xml_escape", "escape_once"])
