import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidInput, TestGroupNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { isPlainId, type TestGroup, type TestGroupInput } from "../../domain/TestGroup.ts"
import { lockOrganization } from "../../organizations/Existing.ts"
import { freeId, idOfName } from "../../templates/SuggestedId.ts"

/** Maximum number of test groups of an organization. */
export const maxTestGroups = 20

interface Row {
  readonly id: string
  readonly name: string
  readonly emails: ReadonlyArray<string>
  readonly updatedAt: Date
}

const groupOf = ({ updatedAt, ...row }: Row): TestGroup => ({ ...row, updated_at: updatedAt.toISOString() })

const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })

/** Named groups of recipients for test messages of an organization. A database failure is a defect. */
export class TestGroups extends Context.Service<TestGroups, {
  /** All groups, by name. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<TestGroup>>
  /** Fails with `TestGroupNotFound` for an unknown id. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<TestGroup, TestGroupNotFound>
  /**
   * Creates or replaces a group. If `id` is undefined, derives the id from the name. Fails with `InvalidInput` for an
   * id that is not valid in paths, a name that another group has, and more than 20 groups.
   */
  readonly put: (
    org: OrgSlug,
    id: string | undefined,
    group: TestGroupInput,
  ) => Effect.Effect<TestGroup, InvalidInput>
  /** Fails with `TestGroupNotFound` for an unknown id. */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, TestGroupNotFound>
}>()("parlance/delivery/receivers/TestGroups") {
  static readonly layer = Layer.effect(
    TestGroups,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("TestGroups.list")(
        (org: OrgSlug) =>
          Effect.map(
            sql<Row>`
              SELECT t.id, t.name, t.emails, t.updated_at FROM test_groups t WHERE t.org_slug = ${org}
              ORDER BY lower(t.name), t.id`,
            (rows): ReadonlyArray<TestGroup> => rows.map(groupOf),
          ),
        Effect.catchTag("SqlError", Effect.die),
      )

      const get = Effect.fn("TestGroups.get")(
        function* (org: OrgSlug, id: string) {
          const [row] = yield* sql<Row>`
            SELECT t.id, t.name, t.emails, t.updated_at FROM test_groups t WHERE t.org_slug = ${org} AND t.id = ${id}`
          return row === undefined ? yield* new TestGroupNotFound({ id }) : groupOf(row)
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const put = Effect.fn("TestGroups.put")(
        function* (org: OrgSlug, wanted: string | undefined, { emails, name }: TestGroupInput) {
          if (wanted !== undefined && !isPlainId(wanted)) {
            return yield* fault("group", "must be 1 to 64 lowercase letters, digits, hyphens or underscores")
          }
          const now = yield* DateTime.nowAsDate
          return yield* sql.withTransaction(Effect.gen(function* () {
            // Serializes concurrent saves, which could choose one id or name twice.
            yield* lockOrganization(sql, org)
            const all = yield* list(org)
            const taken = new Set(all.map((one) => one.id))
            const id = wanted ?? freeId(idOfName(name) || "group", (one) => taken.has(one))
            if (all.some((one) => one.name === name && one.id !== id)) {
              return yield* fault("/name", "is the name of another test group")
            }
            if (!taken.has(id) && all.length >= maxTestGroups) {
              return yield* fault("/name", `is one too many: delete one of ${maxTestGroups} test groups first`)
            }
            yield* sql`
              INSERT INTO test_groups AS t (org_slug, id, name, emails, created_at, updated_at)
              VALUES (${org}, ${id}, ${name}, ${[...emails]}::text[], ${now}, ${now})
              ON CONFLICT (org_slug, id) DO UPDATE SET name = excluded.name, emails = excluded.emails,
                updated_at = excluded.updated_at`
            return { id, name, emails, updated_at: now.toISOString() }
          }))
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const remove = Effect.fn("TestGroups.remove")(
        function* (org: OrgSlug, id: string) {
          const removed = yield* sql`
            DELETE FROM test_groups t WHERE t.org_slug = ${org} AND t.id = ${id} RETURNING t.id`
          if (removed.length === 0) return yield* new TestGroupNotFound({ id })
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      return TestGroups.of({ list, get, put, remove })
    }),
  )
}
