import { AwsV4Signer } from "aws4fetch"
import { Effect } from "effect"
import { hash } from "node:crypto"
import type { OutboundRequest } from "./OutboundHttp.ts"

/** An access key of AWS, or of a service with its signatures. */
export interface AwsKey {
  readonly access_key_id: string
  readonly secret_access_key: string
}

/** Returns a request with an AWS Signature Version 4. `now` is in Unix milliseconds. */
export const signed = (
  service: "s3" | "ses",
  region: string,
  { access_key_id: accessKeyId, secret_access_key: secretAccessKey }: AwsKey,
  request: OutboundRequest,
  now: number,
): Effect.Effect<OutboundRequest> =>
  Effect.promise(async () => {
    const { body = "", method, url } = request
    const signer = new AwsV4Signer({
      url: url.href,
      method,
      // S3 requires the digest of the content as a header.
      headers: service === "s3"
        ? { ...request.headers, "x-amz-content-sha256": hash("sha256", body, "hex") }
        : request.headers,
      ...(body === "" ? {} : { body: body as BodyInit }),
      accessKeyId,
      secretAccessKey,
      service,
      region,
      datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    })
    return { ...request, headers: Object.fromEntries((await signer.sign()).headers) }
  })
