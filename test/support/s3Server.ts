import { Buffer } from "node:buffer"
import { createHash, createHmac, hash } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

// A server with the part of the API of S3 that buckets use. Checks signatures by the documentation of AWS ("Signature
// calculations for the Authorization header"), independently of the client.

export const s3Key = { access_key_id: "AKIDEXAMPLE", secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" }
export const s3Region = "eu-central-1"

interface StoredObject {
  readonly body: Buffer
  readonly modifiedAt: Date
}

/** How a request is answered in place of the usual: status and code, or only after a promise. */
type Interference = (
  method: string,
  key: string,
) => { readonly status: number; readonly code: string } | void | Promise<void>

const hmac = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text).digest()

const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** Returns the code of the error that S3 would answer, or undefined for a right signature. */
const faultOf = (request: IncomingMessage, url: URL, body: Buffer): string | undefined => {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
      .exec(request.headers.authorization ?? "")
  if (found === null) return "AccessDenied"
  const [, id, day, region, names, signature] = found as unknown as [string, string, string, string, string, string]
  if (id !== s3Key.access_key_id) return "InvalidAccessKeyId"
  if (region !== s3Region) return "AuthorizationHeaderMalformed"
  const digest = hash("sha256", body, "hex")
  if (request.headers["x-amz-content-sha256"] !== digest) return "XAmzContentSHA256Mismatch"
  const canonical = [
    request.method,
    url.pathname.split("/").map((part) => encoded(decodeURIComponent(part))).join("/"),
    [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort().join("&"),
    ...names.split(";").map((name) => `${name}:${String(request.headers[name]).trim()}`),
    "",
    names,
    digest,
  ].join("\n")
  const time = String(request.headers["x-amz-date"])
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ["AWS4-HMAC-SHA256", time, scope, hash("sha256", canonical, "hex")].join("\n")
  const key = ["s3", "aws4_request"].reduce(hmac, hmac(hmac(`AWS4${s3Key.secret_access_key}`, day), region))
  return hmac(key, text).toString("hex") === signature ? undefined : "SignatureDoesNotMatch"
}

const xml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

/** Starts the server with one bucket, `acme-data`. It lists two objects a page. */
export const startS3 = async () => {
  const objects = new Map<string, StoredObject>()
  const requests: Array<string> = []
  let interfere: Interference = () => {}

  const listed = (url: URL) => {
    const prefix = url.searchParams.get("prefix") ?? ""
    const after = url.searchParams.get("continuation-token") ?? ""
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const contents = keys.slice(0, 2).map((key) => {
      const { body, modifiedAt } = objects.get(key)!
      return `<Contents><Key>${xml(key)}</Key><LastModified>${modifiedAt.toISOString()}</LastModified><ETag>&quot;${
        createHash("md5").update(body).digest("hex")
      }&quot;</ETag><Size>${body.length}</Size><Owner><ID>1</ID></Owner></Contents>`
    })
    const more = keys.length > 2 ? `<NextContinuationToken>${xml(keys[1]!)}</NextContinuationToken>` : ""
    return `<?xml version="1.0"?><ListBucketResult><Prefix>${xml(prefix)}</Prefix><IsTruncated>${
      keys.length > 2
    }</IsTruncated>${more}${contents.join("")}</ListBucketResult>`
  }

  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const url = new URL(request.url!, "http://s3")
    const [, bucket, ...path] = url.pathname.split("/").map(decodeURIComponent)
    const key = path.join("/")
    requests.push(`${request.method} ${key}`)
    const answer = (status: number, code: string) => {
      response.writeHead(status, { "content-type": "application/xml", "x-amz-bucket-region": s3Region })
      response.end(`<Error><Code>${code}</Code><Message>No</Message></Error>`)
    }
    const interference = await interfere(request.method!, key)
    if (interference !== undefined) return answer(interference.status, interference.code)
    const fault = faultOf(request, url, body)
    if (fault !== undefined) return answer(fault === "AuthorizationHeaderMalformed" ? 400 : 403, fault)
    if (bucket !== "acme-data") return answer(404, "NoSuchBucket")
    if (request.method === "PUT") {
      objects.set(key, { body, modifiedAt: new Date() })
      return response.end()
    }
    if (key === "") return response.end(listed(url))
    const found = objects.get(key)
    if (found === undefined) return answer(404, "NoSuchKey")
    response.end(found.body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    /** `METHOD KEY` of each request. */
    requests,
    interfereWith: (how: Interference) => void (interfere = how),
    close: () => void server.close().closeAllConnections(),
  }
}
