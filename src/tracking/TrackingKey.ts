import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import { TrackingKeyInUse, TrackingKeyNotFound } from "../domain/Errors.ts"
import { addSigningKey, removeSigningKey, signingKey, type SigningKeyRow, signingKeys } from "../store/SigningKey.ts"
import { type HmacKey, hmacKey } from "../text/Hmac.ts"

/** Time after which a new key signs, so that all nodes know the key by then. Unit: minutes. */
const settlingMinutes = 5

/** The name of the first key. Later keys add a random suffix, which is their id. */
const firstName = "tracking"
const firstId = "first"

const idOf = (name: string): string => name === firstName ? firstId : name.slice(firstName.length + 1)
const nameOf = (id: string): string => id === firstId ? firstName : `${firstName}:${id}`

/** The use of a key. `waiting`: all nodes learn the key before it signs. `accepted`: only earlier links have it. */
export type TrackingKeyState = "waiting" | "signing" | "accepted"

/** A key without its secret. */
export interface TrackingKeyInfo {
  readonly id: string
  readonly createdAt: Date
  readonly state: TrackingKeyState
}

/** The keys in use. */
export interface TrackingKeys {
  /** Signs new links. */
  readonly signing: HmacKey
  /** Accepts the links of messages, the newest key first. */
  readonly accepted: ReadonlyArray<HmacKey>
}

/** The row that signs: the newest settled one, or the oldest. `rows` are in descending order of age. */
const signingRow = (rows: ReadonlyArray<SigningKeyRow>): SigningKeyRow =>
  rows.find(({ isSettled }) => isSettled) ?? rows.at(-1)!

/**
 * The keys that sign all tokens: random, shared by all nodes on a database, and kept in memory. The first node that needs
 * a key creates it. Keys are not derived from `SECRET_KEY`, because links in messages must work for years.
 */
export class TrackingKey extends Context.Service<TrackingKey, {
  /** Reads the keys, and creates the first one if needed. Fails with `SqlError` if the database does not respond. */
  readonly get: Effect.Effect<TrackingKeys, SqlError>
  /** Returns all keys, newest first. Fails with `SqlError` if the database does not respond. */
  readonly list: Effect.Effect<ReadonlyArray<TrackingKeyInfo>, SqlError>
  /**
   * Creates a key that signs new links after 5 minutes. Links of earlier keys keep working. Fails with
   * `TrackingKeyInUse` while another key waits, and with `SqlError` if the database does not respond.
   */
  readonly rotate: Effect.Effect<TrackingKeyInfo, TrackingKeyInUse | SqlError>
  /**
   * Removes a key: links that it signed end within a minute. Fails with `TrackingKeyNotFound`, with `TrackingKeyInUse`
   * for the key that signs or waits, and with `SqlError` if the database does not respond.
   */
  readonly remove: (id: string) => Effect.Effect<void, TrackingKeyNotFound | TrackingKeyInUse | SqlError>
}>()("parlance/tracking/TrackingKey") {
  static readonly layer = Layer.effect(
    TrackingKey,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = signingKey(sql, firstName)
      let known: TrackingKeys | undefined

      const stored = signingKeys(sql, firstName, settlingMinutes)
      const rows = Effect.flatMap(stored, (all) => all.length > 0 ? Effect.succeed(all) : Effect.andThen(first, stored))

      const read = Effect.gen(function* () {
        const all = yield* rows
        const prepared = new Map(all.map((row) => [row, hmacKey(Buffer.from(row.key, "hex"))]))
        return known = { signing: prepared.get(signingRow(all))!, accepted: [...prepared.values()] }
      })
      const get = Effect.suspend(() => known === undefined ? read : Effect.succeed(known))

      const list = Effect.gen(function* () {
        const all = yield* rows
        const signing = signingRow(all)
        const newer = all.indexOf(signing)
        return all.map(({ createdAt, name }, at): TrackingKeyInfo => ({
          id: idOf(name),
          createdAt,
          state: at === newer ? "signing" : at < newer ? "waiting" : "accepted",
        }))
      })

      const rotate = Effect.gen(function* () {
        const waiting = (yield* list).find(({ state }) => state === "waiting")
        if (waiting !== undefined) return yield* new TrackingKeyInUse(waiting)
        const id = randomBytes(4).toString("hex")
        yield* addSigningKey(sql, nameOf(id))
        yield* read
        return (yield* list).find((key) => key.id === id)!
      }).pipe(Effect.withSpan("TrackingKey.rotate"))

      const remove = Effect.fn("TrackingKey.remove")(function* (id: string) {
        const key = (yield* list).find((key) => key.id === id)
        if (key === undefined) return yield* new TrackingKeyNotFound({ id })
        if (key.state !== "accepted") return yield* new TrackingKeyInUse(key)
        yield* removeSigningKey(sql, nameOf(id))
        yield* read
      })

      // Loads the keys, so that a later outage finds them in memory. A read-only database creates no key.
      yield* Effect.ignore(get)
      yield* Effect.ignore(read).pipe(
        Effect.repeat(Schedule.spaced("30 seconds")),
        Effect.delay("30 seconds"),
        Effect.forkScoped,
      )
      return TrackingKey.of({ get, list, remove, rotate })
    }),
  )
}
