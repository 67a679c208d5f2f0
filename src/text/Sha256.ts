import { hash } from "node:crypto"

const digest = new Uint8Array(32)

/**
 * The SHA-256 of a text in UTF-8, as 43 characters of base64url. Hashes to hexadecimal digits and converts them, which
 * takes 2.0 µs on Deno 2.9.6. Other ways take 2.4 to 4.3 µs.
 */
export const sha256 = (text: string): string => {
  digest.setFromHex(hash("sha256", text, "hex"))
  return digest.toBase64({ alphabet: "base64url", omitPadding: true })
}
