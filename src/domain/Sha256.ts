import { hash } from "node:crypto"

const digest = new Uint8Array(32)

/**
 * The SHA-256 of a text in UTF-8, 43 characters of base64url. By way of hexadecimal digits, because Deno 2.9.6 takes longer
 * for any other form (measured: 1.3 µs, and 2.0 with the change of form; 2.4 to 4.3 for others).
 */
export const sha256 = (text: string): string => {
  digest.setFromHex(hash("sha256", text, "hex"))
  return digest.toBase64({ alphabet: "base64url", omitPadding: true })
}
