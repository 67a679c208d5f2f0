import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { SuppressionReason } from "../../domain/SuppressionReason.ts"
import { declare } from "./ProblemPage.ts"

// Problems of messages, their recipients and connections.

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

/** 404: the organization has no such bulk action. */
export class BulkActionNotFound extends HttpApiError.Problem<BulkActionNotFound>()(
  "BulkActionNotFound",
  declare(
    "bulk-action-not-found",
    404,
    "There is no such bulk action",
    "Bulk actions are listed by GET /console/api/organizations/ORG/bulk-actions, by their id.",
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

/** 409: an earlier request used the idempotency key with another body. */
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

/** 422: the choice for the recipient is to send nothing. */
export class SendNothing extends HttpApiError.Problem<SendNothing>()(
  "SendNothing",
  declare(
    "send-nothing",
    422,
    "The choice for the recipient is to send nothing",
    "Do not send a fallback either: the template may send nothing (`send_nothing`), and a message to this person is expected " +
      "to do more harm than good. The decision was recorded.",
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

const reportedReasons = SuppressionReason.literals.filter((reason) => reason !== "manual").map((reason) =>
  `\`${reason}\``
)

/** 422: the recipient is on the suppression list. */
export class RecipientSuppressed extends HttpApiError.Problem<RecipientSuppressed>()(
  "RecipientSuppressed",
  declare(
    "recipient-suppressed",
    422,
    "The recipient is on the suppression list",
    `\`reason\` is ${reportedReasons.join(", ")}, or \`manual\` for an entry added by a user. ` +
      "`since` is the time of the entry, as is `suppressed_at`, its earlier name. No message was queued; do not send the " +
      "request again. The list is in the console under Suppressions, and in `parlance suppression`. A transactional template " +
      "can ignore unsubscribes.",
  ),
  { reason: SuppressionReason, since: Schema.String, suppressed_at: Schema.String },
) {
  /** Creates the refusal of a message to a suppressed address. */
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
