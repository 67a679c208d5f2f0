import { arithmeticFilters } from "./ArithmeticFilters.ts"
import { dateFault, timeZoneFault } from "./DateFaults.ts"
import { date, dateToString, timeZone } from "./Dates.ts"
import type { FilterEntry } from "./FilterEntry.ts"
import { listFilters } from "./ListFilters.ts"
import { numberFault } from "./LiteralFaults.ts"
import { numberFilters } from "./NumberFilters.ts"
import { textFilters } from "./TextFilters.ts"
import { Emptiness, empty, integer, isTrue, json, plain } from "./Values.ts"

const toJson: FilterEntry = {
  needs: 0,
  takes: 1,
  faultOf: ([indent]) => numberFault(indent),
  apply: (input, [indent], run) => json(input, run, Math.min(Math.max(integer(indent, run, "json", 0), 0), 10)),
}

const otherFilters: Record<string, FilterEntry> = {
  date: {
    needs: 0,
    takes: 2,
    faultOf: dateFault,
    rich: true,
    apply: (input, [format, zone], run) => date(input, plain(format), plain(zone), run),
  },
  time_zone: {
    needs: 1,
    faultOf: timeZoneFault,
    rich: true,
    apply: (input, [zone], run) => timeZone(input, plain(zone), run),
  },
  date_to_xmlschema: { needs: 0, apply: (input, _, run) => date(input, "%Y-%m-%dT%H:%M:%S%:z", undefined, run) },
  date_to_rfc822: { needs: 0, apply: (input, _, run) => date(input, "%a, %d %b %Y %H:%M:%S %z", undefined, run) },
  date_to_string: {
    needs: 0,
    takes: 2,
    apply: (input, [type, style], run) => dateToString(input, "%b", type, style, run),
  },
  date_to_long_string: {
    needs: 0,
    takes: 2,
    apply: (input, [type, style], run) => dateToString(input, "%B", type, style, run),
  },

  /**
   * Returns the argument instead of nothing, `false`, and an empty text, list or object. `allow_false: true` keeps
   * `false`.
   */
  default: {
    needs: 1,
    named: ["allow_false"],
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
  Object.entries({ ...textFilters, ...listFilters, ...arithmeticFilters, ...numberFilters, ...otherFilters }),
)

/** Filters whose result is inserted into HTML unchanged: `raw`, and filters that escape their result. */
export const escaped: ReadonlySet<string> = new Set(["raw", "escape", "xml_escape", "escape_once"])

/** Filters whose result is JSON, or the text between the quotes of JSON. */
export const writesJson: ReadonlySet<string> = new Set(["json", "jsonify", "inspect", "json_escape"])

/** Filters whose result is percent-encoded. */
export const encodesUrl: ReadonlySet<string> = new Set([
  "url_encode",
  "url_param_escape",
  "cgi_escape",
  "uri_escape",
  "url_escape",
])
