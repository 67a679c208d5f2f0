import { Effect, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Grant, KeyAuth, KeyRejected } from "../../auth/KeyAuth.ts"
import type { Scope } from "../../domain/ApiKey.ts"
import { Forbidden, type RateLimited, Unauthorized } from "../Problems.ts"
import { charge } from "./RateLimits.ts"
import { Refusals } from "./Refusals.ts"

const details: { readonly [reason in KeyRejected["reason"]]: string } = {
  missing: "No API key: send it in the header X-Api-Key, or as `Authorization: Bearer`",
  // For an unknown id as well as for a wrong secret of a known one.
  unknown: "The API key is unknown",
  expired: "The API key has expired",
  revoked: "The API key has been revoked",
}

const bearer = (header: string | undefined): string | undefined => {
  const match = header === undefined ? null : /^bearer +(.*)$/i.exec(header)
  return match === null ? undefined : match[1]!.trim()
}

/** Counts a key that was rejected, under the organization it was sent to. */
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
  return new Unauthorized({ detail: details[reason] })
}

/** Counts a valid key that does not open this, under the organization it belongs to: no other one learns of it. */
const forbidden = (
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
 * The grant of the key a request carries, in `X-Api-Key` or as a Bearer token, for `org` and `scope`. Fails with 401 for
 * no valid key, also when both headers are there and disagree, and with 403 for a key of another organization (which may
 * not exist) or without the scope. Counts one request against the key's limit, and fails with 429 beyond it.
 */
export const authorize = (
  auth: KeyAuth["Service"],
  request: HttpServerRequest.HttpServerRequest,
  org: string,
  scope: Scope,
): Effect.Effect<Grant, Unauthorized | Forbidden | RateLimited, Refusals> => {
  const { headers } = request
  const inHeader = headers["x-api-key"]
  const asBearer = bearer(headers["authorization"])
  if (inHeader !== undefined && asBearer !== undefined && inHeader !== asBearer) {
    return new Unauthorized({ detail: "X-Api-Key and Authorization carry different keys; send one" })
  }
  return Effect.matchEffect(auth.resolve(Redacted.make(inHeader ?? asBearer ?? "")), {
    onFailure: (error) => Effect.flatMap(Refusals, (refusals) => rejected(refusals, request, org, error)),
    onSuccess: (grant): Effect.Effect<Grant, Forbidden | RateLimited, Refusals> => {
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
    },
  })
}
