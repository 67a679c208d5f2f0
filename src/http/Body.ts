import { Buffer } from "node:buffer"
import { IncomingMessage } from "node:http"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest, PayloadTooLarge, UnsupportedMediaType } from "./Problems.ts"

/** Bytes of a body at most: 1 MiB. Webhooks have a limit of their own. */
export const maxBodyBytes = 1024 * 1024

const utf8 = new TextDecoder("utf-8", { fatal: true })

const isJson = (contentType: string): boolean => {
  const [type = "", ...parameters] = contentType.toLowerCase().split(";").map((part) => part.trim())
  return (type === "application/json" || /^application\/[\w.-]+\+json$/.test(type)) &&
    parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-8"?$/.test(parameter))
}

const invalid = (detail: string) => new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })

/**
 * The bytes of the body; fails past the limit. Reads Node's stream by its events: the general way through a pipeline costs
 * a fifth of a whole Generate call (measured), and nearly every body is a single chunk.
 */
const bytesOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<ArrayBuffer | Uint8Array, unknown> => {
  const { source } = request
  if (!(source instanceof IncomingMessage)) return request.arrayBuffer
  return Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    source.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBodyBytes) {
        source.removeAllListeners("data")
        // What is still coming is read and dropped, so that the answer reaches a client that is still sending.
        source.resume()
        resume(Effect.fail("too large"))
      } else {
        chunks.push(chunk)
      }
    })
    source.on("end", () => resume(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))))
    // A client that went away is answered by nobody; the server interrupts its request.
    source.on("error", (error) => resume(Effect.fail(error)))
  })
}

/**
 * The request's body as JSON. Fails for a body over 1 MiB, one that is declared to be anything but JSON in UTF-8 (a
 * missing Content-Type is taken for JSON), and one that does not parse.
 */
export const json = (
  request: HttpServerRequest.HttpServerRequest,
): Effect.Effect<unknown, InvalidRequest | PayloadTooLarge | UnsupportedMediaType> => {
  const { headers } = request
  const contentType = headers["content-type"]
  if (contentType !== undefined && contentType !== "application/json" && !isJson(contentType)) {
    return new UnsupportedMediaType({ detail: `The body is declared as ${JSON.stringify(contentType.slice(0, 100))}` })
  }
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    return new UnsupportedMediaType({ detail: `The body is encoded with ${JSON.stringify(encoding.slice(0, 100))}` })
  }
  const tooLarge = () => new PayloadTooLarge({ detail: `The body is larger than ${maxBodyBytes} bytes` })
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) return tooLarge()
  return Effect.matchEffect(bytesOf(request), {
    onFailure: tooLarge,
    onSuccess: (bytes) => {
      let text: string
      try {
        text = utf8.decode(bytes)
      } catch {
        return invalid("The body is not valid UTF-8")
      }
      try {
        return Effect.succeed<unknown>(JSON.parse(text))
      } catch (error) {
        return invalid(`The body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
  })
}
