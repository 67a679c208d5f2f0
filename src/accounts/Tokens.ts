import { hash, randomBytes } from "node:crypto"

// Tokens of sessions, invitations and one-time links: 256 random bits, of which only a digest is stored.

/** Returns a new token of 43 characters that need no encoding in URLs and cookies. */
export const make = (): string => randomBytes(32).toString("base64url")

/** SHA-256 in lowercase hex, as stored. A token is random, so a slow hash would not be safer. */
export const digest = (token: string): string => hash("sha256", token, "hex")

/** Whether a text has the form of a token, so that other texts need no query. */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)
