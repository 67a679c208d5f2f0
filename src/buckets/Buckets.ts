import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AddressGuard, requireAllowed } from "../settings/AddressGuard.ts"
import * as OutboundHttp from "../delivery/OutboundHttp.ts"
import { secretIs } from "../domain/Blanked.ts"
import { InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { tell } from "../store/ChangeTrail.ts"
import { type NoSecretKey, SecretBox, type SecretFileFaulty, type SecretUnreadable } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { type Bucket, type BucketInput, type BucketStream, streams } from "./Bucket.ts"
import { watermarkKey } from "./ExportObjects.ts"
import { make, type ObjectStore } from "./ObjectStore.ts"

/** How far an export has come. */
export interface ExportPosition {
  /** The encoded cursor where the next object begins. */
  readonly cursor: string
  /** All rows stored before this time are written, in ISO 8601. Null before the first complete export. */
  readonly until: string | null
  readonly objects: number
  readonly rows: number
}

/** The positions of the exports of a bucket. An export without one has not begun. */
export type ExportPositions = Readonly<Partial<Record<BucketStream, ExportPosition>>>

/** A bucket as the database has it. */
export interface BucketRow {
  readonly endpoint: string | null
  readonly region: string
  readonly name: string
  readonly folder: string
  readonly accessKeyId: string
  readonly sealed: string
  readonly isActive: boolean
  readonly attributesFolder: string | null
  readonly positions: ExportPositions
  readonly dueAt: Date
  readonly failures: number
  readonly succeededAt: Date | null
  readonly problem: string | null
}

/** The columns of a `BucketRow`, of the table `buckets` as `b`. */
export const bucketColumns = "b.endpoint, b.region, b.name, b.folder, b.access_key_id, b.sealed, b.is_active, " +
  "b.attributes_folder, b.positions, b.due_at, b.failures, b.succeeded_at, b.problem"

interface ObjectRow {
  readonly key: string
  readonly readAt: Date
  readonly people: number
  readonly faulty: number
  readonly faults: ReadonlyArray<string>
}

/** Number of files with attributes that the API shows. */
const shownObjects = 20

const purposeOf = (org: string): string => `bucket ${org}`

/** Secrets of access keys. */
export const sealedBuckets: SealedColumn = {
  table: "buckets",
  column: "sealed",
  type: "text",
  key: ["org_slug"],
  purposeOf: ([org]) => purposeOf(org!),
}

const progressOf = ({ objects = 0, rows = 0, until = null }: Partial<ExportPosition> = {}) => ({
  complete_until: until,
  objects,
  rows,
})

const bucketOf = (row: BucketRow, objects: ReadonlyArray<ObjectRow>): Bucket => ({
  endpoint: row.endpoint,
  region: row.region,
  name: row.name,
  folder: row.folder,
  access_key_id: row.accessKeyId,
  is_active: row.isActive,
  attributes_folder: row.attributesFolder,
  streams: {
    decisions: progressOf(row.positions.decisions),
    events: progressOf(row.positions.events),
    deliveries: progressOf(row.positions.deliveries),
  },
  attribute_objects: objects.map(({ readAt, ...object }) => ({ ...object, read_at: readAt.toISOString() })),
  last_success_at: row.succeededAt?.toISOString() ?? null,
  next_run_at: row.dueAt.toISOString(),
  problem: row.problem,
})

/** Where objects are written and read. */
type PlacedBucket = Pick<BucketRow, "endpoint" | "region" | "name" | "folder" | "accessKeyId">

const fieldsOf = (row: PlacedBucket & Pick<BucketRow, "isActive" | "attributesFolder">) => ({
  "/bucket": row.name,
  "/bucket_endpoint": row.endpoint,
  "/bucket_region": row.region,
  "/bucket_folder": row.folder,
  "/bucket_key": row.accessKeyId,
  "/bucket_active": row.isActive,
  "/bucket_attributes": row.attributesFolder,
})

const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })

const missing = fault("", "has no bucket: set one first")

