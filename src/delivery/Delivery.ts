import { Schema } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"

/**
 * The state of a message. An attempt is interrupted when its process ends or loses the lane before the platform answers.
 *
 *     queued ──claimed──► sending ──accepted──► sent
 *       │  ▲                 │  └──refused, unfit, given up, expired, interrupted 5 times──► failed ──retry──► queued
 *       │  └──attempt failed,┘
 *       │     interrupted
 *       └──cancel, recipient suppressed──► cancelled
 */
export const DeliveryState = Schema.Literals(["queued", "sending", "sent", "failed", "cancelled"])
export type DeliveryState = typeof DeliveryState.Type

/** Transactional messages leave before all bulk messages that wait. */
export const Priority = Schema.Literals(["transactional", "bulk"])
export type Priority = typeof Priority.Type

/** A message on its way, as people look at it. */
export const Delivery = Schema.Struct({
  /** A UUID, also the tracking id of its decision. */
  id: Schema.NonEmptyString,
  templateId: Schema.NonEmptyString,
  copyId: Schema.NonEmptyString,
  /** Null once the person has been erased. */
  email: Schema.NullOr(Schema.String),
  state: DeliveryState,
  priority: Priority,
  /** Not before this it leaves, or its next attempt does. */
  dueAt: Schema.Date,
  queuedAt: Schema.Date,
  /** It fails if it has not left by then; null: it does not expire. */
  expiresAt: Schema.NullOr(Schema.Date),
  /** Attempts that ended without an acceptance; interrupted ones do not count. */
  attempts: Schema.Natural,
  /** The connection that carried it, or tried to. */
  connection: Schema.NullOr(Schema.String),
  /** The platform's own name of it. */
  messageId: Schema.NullOr(Schema.String),
  /** Why the last attempt failed, or why it was cancelled. */
  reason: Schema.NullOr(Schema.String),
  finishedAt: Schema.NullOr(Schema.Date),
})
export type Delivery = typeof Delivery.Type

/** True once a message is too late to be sent. `now` is in Unix milliseconds. */
export const hasExpired = ({ expiresAt }: Pick<Delivery, "expiresAt">, now: number): boolean =>
  expiresAt !== null && expiresAt.getTime() <= now

/** A delivery with its words. */
export const DeliveryDetail = Schema.Struct({
  ...Delivery.fields,
  vars: Schema.NullOr(Schema.Record(Schema.String, Schema.String)),
  formats: Schema.Record(Schema.String, Schema.Literals(["text", "html"])),
})
export type DeliveryDetail = typeof DeliveryDetail.Type

/** How an organization's queue stands. */
export interface DeliverySummary {
  /** Due now; 50,000 stands for that or more. */
  readonly queued: number
  /** Due later: scheduled, or waiting for another attempt; 50,000 stands for that or more. */
  readonly scheduled: number
  readonly sending: number
  readonly sent: number
  readonly failed: number
  readonly cancelled: number
  /** How long the oldest that is due has waited. Unit: seconds. */
  readonly oldestDueSeconds: number
  /** Messages sent per second in the last seconds. */
  readonly sentPerSecond: number
}

/** Where deliveries of an organization are named. */
export interface DeliveryKey {
  readonly org: OrgSlug
  readonly id: string
}
