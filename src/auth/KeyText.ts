import { hash, randomInt } from "node:crypto"
import { crc32 } from "node:zlib"
import type { KeyKind } from "../domain/ApiKey.ts"
import { KeyId } from "../domain/Ids.ts"

// The text of an API key: `plk_<id>_<secret>`, with `plt` for a test key. The id (16 characters) identifies the key.
// The secret is 40 random base62 characters (238 bits) and a 6-character checksum, by which a secret scanner can
// distinguish a real key from a look-alike.

const base36 = "0123456789abcdefghijklmnopqrstuvwxyz"
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const pattern = /^pl[kt]_([a-z0-9]{16})_([0-9A-Za-z]{46})$/

const keyLength = 67

const random = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("")

const checksum = (text: string): string => {
  let rest = crc32(text)
  let out = ""
  for (let i = 0; i < 6; i++) {
    out = base62[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}

/** The prefix of each kind of key. */
export const prefixOf: { readonly [kind in KeyKind]: string } = { live: "plk_", test: "plt_" }

/** Returns a new key, to be shown once, and the id under which it is stored. */
export const make = (kind: KeyKind = "live"): { readonly id: KeyId; readonly key: string } => {
  const id = KeyId.make(random(base36, 16))
  const secret = random(base62, 40)
  return { id, key: `${prefixOf[kind]}${id}_${secret}${checksum(`${id}${secret}`)}` }
}

/** Returns the id in a key's text. Undefined for a text without the form of a key. */
export const idOf = (key: string): string | undefined => {
  // Length first, because a caller may send kilobytes.
  if (key.length !== keyLength) return undefined
  return pattern.exec(key)?.[1]
}

/** Describes the fault in the form of a text that begins like a key. Undefined for keys and for all other texts. */
export const formFault = (text: string): string | undefined => {
  if (!/^pl[kt]_/.test(text) || idOf(text) !== undefined) return undefined
  return text.length === keyLength
    ? `The API key has characters that no key has. Copy it again`
    : `The API key is incomplete or has something added: it has ${text.length} characters in place of ${keyLength}. Copy it again`
}

/** Whether the checksum matches, as a secret scanner would test. */
export const isGenuine = (key: string): boolean => {
  const match = pattern.exec(key)
  return match !== null && checksum(`${match[1]}${match[2]!.slice(0, 40)}`) === match[2]!.slice(40)
}

/** SHA-256 of the key in lowercase hex, as stored. `node:crypto`'s one-shot is 100 times cheaper than WebCrypto. */
export const digest = (key: string): string => hash("sha256", key, "hex")
