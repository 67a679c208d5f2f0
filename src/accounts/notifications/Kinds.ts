import { english } from "../../languages/Language.ts"
import { Schema } from "effect"
import type { Role } from "../Account.ts"
import { eventData, type EventType } from "../../webhooks/EventTypes.ts"

// The kinds of notifications for members. Most kinds are also events of webhook endpoints, under an equal name and with
// equal data.

const {
  "comment.added": comment,
  "connection.broken": connectionBroken,
  "connection.refusing": connectionRefusing,
  "deliveries.failing": deliveriesFailing,
  "review.approved": reviewApproved,
  "review.rejected": reviewRejected,
  "review.requested": reviewRequested,
  "source.silent": sourceSilent,
  "variant.failing": variantFailing,
  "winner.found": winnerFound,
} = eventData

/** The data of each kind. */
const notificationData = {
  "winner.found": winnerFound,
  "variant.failing": variantFailing,
  "deliveries.failing": deliveriesFailing,
  "connection.broken": connectionBroken,
  "connection.refusing": connectionRefusing,
  "source.silent": sourceSilent,
  "review.requested": reviewRequested,
  "review.approved": reviewApproved,
  "review.rejected": reviewRejected,
  "comment.mention": comment,
  "comment.added": comment,
} as const

/** A kind of notification. */
export type NotificationKind = keyof typeof notificationData
/** All kinds of notifications. */
export const notificationKinds = Object.keys(notificationData) as ReadonlyArray<NotificationKind>
export const NotificationKind = Schema.Literals(notificationKinds)

/** Time at which a kind is sent by mail: at once, in a daily digest, or never. */
export const MailMode = Schema.Literals(["immediate", "digest", "off"])
export type MailMode = typeof MailMode.Type

/** A kind in words. `mail`: the default mode of mail, which members can change. */
export const kindWords: {
  readonly [kind in NotificationKind]: { readonly label: string; readonly hint: string; readonly mail: MailMode }
} = {
  "winner.found": {
    label: english("Winner found"),
    hint: english("A variant is better than the others of its template."),
    mail: "immediate",
  },
  "variant.failing": {
    label: english("Variant failing"),
    hint: english("A variant cannot be rendered."),
    mail: "immediate",
  },
  "deliveries.failing": {
    label: english("Deliveries failing"),
    hint: english("More deliveries of two hours failed than the settings of the organization allow."),
    mail: "immediate",
  },
  "connection.broken": {
    label: english("Connection broken"),
    hint: english("A platform no longer accepts messages."),
    mail: "immediate",
  },
  "connection.refusing": {
    label: english("Connection refusing"),
    hint: english("A connection is paused, because its platform refuses messages."),
    mail: "immediate",
  },
  "source.silent": {
    label: english("Source silent"),
    hint: english("A webhook source has sent nothing for longer than usual."),
    mail: "immediate",
  },
  "review.requested": {
    label: english("Review requested"),
    hint: english("A change waits for your review."),
    mail: "immediate",
  },
  "review.approved": {
    label: english("Review approved"),
    hint: english("Your change was approved."),
    mail: "immediate",
  },
  "review.rejected": {
    label: english("Review rejected"),
    hint: english("Your change was rejected."),
    mail: "immediate",
  },
  "comment.mention": {
    label: english("Mention"),
    hint: english("Somebody named you in a comment."),
    mail: "immediate",
  },
  "comment.added": {
    label: english("Comment"),
    hint: english("A comment on a template that you follow."),
    mail: "digest",
  },
}

/** The data of each kind of notification. */
export type NotificationEvent = {
  readonly [kind in NotificationKind]: {
    readonly kind: kind
    readonly data: (typeof notificationData)[kind]["Type"]
  }
}[NotificationKind]

/**
 * The people to notify: all people with a role, or some accounts. Accounts without access to the organization are left
 * out.
 */
type Recipients = { readonly role: Role } | { readonly accounts: ReadonlyArray<string> }

/** A new notification and its recipients. */
export type NewNotification = NotificationEvent & {
  readonly to: Recipients
  /** Accounts that are not notified, such as the author. */
  readonly except?: ReadonlyArray<string>
}

/** Kinds that webhook endpoints receive too. */
type AnnouncedKind = NotificationKind & EventType

/** Whether webhook endpoints receive this kind too. */
export const isAnnounced = (event: NotificationEvent): event is NotificationEvent & { readonly kind: AnnouncedKind } =>
  Object.hasOwn(eventData, event.kind)
