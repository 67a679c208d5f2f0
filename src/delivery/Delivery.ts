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
export interface Delivery {
  /** A UUID, also the tracking id of its decision. */
  readonly id: string
  readonly templateId: string
  readonly copyId: string
  /** Null once the person has been erased. */
  readonly email: string | null
  readonly state: DeliveryState
  readonly priority: Priority
  /** Not before this it leaves, or its next attempt does. */
  readonly dueAt: Date
  readonly queuedAt: Date
  /** It fails if it has not left by then; null: it does not expire. */
  readonly expiresAt: Date | null
  /** Attempts that ended without an acceptance; interrupted ones do not count. */
  readonly attempts: number
  /** The connection that carried it, or tried to. */
  readonly connection: string | null
  /** The platform's own name of it. */
  readonly messageId: string | null
  /** Why the last attempt failed, or why it was cancelled. */
  readonly reason: string | null
  readonly finishedAt: Date | null
}

/** True once a message is too late to be sent. `now` is in Unix milliseconds. */
export const hasExpired = ({ expiresAt }: Pick<Delivery, "expiresAt">, now: number): boolean =>
  expiresAt !== null && expiresAt.getTime() <= now

/** A delivery with its words. */
export interface DeliveryDetail extends Delivery {
  readonly vars: Readonly<Record<string, string>> | null
  readonly formats: Readonly<Record<string, "text" | "html">>
}

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
