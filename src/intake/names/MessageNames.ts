import { type ChannelKind, type MessageMeaning, phrasesIn } from "./MessageWords.ts"

/** A whole name of a message event, in lowercase, as words with single spaces. */
interface MessageName {
  readonly meaning: MessageMeaning | "subscription_state"
  /** Default: no channel, so that the event counts for e-mail. */
  readonly channel?: ChannelKind
  /** The event concerns one list, group, channel or type of messages. */
  readonly ofGroup?: true
}

const named = (
  names: string,
  meaning: MessageName["meaning"],
  more: Omit<MessageName, "meaning"> = {},
): ReadonlyArray<[string, MessageName]> => phrasesIn(names).map((name) => [name, { meaning, ...more }])

const other = { channel: "other" } as const
const ofGroup = { ofGroup: true } as const

/**
 * Names that the words in `MessageWords.ts` do not explain: names without a channel, and names whose meaning differs from
 * their words. The sources are the same.
 */
export const messageNames: ReadonlyMap<string, MessageName> = new Map([
  ...named(
    "sent, send, test send, triggered send",
    "sent",
  ),
  ...named(
    "delivered, delivery",
    "delivered",
  ),
  ...named(
    "open, opened, opens, initial open, amp open, unique open, unique opened, first opening",
    "open",
  ),
  ...named("push tapped, push notification tapped, notification tapped", "open", other),
  ...named(
    "click, clicked, clicks, unique click, unique clicked, amp click",
    "click",
  ),
  ...named(
    `
    bounce, bounced, bounces, hard bounce, hard bounced, hardbounce, hardbounced, out of band, out of band bounce,
    invalid email, email invalid, cleaned, email cleaned, subscriber cleaned
  `,
    "bounce",
  ),
  ...named(
    `
    sms rejected, sms rejection, sms reject, sms delivery failed, sms delivery failure, sms deliveryfailure, mms
    rejected, mms delivery failed, rcs rejected, rcs rejection, whatsapp failure
  `,
    "bounce",
    other,
  ),
  ...named(
    "soft bounce, soft bounced, softbounce, softbounced",
    "soft_bounce",
  ),
  ...named(
    `
    spam, spammed, spam report, spam reported, spam reports, spam complaint, spamreport, spam complaints, marked as
    spam, mark as spam, reported as spam, complaint, complained, junk, abuse, abuse report, feedback loop
  `,
    "spam",
  ),
  ...named(
    `
    unsubscribe, unsubscribed, unsub, opt out, opted out, optout, list unsubscribe, link unsubscribe, global
    unsubscribe, globally unsubscribed, unsubscribed globally, global opt out, marketing opt out, opted out of marketing, unsubscribed from marketing, auto unsubscribed, unsubscribed from all, unsubscribed from all email,
    unsubscribed from all emails, unsubscribed from all mailings, unsubscribe from all
  `,
    "unsubscribe",
  ),
  ...named(
    `
    group unsubscribe, group unsubscribed, unsubscribed from group, unsubscribe from group, unsubscribed from list,
    unsubscribe from list, list unsubscribed, unsubscribed from topic, topic unsubscribed, unsubscribed from message
    type, message type unsubscribed, unsubscribed from category, category unsubscribed, unsubscribed from
    subscription group, subscription group unsubscribed
  `,
    "unsubscribe",
    ofGroup,
  ),
  ...named("channel unsubscribed", "unsubscribe", ofGroup),
  ...named(
    "resubscribe, resubscribed, resubscribed to all",
    "opt_in",
  ),
  ...named(
    `
    group resubscribe, group resubscribed, resubscribed to group, resubscribed to list, resubscribe to group,
    subscription group subscribed, subscribed to list
  `,
    "opt_in",
    ofGroup,
  ),
  ...named(
    `
    dropped, drop, blocked, block, rejected, reject, failed, suppressed, send skip, send skipped, send aborted, send
    rejected, not sent, undelivered, undeliverable, rendering failure, policy rejection, generation failure,
    generation rejection
  `,
    "failed",
  ),
  ...named("channel unreachable", "failed", other),
  ...named("sms stop received", "unsubscribe", other),
  ...named("rich read, direct open, influenced open, push direct open, push influenced open", "open", other),
  ...named("rich delivery", "delivered", other),
  ...named("short link click, short link clicked, web click", "click", other),
  ...named("conversion, converted", "conversion"),
  ...named(
    `
    auto reply received, autoreply received, email auto reply, hosted unsubscribe click, hosted unsubscribe clicked, unsubscribe click, unsubscribe clicked, unsubscribe link
    clicked, unsubscribe page viewed, received forward to friend email, sent forward to friend email, email
    forwarded to friend, email forwarded to a friend
  `,
    "other",
  ),
  ...named(
    `
    sms received, mms received, whatsapp received, whatsapp message received, rcs received, inbound sms received,
    ios foreground push opened, push notification ios foreground, reply sent, mobile originated, rich delete, in app consume, in app consumed
  `,
    "other",
    other,
  ),
  ...named(
    `
    processed, deferred, deferral, delay, delivery delay, drafted, attempted, injection, retry, transient, unbounce,
    statuschange, control, enroll in control, campaigns enroll in control, enrolled in control, control group
    entered, control group exited, campaign enroll in control, campaign control, control group, experiment split entry, canvas experiment step split entry, canvas exit performed event, canvas exit matched audience, feature flag impression, featureflag impression, live activity outcome, subscription preferences updated, first opt in, unblocked, uninstall, user entered flow, user exited flow, user exited the
    flow, application uninstalled, mobile app uninstalled, app uninstalled, app uninstall, device uninstall, device
    uninstalled, device uninstall android, device uninstall ios, push uninstall, push uninstalled, push id
    registered, push id registered android, push id registered ios, push id registered web, push unregistered, push
    registered, push body, push token changed, utm visited, subscription preferences changed, cio subscription preferences
    changed, report delivery event, report content event, email preferences updated, updated email preferences
  `,
    "ignored",
  ),
  ...named(
    `
    subscription group state changed, subscription group state change, subscription group status changed,
    subscriptiongroup state change, behaviors subscriptiongroup state change
  `,
    "subscription_state",
    ofGroup,
  ),
  ...named(
    `
    global subscription state changed, global subscription state change, subscription global state changed,
    subscription global state change, subscription state changed, subscription state change, subscription status
    changed, subscription status change, subscription change, subscription changed, email subscription status
    changed, email subscription changed, email subscription state changed, behaviors subscription global state
    change
  `,
    "subscription_state",
  ),
])
