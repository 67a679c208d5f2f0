import { Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { Store } from "../../src/store/Store.ts"

/** Name of the channel, the function and the triggers that notify of changes. */
const name = "test_table_changes"

/** Notifies of changed rows by triggers, so that a test does not poll the database. */
export interface Changes {
  /**
   * Resolves when `holds` returns true. Runs `holds` immediately, and after each transaction that wrote to one of
   * `tables`.
   */
  readonly until: <E, R>(
    what: string,
    tables: ReadonlyArray<string>,
    holds: Effect.Effect<boolean, E, R>,
  ) => Effect.Effect<void, E, R>
}

export const makeTableChanges: Effect.Effect<Changes, never, SqlClient.SqlClient | Store> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const store = yield* Store
  const watched = new Set<string>()

  const watch = Effect.fnUntraced(function* (table: string) {
    if (watched.has(table)) return
    yield* sql.unsafe(`
      CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NOTIFY ${name};
        RETURN NULL;
      END $$`)
    yield* sql.unsafe(`
      CREATE OR REPLACE TRIGGER ${name} AFTER INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`)
    watched.add(table)
  })

  return {
    until: (what, tables, holds) =>
      Effect.scoped(Effect.gen(function* () {
        yield* Effect.orDie(Effect.forEach(tables, watch, { discard: true }))
        const changes = yield* Effect.orDie(store.listen(name))
        while (!(yield* holds)) yield* Effect.orDie(Queue.takeAll(changes))
      })).pipe(
        Effect.timeoutOrElse({
          duration: "90 seconds",
          orElse: () => Effect.die(new Error(`Waited 90 s in vain until ${what}`)),
        }),
      ),
  }
})

/** `Changes` of the store of a layer. */
export class TableChanges extends Context.Service<TableChanges, Changes>()("parlance/test/TableChanges") {
  static readonly layer = Layer.effect(TableChanges, makeTableChanges)
}
