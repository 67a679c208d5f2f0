import { Schema } from "effect"

/**
 * The state of a message. An attempt is interrupted when its process ends or loses the lane before the platform
 * answers.
 *
 *     queued ──claimed──► sending ──accepted──► sent
 *       │  ▲                 │  └──refused, unfit, given up, expired, interrupted 5 times──► failed ──retry──► queued
 *       │  └──attempt failed,┘
 *       │     interrupted
 *       └──cancel, recipient suppressed──► cancelled
 */
export const DeliveryState = Schema.Literals(["queued", "sending", "sent", "failed", "cancelled"])
export type DeliveryState = typeof DeliveryState.Type

/** Transactional messages are sent before all queued bulk messages. */
export const Priority = Schema.Literals(["transactional", "bulk"])
export type Priority = typeof Priority.Type

/** A message with its state. */
export const Delivery = Schema.Struct({
  /** A UUID, also the tracking id of its decision. */
  id: Schema.NonEmptyString,
  templateId: Schema.NonEmptyString,
  copyId: Schema.NonEmptyString,
  /** Null after the person was erased. */
  email: Schema.NullOr(Schema.String),
  state: DeliveryState,
  priority: Priority,
  /** Earliest time of the next attempt. */
  dueAt: Schema.Date,
  queuedAt: Schema.Date,
  /** If the message is not sent before this time, it fails. Null: it does not expire. */
  expiresAt: Schema.NullOr(Schema.Date),
  /** Attempts without an acceptance. Interrupted attempts do not count. */
  attempts: Schema.Natural,
  /** The connection of the last attempt. */
  connection: Schema.NullOr(Schema.String),
  /** The platform's id of the message. */
  messageId: Schema.NullOr(Schema.String),
  /** Why the last attempt failed, or why it was cancelled. */
  reason: Schema.NullOr(Schema.String),
  finishedAt: Schema.NullOr(Schema.Date),
})
export type Delivery = typeof Delivery.Type

/** Whether a message is too late to be sent. `now` is in Unix milliseconds. */
export const hasExpired = ({ expiresAt }: Pick<Delivery, "expiresAt">, now: number): boolean =>
  expiresAt !== null && expiresAt.getTime() <= now

/** A delivery with its content. */
export const DeliveryDetail = Schema.Struct({
  ...Delivery.fields,
  vars: Schema.NullOr(Schema.Record(Schema.String, Schema.String)),
  formats: Schema.Record(Schema.String, Schema.Literals(["text", "html"])),
})
export type DeliveryDetail = typeof DeliveryDetail.Type

/** The state of an organization's queue. */
export interface DeliverySummary {
  /** Messages due now. 50,000 means 50,000 or more. */
  readonly queued: number
  /** Messages due later: scheduled, or queued for a retry. 50,000 means 50,000 or more. */
  readonly scheduled: number
  readonly sending: number
  readonly sent: number
  readonly failed: number
  readonly cancelled: number
  /** Age of the oldest due message. Unit: seconds. */
  readonly oldestDueSeconds: number
  /** Messages recently sent per second. */
  readonly sentPerSecond: number
}
