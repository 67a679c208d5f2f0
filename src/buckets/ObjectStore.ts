import { Clock, Duration, Effect, Schema } from "effect"
import { Parser } from "htmlparser2"
import { type AwsKey, signed } from "../delivery/AwsSignature.ts"
import { excerpt, headerOf } from "../delivery/connections/Answers.ts"
import type * as OutboundHttp from "../delivery/OutboundHttp.ts"

// Objects in a bucket of S3, or of a service with the same API.

/** Where the objects are. */
export interface BucketPlace {
  /** URL of the service. Null: AWS. */
  readonly endpoint: string | null
  readonly region: string
  readonly name: string
}

/** An object as a bucket lists it. */
export interface Listed {
  readonly key: string
  readonly etag: string
  /** Unix milliseconds. */
  readonly modifiedAt: number
  /** Unit: bytes. */
  readonly size: number
}

/** The bucket refused a request, or did not answer. */
export class BucketFailure extends Schema.TaggedError<BucketFailure>()("BucketFailure", {
  /** The fault and its remedy, for people. */
  reason: Schema.String,
  /** The status of the answer. Absent without an answer. */
  status: Schema.optionalKey(Schema.Int),
}) {}

/** The objects of one bucket. Every request fails with `BucketFailure`. */
export interface ObjectStore {
  /** Writes an object, or replaces it. */
  readonly put: (key: string, body: Uint8Array, contentType: string) => Effect.Effect<void, BucketFailure>
  /** Reads up to `maxBytes` bytes of an object. */
  readonly get: (key: string, maxBytes: number) => Effect.Effect<Uint8Array, BucketFailure>
  /** Lists up to 1,000 objects whose keys begin with `prefix`. */
  readonly list: (
    prefix: string,
    after?: string,
  ) => Effect.Effect<{ readonly objects: ReadonlyArray<Listed>; readonly next: string | undefined }, BucketFailure>
}

/** Returns the URL of an object, or without a key of the bucket. */
export const urlOf = ({ endpoint, name, region }: BucketPlace, key: string): URL => {
  const path = key.split("/").map(encodeURIComponent).join("/")
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
  if (endpoint !== null) return new URL(`${endpoint.replace(/\/+$/, "")}/${name}/${path}`)
  // Certificates of AWS do not cover names with dots.
  return name.includes(".")
    ? new URL(`https://s3.${region}.${suffix}/${name}/${path}`)
    : new URL(`https://${name}.s3.${region}.${suffix}/${path}`)
}

/** Returns the texts of the elements of XML that have no elements in them, by name, for each element `item`. */
const readXml = (xml: string, item: string) => {
  const items: Array<Readonly<Record<string, string>>> = []
  let current: Record<string, string> = {}
  let outside: Record<string, string> = {}
  let text = ""
  const parser = new Parser({
    onopentag: (name) => {
      text = ""
      if (name === item) [outside, current] = [current, {}]
    },
    ontext: (part) => void (text += part),
    onclosetag: (name) => {
      if (name === item) {
        items.push(current)
        current = outside
      } else current[name] ??= text
      text = ""
    },
  }, { xmlMode: true, decodeEntities: true })
  parser.end(xml)
  return { items, members: current }
}

/** Advice about an error, by the code of S3. */
const advice: Readonly<Record<string, string>> = {
  AccessDenied:
    "The access key may not do this: it needs s3:PutObject, and for attributes s3:GetObject and s3:ListBucket",
  AllAccessDisabled: "The account of the bucket is disabled",
  InvalidObjectState: "The file is archived. Restore or delete it",
  InvalidAccessKeyId: "The service does not know the id of the access key",
  NoSuchBucket: "There is no such bucket at this address",
  RequestTimeTooSkewed: "The clock of this machine is wrong by more than 15 minutes",
  SignatureDoesNotMatch: "The secret does not belong to the id of the access key",
}

/** Returns the failure that an answer means. */
export const failureOf = (
  answer: OutboundHttp.OutboundResponse,
  { name, region }: BucketPlace,
  secret: string,
): BucketFailure => {
  const { Code: code = "", Message: message = "", Region: named } = readXml(answer.body, "").members
  const right = headerOf(answer, "x-amz-bucket-region") ?? named
  const isElsewhere = answer.status === 301 || answer.status === 307 || code === "AuthorizationHeaderMalformed" ||
    code === "PermanentRedirect"
  const said = excerpt(`${code} ${message}`.trim() || answer.body, [secret])
  const what = isElsewhere
    ? `The bucket ${name} is not in the region ${region}${right === undefined ? "" : ` but in ${right}`}`
    : advice[code] ?? "The bucket refused the request"
  return new BucketFailure({
    reason: `${what} (${answer.status}${said === "" ? "" : `, ${said}`})`,
    status: answer.status,
  })
}

/** Timeout of a request: an object has up to 32 MiB before compression. */
const timeout = Duration.minutes(5)

/** Returns the objects of a bucket. */
export const make = (http: OutboundHttp.OutboundHttp, place: BucketPlace, key: AwsKey): ObjectStore => {
  const request = Effect.fnUntraced(function* (unsigned: OutboundHttp.OutboundRequest) {
    const now = yield* Clock.currentTimeMillis
    const answer = yield* Effect.mapError(
      http.request(yield* signed("s3", place.region, key, { timeout, ...unsigned }, now)),
      ({ detail }) => new BucketFailure({ reason: `${unsigned.url.host} did not answer: ${detail}` }),
    )
    if (answer.status < 200 || answer.status > 299) return yield* failureOf(answer, place, key.secret_access_key)
    return answer
  })

  const anything = { accept: "*/*" }

  return {
    put: (key, body, contentType) =>
      Effect.asVoid(
        request({ method: "PUT", url: urlOf(place, key), headers: { ...anything, "content-type": contentType }, body }),
      ),
    get: (key, maxBytes) =>
      Effect.map(request({ method: "GET", url: urlOf(place, key), headers: anything, maxBytes }), ({ bytes }) => bytes),
    list: Effect.fnUntraced(function* (prefix, after) {
      const url = urlOf(place, "")
      url.searchParams.set("list-type", "2")
      url.searchParams.set("prefix", prefix)
      if (after !== undefined) url.searchParams.set("continuation-token", after)
      const { body } = yield* request({ method: "GET", url, headers: anything, maxBytes: 4_194_304 })
      const { items, members } = readXml(body, "Contents")
      const objects = items.map(({ ETag = "", Key = "", LastModified = "", Size = "" }) => ({
        key: Key,
        etag: ETag,
        modifiedAt: Date.parse(LastModified),
        size: Number(Size),
      }))
      return { objects, next: members["IsTruncated"] === "true" ? members["NextContinuationToken"] : undefined }
    }),
  }
}
