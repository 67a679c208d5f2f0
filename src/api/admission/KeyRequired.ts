import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { authorizationFault } from "../../auth/AuthorizationHeader.ts"
import type { Grant, KeyAuth, KeyRejected } from "../../auth/KeyAuth.ts"
import type { Scope } from "../../domain/ApiKey.ts"
import { Forbidden, type RateLimited, Unauthorized } from "../Problems.ts"
import { charge } from "./RateLimits.ts"
import { Refusals } from "./Refusals.ts"

const details: { readonly [reason in KeyRejected["reason"]]: string } = {
  missing: "No API key: send it in the header X-Api-Key, or as `Authorization: Bearer`",
  // An unknown id and a wrong secret get the same text, so that the response does not reveal which ids exist.
  unknown: "The API key is unknown",
  expired: "The API key has expired",
  revoked: "The API key has been revoked",
}

const bearer = (header: string | undefined): string | undefined => {
  const match = header === undefined ? null : /^bearer +(.*)$/i.exec(header)
  return match === null ? undefined : match[1]!.trim()
}

/**
 * Returns the key in the headers of a request, from `X-Api-Key` or as a Bearer token. Empty without a key, and
 * undefined if the headers contain two different keys.
 */
const keyOf = (headers: Readonly<Record<string, string | undefined>>): string | undefined => {
  const inHeader = headers["x-api-key"]
  const asBearer = bearer(headers["authorization"])
  return inHeader !== undefined && asBearer !== undefined && inHeader !== asBearer
    ? undefined
    : inHeader ?? asBearer ?? ""
}

/** Counts a rejected key under the organization that the request addressed. */
const rejected = (
  refusals: Refusals["Service"],
  request: HttpServerRequest.HttpServerRequest,
  org: string,
  { keyId, reason }: KeyRejected,
): Unauthorized => {
  refusals.count(request, reason === "missing" ? "no_key" : "bad_key", {
    org,
    subject: keyId === undefined ? "An unknown key" : keyId,
  })
  const fault = reason === "missing" ? authorizationFault(request.headers["authorization"]) : undefined
  return new Unauthorized({ detail: fault ?? details[reason] })
}

/**
 * Counts a valid key without access under the key's own organization, so that no other organization learns of the key.
 */
export const forbidden = (
  refusals: Refusals["Service"],
  request: HttpServerRequest.HttpServerRequest,
  reason: "other_organization" | "missing_scope",
  { keyId, org }: Grant,
  detail: string,
): Forbidden => {
  refusals.count(request, reason, { org, subject: keyId })
  return new Forbidden({ detail })
}

/**
 * Uses the grant of the request's key, from `X-Api-Key` or as a Bearer token. `org` is the organization of the path.
 * Fails with `Unauthorized` without a valid key or with two different keys.
 */
export const withGrant = <A, E, R>(
  auth: KeyAuth["Service"],
  request: HttpServerRequest.HttpServerRequest,
  org: string,
  use: (grant: Grant) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E | Unauthorized, R | Refusals> => {
  const key = keyOf(request.headers)
  if (key === undefined) {
    return Effect.fail(new Unauthorized({ detail: "X-Api-Key and Authorization carry different keys; send one" }))
  }
  return Effect.flatMapEager(
    Effect.catchEager(
      auth.resolve(key),
      (error) => Effect.flatMap(Refusals, (refusals) => rejected(refusals, request, org, error)),
    ),
    use,
  )
}

/**
 * Returns the grant of the request's key for `org` and `scope`. Counts one request against the key's limit. Fails with
 * `Unauthorized` without a valid key or with two different keys, `Forbidden` for a key of another organization (which
 * may not exist) or without the scope, and `RateLimited` beyond the limit.
 */
export const authorize = (
  auth: KeyAuth["Service"],
  request: HttpServerRequest.HttpServerRequest,
  org: string,
  scope: Scope,
): Effect.Effect<Grant, Unauthorized | Forbidden | RateLimited, Refusals> =>
  withGrant(auth, request, org, (grant): Effect.Effect<Grant, Forbidden | RateLimited, Refusals> => {
    if (grant.org !== org) {
      const detail = `The key does not belong to the organization ${JSON.stringify(org.slice(0, 100))}`
      return Effect.flatMap(Refusals, (refusals) => forbidden(refusals, request, "other_organization", grant, detail))
    }
    if (!grant.scopes.has(scope)) {
      const detail = `The key has the scopes ${[...grant.scopes].join(", ")}; this request needs ${
        JSON.stringify(scope)
      }`
      return Effect.flatMap(Refusals, (refusals) => forbidden(refusals, request, "missing_scope", grant, detail))
    }
    if (grant.window === undefined) return Effect.succeed(grant)
    return Effect.as(charge(request, grant, 1), grant)
  })
