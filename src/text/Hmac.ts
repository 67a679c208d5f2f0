import { hmac as hmacOf } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"

/** The state of an HMAC. */
type State = ReturnType<typeof hmacOf.create>

/** A key of HMAC-SHA256, prepared. */
export interface HmacKey {
  /** The state after the blocks of the key. It never changes. */
  readonly prepared: State
  /** The state while a message is hashed. */
  readonly working: State
  /** The latest result. A new array for each result would double the time, mostly by garbage collection. */
  readonly result: Uint8Array
}

/** Prepares a key. */
export const hmacKey = (secret: Uint8Array): HmacKey => ({
  prepared: hmacOf.create(sha256, secret),
  working: hmacOf.create(sha256, secret),
  result: new Uint8Array(32),
})

/**
 * HMAC-SHA256 (RFC 2104) of the parts of a message. The next call with this key overwrites the 32 bytes of the result.
 * Every open, click and sent message needs one, so it is JavaScript with a prepared state, which takes 2 µs on Deno
 * 2.9.6. `createHmac` takes 19 µs, and two calls of `hash` take 15 µs.
 */
export const hmac = ({ prepared, result, working }: HmacKey, ...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  prepared._cloneInto(working)
  for (const part of parts) working.update(part)
  working.digestInto(result)
  return result
}
