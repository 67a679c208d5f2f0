import { type Attributes, textOf } from "../domain/Attributes.ts"
import type { Placeholder } from "../text/Placeholders.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { named, namedAtMost } from "../domain/WarningText.ts"
import type { TemplateView } from "../templates/TemplateCache.ts"
import type { DecideRequest } from "./DecideRequest.ts"

// Warnings about a request for a template: unfilled placeholders, and attributes whose names resemble a name in the
// template. Pure.

/** The attributes in the targeting of a template. */
interface Targeted {
  readonly names: ReadonlySet<string>
  /** The names by their loose form. */
  readonly byLoose: ReadonlyMap<string, string>
  /** The values in conditions, by the name of the attribute. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>
  /** For each name in requests, the similar name in the template, or null without one. */
  nearest: SeededMap<string, string | null>
}

/** Maximum number of names from requests in the cache of a template. The cache is cleared when it is full. */
const rememberedNames = 500

/**
 * Returns a name without the differences that people overlook: case, width, accents, separators and invisible
 * characters.
 */
const looseName = (name: string): string =>
  name.normalize("NFKD").toLowerCase().normalize("NFKD").replace(
    /[\u0300-\u036f\p{Default_Ignorable_Code_Point}\p{P}\p{S}\p{Z}\p{C}]/gu,
    "",
  )

const targetedOf = ({ variants }: TemplateView): Targeted | undefined => {
  const conditions = variants.flatMap(({ audience }) => audience.conditions)
  if (conditions.length === 0) return undefined
  const values = new Map<string, Set<string>>()
  for (const { attribute, values: expected } of conditions) {
    const known = values.get(attribute) ?? new Set()
    for (const value of expected) known.add(textOf(value))
    values.set(attribute, known)
  }
  const names = new Set(values.keys())
  return {
    names,
    byLoose: new Map([...names].map((name) => [looseName(name), name])),
    values,
    nearest: new SeededMap(),
  }
}

const known = new WeakMap<TemplateView, Targeted | null>()

const targeted = (view: TemplateView): Targeted | null => {
  let found = known.get(view)
  if (found === undefined) known.set(view, found = targetedOf(view) ?? null)
  return found
}

const nearestOf = (of: Targeted, name: string): string | null => {
  let near = of.nearest.get(name)
  if (near === undefined) {
    const loose = looseName(name)
    near = loose === "" ? null : of.byLoose.get(loose) ?? null
    if (of.nearest.size >= rememberedNames) of.nearest = new SeededMap()
    of.nearest.set(name, near)
  }
  return near
}

const ofNames = (of: Targeted, attrs: Attributes): ReadonlyArray<string> | undefined => {
  let warnings: Array<string> | undefined
  // `forEach` allocates no object for each pair.
  attrs.forEach((_, name) => {
    if (of.names.has(name)) return
    const near = nearestOf(of, name)
    if (near === null || attrs.has(near)) return
    warnings ??= []
    if (warnings.length < namedAtMost) {
      warnings.push(
        `the attribute "${named(name)}" is not targeted, the template asks for "${
          named(near)
        }": write the name like that`,
      )
    }
  })
  return warnings
}

/**
 * Whether a condition of the template names exactly this value, such as `plan is none`, so that the value is intended.
 */
const isMeant = (of: Targeted | null, { at, text }: Placeholder): boolean => {
  const name = /^\/attrs\/([^/]+)/.exec(at)?.[1] ?? /^attrs\[(.*)\]$/s.exec(at)?.[1]
  return name !== undefined &&
    of?.values.get(name.replaceAll("~1", "/").replaceAll("~0", "~"))?.has(textOf(text)) === true
}

/** Returns the placeholders of a request that no condition of its template names. Undefined without placeholders. */
export const unfilledIn = (
  view: TemplateView | undefined,
  { placeholders }: Pick<DecideRequest, "placeholders">,
): ReadonlyArray<Placeholder> | undefined => {
  if (placeholders === undefined) return undefined
  const of = view === undefined ? null : targeted(view)
  const unfilled = placeholders.filter((placeholder) => placeholder.isName === true || !isMeant(of, placeholder))
  return unfilled.length === 0 ? undefined : unfilled
}

/** Returns the warning about an unfilled placeholder. */
export const unfilledText = ({ at, isName, text }: Placeholder): string => {
  const member = `the ${at.startsWith("/") ? "member" : "parameter"} "${named(at)}"`
  return `${member} has ${isName === true ? "as its name " : ""}the placeholder "${
    named(text)
  }", which nobody filled in`
}

/**
 * Returns the warnings about a request. Undefined without any. Costs a few look-ups for most requests. `unfilled` comes
 * from `unfilledIn`.
 */
export const warningsOf = (
  view: TemplateView | undefined,
  request: Pick<DecideRequest, "attrs" | "placeholders">,
  unfilled: ReadonlyArray<Placeholder> | undefined = unfilledIn(view, request),
): ReadonlyArray<string> | undefined => {
  const of = view === undefined ? null : targeted(view)
  const names = of === null ? undefined : ofNames(of, request.attrs)
  if (unfilled === undefined) return names
  return [...unfilled.map(unfilledText), ...names ?? []].slice(0, namedAtMost)
}
