import { Effect } from "effect"
import { Flag } from "effect/cli"
import { type Bucket, BucketInput, streams } from "../buckets/Bucket.ts"
import { call, commandGroup } from "./ApiCommand.ts"
import { text, toggle, truth } from "./Flags.ts"
import { readText } from "./Inputs.ts"

const required = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))

const bucketText = (bucket: Bucket): string =>
  [
    `${bucket.name}${bucket.folder === "" ? "" : `/${bucket.folder}`} at ${
      bucket.endpoint ?? `AWS, ${bucket.region}`
    }` +
    (bucket.is_active ? "" : " (not active)"),
    ...streams.map((stream) => {
      const { complete_until: until, objects, rows } = bucket.streams[stream]
      return `${stream}: ${
        until === null ? "not complete yet" : `complete until ${until}`
      }, ${rows} rows in ${objects} objects`
    }),
    ...bucket.attribute_objects.map(({ faults, faulty, key, people }) =>
      [`${key}: ${people} people, ${faulty} faulty lines`, ...faults.map((fault) => `  ${fault}`)].join("\n")
    ),
    `Last complete run: ${bucket.last_success_at ?? "none"}; next: ${bucket.next_run_at}`,
    ...(bucket.problem === null ? [] : [`The last run failed: ${bucket.problem}`]),
  ].join("\n")

/** `parlance bucket …` */
export const bucketCommand = commandGroup("bucket", "The S3-compatible bucket that receives exports each hour", {
  show: call("getBucket", "Show the bucket and how far its exports are")
    .result(({ bucket }) => bucket)
    .text((bucket) => bucket === null ? "No bucket" : bucketText(bucket)),

  set: call("setBucket", "Set the bucket. Flags that are not given return to their defaults", {
    name: required("name", "Name of the bucket"),
    region: required("region", "Region, such as eu-central-1; auto for Cloudflare R2"),
    access_key_id: required("access-key-id", "Id of the access key"),
    secret_access_key: toggle(
      "secret-stdin",
      "Read the secret of the access key from standard input. Without this flag the stored one is kept",
    ).pipe(Flag.map((read) => read ? Effect.map(readText("-"), (secret) => secret.trim()) : Effect.undefined)),
    endpoint: text("endpoint", "URL of the service, such as https://minio.example.com. Default: AWS"),
    folder: text("folder", "Folder of the exports, such as parlance/shop. Default: the bucket itself"),
    attributes_folder: text("attributes-folder", "Folder of files with attributes of people. Default: none are read"),
    is_active: truth("active", "Whether the exports run. Default: true"),
  })
    .checks(BucketInput)
    .examples(
      "parlance bucket set --name acme-data --region eu-central-1 --access-key-id AKIA… --secret-stdin < secret.txt",
    )
    .text(bucketText),

  check: call("checkBucket", "Write the watermark and list the folder of attributes, to try the access")
    .result(() => ({ ok: true }))
    .text(() => "The bucket can be written and read"),

  run: call("runBucket", "Run the exports within seconds instead of at the next hour").text(bucketText),

  remove: call("removeBucket", "Forget the bucket. Objects in it stay")
    .result(() => ({ removed: true }))
    .text(() => "Removed the bucket"),
})
