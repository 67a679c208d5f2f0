import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { hmac, type HmacKey, hmacKey } from "../domain/Hmac.ts"
import { signingKey } from "../store/SigningKey.ts"

/** What a draw depends on, apart from the key of the installation. */
export interface DrawSubject {
  readonly org: string
  readonly templateId: string
  readonly trackingId: string
}

const encoder = new TextEncoder()
/** Space for a message. Ids have at most 200 characters of three bytes each. */
const space = new Uint8Array(2048)

/** The bytes of a text, which the next call overwrites. */
const bytesOf = (text: string): Uint8Array => space.subarray(0, encoder.encodeInto(text, space).written)

/**
 * A number that is uniform in [0, 1): the first 53 bits of an HMAC-SHA256. Equal subjects and turns give equal numbers, and
 * all others are independent. `turn` counts the draws of one request from 0.
 */
export const drawOf = (key: HmacKey, { org, templateId, trackingId }: DrawSubject, turn: number): number => {
  // Ids hold no U+0000, so that different subjects and turns make different texts.
  const digest = hmac(key, bytesOf(`${org}\0${templateId}\0${trackingId}\0${turn}`))
  const high = (digest[0]! * 2 ** 16 + digest[1]! * 2 ** 8 + digest[2]!) * 2 ** 29
  const low = digest[3]! * 2 ** 21 + digest[4]! * 2 ** 13 + digest[5]! * 2 ** 5 + (digest[6]! >>> 3)
  return (high + low) / 2 ** 53
}

/**
 * Draws that depend on the request alone: a repeated tracking id gives the same variant on every node and after a restart as
 * long as the model stays, without a look-up of the first decision. The key is random, and all nodes on a database share it.
 */
export class Draws extends Context.Service<Draws, {
  /** The number of a turn, see `drawOf`. The first draw of a request has turn 0, a draw after a failed rendering the next one. */
  readonly draw: (subject: DrawSubject, turn: number) => number
}>()("parlance/decide/Draws") {
  /** Fails with `SqlError` if the database does not respond, because a node without the key would draw other variants. */
  static readonly layer = Layer.effect(
    Draws,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const key = hmacKey(Buffer.from(yield* signingKey(sql, "draws"), "hex"))
      return Draws.of({ draw: (subject, turn) => drawOf(key, subject, turn) })
    }),
  )
}
