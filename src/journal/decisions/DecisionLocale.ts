import { type ContextKey, copyLocale, decodeContext, encodeContext } from "../../bandit/Contexts.ts"

// The locale of the texts of a decision is a part of its context key, so that results can be broken down by it.

/** Maximum number of contexts with a locale that are kept. */
const kept = 10_000

/** Contexts with a locale, by locale and context. */
const known = new Map<string, Map<ContextKey, ContextKey>>()
let size = 0

/** Adds the locale of the texts that were sent to a context. Returns the context itself without a locale. */
export const withLocale = (context: ContextKey, locale: string | undefined): ContextKey => {
  if (locale === undefined) return context
  let contexts = known.get(locale)
  let made = contexts?.get(context)
  if (made === undefined) {
    if (size++ >= kept) {
      known.clear()
      size = 1
      contexts = undefined
    }
    if (contexts === undefined) known.set(locale, contexts = new Map())
    contexts.set(context, made = encodeContext([...decodeContext(context), [copyLocale, locale]]))
  }
  return made
}

const pattern = new RegExp(`(?:^|&)${copyLocale}=([^&]*)`)

/** Returns the locale of the texts that were sent. Undefined for a template in one locale, and without a message. */
export const localeIn = (context: ContextKey): string | undefined => pattern.exec(context)?.[1]
