import type { ServedChange } from "../accounts/ChangeHistory.ts"
import type { Season } from "../domain/Season.ts"
import { t } from "../languages/Language.ts"
import type { Template } from "../domain/Template.ts"
import { compile } from "../templates/Seasonality.ts"

// The changes that explain a turn in a chart over time. Pure.

/** A change with its time (Unix milliseconds). */
export interface ChangeMark {
  readonly at: number
  readonly text: string
}

/** Maximum number of marks: the latest. */
const mostMarks = 30

const unescaped = (part: string) => part.replaceAll("~1", "/").replaceAll("~0", "~")

/** The id of the variant whose `active` a change is about. Undefined for other changes. */
const variantIn = ({ field, subject }: ServedChange, template: string): string | undefined =>
  field === "/active"
    ? subject.slice(template.length + " / ".length)
    : /^\/variants\/([^/]+)\/active$/.exec(field)?.slice(1).map(unescaped)[0]

type Content = Pick<Template, "id"> & {
  readonly variants: ReadonlyArray<Pick<Template["variants"][number], "active" | "id" | "name" | "seasons">>
}

/** The marks of the changes of one request, and the active variants before it. */
const marksOfRequest = (
  changes: ReadonlyArray<ServedChange>,
  template: Content,
  active: ReadonlySet<string>,
): { readonly texts: ReadonlyArray<string>; readonly before: ReadonlySet<string> } => {
  const nameOf = (id: string) => template.variants.find((one) => one.id === id)?.name ?? id
  const before = new Set(active)
  const texts = new Map<string, string>()
  let stopped = 0
  for (const change of changes) {
    if (change.field.startsWith("/holdout")) texts.set("holdout", t`Holdout changed`)
    const id = variantIn(change, template.id)
    if (id === undefined || change.before === change.after) continue
    if (change.after === true) before.delete(id)
    else if (change.before === true) before.add(id)
    if (change.after === false && change.before === true) stopped++
    const name = nameOf(id)
    texts.set(
      id,
      change.before === null
        ? t`${name} added`
        : change.after === null
        ? t`${name} removed`
        : change.after === true
        ? t`${name} activated`
        : t`${name} deactivated`,
    )
  }
  const [only] = active
  return { before, texts: active.size === 1 && stopped > 0 ? [t`${nameOf(only!)} shipped`] : [...texts.values()] }
}

/** The begin and the end of seasons, at the first of `times` after them. Days of the week and hours are no seasons here. */
const seasonMarks = ({ variants }: Content, times: ReadonlyArray<number>, zone: string): ReadonlyArray<ChangeMark> =>
  variants.flatMap(({ name, seasons }) => {
    const long = seasons.map(({ days: _days, hours: _hours, ...season }): Season => season)
    if (long.length === 0) return []
    const { holds } = compile(long, zone)
    return times.flatMap((at, i) => {
      const before = i === 0 ? undefined : holds(times[i - 1]!)
      return before === undefined || before === holds(at)
        ? []
        : [{ at, text: before ? t`Season of ${name} ended` : t`Season of ${name} began` }]
    })
  })

/**
 * Returns what changed since the first of `times` (Unix milliseconds, ascending), earliest first: variants added, activated, deactivated,
 * removed or shipped, seasons, and holdouts. `changes`: newest first. A variant was shipped if others were deactivated, and it alone
 * was active afterwards.
 */
export const marksOf = (
  template: Content,
  changes: ReadonlyArray<ServedChange>,
  times: ReadonlyArray<number>,
  zone: string,
): ReadonlyArray<ChangeMark> => {
  const first = times[0] ?? Infinity
  let active: ReadonlySet<string> = new Set(template.variants.flatMap(({ active, id }) => active ? [id] : []))
  const marks: Array<ChangeMark> = []
  for (const [at, request] of Map.groupBy(changes, ({ at }) => at.getTime())) {
    const { before, texts } = marksOfRequest(request, template, active)
    active = before
    marks.push(...texts.map((text) => ({ at, text })))
  }
  return [...marks, ...seasonMarks(template, times, zone)].filter(({ at }) => at >= first)
    .sort((a, b) => a.at - b.at).slice(-mostMarks)
}
