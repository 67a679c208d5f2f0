import { Context, DateTime, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidInput, SamplePersonNotFound } from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { type SamplePerson, SamplePersonInput } from "../domain/SamplePerson.ts"
import { isPlainId } from "../domain/TestGroup.ts"
import { lockContent } from "../organizations/OrganizationRows.ts"
import { freeId, idOfName } from "./SuggestedId.ts"

/** Maximum number of saved people of an organization. */
const maxSamplePeople = 100

const decodePerson = decoder(SamplePersonInput)

const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })

/** Sample people of organizations. A broken store is a defect. */
export class SamplePeople extends Context.Service<SamplePeople, {
  /** Returns the ids and names of all, sorted by name. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Pick<SamplePerson, "id" | "name">>>
  /** Returns a person. Fails with `SamplePersonNotFound` for an unknown id. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<SamplePerson, SamplePersonNotFound>
  /**
   * Saves a person under an id. Without an id, replaces the person of that name, or creates a person with an id derived
   * from the name. Fails with `InvalidInput` and every fault: an id that cannot be in a path, a name that another
   * person has, and more than 100 people.
   */
  readonly save: (org: OrgSlug, person: SamplePersonInput, id?: string) => Effect.Effect<SamplePerson, InvalidInput>
  /** Removes a person. Fails with `SamplePersonNotFound` for an unknown id. */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, SamplePersonNotFound>
}>()("parlance/templates/SamplePeople") {
  static readonly layer = Layer.effect(
    SamplePeople,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("SamplePeople.list")(
        (org: OrgSlug) =>
          sql<Pick<SamplePerson, "id" | "name">>`
            SELECT s.id, s.name FROM sample_people s WHERE s.org_slug = ${org} ORDER BY lower(s.name), s.id`,
        Effect.catchTag("SqlError", Effect.die),
      )

      const get = Effect.fn("SamplePeople.get")(
        function* (org: OrgSlug, id: string) {
          const [row] = yield* sql<SamplePerson>`
            SELECT s.id, s.name, s.attrs, s.fields FROM sample_people s WHERE s.org_slug = ${org} AND s.id = ${id}`
          return row ?? (yield* new SamplePersonNotFound({ id }))
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const save = Effect.fn("SamplePeople.save")(
        function* (org: OrgSlug, person: SamplePersonInput, wanted?: string) {
          const input = decodePerson(person)
          if (Result.isFailure(input)) return yield* new InvalidInput({ faults: input.failure })
          if (wanted !== undefined && !isPlainId(wanted)) {
            return yield* fault("person", "must be 1 to 64 lowercase letters, digits, hyphens or underscores")
          }
          const { attrs = {}, fields = {}, name } = input.success
          const now = yield* DateTime.nowAsDate
          return yield* sql.withTransaction(Effect.gen(function* () {
            // Locked, because two concurrent saves would choose one id.
            yield* lockContent(sql, org)
            const all = yield* list(org)
            const same = all.find((one) => one.name === name)
            const taken = new Set(all.map(({ id }) => id))
            const id = wanted ?? same?.id ?? freeId(idOfName(name) || "person", (one) => taken.has(one))
            if (same !== undefined && same.id !== id) return yield* fault("/name", "is the name of another person")
            if (!taken.has(id) && all.length >= maxSamplePeople) {
              return yield* fault("/name", `is one too many: delete one of ${maxSamplePeople} people`)
            }
            yield* sql`
              INSERT INTO sample_people AS s (org_slug, id, name, attrs, fields, created_at, updated_at)
              VALUES (${org}, ${id}, ${name}, ${JSON.stringify(attrs)}::text::json, ${
              JSON.stringify(fields)
            }::text::json,
                ${now}, ${now})
              ON CONFLICT (org_slug, id) DO UPDATE SET name = excluded.name, attrs = excluded.attrs, fields = excluded.fields,
                updated_at = excluded.updated_at`
            return { id, name, attrs, fields }
          }))
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const remove = Effect.fn("SamplePeople.remove")(
        function* (org: OrgSlug, id: string) {
          const removed = yield* sql`
            DELETE FROM sample_people s WHERE s.org_slug = ${org} AND s.id = ${id} RETURNING s.id`
          if (removed.length === 0) return yield* new SamplePersonNotFound({ id })
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      return SamplePeople.of({ list, get, save, remove })
    }),
  )
}
