import { isDeepStrictEqual } from "node:util"
import type { LocaleDraft, VariableDraft, VariantForm } from "./VariantForm.ts"

/** The combination of two texts that were edited from one base. */
interface CombinedForm {
  readonly form: VariantForm
  /** Names of the fields that both sides changed to different values. The author's own value is kept. */
  readonly both: ReadonlyArray<string>
}

const byName = (variables: ReadonlyArray<VariableDraft>) =>
  new Map(variables.map((row) => [row.name.trim(), { ...row, name: row.name.trim() }]))

const textKey = (locale: string, name: string): string => `${locale} ${name}`

/** Combines the texts in other locales, each text by itself. */
const combineLocales = (
  [base, own, other]: readonly [VariantForm, VariantForm, VariantForm],
  pick: <A>(name: string, before: A, mine: A, theirs: A) => A,
): ReadonlyArray<LocaleDraft> => {
  const textsOf = ({ locales = [] }: VariantForm) =>
    new Map(
      locales.flatMap(({ locale, texts }) =>
        texts.map(({ name, source }) =>
          [textKey(locale.trim(), name), { locale: locale.trim(), name, source }] as const
        )
      ),
    )
  const [before, mine, theirs] = [textsOf(base), textsOf(own), textsOf(other)]
  const texts = [...new Set([...mine.keys(), ...theirs.keys()])].flatMap((key) => {
    const { locale, name } = (mine.get(key) ?? theirs.get(key))!
    const of = (texts: typeof mine) => texts.get(key)?.source ?? ""
    return { locale, name, source: pick(`${name} (${locale})`, of(before), of(mine), of(theirs)) }
  })
  return [...Map.groupBy(texts, ({ locale }) => locale)].map(([locale, of]) => ({
    locale,
    texts: of.map(({ name, source }) => ({ name, source })),
  }))
}

/**
 * Combines the author's text with the text of a colleague. Each field has the changed value, or the author's value if
 * both changed it. Variables are compared one by one. Whether the variant is active comes from `other`, because
 * versions do not record it.
 */
export const combineForms = (base: VariantForm, own: VariantForm, other: VariantForm): CombinedForm => {
  const both: Array<string> = []
  const pick = <A>(name: string, before: A, mine: A, theirs: A): A => {
    if (isDeepStrictEqual(mine, before)) return theirs
    if (!isDeepStrictEqual(theirs, before) && !isDeepStrictEqual(mine, theirs)) both.push(name)
    return mine
  }
  const [before, mine, theirs] = [byName(base.variables), byName(own.variables), byName(other.variables)]
  const names = new Set([...mine.keys(), ...theirs.keys()])
  const variables = [...names].flatMap((name) =>
    pick<VariableDraft | undefined>(name, before.get(name), mine.get(name), theirs.get(name)) ?? []
  )
  const locales = combineLocales([base, own, other], pick)
  const form = {
    id: own.id,
    active: other.active,
    name: pick("name", base.name, own.name, other.name),
    variables,
    ...(locales.length === 0 ? {} : { locales }),
    conditions: pick("audience", base.conditions, own.conditions, other.conditions),
    seasons: pick("schedule", base.seasons, own.seasons, other.seasons),
    components: pick("components", base.components, own.components, other.components),
  }
  return { form, both }
}
