import type { Fault } from "../../../domain/Errors.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import { Field, SelectField } from "../../components/Field.tsx"
import { segmentQuery, segmentText } from "./Words.ts"

const presets = [
  ["7", "0", english("Last 7 days")],
  ["14", "0", english("Last 14 days")],
  ["30", "0", english("Last 30 days")],
  ["14", "3", english("14 days, ended 3 days ago")],
] as const

/** A link to the same page with another window or segment. */
const hrefOf = (
  path: string,
  { lookback, offset, segment }: { readonly lookback?: string; readonly offset?: string; readonly segment?: string },
): string => {
  const query = new URLSearchParams({
    ...(lookback ? { lookback_days: lookback } : {}),
    ...(offset ? { offset_days: offset } : {}),
    ...(segment ? { segment } : {}),
  })
  return query.size === 0 ? path : `${path}?${query}`
}

/** Which decisions the page is about: the window by links and numbers, the segment by a list. */
export const Choosing = ({ faults, path, query, segments }: {
  readonly path: string
  readonly query: URLSearchParams
  readonly faults: ReadonlyArray<Fault>
  readonly segments: TemplateResults["segments"]
}) => {
  const lookback = query.get("lookback_days") ?? ""
  const offset = query.get("offset_days") ?? ""
  const segment = query.getAll("segment").filter((one) => one !== "").join("&")
  const isAdaptive = lookback === "" && offset === ""
  const isPreset = presets.some(([days, before]) => days === lookback && before === offset)
  const known = segments.map((one): readonly [string, string] => [segmentQuery(one.segment), segmentText(one.segment)])
  const options: ReadonlyArray<readonly [string, string]> = [
    ["", t`Everyone`],
    ...(segment === "" || known.some(([value]) => value === segment) ? [] : [[segment, segment] as const]),
    ...known,
  ]
  const current = (is: boolean) => is ? { "aria-current": "true" as const } : {}
  return (
    <section class="card choosing" aria-label={t`Which sends`}>
      <nav aria-label={t`Window`}>
        <ul class="pills">
          <li>
            <a href={hrefOf(path, { segment })} {...current(isAdaptive)}>{t`All days`}</a>
          </li>
          {presets.map(([days, before, label]) => (
            <li>
              <a
                href={hrefOf(path, { lookback: days, offset: before, segment })}
                {...current(days === lookback && before === offset)}
              >
                {translated(label)}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <details open={faults.length > 0 || segment !== "" || (!isAdaptive && !isPreset)}>
        <summary>{t`Other window or segment`}</summary>
        <form method="get" action={path} class="filter">
          <Field
            name="lookback_days"
            label={t`Days`}
            type="number"
            required={false}
            value={lookback}
            faults={pointed(faults)}
            hint={t`1 to 365; empty: all days`}
          />
          <Field
            name="offset_days"
            label={t`Ended days ago`}
            type="number"
            required={false}
            value={offset}
            faults={pointed(faults)}
            hint={t`0 to 365; 0 is now`}
          />
          <SelectField
            name="segment"
            label={t`Segment`}
            options={options}
            value={segment}
            faults={pointed(faults)}
            hint={t`Attribute values that are learned from`}
          />
          <button type="submit" class="button primary">{t`Show`}</button>
        </form>
      </details>
    </section>
  )
}

/** The parameters of a query are named without the slash that fields of a form go by. */
export const pointed = (faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map((fault) => ({ ...fault, pointer: fault.pointer.startsWith("/") ? fault.pointer : `/${fault.pointer}` }))
