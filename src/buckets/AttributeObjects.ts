import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import type { OrgSlug } from "../domain/Ids.ts"
import { insertBodies } from "../journal/inbox/Inbox.ts"
import { fileLimits, readFile, refused } from "./AttributeReading.ts"
import { BucketFailure, type Listed, type ObjectStore } from "./ObjectStore.ts"

/** Number of files with attributes that are listed. */
const maxFiles = 10_000

/** Maximum length of a key in S3. Unit: bytes. */
const maxKey = 1_024

/** Whether an object is a file. Not so folders, and marks for other programs such as `_SUCCESS`. */
const isFile = ({ key }: Listed): boolean => !/(?:^|\/)(?:[_.][^/]*)?$/.test(key) && Buffer.byteLength(key) <= maxKey

/** Whether a request can name an object. URLs without the parts `.` and `..` would name another object. */
const isAddressable = (key: string): boolean => !key.split("/").some((part) => part === "." || part === "..")

const unaddressable = "The name has a part . or .., with which no request can name the file. Rename it"

/** Number of files that the service refuses, after which a run reads no others. */
const maxRefused = 20

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

  const contentOf = Effect.fnUntraced(function* (org: OrgSlug, file: Listed, objects: ObjectStore, now: number) {
    if (!isAddressable(file.key)) return refused(unaddressable)
    const bytes = file.size > fileLimits.stored ? new Uint8Array() : yield* objects.get(file.key, fileLimits.stored)
    return yield* readFile(org, file, bytes, now)
  })

  /** Reads a file. Its bodies and the note that it was read are stored together. */
  const take = Effect.fnUntraced(function* (org: OrgSlug, file: Listed, objects: ObjectStore) {
    const now = yield* Clock.currentTimeMillis
    const { bodies, faults, faulty, people } = yield* contentOf(org, file, objects, now)
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

  /**
   * Reads the files that were not read in their present form, and renews the lease after each. Files that the service refuses
   * do not hold up the others: the first one is the failure at the end.
   */
  const takeAll = Effect.fnUntraced(function* <E>(
    org: OrgSlug,
    folder: string,
    objects: ObjectStore,
    renew: Effect.Effect<void, E>,
  ) {
    const failures: Array<BucketFailure> = []
    for (const file of yield* fresh(org, folder, objects)) {
      yield* Effect.catchTag(take(org, file, objects), "BucketFailure", (failure) => {
        // The file was deleted after it was listed.
        if (failure.status === 404) return Effect.void
        if (failure.status !== 403) return Effect.fail(failure)
        failures.push(new BucketFailure({ ...failure, reason: `${file.key}: ${failure.reason}` }))
        return Effect.void
      })
      yield* renew
      if (failures.length === maxRefused) break
    }
    if (failures[0] !== undefined) return yield* failures[0]
  })

  return { takeAll }
})
