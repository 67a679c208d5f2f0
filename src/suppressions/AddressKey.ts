import { domainToASCII } from "node:url"
import { readAddress } from "../domain/AddressText.ts"

/** An address in the form in which addresses are compared: see `addressKey`. */
export type AddressKey = string

/** Longest address that is compared, and longest form of one in which it is. Unit: UTF-16 code units. */
const maxAddress = 254
const maxKey = 400

/** An address as most callers write it, in ASCII, without anything around it. */
const isPlain = /^[a-z0-9_+.=~/-]+@[a-z0-9.-]*[a-z0-9]$/i

const isAscii = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

/** Greek has two lowercase forms of one letter, of which `toLowerCase` picks one by the place in the word. */
const foldCase = (text: string): string => text.normalize("NFC").toLowerCase().replaceAll("ς", "σ").normalize("NFC")

/**
 * An e-mail address in the form in which addresses are compared; undefined for a text that is no address. A name, comment or
 * prefix around the address is left out: see `readAddress`. Two spellings are
 * the same address if they differ in case, in surrounding white space, in how Unicode composes their characters, or in
 * whether the domain is written in Unicode or as `xn--`. `ada+news@example.com` and `ada@example.com` differ.
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
