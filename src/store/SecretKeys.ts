import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { SecretBox, type SecretFileFaulty } from "./SecretBox.ts"

/** A column that contains texts of `SecretBox.seal`. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** In a JSON column, every string may be a sealed text. */
  readonly type: "text" | "json"
  /** The text columns of the primary key. */
  readonly key: ReadonlyArray<string>
  /** Returns the purpose of a value, from the primary key of its row and the name of its JSON member. */
  readonly purposeOf: (key: ReadonlyArray<string>, member: string) => string
}

/** The use of a secret key. `missing`: values are encrypted with it, and `SECRET_KEY` does not contain it. */
export type SecretKeyState = "encrypting" | "decrypting" | "missing"

/** A secret key without its bytes. */
export interface SecretKeyInfo {
  readonly id: string
  readonly state: SecretKeyState
  /** Number of stored values that only this key decrypts. */
  readonly values: number
}

const sealedText = /(?:"(\w+)": ?")?(v1:([0-9a-f]{8}):[\w+/=]+)/g

/** Finds values by the key that encrypted them, and encrypts them again. */
export class SecretKeys extends Context.Service<SecretKeys, {
  /**
   * Returns the keys of `SECRET_KEY`, the encrypting one first, and then missing keys. Fails with `SecretFileFaulty` if the
   * key file of the embedded database is damaged, and with `SqlError` if the database does not respond.
   */
  readonly list: Effect.Effect<ReadonlyArray<SecretKeyInfo>, SecretFileFaulty | SqlError>
  /**
   * Encrypts every value with the first key of `SECRET_KEY`, and returns the number of changed values. Values of missing
   * keys stay. A value that changes at the same time also stays, for the next call. Fails as `list` does.
   */
  readonly reencrypt: Effect.Effect<number, SecretFileFaulty | SqlError>
}>()("parlance/store/SecretKeys") {
  /** Covers the given columns. */
  static readonly layer = (columns: ReadonlyArray<SealedColumn>) =>
    Layer.effect(
      SecretKeys,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const box = yield* SecretBox

        const countOf = ({ column, table }: SealedColumn) =>
          sql<{ id: string; values: number }>`
            SELECT m.found[1] AS id, count(*)::float8 AS values
            FROM ${sql(table)} AS t, regexp_matches(t.${sql(column)}::text, 'v1:([0-9a-f]{8}):', 'g') AS m (found)
            GROUP BY 1`

        const list = Effect.gen(function* () {
          const ids = yield* box.ids
          const values = new Map(ids.map((id) => [id, 0]))
          for (const count of (yield* Effect.forEach(columns, countOf)).flat()) {
            values.set(count.id, (values.get(count.id) ?? 0) + count.values)
          }
          return [...values].map(([id, values]): SecretKeyInfo => ({
            id,
            state: id === ids[0] ? "encrypting" : ids.includes(id) ? "decrypting" : "missing",
            values,
          }))
        }).pipe(Effect.withSpan("SecretKeys.list"))

        /** Encrypts the values of a row again. Returns the number of changed values. */
        const change = Effect.fnUntraced(
          function* (at: SealedColumn, id: string, row: { key: ReadonlyArray<string>; text: string }) {
            let after = row.text
            let changed = 0
            for (const [, member = "", sealed, usedId] of row.text.matchAll(sealedText)) {
              if (usedId === id) continue
              const purpose = at.purposeOf(row.key, member)
              const again = yield* Effect.flatMap(box.open(purpose, sealed!), (secret) => box.seal(purpose, secret))
                .pipe(
                  Effect.catchTags({
                    NoSecretKey: () => Effect.undefined,
                    SecretUnreadable: () => Effect.undefined,
                  }),
                )
              if (again === undefined) continue
              after = after.replace(sealed!, again)
              changed += 1
            }
            if (changed === 0) return 0
            const isRow = sql.and(at.key.map((name, n) => sql`t.${sql(name)} = ${row.key[n]!}`))
            const rows = yield* sql`
              UPDATE ${sql(at.table)} AS t SET ${sql(at.column)} = ${after}::text::${sql.literal(at.type)}
              WHERE ${isRow} AND t.${sql(at.column)}::text = ${row.text} RETURNING 1 AS changed`
            return rows.length * changed
          },
        )

        const reencrypt = Effect.gen(function* () {
          const [id] = yield* box.ids
          if (id === undefined) return 0
          let changed = 0
          for (const at of columns) {
            const rows = yield* sql<{ key: ReadonlyArray<string>; text: string }>`
              SELECT ARRAY[${sql.csv(at.key.map((name) => sql`t.${sql(name)}`))}]::text[] AS key, t.${
              sql(at.column)
            }::text AS text
              FROM ${sql(at.table)} AS t WHERE t.${sql(at.column)}::text ~ ${`v1:(?!${id}:)[0-9a-f]{8}:`}`
            for (const row of rows) changed += yield* change(at, id, row)
          }
          return changed
        }).pipe(Effect.withSpan("SecretKeys.reencrypt"))

        return SecretKeys.of({ list, reencrypt })
      }),
    )
}
