import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { hmac, type HmacKey, hmacKey } from "../text/Hmac.ts"
import { signingKey } from "../store/SigningKey.ts"
import type { TemplateView } from "../templates/TemplateCache.ts"

/** The template of a draw, a part of its view. */
interface DrawnTemplate {
  readonly org: { readonly slug: string }
  readonly id: string
}

const encoder = new TextEncoder()
/** Buffer for a message. Ids have at most 200 characters of three bytes each. */
const space = new Uint8Array(2048)

/**
 * Returns the bytes of a text in UTF-8, which the next call overwrites. Most ids are ASCII, for which `encodeInto`
 * would need 0.7 µs.
 */
const bytesOf = (text: string): Uint8Array => {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code > 127) return space.subarray(0, encoder.encodeInto(text, space).written)
    space[at] = code
  }
  return space.subarray(0, text.length)
}

/**
 * Derives the key of a template from the key of the installation. Ids contain no U+0000, so that two templates never
 * share a key.
 */
export const templateKey = (key: HmacKey, { id, org }: DrawnTemplate): HmacKey =>
  hmacKey(Uint8Array.from(hmac(key, bytesOf(`${org.slug}\0${id}`))))

/**
 * Returns a uniform number in [0, 1): the first 53 bits of an HMAC-SHA256 with the key of the template. Equal tracking
 * ids and turns return equal numbers. Other numbers are independent. `turn` counts the draws of one request from 0.
 */
export const drawOf = (key: HmacKey, trackingId: string, turn: number): number => {
  const digest = hmac(key, bytesOf(`${trackingId}\0${turn}`))
  const high = (digest[0]! * 2 ** 16 + digest[1]! * 2 ** 8 + digest[2]!) * 2 ** 29
  const low = digest[3]! * 2 ** 21 + digest[4]! * 2 ** 13 + digest[5]! * 2 ** 5 + (digest[6]! >>> 3)
  return (high + low) / 2 ** 53
}

/**
 * Draws that depend only on the request: a repeated tracking id returns its variant again, on every node and after a
 * restart as long as the model does not change, without a look-up of the first decision. The key is random, and all
 * nodes on a database share it.
 */
export class Draws extends Context.Service<Draws, {
  /**
   * Returns the number of a turn, see `drawOf`. The first draw of a request has turn 0, a draw after a failed rendering
   * the next one.
   */
  readonly draw: (view: TemplateView, trackingId: string, turn: number) => number
}>()("parlance/decide/Draws") {
  /**
   * Fails with `SqlError` if the database does not respond, because a node without the key would draw other variants.
   */
  static readonly layer = Layer.effect(
    Draws,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const key = hmacKey(Buffer.from(yield* signingKey(sql, "draws"), "hex"))
      // A prepared key for each template saves a third of the time of a draw.
      const keys = new WeakMap<TemplateView, HmacKey>()
      const draw = (view: TemplateView, trackingId: string, turn: number): number => {
        let own = keys.get(view)
        if (own === undefined) keys.set(view, own = templateKey(key, view))
        return drawOf(own, trackingId, turn)
      }
      return Draws.of({ draw })
    }),
  )
}
