import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { Fault } from "../../domain/Errors.ts"
import { declare } from "./ProblemPage.ts"

// Problems of any request: its form, authentication and rate, and the state of the service.

const faults = { errors: Schema.Array(Fault) }

/** 400: the body is not JSON, or a field or parameter is invalid. `errors` lists every fault. */
export class InvalidRequest extends HttpApiError.Problem<InvalidRequest>()(
  "InvalidRequest",
  declare(
    "invalid-request",
    400,
    "The request is not valid",
    "Every fault is listed in `errors`: `pointer` is a JSON pointer into the body, or the name of the query parameter. " +
      "Correct them all and send the request again. The request changed nothing.",
  ),
  faults,
) {}

/** 401: the key is missing or invalid. */
export class Unauthorized extends HttpApiError.Problem<Unauthorized>()(
  "Unauthorized",
  declare(
    "unauthorized",
    401,
    "The request is not authenticated",
    "Send a valid API key in the header X-Api-Key or as a Bearer token. Management requests require a key with a scope of the " +
      "management API, or the admin token as a Bearer token. Create keys in the console under Settings, API Keys, or with `parlance key create`.",
  ),
) {}

/**
 * 403: the key is valid but lacks access. An unknown organization and another key's organization get equal responses.
 */
export class Forbidden extends HttpApiError.Problem<Forbidden>()(
  "Forbidden",
  declare(
    "forbidden",
    403,
    "The key or the role does not allow this",
    "Check the organization in the path, which must be the one the key belongs to, and the scopes of the key: " +
      "`generate` for Generate, Batch generate and Delay, `deliver` for Deliver and deliveries, `events` for custom events. " +
      "Management requests need the scope that the documentation of the operation names, such as `templates:read`. In the " +
      "console, an admin of the organization can give you another role. If the organization requires a second factor, set " +
      "one up under Your account.",
  ),
) {}

/** 404: no route has this path. */
export class PathNotFound extends HttpApiError.Problem<PathNotFound>()(
  "PathNotFound",
  declare("not-found", 404, "This path does not exist", "/docs lists the paths of this service."),
) {}

/** 405: the path exists but does not support the method. The header `Allow` lists the supported methods. */
export class MethodNotAllowed extends HttpApiError.Problem<MethodNotAllowed>()(
  "MethodNotAllowed",
  declare(
    "method-not-allowed",
    405,
    "The path does not support this method",
    "The header Allow of the response lists the supported methods.",
  ),
) {}

/** 408: the request did not arrive in time. */
export class RequestTimeout extends HttpApiError.Problem<RequestTimeout>()(
  "RequestTimeout",
  declare("request-timeout", 408, "The request took too long to arrive", "Send the whole request without pauses."),
) {}

/** 409: the id is taken. */
export class Conflict extends HttpApiError.Problem<Conflict>()(
  "Conflict",
  declare("conflict", 409, "The id is already taken", "Choose another id, or change the existing resource with PATCH."),
) {}

/** 413: the body is larger than the limit. */
export class PayloadTooLarge extends HttpApiError.Problem<PayloadTooLarge>()(
  "PayloadTooLarge",
  declare(
    "payload-too-large",
    413,
    "The body is too large",
    "The limit is 1 MiB, and 8 MiB for webhooks and for templates with their variants. Split the request into smaller ones.",
  ),
) {}

/** 415: the body is not JSON, or has an unsupported content encoding. */
export class UnsupportedMediaType extends HttpApiError.Problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  declare(
    "unsupported-media-type",
    415,
    "The media type of the body is not supported",
    "Send JSON in UTF-8 with `Content-Type: application/json` and without a Content-Encoding. " +
      "Webhooks may use gzip, deflate, br or zstd.",
  ),
) {}

/** 431: the headers are larger than the limit. */
export class HeadersTooLarge extends HttpApiError.Problem<HeadersTooLarge>()(
  "HeadersTooLarge",
  declare(
    "headers-too-large",
    431,
    "The headers are too large",
    "The limit for all headers together is 16 KiB. Send fewer or shorter headers.",
  ),
) {}

/** 422: the request is valid, but cannot be carried out. */
export class Unprocessable extends HttpApiError.Problem<Unprocessable>()(
  "Unprocessable",
  declare(
    "unprocessable",
    422,
    "The request is valid but cannot be carried out",
    "`detail` states the reason, such as a variable that a strict template requires and `fields` lacks.",
  ),
  { errors: Schema.optionalKey(Schema.Array(Fault)) },
) {}

/** 429: too many attempts at a password, a code or the admin token. */
export class TooManyAttempts extends HttpApiError.Problem<TooManyAttempts>()(
  "TooManyAttempts",
  declare(
    "too-many-attempts",
    429,
    "Too many attempts",
    "Retry after the number of seconds in Retry-After. For a password, an administrator can create a reset link " +
      "(`parlance account reset`). For the admin token: check the value of ADMIN_TOKEN that you send.",
  ),
) {}

/** 429: the key has exceeded its rate limit. */
export class RateLimited extends HttpApiError.Problem<RateLimited>()(
  "RateLimited",
  declare(
    "rate-limited",
    429,
    "The key has reached its rate limit",
    "Retry after the number of seconds in Retry-After. The header RateLimit-Policy states the limit of the key, and RateLimit " +
      "the remaining requests. An admin of the organization can change the limit in the console under Settings, API Keys, or with " +
      "`parlance key update`.",
  ),
) {}

/** 429: one address has too many connections. */
export class TooManyConnections extends HttpApiError.Problem<TooManyConnections>()(
  "TooManyConnections",
  declare(
    "too-many-connections",
    429,
    "The address has too many connections",
    "Use fewer connections and send several requests over each, one after another. The proxy in front of the service sets the " +
      "limit, which its operator can raise. HAProxy as delivered allows 1,000 connections of an address.",
  ),
) {}

/** 500: a fault of this service. The logs contain its cause under the request id. */
export class InternalError extends HttpApiError.Problem<InternalError>()(
  "InternalError",
  declare(
    "internal-error",
    500,
    "The service failed to process the request",
    "The fault is in the service, not in the request. Search its logs for the request id of the response (X-Request-Id).",
  ),
) {}

/** 503: the service is overloaded or shutting down, or the database is unreachable and the write buffer is full. */
export class Unavailable extends HttpApiError.Problem<Unavailable>()(
  "Unavailable",
  declare(
    "unavailable",
    503,
    "The service cannot process the request now",
    "Retry after the number of seconds in Retry-After. /readyz reports the cause.",
  ),
) {}

/** Problems of request bodies. */
export const ofBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType, Unavailable] as const
