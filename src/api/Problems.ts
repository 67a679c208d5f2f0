import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { Fault } from "../domain/Errors.ts"
import { listOfSources } from "../domain/Source.ts"
import { Variant } from "../domain/Template.ts"
import { SuppressionReason } from "../suppressions/Suppression.ts"

// RFC 9457 problems: the only errors this service answers with. Each `type` is a stable path, served as a page.

/** The content of a problem's page: the event and the remedy. */
export interface ProblemPage {
  readonly slug: string
  readonly title: string
  readonly status: number
  readonly advice: string
}

const pages: Array<ProblemPage> = []

/** Every problem this service knows, in the order of their declaration. */
export const problemPages: ReadonlyArray<ProblemPage> = pages

const declare = <const Slug extends string, const Status extends number>(
  slug: Slug,
  status: Status,
  title: string,
  advice: string,
) => {
  pages.push({ slug, title, status, advice })
  return { type: `/problems/${slug}` as const, status, title }
}

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
    "Send a valid API key in the header X-Api-Key or as a Bearer token. Management requests take a key with a scope of the " +
      "management API, or the admin token as a Bearer token. Create keys in the console under Settings, API Keys, or with `parlance key create`.",
  ),
) {}

/** 403: the key is valid but lacks access. Unknown organizations and those of other keys get the same response. */
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

/** 404: the organization has no such template. */
export class TemplateNotFound extends HttpApiError.Problem<TemplateNotFound>()(
  "TemplateNotFound",
  declare(
    "template-not-found",
    404,
    "There is no such template",
    "Check `template_id`; the templates of an organization are listed by `parlance template list`.",
  ),
) {}

/** 404: the template is archived and not served. */
export class TemplateArchived extends HttpApiError.Problem<TemplateArchived>()(
  "TemplateArchived",
  declare(
    "template-archived",
    404,
    "The template is archived",
    "An archived template keeps its content and results, but is not served. To serve it again, restore it on its page in " +
      "the console or with `parlance template restore`.",
  ),
) {}

/** 404: the template has no such variant. */
export class VariantNotFound extends HttpApiError.Problem<VariantNotFound>()(
  "VariantNotFound",
  declare("variant-not-found", 404, "There is no such variant", "Check the id of the variant and its template."),
) {}

/** 404: the organization has no such proposed change. */
export class ProposalNotFound extends HttpApiError.Problem<ProposalNotFound>()(
  "ProposalNotFound",
  declare(
    "proposal-not-found",
    404,
    "There is no such proposed change",
    "The list of proposed changes has their ids: `parlance review list`.",
  ),
) {}

/** 409: the proposed change is closed, has changed since it was read, or the live template has changed meanwhile. */
export class ProposalConflict extends HttpApiError.Problem<ProposalConflict>()(
  "ProposalConflict",
  declare(
    "proposal-conflict",
    409,
    "The proposed change cannot be approved or changed like this",
    "Read the proposed change again. `version` names what you looked at. If `is_outdated` is true, the live template has " +
      "changed since: `live_changes` shows how. Its author can bring it up to date with `update`, after which it can be " +
      "approved. Closed changes stay as they are: make the change again.",
  ),
) {}

/** 404: the template has no such comment. */
export class CommentNotFound extends HttpApiError.Problem<CommentNotFound>()(
  "CommentNotFound",
  declare(
    "comment-not-found",
    404,
    "There is no such comment",
    "It may have been deleted. `parlance comment list` lists the comments of a template.",
  ),
) {}

/** 404: the template has no such link to its results. */
export class ShareNotFound extends HttpApiError.Problem<ShareNotFound>()(
  "ShareNotFound",
  declare(
    "share-not-found",
    404,
    "There is no such link to results",
    "It has expired or was revoked. `parlance share list` lists the links of a template that work.",
  ),
) {}

