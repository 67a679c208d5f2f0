import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import type { OrgSlug } from "../domain/Ids.ts"
import { insertBodies } from "../journal/inbox/Inbox.ts"
import { fileLimits, readFile } from "./AttributeReading.ts"
import { BucketFailure, type Listed, type ObjectStore } from "./ObjectStore.ts"

/** Number of files with attributes that are listed. */
const maxFiles = 10_000

/** Maximum length of a key in S3. Unit: bytes. */
const maxKey = 1_024

/** Whether an object is a file. Not so folders, and marks for other programs such as `_SUCCESS`. */
const isFile = ({ key }: Listed): boolean => !/(?:^|\/)(?:[_.][^/]*)?$/.test(key) && Buffer.byteLength(key) <= maxKey

/** Returns functions that find and read the files with attributes of a bucket. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Lists the files with attributes that were not read in their present form, oldest first. */
  const fresh = Effect.fnUntraced(function* (org: OrgSlug, folder: string, objects: ObjectStore) {
    const listed: Array<Listed> = []
    for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = yield* objects.list(`${folder}/`, after)
      listed.push(...page.objects.filter(isFile))
      after = page.next
      if (listed.length > maxFiles) {
        return yield* new BucketFailure({
          reason: `${folder} has more than ${maxFiles} files. Delete the old ones`,
        })
      }
    }
    const read = yield* sql<{ readonly key: string; readonly etag: string }>`
      SELECT o.key, o.etag FROM bucket_objects o WHERE o.org_slug = ${org}`
    const known = new Map(read.map(({ etag, key }) => [key, etag]))
    return listed.filter(({ etag, key }) => known.get(key) !== etag).sort((a, b) => a.modifiedAt - b.modifiedAt)
  })

  /** Reads a file. Its bodies and the note that it was read are stored together. */
  const take = Effect.fnUntraced(function* (org: OrgSlug, file: Listed, objects: ObjectStore) {
    const bytes = file.size > fileLimits.stored ? new Uint8Array() : yield* objects.get(file.key, fileLimits.stored)
    const now = yield* Clock.currentTimeMillis
    const { bodies, faults, faulty, people } = yield* readFile(org, file, bytes, now)
    yield* sql.withTransaction(Effect.gen(function* () {
      for (const body of bodies) yield* insertBodies(sql, [body])
      yield* sql`
        INSERT INTO bucket_objects (org_slug, key, etag, read_at, people, faulty, faults)
        VALUES (${org}, ${file.key}, ${file.etag}, ${new Date(now)}, ${people}, ${faulty},
          ${JSON.stringify(faults)}::text::json)
        ON CONFLICT (org_slug, key) DO UPDATE SET etag = excluded.etag, read_at = excluded.read_at,
          people = excluded.people, faulty = excluded.faulty, faults = excluded.faults`
    }))
  })

  return { fresh, take }
})
