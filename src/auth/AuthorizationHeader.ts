import { prefixOf } from "./KeyText.ts"

const remedy = "write `Authorization: Bearer`, a space and the key, or send the key in X-Api-Key"

const isKey = (text: string) => Object.values(prefixOf).some((prefix) => text.startsWith(prefix))

/** Whether the user name or password of `Basic` credentials is an API key. */
const hasKeyInBasic = (credentials: string): boolean => {
  try {
    return atob(credentials).split(":").some(isKey)
  } catch {
    return false
  }
}

/**
 * Returns the reason why a header `Authorization` contains no Bearer token, and the correct form, without any part of a
 * secret. Undefined for a header that contains one, and for an absent header.
 */
export const authorizationFault = (header: string | undefined): string | undefined => {
  const text = header?.trim() ?? ""
  if (text === "" || /^bearer +\S/i.test(text)) return undefined
  if (isKey(text.replace(/^["'`]/, ""))) {
    return `The header Authorization has an API key without the word Bearer: ${remedy}`
  }
  const [, scheme = "", credentials = ""] = /^([a-z][a-z-]{0,19})(?:[\s:=]+(.*))?$/is.exec(text) ?? []
  if (/^bearer/i.test(text)) return `The header Authorization has no space and key after the word Bearer: ${remedy}`
  if (scheme === "") return `The header Authorization has no Bearer token: ${remedy}`
  const isCarried = isKey(credentials.trim()) || hasKeyInBasic(credentials.trim())
  return `The header Authorization has the scheme "${scheme}"${isCarried ? " with an API key" : ""}: ${remedy}`
}
