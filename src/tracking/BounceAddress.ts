import { Buffer } from "node:buffer"
import type { OrgSlug } from "../domain/Ids.ts"
import { type HmacKey } from "../text/Hmac.ts"
import { readToken, writeToken } from "./Token.ts"

// Addresses for mail about deliveries. Pure.
//
//     bounce+TOKEN@bounces.shop.example        the return path of one message: the token identifies its delivery
//     complaint+TOKEN@bounces.shop.example     complaints about all messages of an organization
//
// Mail servers may change the case of an address, so tokens are written in base 32 with the digits 0-9 and a-v: 30
// bytes in 48 characters. With its prefix, a local part has at most 58 characters; 64 are allowed.

/** A mailbox of this service: the organization, and for a return path the delivery. */
export interface BounceMailbox {
  readonly org: OrgSlug
  /** Id of the delivery; undefined for the complaint address. */
  readonly delivery: string | undefined
}

const tokenBytes = 30
const digits = 48

const mailbox = new RegExp(`^(bounce|complaint)\\+([0-9a-v]{${digits}})$`, "i")

const toBase32 = (bytes: Uint8Array): string =>
  BigInt(`0x${Buffer.from(bytes).toString("hex")}`).toString(32).padStart(digits, "0")

const fromBase32 = (text: string): Buffer => {
  let number = 0n
  for (const digit of text) number = number * 32n + BigInt(Number.parseInt(digit, 32))
  return Buffer.from(number.toString(16).padStart(2 * tokenBytes, "0"), "hex")
}

/** Placeholder in the token of an organization's complaint address, which has no delivery. */
const noDelivery = "00000000-0000-0000-0000-000000000000"

/** Returns the local part of a mailbox. */
export const writeMailbox = (key: HmacKey, { delivery, org }: BounceMailbox): string => {
  const kind = delivery === undefined ? "complaint" : "bounce"
  const token = writeToken(key, kind, { org, id: delivery ?? noDelivery, link: undefined })
  return `${kind}+${toBase32(Buffer.from(token, "base64url"))}`
}

/** Returns the mailbox of a local part that was signed with this key; undefined for other texts. */
export const readMailbox = (
  key: HmacKey,
  localPart: string,
  orgsOf: (tag: number) => ReadonlyArray<OrgSlug>,
): BounceMailbox | undefined => {
  const found = mailbox.exec(localPart)
  if (found === null) return undefined
  const kind = found[1]!.toLowerCase() as "bounce" | "complaint"
  const token = readToken(key, kind, fromBase32(found[2]!).toString("base64url"), orgsOf)
  return token && { org: token.org, delivery: kind === "bounce" ? token.id : undefined }
}

/**
 * Returns the address for providers' complaints about an organization's messages: `mailbox` in the return-path domain
 * of a connection. Null for a connection without such a domain.
 */
export const complaintAddressOf = (mailbox: string, settings: Readonly<Record<string, unknown>>): string | null => {
  const domain = settings["bounce_domain"]
  return typeof domain === "string" ? `${mailbox}@${domain}` : null
}

/** Maximum number of return paths that are read from one text. */
const maxReturnPaths = 20

/** Returns the local parts of return paths in a text, each once. Does not verify their signatures. */
export const returnPathsIn = (text: string): ReadonlyArray<string> =>
  [...new Set(text.match(new RegExp(`bounce\\+[0-9a-v]{${digits}}(?=@)`, "gi")) ?? [])].slice(0, maxReturnPaths)

/**
 * Returns the delivery of the first return path in a text, such as `<bounce+TOKEN@bounces.shop.example>`. Does not
 * verify the signature: use it only for mail to an address whose signature was verified.
 */
export const deliveryOfMailbox = (text: string): string | undefined => {
  const found = new RegExp(`bounce\\+([0-9a-v]{${digits}})@`, "i").exec(text)
  if (found === null) return undefined
  const id = fromBase32(found[1]!).toString("hex", 4, 20)
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`
}
