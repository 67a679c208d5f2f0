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
  return Effect.matchEffect(request.arrayBuffer, {
    // The only faults of reading are a client that went away, whom no answer reaches, and a chunked body over the limit.
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
