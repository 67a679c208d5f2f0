import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { isStorable } from "../domain/Attributes.ts"
import { InvalidInput, SamplePersonNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { lockContent } from "../organizations/OrganizationRows.ts"
import { freeId, idOfName } from "./SuggestedId.ts"

/** Saved people of an organization at most. */
export const maxSamplePeople = 100

/** Characters of the attributes and of the fields of a person, as JSON. */
const maxCharacters = 100_000

type Json = Readonly<Record<string, unknown>>

/** A sample person to save. */
export interface SamplePersonInput {
  readonly name: string
  /** Attributes for targeting. */
  readonly attrs: Json
  /** Fields for Liquid. */
  readonly fields: Json
}

/** A named person for previews and test messages. */
export interface SamplePerson extends SamplePersonInput {
  readonly id: string
}

const Name = Schema.String.check(
  Schema.isTrimmed(),
  Schema.isMinLength(1),
  Schema.isMaxLength(200),
  Schema.makeFilter((value) => isStorable(value)),
)
const isName = Schema.is(Name)

const isLarge = (value: Json) => JSON.stringify(value).length > maxCharacters

/** What keeps a person from being saved, in the form of the editor; empty for none. */
const faultsOf = ({ attrs, fields, name }: SamplePersonInput) => [
  ...(isName(name) ? [] : [{ pointer: "/person_name", detail: "must be a name of 1 to 200 characters" }]),
  ...(isLarge(attrs) ? [{ pointer: "/attrs", detail: `must be ${maxCharacters} characters at most` }] : []),
  ...(isLarge(fields) ? [{ pointer: "/fields", detail: `must be ${maxCharacters} characters at most` }] : []),
]

/** Sample people of organizations. A broken store is a defect. */
export class SamplePeople extends Context.Service<SamplePeople, {
  /** The names of all, sorted. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Pick<SamplePerson, "id" | "name">>>
  /** Fails with `SamplePersonNotFound` for an unknown id. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<SamplePerson, SamplePersonNotFound>
  /** Saves a person; one of the same name is replaced. Fails with `InvalidInput`, also past 100 people. */
  readonly save: (org: OrgSlug, person: SamplePersonInput) => Effect.Effect<SamplePerson, InvalidInput>
  /** Fails with `SamplePersonNotFound` for an unknown id. */
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
        function* (org: OrgSlug, person: SamplePersonInput) {
          const faults = faultsOf(person)
          if (faults.length > 0) return yield* new InvalidInput({ faults })
          const { attrs, fields, name } = person
          const now = yield* DateTime.nowAsDate
          return yield* sql.withTransaction(Effect.gen(function* () {
            // Two saves at once would choose the same id.
            yield* lockContent(sql, org)
            const all = yield* list(org)
            const same = all.find((one) => one.name === name)
            if (same === undefined && all.length >= maxSamplePeople) {
              return yield* new InvalidInput({
                faults: [{
                  pointer: "/person_name",
                  detail: `is one too many: delete one of ${maxSamplePeople} people`,
                }],
              })
            }
            const taken = new Set(all.map(({ id }) => id))
            const id = same?.id ?? freeId(idOfName(name) || "person", (one) => taken.has(one))
            yield* sql`
              INSERT INTO sample_people AS s (org_slug, id, name, attrs, fields, created_at, updated_at)
              VALUES (${org}, ${id}, ${name}, ${JSON.stringify(attrs)}::text::json, ${
              JSON.stringify(fields)
            }::text::json,
                ${now}, ${now})
              ON CONFLICT (org_slug, id) DO UPDATE SET attrs = excluded.attrs, fields = excluded.fields,
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
