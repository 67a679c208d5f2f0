import { Buffer } from "node:buffer"
import { HeadersTooLarge, InvalidRequest } from "../Problems.ts"
import type { RequestArrival } from "./RequestArrival.ts"

/** Maximum total size of a request's target and its headers with their names. Unit: bytes. */
const maxHeaderBytes = 16 * 1024

const invalid = (detail: string) => new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })

/** Characters that are not allowed in a host: in an address, they would move the boundary between host and path. */
const invalidInHost = /[/?#\\@\s]/

const problemOf = ({ headers, method, url }: RequestArrival) => {
  let bytes = url.length
  for (const name in headers) bytes += name.length + headers[name]!.length
  if (bytes > maxHeaderBytes) {
    return new HeadersTooLarge({ detail: `The headers have more than ${maxHeaderBytes} bytes` })
  }
  const { host } = headers
  if (host !== undefined && invalidInHost.test(host)) return invalid("The Host header is not valid")
  return method === method.toUpperCase() ? undefined : invalid("The method is not valid: methods are case-sensitive")
}

/** Returns the response to a request with a faulty head, before routing. Undefined if the head is valid. */
export const headFault = (arrival: RequestArrival): Response | undefined => {
  const { expect } = arrival.headers
  if (expect !== undefined && expect.toLowerCase() !== "100-continue") return new Response(null, { status: 417 })
  const problem = problemOf(arrival)
  if (problem === undefined) return undefined
  const { detail, status, title, type, ...rest } = problem
  const errors = "errors" in rest ? { errors: rest.errors } : {}
  const body = JSON.stringify({ detail, ...errors, type, status, title })
  return new Response(body, {
    status,
    headers: {
      "content-type": "application/problem+json",
      "content-length": String(Buffer.byteLength(body)),
      "x-request-id": arrival.requestId,
      connection: "close",
    },
  })
}
