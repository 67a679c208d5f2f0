import { Schema } from "effect"
import { Endpoint, Secret } from "../delivery/connections/Entry.ts"
import { described } from "../domain/described.ts"

// The bucket of an organization, as the API shows and takes it.

/** The exports that a bucket receives. */
export const streams = ["decisions", "events", "deliveries"] as const
export type BucketStream = (typeof streams)[number]

const matching = (pattern: RegExp, fault: string) =>
  Schema.String.check(Schema.makeFilter<string>((text) => pattern.test(text) ? undefined : fault))

/** A name of S3: the rules of AWS, which other services share. */
const BucketName = matching(
  /^(?!\d+\.\d+\.\d+\.\d+$)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  "must be 3 to 63 lowercase letters, digits, hyphens and dots, beginning and ending with a letter or digit",
)

const Region = matching(/^[a-z0-9-]{1,40}$/, "must be a region such as eu-central-1, or auto for Cloudflare R2")

/** A path within a bucket. Without special characters, so that every service and every loader reads it alike. */
const Folder = matching(
  /^(?:[\w.=-]+(?:\/[\w.=-]+)*)?$/,
  "must be a path such as parlance/shop: letters, digits and _ . = - between slashes, without a slash at its ends",
)

/** How far an export has come. */
const Progress = Schema.Struct({
  complete_until: described(
    Schema.NullOr(Schema.String),
    "All rows stored before this time are in the bucket, in ISO 8601. Null before the first complete export",
  ),
  objects: described(Schema.Int, "Number of objects written"),
  rows: described(Schema.Int, "Number of rows in them. A row that changed counts again"),
})

/** An object with attributes of people. */
const AttributeObject = Schema.Struct({
  key: Schema.String,
  read_at: Schema.String,
  people: described(Schema.Int, "Number of lines that were taken"),
  faulty: described(Schema.Int, "Number of lines that were not taken"),
  faults: described(Schema.Array(Schema.String), "The faults of the first 20 such lines"),
})

/** The bucket of an organization. */
export const Bucket = Schema.Struct({
  endpoint: described(Schema.NullOr(Schema.String), "URL of the service. Null: AWS"),
  region: Schema.String,
  name: Schema.String,
  folder: described(Schema.String, "Folder of the exports. Empty: the bucket itself"),
  access_key_id: Schema.String,
  is_active: described(Schema.Boolean, "Whether the exports run each hour"),
  attributes_folder: described(
    Schema.NullOr(Schema.String),
    "Folder of files with attributes of people, which are read each hour. Null: none",
  ),
  streams: Schema.Struct({ decisions: Progress, events: Progress, deliveries: Progress }),
  attribute_objects: described(Schema.Array(AttributeObject), "The latest 20 files with attributes, newest first"),
  last_success_at: Schema.NullOr(Schema.String),
  next_run_at: Schema.String,
  problem: described(Schema.NullOr(Schema.String), "Why the latest run failed. Null after a complete run"),
}).annotate({ identifier: "Bucket" })
export type Bucket = typeof Bucket.Type

/** The settings of a bucket. */
export const BucketInput = Schema.Struct({
  endpoint: Schema.optionalKey(described(
    Schema.NullOr(Endpoint),
    "For example `https://minio.example.com` or `https://ACCOUNT.r2.cloudflarestorage.com`. Default: AWS in `region`. Private " +
      "addresses only if `OUTBOUND_ALLOW` lists them",
  )),
  region: Region,
  name: described(BucketName, "Name of the bucket"),
  folder: Schema.optionalKey(described(Folder, "Default: the bucket itself")),
  access_key_id: described(
    matching(/^[\x21-\x7e]{1,200}$/, "must be 1 to 200 ASCII characters"),
    "The id of the access key",
  ),
  secret_access_key: Schema.optionalKey(
    described(Secret, "Required unless a secret of this key id, endpoint and bucket is stored. Never shown"),
  ),
  is_active: Schema.optionalKey(described(Schema.Boolean, "Default true")),
  attributes_folder: Schema.optionalKey(described(
    Schema.NullOr(Folder.check(Schema.makeFilter<string>((text) => text === "" ? "must not be empty" : undefined))),
    "Default: none",
  )),
}).annotate({ identifier: "BucketInput" })
export type BucketInput = typeof BucketInput.Type
