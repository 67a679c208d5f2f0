import { Buffer } from "node:buffer"
import { hash, timingSafeEqual } from "node:crypto"
import { hmac, type HmacKey } from "../text/Hmac.ts"
import { LruMap } from "../json/LruMap.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { sha256 } from "../text/Sha256.ts"

// Tokens in the URLs and addresses of tracked messages. Pure.
//
//     organization (4 bytes) | delivery (16) | link (none, 3 or 12) | HMAC-SHA256, cut to 10 bytes     in base64url
//
// The organization is represented by the start of a digest of its slug. A link is its number in the message, or the key
// of a target that messages share. A token does not contain the target of a click, so no token can redirect anywhere
// else.

/** The route or mailbox that a token is for. A token of one kind is not valid for another kind. */
export type TokenKind = "open" | "click" | "unsubscribe" | "bounce" | "complaint"

/** A link of a message: its number in the message, from 0, or the key of a shared target. */
export type LinkRef = number | string

/** The content of a token. */
export interface Token {
  readonly org: OrgSlug
  /** Id of the delivery: a UUID in lowercase. */
  readonly id: string
  /** The clicked link; undefined for other kinds. */
  readonly link: LinkRef | undefined
}

const tagBytes = 4
const idBytes = 16
const numberBytes = 3
const keyBytes = 12
const macBytes = 10

/**
 * The size of a token without a link. All sizes are multiples of 3, so that each token has only one spelling in
 * base64url.
 */
const plainBytes = tagBytes + idBytes + macBytes

const kindCodes: Readonly<Record<TokenKind, number>> = { open: 1, click: 2, unsubscribe: 3, bounce: 4, complaint: 5 }

/** The parts of a token that depend only on the organization. */
interface OrgBytes {
  readonly tag: number
  readonly slug: Uint8Array
}

/** Cached for recently used organizations, because the digest for the tag takes longer than the rest of a token. */
const known = new LruMap<OrgBytes>(1_000)

const bytesOf = (org: OrgSlug): OrgBytes => {
  const found = known.get(org)
  if (found !== undefined) return found
  const tag = Number.parseInt(hash("sha256", org, "hex").slice(0, 2 * tagBytes), 16)
  const bytes = { tag, slug: Buffer.from(org) }
  known.set(org, bytes)
  return bytes
}

/**
 * Returns the tag at the start of an organization's tokens. Two organizations may share a tag; the signature
 * distinguishes them.
 */
export const orgTag = (org: OrgSlug): number => bytesOf(org).tag

// The byte arrays below are reused for every token. New arrays would take several times as long as the rest of a token,
// because V8 allocates and frees their memory outside of its heap.

const head = new Uint8Array(2)

/** Returns a digest whose first `macBytes` end a token. The next call with the key overwrites it. */
const digestOf = (key: HmacKey, kind: TokenKind, { slug }: OrgBytes, content: Uint8Array): Uint8Array => {
  head[0] = kindCodes[kind]
  head[1] = slug.length
  return hmac(key, head, slug, content)
}

/** Allocates arrays for tokens with a link of this many bytes. */
const roomFor = (linkBytes: number) => {
  const linkAt = tagBytes + idBytes
  const macAt = linkAt + linkBytes
  const token = new Uint8Array(macAt + macBytes)
  return {
    token,
    tag: new DataView(token.buffer, 0, tagBytes),
    id: token.subarray(tagBytes, linkAt),
    link: token.subarray(linkAt, macAt),
    content: token.subarray(tagBytes, macAt),
    macAt,
  }
}
const withoutLink = roomFor(0)
const withNumber = roomFor(numberBytes)
const withKey = roomFor(keyBytes)

const maxNumber = 2 ** (8 * numberBytes) - 1

/** Writes a link into its array. Returns whether it fits. */
const putLink = (room: Uint8Array, link: LinkRef | undefined): boolean => {
  if (typeof link === "string") {
    const { read, written } = room.setFromBase64(link, { alphabet: "base64url" })
    return read === link.length && written === keyBytes
  }
  if (link === undefined) return true
  room.set([link >>> 16, link >>> 8 & 0xff, link & 0xff])
  return link >= 0 && link <= maxNumber
}

/**
 * Writes and signs a token: 40 characters without a link, 44 with the number of a link, 56 with the key of a link.
 * Throws for an id that is not a UUID, and for a link that is neither a number from 0 to 16,777,215 nor a key.
 */
export const writeToken = (key: HmacKey, kind: TokenKind, { id, link, org }: Token): string => {
  const room = link === undefined ? withoutLink : typeof link === "string" ? withKey : withNumber
  const orgBytes = bytesOf(org)
  room.tag.setUint32(0, orgBytes.tag)
  const hex = id.replaceAll("-", "")
  room.id.setFromHex(hex)
  // After a shorter id or key, the array would still contain bytes of an earlier token.
  if (hex.length !== 2 * idBytes || !putLink(room.link, link)) {
    throw new RangeError("A token needs a UUID and a link of its form")
  }
  const digest = digestOf(key, kind, orgBytes, room.content)
  for (let at = 0; at < macBytes; at++) room.token[room.macAt + at] = digest[at]!
  return room.token.toBase64({ alphabet: "base64url" })
}

/** Returns the key of a shared target: the start of a digest, 16 characters of base64url. */
export const targetKey = (target: string): string => sha256(target).slice(0, keyBytes * 4 / 3)

const isSizeOf = (kind: TokenKind, size: number): boolean =>
  kind === "click" ? size === plainBytes + numberBytes || size === plainBytes + keyBytes : size === plainBytes

const uuidOf = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

/**
 * Returns the content of a token that was signed for this kind with this key; undefined for other texts. `orgsOf`
 * returns the organizations with a tag.
 */
export const readToken = (
  key: HmacKey,
  kind: TokenKind,
  text: string,
  orgsOf: (tag: number) => ReadonlyArray<OrgSlug>,
): Token | undefined => {
  if (text.length > 60 || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64url")
  if (text.length % 4 !== 0 || !isSizeOf(kind, bytes.length)) return undefined
  const content = bytes.subarray(tagBytes, bytes.length - macBytes)
  const mac = bytes.subarray(bytes.length - macBytes)
  const org = orgsOf(bytes.readUInt32BE()).find((one) =>
    timingSafeEqual(digestOf(key, kind, bytesOf(one), content).subarray(0, macBytes), mac)
  )
  if (org === undefined) return undefined
  const link = content.subarray(idBytes)
  return {
    org,
    id: uuidOf(content.toString("hex", 0, idBytes)),
    link: link.length === 0
      ? undefined
      : link.length === numberBytes
      ? link.readUIntBE(0, numberBytes)
      : link.toString("base64url"),
  }
}