/** 404: the installation has no such organization (management only). */
export class OrganizationNotFound extends HttpApiError.Problem<OrganizationNotFound>()(
  "OrganizationNotFound",
  declare(
    "organization-not-found",
    404,
    "There is no such organization",
    "`parlance org list` lists organizations, and `parlance org create` creates one.",
  ),
) {}

/** 404: the organization has no such key. */
export class KeyNotFound extends HttpApiError.Problem<KeyNotFound>()(
  "KeyNotFound",
  declare("key-not-found", 404, "There is no such API key", "Keys are listed by `parlance key list`, by their id."),
) {}

/** 404: the inbox has no webhook body with this id. */
export class InboxEntryNotFound extends HttpApiError.Problem<InboxEntryNotFound>()(
  "InboxEntryNotFound",
  declare(
    "inbox-entry-not-found",
    404,
    "There is no such body in the inbox",
    "The bodies of a source are listed by `parlance inbox list`, by their id.",
  ),
) {}

/** 404: no erasure of the last 30 days has that id. */
export class ErasureNotFound extends HttpApiError.Problem<ErasureNotFound>()(
  "ErasureNotFound",
  declare(
    "erasure-not-found",
    404,
    "There is no such erasure",
    "Use the `id` from the response to the erasure request. Reports are kept for 30 days.",
  ),
) {}

/** 404: there is no such account, or no such member of the organization. */
export class AccountNotFound extends HttpApiError.Problem<AccountNotFound>()(
  "AccountNotFound",
  declare(
    "account-not-found",
    404,
    "There is no such account",
    "Accounts are listed by `parlance account list`, by their id; the members of an organization in the console under " +
      "Settings, Members.",
  ),
) {}

/** 404: there is no such invitation that could still be accepted. */
export class InvitationNotFound extends HttpApiError.Problem<InvitationNotFound>()(
  "InvitationNotFound",
  declare(
    "invitation-not-found",
    404,
    "There is no such invitation",
    "It was accepted or withdrawn, or has expired after 7 days. Invite the person again.",
  ),
) {}

/** 404: the account has no such session. */
export class SessionNotFound extends HttpApiError.Problem<SessionNotFound>()(
  "SessionNotFound",
  declare("session-not-found", 404, "There is no such session", "It has ended, or belongs to another account."),
) {}

/** 404: the organization has no such webhook source. */
export class SourceNotFound extends HttpApiError.Problem<SourceNotFound>()(
  "SourceNotFound",
  declare(
    "source-not-found",
    404,
    "There is no such webhook source",
    `\`parlance webhook list\` lists the sources. There are ${listOfSources}.`,
  ),
) {}

/** 404: the organization has no such connection. */
export class ConnectionNotFound extends HttpApiError.Problem<ConnectionNotFound>()(
  "ConnectionNotFound",
  declare(
    "connection-not-found",
    404,
    "There is no such connection",
    "Connections are listed by `parlance connection list`, by their name.",
  ),
) {}

/** 404: the organization has no such webhook endpoint. */
export class EndpointNotFound extends HttpApiError.Problem<EndpointNotFound>()(
  "EndpointNotFound",
  declare(
    "webhook-endpoint-not-found",
    404,
    "There is no such webhook endpoint",
    "The endpoints of an organization are listed by GET /console/api/organizations/{org}/webhook-endpoints, by their id.",
  ),
) {}

/** 404: the connection has no such DKIM key. */
export class DkimKeyNotFound extends HttpApiError.Problem<DkimKeyNotFound>()(
  "DkimKeyNotFound",
  declare(
    "dkim-key-not-found",
    404,
    "There is no such DKIM key",
    "The keys of a connection are listed by `parlance connection dkim list`, by their selector.",
  ),
) {}

/** 404: the organization has no such delivery. */
export class DeliveryNotFound extends HttpApiError.Problem<DeliveryNotFound>()(
  "DeliveryNotFound",
  declare(
    "delivery-not-found",
    404,
    "There is no such delivery",
    "Deliveries are listed by `parlance deliver list`, by their id.",
  ),
) {}