/** The bucket of each organization. A broken store is a defect. */
export class Buckets extends Context.Service<Buckets, {
  /** Returns the bucket of an organization, or undefined. */
  readonly get: (org: OrgSlug) => Effect.Effect<Bucket | undefined>
  /**
   * Sets the bucket. Another place or folder begins all exports anew. Fails with `InvalidInput` for a forbidden address and
   * if the secret is missing, and with `NoSecretKey` or `SecretFileFaulty` if it cannot be encrypted.
   */
  readonly set: (
    org: OrgSlug,
    input: BucketInput,
  ) => Effect.Effect<Bucket, InvalidInput | NoSecretKey | SecretFileFaulty>
  /** Forgets the bucket. Objects in it stay. */
  readonly remove: (org: OrgSlug) => Effect.Effect<void>
  /** Runs the exports within seconds. Fails with `InvalidInput` without an active bucket. */
  readonly run: (org: OrgSlug) => Effect.Effect<Bucket, InvalidInput>
  /**
   * Writes the watermark, and lists the folder of attributes. Fails with `InvalidInput` if the bucket refuses one of them
   * or does not answer, or without a bucket.
   */
  readonly check: (org: OrgSlug) => Effect.Effect<void, InvalidInput | SecretUnreadable | SecretFileFaulty>
  /** Opens the bucket of a row. Fails if the stored secret cannot be decrypted. */
  readonly open: (
    org: OrgSlug,
    row: BucketRow,
  ) => Effect.Effect<ObjectStore, SecretUnreadable | SecretFileFaulty>
}>()("parlance/buckets/Buckets") {
  static readonly layer = Layer.effect(
    Buckets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox
      const guard = yield* AddressGuard
      const http = yield* OutboundHttp.make

      const read = (org: OrgSlug): Effect.Effect<BucketRow | undefined> =>
        Effect.map(
          Effect.orDie(sql<BucketRow>`
            SELECT ${sql.literal(bucketColumns)}
            FROM buckets b WHERE b.org_slug = ${org}`),
          ([row]) => row,
        )

      const get = Effect.fn("Buckets.get")(function* (org: OrgSlug) {
        const row = yield* read(org)
        if (row === undefined) return undefined
        const objects = yield* Effect.orDie(sql<ObjectRow>`
          SELECT o.key, o.read_at, o.people, o.faulty, o.faults FROM bucket_objects o
          WHERE o.org_slug = ${org} ORDER BY o.read_at DESC, o.key LIMIT ${shownObjects}`)
        return bucketOf(row, objects)
      })

      const set = Effect.fn("Buckets.set")(function* (org: OrgSlug, input: BucketInput) {
        const before = yield* read(org)
        const after = {
          endpoint: input.endpoint ?? null,
          region: input.region,
          name: input.name,
          folder: input.folder ?? "",
          accessKeyId: input.access_key_id,
          isActive: input.is_active ?? true,
          attributesFolder: input.attributes_folder ?? null,
        }
        yield* requireAllowed(guard, "/endpoint", after.endpoint)
        const isSame = (...members: ReadonlyArray<keyof PlacedBucket>) =>
          before !== undefined && members.every((member) => before[member] === after[member])
        const { secret_access_key: secret } = input
        // A secret is only for the server, the bucket and the key that it was entered for.
        const kept = isSame("endpoint", "name", "accessKeyId") ? before?.sealed : undefined
        if (secret === undefined && kept === undefined) {
          return yield* fault("/secret_access_key", "is required: no secret of this key and bucket is stored")
        }
        const sealed = secret === undefined ? kept! : yield* box.seal(purposeOf(org), Redacted.make(secret))
        const positions = isSame("endpoint", "name", "folder") ? before!.positions : {}
        const now = new Date(yield* Clock.currentTimeMillis)
        yield* Effect.orDie(sql`
          INSERT INTO buckets (org_slug, endpoint, region, name, folder, access_key_id, sealed, is_active,
            attributes_folder, positions, due_at)
          VALUES (${org}, ${after.endpoint}, ${after.region}, ${after.name}, ${after.folder}, ${after.accessKeyId},
            ${sealed}, ${after.isActive}, ${after.attributesFolder}, ${JSON.stringify(positions)}::text::json, ${now})
          ON CONFLICT (org_slug) DO UPDATE SET endpoint = excluded.endpoint, region = excluded.region,
            name = excluded.name, folder = excluded.folder, access_key_id = excluded.access_key_id,
            sealed = excluded.sealed, is_active = excluded.is_active, attributes_folder = excluded.attributes_folder,
            positions = excluded.positions, due_at = excluded.due_at, failures = 0, problem = NULL`)
        yield* tell("organization", org, before === undefined ? {} : fieldsOf(before), {
          ...fieldsOf(after),
          ...(secret === undefined
            ? {}
            : { "/bucket_secret": before === undefined ? secretIs.set : secretIs.replaced }),
        })
        return (yield* get(org))!
      })

      const remove = Effect.fn("Buckets.remove")(function* (org: OrgSlug) {
        const before = yield* read(org)
        if (before === undefined) return
        yield* Effect.orDie(sql`DELETE FROM buckets b WHERE b.org_slug = ${org}`)
        yield* tell("organization", org, fieldsOf(before), {})
      })

      const run = Effect.fn("Buckets.run")(function* (org: OrgSlug) {
        const now = new Date(yield* Clock.currentTimeMillis)
        const due = yield* Effect.orDie(sql`
          UPDATE buckets b SET due_at = least(b.due_at, ${now}) WHERE b.org_slug = ${org} AND b.is_active RETURNING b.org_slug`)
        const bucket = yield* get(org)
        if (bucket === undefined) return yield* missing
        if (due.length === 0) return yield* fault("", "has a bucket that is not active: activate it first")
        return bucket
      })

      const open = Effect.fnUntraced(function* (org: OrgSlug, row: BucketRow) {
        const secret = yield* box.open(purposeOf(org), row.sealed)
        return make(http, row, { access_key_id: row.accessKeyId, secret_access_key: Redacted.value(secret) })
      })

      const check = Effect.fn("Buckets.check")(function* (org: OrgSlug) {
        const row = yield* read(org)
        if (row === undefined) return yield* missing
        const objects = yield* open(org, row)
        const watermark = objects.put(watermarkKey(row.folder), watermarkOf(row.positions), "application/json")
        const listed = row.attributesFolder === null
          ? Effect.void
          : Effect.asVoid(objects.list(`${row.attributesFolder}/`))
        yield* Effect.mapError(Effect.andThen(watermark, listed), ({ reason }) => fault("", reason))
      })

      return Buckets.of({ get, set, remove, run, check, open })
    }),
  )
}

/** Returns the watermark: how far the exports in the bucket are complete. */
export const watermarkOf = (positions: ExportPositions): Uint8Array =>
  new TextEncoder().encode(
    `${
      JSON.stringify(Object.fromEntries(streams.map((stream) => [stream, progressOf(positions[stream])])), null, 2)
    }\n`,
  )
