import { Schema } from "effect"
import type { NotRendered } from "../decide/Answer.ts"
import type { TemplateArchived, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type * as GroupCommit from "../store/GroupCommit.ts"
import { reasonWords, SuppressionReason } from "../domain/SuppressionReason.ts"

// Reasons why Deliver does not queue a message.

/** The organization has no enabled connection. */
export class NotEnabled extends Schema.TaggedError<NotEnabled>()("NotEnabled", { org: Schema.String }) {
  override get message() {
    return `The organization ${JSON.stringify(this.org)} is not enabled for delivery: it has no connection that is ` +
      "switched on. Set one up in the console under Connections, or with `parlance connection set`."
  }
}

/** No variant is eligible for this recipient now; nothing was queued. */
export class NoCandidate extends Schema.TaggedError<NoCandidate>()("NoCandidate", { templateId: Schema.String }) {
  override get message() {
    return `No candidates found: no variant of the template ${
      JSON.stringify(this.templateId)
    } is active, in season and ` +
      "open to these attributes. Nothing was queued."
  }
}

/** The recipient is in the holdout and gets no message; nothing was queued, and the decision is recorded. */
export class HeldOut extends Schema.TaggedError<HeldOut>()("HeldOut", { templateId: Schema.String }) {
  override get message() {
    return `The recipient is held out of the template ${
      JSON.stringify(this.templateId)
    } and gets no message. Nothing ` +
      "was queued: send nothing instead."
  }
}

/** The choice is to send nothing; nothing was queued, and the decision is recorded. */
export class SendNothing extends Schema.TaggedError<SendNothing>()("SendNothing", { templateId: Schema.String }) {
  override get message() {
    return `The choice of the template ${
      JSON.stringify(this.templateId)
    } for the recipient is to send nothing, because ` +
      "a message is expected to do more harm than good. Nothing was queued."
  }
}

/** The idempotency key came with a different request in the last 24 hours. Nothing was queued. */
export class KeyReused extends Schema.TaggedError<KeyReused>()("KeyReused", { key: Schema.String }) {
  override get message() {
    return `The Idempotency-Key ${JSON.stringify(this.key)} came with another body in the last 24 hours. Nothing was ` +
      "queued: send another message under another key."
  }
}

/** The recipient is suppressed. Nothing was decided or queued. */
export class RecipientSuppressed extends Schema.TaggedError<RecipientSuppressed>()("RecipientSuppressed", {
  reason: SuppressionReason,
  suppressedAt: Schema.Date,
}) {
  override get message() {
    return `The recipient ${reasonWords[this.reason].clause} on ${
      this.suppressedAt.toISOString().slice(0, 10)
    }. Nothing was ` +
      "queued."
  }
}

/** The message has expired before it was queued. Nothing was decided or queued. */
export class MessageExpired extends Schema.TaggedError<MessageExpired>()("MessageExpired", {
  expiresAt: Schema.Date,
}) {
  override get message() {
    return `The time in expires_at, ${this.expiresAt.toISOString()}, has passed. Nothing was queued: send the request with a ` +
      "later time, and check the clock of the caller."
  }
}

/** Every reason why Deliver does not queue a message. */
export type EnqueueError =
  | NotEnabled
  | MessageExpired
  | RecipientSuppressed
  | NoCandidate
  | HeldOut
  | SendNothing
  | KeyReused
  | NotRendered
  | TemplateNotFound
  | TemplateArchived
  | VariantNotFound
  | GroupCommit.BufferFull
