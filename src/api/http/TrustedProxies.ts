import { Option } from "effect"
import { Headers, type HttpServerRequest } from "effect/http"
import { addressOf, type AddressRange, isIn, unmapped } from "../../text/Addresses.ts"

const forwardedFor = "x-forwarded-for"
const forwardedProto = "x-forwarded-proto"

/** The address in an element of `X-Forwarded-For`, which some proxies write with a port. */
const elementOf = (text: string) => {
  const trimmed = text.trim()
  const [, host] = /^(\d+\.\d+\.\d+\.\d+|\[[^\]]+\]):\d+$/.exec(trimmed) ?? []
  return addressOf(host ?? trimmed)
}

/**
 * A request as the proxies of `TRUSTED_PROXIES` received it. `remoteAddress` becomes the nearest address in
 * `X-Forwarded-For` that is not a trusted proxy, because clients can forge earlier entries. `X-Forwarded-Proto` is kept
 * only from a trusted proxy. Requests from other peers keep their address and lose both headers.
 */
export const seenThrough = (
  trusted: ReadonlyArray<AddressRange>,
  request: HttpServerRequest.HttpServerRequest,
): HttpServerRequest.HttpServerRequest => {
  const { headers } = request
  if (headers[forwardedFor] === undefined && headers[forwardedProto] === undefined) return request
  const isTrusted = (address: ReturnType<typeof addressOf>) =>
    address !== undefined && trusted.some((range) => isIn(unmapped(address), range))
  const direct = Option.getOrUndefined(request.remoteAddress)
  if (!isTrusted(direct === undefined ? undefined : addressOf(direct))) {
    return request.modify({ headers: Headers.removeMany(headers, [forwardedFor, forwardedProto]) })
  }
  let client = direct!
  for (const element of (headers[forwardedFor] ?? "").split(",").reverse()) {
    const address = elementOf(element)
    if (address === undefined) break
    client = unmapped(address).toString()
    if (!isTrusted(address)) break
  }
  const proto = headers[forwardedProto]?.split(",").at(-1)?.trim().toLowerCase()
  return request.modify({
    remoteAddress: Option.some(client),
    headers: proto === "http" || proto === "https"
      ? Headers.set(headers, forwardedProto, proto)
      : Headers.remove(headers, forwardedProto),
  })
}
