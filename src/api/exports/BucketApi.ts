import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { Bucket, BucketInput } from "../../buckets/Bucket.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

const at = "/organizations/:org/bucket" as const
const params = { org: Schema.String }

/** Endpoints of the bucket of an organization. */
export class BucketGroup extends managementGroup(
  "bucket",
  "A bucket that receives exports and holds attributes of people",
  {
    getBucket: reads("admin", "admin"),
    setBucket: writes("admin", "bucket set", "admin"),
    removeBucket: writes("admin", "bucket removed", "admin"),
    runBucket: writes("admin", "bucket run", "admin"),
    checkBucket: writes("admin", "bucket checked", "admin"),
  },
  HttpApiEndpoint.get("getBucket", at, {
    params,
    success: Schema.Struct({ bucket: Schema.NullOr(Bucket) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The bucket of an organization, and how far its exports are"),
  HttpApiEndpoint.put("setBucket", at, {
    params,
    payload: BucketInput,
    success: Bucket,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Sets the S3-compatible bucket that receives exports each hour").annotate(
    OpenApi.Description,
    "Decisions, events and deliveries are written as gzipped NDJSON, and then `_watermark.json`, which says until when " +
      "each export is complete. Another address, bucket or folder begins all exports anew. Nothing is sent to the bucket " +
      "by this request: `POST …/bucket/check` tries it.",
  ),
  HttpApiEndpoint.delete("removeBucket", at, {
    params,
    success: HttpApiSchema.NoContent,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "Forgets the bucket; objects in it stay"),
  HttpApiEndpoint.post("runBucket", `${at}/run`, {
    params,
    success: Bucket,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Runs the exports within seconds instead of at the next hour"),
  HttpApiEndpoint.post("checkBucket", `${at}/check`, {
    params,
    success: HttpApiSchema.NoContent,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Writes the watermark and lists the folder of attributes, to try the access"),
) {}
