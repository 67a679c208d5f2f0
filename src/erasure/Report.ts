import { english } from "../languages/Language.ts"

// The report of an erasure: erased rows by kind, and the remaining data with reasons.

/** Kinds of erased data, in display order. */
export const erasedKinds = [
  "profiles",
  "decisions",
  "events",
  "deliveries",
  "cancelled",
  "bodies",
  "sticky_choices",
  "send_times",
  "send_advice",
  "message_links",
  "attribute_counts",
  "sink_messages",
  "webhook_events",
  "notifications",
  "template_owners",
  "sample_people",
  "test_groups",
  "saved_views",
  "drafts",
  "version_authors",
] as const
/** A kind of erased data. */
export type ErasedKind = typeof erasedKinds[number]

/**
 * Number of rows erased, or freed from the person's names, by kind. `cancelled` counts deliveries that are also in
 * `deliveries`.
 */
export type ErasedCounts = { readonly [kind in ErasedKind]: number }

/** The counts of an erasure that has erased nothing. */
export const noCounts: ErasedCounts = {
  profiles: 0,
  decisions: 0,
  events: 0,
  deliveries: 0,
  cancelled: 0,
  bodies: 0,
  sticky_choices: 0,
  send_times: 0,
  send_advice: 0,
  message_links: 0,
  attribute_counts: 0,
  sink_messages: 0,
  webhook_events: 0,
  notifications: 0,
  template_owners: 0,
  sample_people: 0,
  test_groups: 0,
  saved_views: 0,
  drafts: 0,
  version_authors: 0,
}

/** Description of each kind, for people. */
export const erasedLabels: { readonly [kind in ErasedKind]: string } = {
  profiles: english("Profiles deleted"),
  decisions: english("Sends without the name now"),
  events: english("Events without name, link and message id now"),
  deliveries: english("Deliveries without address and content now"),
  cancelled: english("Queued deliveries cancelled"),
  bodies: english("Received bodies emptied"),
  sticky_choices: english("Sticky choices deleted"),
  send_times: english("Send-time histories deleted"),
  send_advice: english("Advised send times deleted"),
  message_links: english("Message ids of platforms deleted"),
  attribute_counts: english("Counts of attribute values deleted"),
  sink_messages: english("Messages in the sandbox deleted"),
  webhook_events: english("Events for webhook endpoints deleted"),
  notifications: english("Notifications of members deleted"),
  template_owners: english("Templates without their former owner now"),
  sample_people: english("Sample people of previews deleted"),
  test_groups: english("Test groups without the address now"),
  saved_views: english("Saved views with the name deleted"),
  drafts: english("Drafts of a former member deleted"),
  version_authors: english("Versions of variants and snippets without the name of a former member now"),
}

/** Reasons why each kind of data stays. */
const keptReasons = {
  decisions: english("Stay without the name, as the counts of variants are made from them."),
  events: english("Stay without name and link, as the counts of variants are made from them."),
  deliveries: english("Stay without address and content, as the record that a message was queued, sent or cancelled."),
  deliveries_leaving: english("Were being sent at that moment and cannot be recalled. Address and content are erased."),
  pending_bodies: english(
    "Were received but not read yet. They may hold data of the person: erase again once they are read.",
  ),
  tracking_ids: english(
    "Contain a name of the person. They are keys of decisions and were made by the caller: use ids that do not identify a person.",
  ),
  idempotency_keys: english(
    "Stay for 24 hours, so that a repeated Deliver request does not send again. Keys are made by the caller.",
  ),
  other_profiles: english(
    "Belong to another user with the same e-mail address. Erase them by their user id or by the address.",
  ),
  suppressions: english(
    "Stay on the suppression list as a keyed digest without the address, so that nothing is sent to the person in future.",
  ),
  audit_entries: english("The audit log shows the actions of console users. It is kept for its retention period."),
  comments: english(
    "Comments on templates are written by members of the organization. Delete comments that name the person.",
  ),
  accounts: english("A console account has this address. Remove the member to remove it."),
  logs_and_backups: english(
    "Logs, traces and database dumps are outside the database. They go with their own retention period.",
  ),
} as const
/** A kind of data that stays after an erasure. */
export type KeptKind = keyof typeof keptReasons

/** Description of each kind, for people. */
export const keptLabels: { readonly [kind in KeptKind]: string } = {
  decisions: english("Sends"),
  events: english("Events"),
  deliveries: english("Deliveries"),
  deliveries_leaving: english("Deliveries being sent"),
  pending_bodies: english("Bodies not read yet"),
  tracking_ids: english("Tracking ids"),
  idempotency_keys: english("Idempotency keys"),
  other_profiles: english("Profiles of other users"),
  suppressions: english("Suppressions"),
  audit_entries: english("Audit entries"),
  comments: english("Comments on templates"),
  accounts: english("Console accounts"),
  logs_and_backups: english("Logs and backups"),
}

/** Data that stays. `count` is null if it is unknown. */
export interface Kept {
  readonly kind: KeptKind
  readonly count: number | null
  readonly reason: string
}

/** Lists the remaining data: the kinds that have rows, and data outside the reach of an erasure. */
export const keptOf = (counts: { readonly [kind in KeptKind]?: number }): ReadonlyArray<Kept> =>
  (Object.keys(keptReasons) as ReadonlyArray<KeptKind>).flatMap((kind): ReadonlyArray<Kept> => {
    if (kind === "logs_and_backups") return [{ kind, count: null, reason: keptReasons[kind] }]
    const count = counts[kind] ?? 0
    return count === 0 ? [] : [{ kind, count, reason: keptReasons[kind] }]
  })
