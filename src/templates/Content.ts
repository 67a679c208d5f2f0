import { JsonPointer } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { Template } from "../domain/Template.ts"
import { storedContent, type TemplateContent, type VariantContent, variantContent } from "./ImportPlan.ts"

// The content of a template as a value: the part of it that is served, and the combination of two changes.

/** A template with its variants, with all defaults filled in, without times. */
export interface WholeContent extends TemplateContent {
  readonly variants: ReadonlyArray<VariantContent>
}

/** Returns the content of a stored template. */
export const contentOf = (template: Template): WholeContent => ({
  ...storedContent(template),
  variants: template.variants.map(variantContent),
})

/**
 * Returns the part of a template that determines the messages of recipients, or undefined if the template is not
 * served. Excludes names, tags and the owner.
 */
const servedOf = (content: WholeContent | undefined) => {
  if (content === undefined || content.archived) return undefined
  const fixed = content.holdout?.copy_id
  const served = content.variants.filter(({ active, id }) => active || id === fixed)
  if (served.length === 0) return undefined
  const { id: _, name: _1, owner: _2, tags: _3, variants: _4, ...settings } = content
  return {
    settings,
    variants: Object.fromEntries(served.map(({ name: _, ...variant }) => [variant.id, variant])),
  }
}

/**
 * Whether a change affects the messages of recipients. A template is served if it is not archived and has an active
 * variant. So drafts, inactive variants, names, tags and owners can change without effect.
 */
export const changesServed = (before: WholeContent | undefined, after: WholeContent | undefined): boolean =>
  !isDeepStrictEqual(servedOf(before), servedOf(after))

type Values = Readonly<Record<string, unknown>>

/** Members that are combined value by value. */
const byName: ReadonlySet<string> = new Set(["vars", "locales", "formats", "components"])

const isRecord = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a pointer leads to the locales of a variant, whose texts are combined one by one. */
const isLocales = (pointer: string): boolean => /^\/variants\/[^/]+\/locales$/.test(pointer)

interface Combined {
  readonly value: Values
  /** JSON pointers of members that both sides have changed to different values. */
  readonly both: ReadonlyArray<string>
}

/** Applies the changes from `base` to `mine` on top of `theirs`. If both sides changed a member, `mine` wins. */
const combine = (base: Values, mine: Values, theirs: Values, at: string): Combined => {
  const value: Record<string, unknown> = { ...theirs }
  const both: Array<string> = []
  for (const name of new Set([...Object.keys(mine), ...Object.keys(base)])) {
    if (name === "variants" || isDeepStrictEqual(base[name], mine[name])) continue
    const pointer = `${at}/${JsonPointer.escapeToken(name)}`
    if ((byName.has(name) || isLocales(at)) && isRecord(mine[name]) && isRecord(theirs[name]) && isRecord(base[name])) {
      const inner = combine(base[name], mine[name], theirs[name], pointer)
      value[name] = inner.value
      both.push(...inner.both)
      continue
    }
    if (!isDeepStrictEqual(theirs[name], base[name]) && !isDeepStrictEqual(theirs[name], mine[name])) both.push(pointer)
    if (name in mine) value[name] = mine[name]
    else delete value[name]
  }
  return { value, both }
}

const byId = ({ variants }: WholeContent): ReadonlyMap<string, VariantContent> =>
  new Map(variants.map((variant) => [variant.id, variant]))

/** The combination of two changes of one content. */
interface CombinedContent {
  /** Undefined if the template is deleted. */
  readonly content: WholeContent | undefined
  /** JSON pointers of the members that both sides have changed, such as `/variants/warm/vars/subject`. */
  readonly both: ReadonlyArray<string>
}

/**
 * Applies a proposed change, from `base` to `mine`, to the live content `theirs`. Variables are combined one by one,
 * other members as a whole. If both sides changed a member, the proposal wins and `both` names the member.
 */
export const combineContent = (
  base: WholeContent | undefined,
  mine: WholeContent | undefined,
  theirs: WholeContent | undefined,
): CombinedContent => {
  const moved = !isDeepStrictEqual(base, theirs)
  if (mine === undefined || theirs === undefined) return { content: mine, both: moved ? ["/"] : [] }
  const start = base ?? theirs
  const settings = combine(start as never, mine as never, theirs as never, "")
  const [ofBase, ofMine, ofTheirs] = [byId(start), byId(mine), byId(theirs)]
  const both = [...settings.both]
  const variants: Array<VariantContent> = []
  for (const id of new Set<string>([...ofTheirs.keys(), ...ofMine.keys()])) {
    const [before, own, live] = [ofBase.get(id), ofMine.get(id), ofTheirs.get(id)]
    const pointer = `/variants/${JsonPointer.escapeToken(id)}`
    if (own === undefined) {
      // Not in the proposal: removed by it, or added by the other side.
      if (before === undefined) variants.push(live!)
      else if (!isDeepStrictEqual(before, live)) both.push(pointer)
    } else if (live === undefined) {
      // Not live: added by the proposal, or removed by the other side.
      if (before === undefined) variants.push(own)
      else if (!isDeepStrictEqual(before, own)) {
        variants.push(own)
        both.push(pointer)
      }
    } else {
      const merged = combine((before ?? live) as never, own as never, live as never, pointer)
      both.push(...merged.both)
      variants.push(merged.value as unknown as VariantContent)
    }
  }
  return { content: { ...settings.value, variants } as unknown as WholeContent, both }
}