/** 404: there is no bulk action by that id. */
export class BulkActionNotFound extends HttpApiError.Problem<BulkActionNotFound>()(
  "BulkActionNotFound",
  declare(
    "bulk-action-not-found",
    404,
    "There is no such bulk action",
    "Bulk actions are listed by GET /console/api/organizations/ORG/bulk-actions, by their id.",
  ),
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

/** 409: the variant or the draft has changed since the version that the request was made from. */
export class VersionConflict extends HttpApiError.Problem<VersionConflict>()(
  "VersionConflict",
  declare(
    "version-conflict",
    409,
    "It has changed since",
    "Somebody saved it after the version that the request was made from. Read it again, decide what to keep, and repeat " +
      "the request with the new version. `current` is the variant as it is now. The request changed nothing.",
  ),
  { current: Schema.optionalKey(Variant) },
) {}

/** 404: the author has no such draft. */
export class DraftNotFound extends HttpApiError.Problem<DraftNotFound>()(
  "DraftNotFound",
  declare(
    "draft-not-found",
    404,
    "There is no such draft",
    "`parlance draft list` lists the drafts of a template. Each author has a draft of their own.",
  ),
) {}

/** 404: the variant has no such version. */
export class VersionNotFound extends HttpApiError.Problem<VersionNotFound>()(
  "VersionNotFound",
  declare(
    "version-not-found",
    404,
    "There is no such version",
    "`parlance variant versions` lists the versions of a variant. The latest 200 are kept.",
  ),
) {}

/** 404: the organization has no such sample person. */
export class SamplePersonNotFound extends HttpApiError.Problem<SamplePersonNotFound>()(
  "SamplePersonNotFound",
  declare(
    "sample-person-not-found",
    404,
    "There is no such sample person",
    "`parlance sample-person list` lists the sample people of an organization.",
  ),
) {}

/** 404: the organization has no such test group. */
export class TestGroupNotFound extends HttpApiError.Problem<TestGroupNotFound>()(
  "TestGroupNotFound",
  declare(
    "test-group-not-found",
    404,
    "There is no such test group",
    "`parlance test-group list` lists the test groups of an organization.",
  ),
) {}

/** 409: the state of the delivery does not allow the change. */
export class DeliveryFixed extends HttpApiError.Problem<DeliveryFixed>()(
  "DeliveryFixed",
  declare(
    "delivery-fixed",
    409,
    "The state of the delivery does not allow this change",
    "Only queued deliveries can be cancelled, and only failed deliveries can be retried. `detail` names the current state.",
  ),
) {}

/** 409: the idempotency key came with another body. */
export class IdempotencyKeyReused extends HttpApiError.Problem<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  declare(
    "idempotency-key-reused",
    409,
    "The idempotency key belongs to another request",
    "A key identifies one message for 24 hours, or one bulk action for 90 days. Repeating the same body with the same key " +
      "returns the first response. Use a new key for a different request.",
  ),
) {}

/** 413: the body is larger than the limit. */
export class PayloadTooLarge extends HttpApiError.Problem<PayloadTooLarge>()(
  "PayloadTooLarge",
  declare(
    "payload-too-large",
    413,
    "The body is too large",
    "The limit is 1 MiB, and 8 MiB for webhooks. Split the request into smaller ones.",
  ),
) {}

/** 415: the body is not JSON, or has an unsupported content encoding. */
export class UnsupportedMediaType extends HttpApiError.Problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  declare(
    "unsupported-media-type",
    415,
    "The media type of the body is not supported",
    "Send JSON in UTF-8 with `Content-Type: application/json` and without a Content-Encoding.",
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
    "`detail` gives the reason, such as a variable that a strict template requires and `fields` lacks.",
  ),
  { errors: Schema.optionalKey(Schema.Array(Fault)) },
) {}

/** 422: the recipient is held out and gets no message. */
export class HeldOut extends HttpApiError.Problem<HeldOut>()(
  "HeldOut",
  declare(
    "held-out",
    422,
    "The recipient is held out and gets no message",
    "Do not send a fallback either: the holdout measures the effect of messages against people who get none. The decision " +
      "was recorded. The holdout is a setting of the template or its organization.",
  ),
) {}

