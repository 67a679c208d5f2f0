import { domainToASCII } from "node:url"
import { readAddress } from "../text/AddressText.ts"

/** An address, normalized for comparison: see `addressKey`. */
export type AddressKey = string

/** Maximum length of an address that is compared, and of its normalized form. Unit: UTF-16 code units. */
const maxAddress = 254
const maxKey = 400

/** Matches addresses in the usual form: ASCII, without a name, comment or prefix. */
const isPlain = /^[a-z0-9_+.=~/-]+@[a-z0-9.-]*[a-z0-9]$/i

const isAscii = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

/** Greek has two lowercase forms of one letter. `toLowerCase` selects one by its position in the word. */
const foldCase = (text: string): string => text.normalize("NFC").toLowerCase().replaceAll("ς", "σ").normalize("NFC")

/**
 * Normalizes an e-mail address for comparison; undefined for a text that is not an address. Removes a name, comment or
 * prefix around the address: see `readAddress`. Two spellings denote one address if they differ only in case, in
 * surrounding white space, in Unicode normalization, or in the notation of the domain (Unicode or `xn--`).
 * `ada+news@example.com` and `ada@example.com` are different addresses.
 */
export const addressKey = (text: string): AddressKey | undefined => {
  if (text.length <= maxAddress && isPlain.test(text)) return text.toLowerCase()
  const address = readAddress(text)
  if (address === undefined) return undefined
  const at = address.lastIndexOf("@")
  if (at < 1 || at === address.length - 1 || address.length > maxAddress || /[\0\s]/.test(address)) return undefined
  if (isAscii(address)) return address.toLowerCase()
  if (!address.isWellFormed()) return undefined
  const domain = address.slice(at + 1).normalize("NFC")
  const key = `${foldCase(address.slice(0, at))}@${domainToASCII(domain) || foldCase(domain)}`
  return key.length <= maxKey ? key : undefined
}
