import { hash, randomBytes } from "node:crypto"

// Tokens of sessions, invitations and one-time links: 256 random bits, of which the store keeps a digest alone.

/** A new token, 43 characters that need no encoding in URLs and cookies. */
export const make = (): string => randomBytes(32).toString("base64url")

/** SHA-256 in lowercase hex, as stored. A token is random, so that a slow hash would add no safety. */
export const digest = (token: string): string => hash("sha256", token, "hex")

/** Whether a text could be a token, so that anything else need not be looked up. */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)