/** 404: the address is not on the suppression list. */
export class SuppressionNotFound extends HttpApiError.Problem<SuppressionNotFound>()(
  "SuppressionNotFound",
  declare(
    "suppression-not-found",
    404,
    "The address is not on the suppression list",
    "Check the spelling; case does not matter. The list is in the console under Suppressions, and in `parlance " +
      "suppression list`.",
  ),
) {}

/** 422: the recipient is on the suppression list. */
export class RecipientSuppressed extends HttpApiError.Problem<RecipientSuppressed>()(
  "RecipientSuppressed",
  declare(
    "recipient-suppressed",
    422,
    "The recipient is on the suppression list",
    "`reason` is `complaint`, `hard_bounce`, `soft_bounce`, `unsubscribe`, or `manual` for an entry added by a user. " +
      "`since` is the time of the entry, as is `suppressed_at`, its earlier name. No message was queued; do not send the " +
      "request again. The list is in the console under Suppressions, and in `parlance suppression`. A transactional template " +
      "can ignore unsubscribes.",
  ),
  { reason: SuppressionReason, since: Schema.String, suppressed_at: Schema.String },
) {
  /** The refusal of a message to an address that has been on the list since a time. */
  static of({ message, reason, suppressedAt }: {
    readonly message: string
    readonly reason: SuppressionReason
    readonly suppressedAt: Date
  }): RecipientSuppressed {
    const since = suppressedAt.toISOString()
    return new RecipientSuppressed({ detail: message, reason, since, suppressed_at: since })
  }
}

/** 422: the message expired before it was queued. */
export class MessageExpired extends HttpApiError.Problem<MessageExpired>()(
  "MessageExpired",
  declare(
    "message-expired",
    422,
    "The message has expired",
    "`expires_at` had passed when the request arrived. No message was queued. Send a new request with a later time. If the " +
      "time should still be in the future, check the clock of the caller.",
  ),
  { expires_at: Schema.String },
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

/** 429: the organization has sent too many test messages. */
export class TooManyTestMessages extends HttpApiError.Problem<TooManyTestMessages>()(
  "TooManyTestMessages",
  declare(
    "too-many-test-messages",
    429,
    "Too many test messages",
    "No test message was sent. Retry after the number of seconds in Retry-After. An organization can send 100 test " +
      "messages per hour and 300 per day. For more, use Deliver.",
  ),
) {}

/** 429: the key has exceeded its rate limit. */
export class RateLimited extends HttpApiError.Problem<RateLimited>()(
  "RateLimited",
  declare(
    "rate-limited",
    429,
    "The key has reached its rate limit",
    "Retry after the number of seconds in Retry-After. The header RateLimit-Policy gives the limit of the key, and RateLimit " +
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
    "Use fewer connections and send several requests over each, one after another. The operator of the service can raise " +
      "MAX_CONNECTIONS_PER_ADDRESS. List load balancers in TRUSTED_PROXIES: the limit does not apply to them.",
  ),
) {}

/** 429: the organization has used up the bytes of webhook bodies it may store in a day. */
export class QuotaExceeded extends HttpApiError.Problem<QuotaExceeded>()(
  "QuotaExceeded",
  declare(
    "quota-exceeded",
    429,
    "The organization has reached its daily quota of webhook bodies",
    "The request was not stored. Retry after the number of seconds in Retry-After; an event that arrives twice counts " +
      "once. The quota resets at 00:00 UTC. An administrator of the installation can raise it for the organization " +
      "with `parlance org quota`, or for all organizations with WEBHOOK_DAILY_BYTES.",
  ),
) {}

/** 500: a fault of this service. The request id finds it in the logs. */
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
    "Retry after the number of seconds in Retry-After. /readyz gives the cause.",
  ),
) {}

/** Problems of request bodies. */
export const ofBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType, Unavailable] as const
