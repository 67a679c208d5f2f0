import type { EventName } from "../../domain/EventKinds.ts"

// Words of messaging platforms in the names of message events. Sources: Segment's and RudderStack's pages on Braze,
// Iterable, Klaviyo, Customer.io, SendGrid, OneSignal and Airship as sources; the event lists of Braze Currents,
// Marketo, HubSpot, Mailchimp, Mandrill, MoEngage, CleverTap, Brevo, Postmark, SparkPost and Amazon SES.
// Read on 2026-11-29.

/** Meaning of a message event: an event, an opt-in to messages again, or no effect. */
export type MessageMeaning = EventName | "opt_in" | "ignored"

/**
 * Kinds of words that name a channel or a sender of messages.
 *
 *     email       e-mail
 *     newsletter  e-mail, whose subscriptions are sign-ups and not opt-ins
 *     other       another channel
 *     any         a message of any channel
 *     program     a campaign or flow, which sends messages
 */
export type ChannelKind = "email" | "newsletter" | "other" | "any" | "program"

/** The phrases of a text, separated by commas. */
export const phrasesIn = (text: string): ReadonlyArray<string> => text.trim().replace(/\s+/g, " ").split(", ")

/** Channels by their kind, as phrases in lowercase, with single spaces. */
export const channels: { readonly [kind in ChannelKind]: ReadonlyArray<string> } = {
  email: phrasesIn("email, emails, e mail, e mails, mail, amp email"),
  newsletter: ["newsletter"],
  other: phrasesIn(`
    push, push notification, push notifications, pushnotification, mobile push, web push, webpush, browser push,
    notification, notifications, push message, sms, mms, text, text message, in app, inapp, in app message, in app
    messages, in app notification, inappmessage, iam, content card, content cards, contentcard, news feed, news feed
    card, feed card, banner, banner message, whatsapp, whats app, rcs, line, line message, kakao, kakaotalk, viber,
    telegram, wechat, slack, slack message, webhook, ott, inbox, inbox message, app inbox, app inbox message,
    message center, message center message, embedded message, embedded, live activity, on site message, onsite
    message, on site notification, web message, web personalization, web personalization message, browser message
  `),
  any: ["message", "messages"],
  program: phrasesIn(`
    campaign, campaigns, canvas, canvas step, canvas experiment step, experiment step, flow, journey, workflow,
    automation, broadcast, blast, drip, control group, campaign control group, canvas control group, holdout,
    holdout group
  `),
}

/** Channels that are unmistakable behind other words, as in `Welcome Email Opened`. */
export const plainChannels: ReadonlySet<string> = new Set([
  "email",
  "e mail",
  "sms",
  "push",
  "push notification",
  "in app message",
  "whatsapp",
])

/** Words before a channel by which a person, and not a platform, writes or sees a message. */
export const personalWords: ReadonlySet<string> = new Set(
  "chat company contact direct first friend gift invitation invite quote referral support team work your".split(" "),
)

/** Verbs by meaning, in the order of precedence if a name has several. */
export const verbs: { readonly [meaning in MessageMeaning]?: ReadonlyArray<string> } = {
  spam: phrasesIn(`
    spam, spammed, spam report, spam reported, spam complaint, marked as spam, mark as spam, markasspam, marked
    spam, reported as spam, reported spam, report spam, marked as junk, junk, complaint, complaints, complained,
    complain, abuse, abuse report, abuse complaint
  `),
  unsubscribe: phrasesIn(`
    unsubscribed, unsubscribe, unsubscribes, un subscribed, un subscribe, unsub, unsubs, opted out, opt out, optout,
    optedout
  `),
  soft_bounce: phrasesIn(`
    soft bounced, soft bounce, soft bounces, softbounced, softbounce, bounced soft, bounce soft, temporarily
    bounced, transient bounce
  `),
  bounce: phrasesIn(`
    bounced, bounce, bounces, hard bounced, hard bounce, hard bounces, hardbounced, hardbounce, bounced hard, bounce
    hard
  `),
  failed: phrasesIn(`
    failed, fail, fails, failure, failures, error, errored, dropped, drop, drops, rejected, reject, rejects,
    rejection, aborted, abort, suppressed, suppression, skipped, skip, blocked, block, canceled, cancelled,
    undelivered, undeliverable, unreachable, not sent, notsent, not delivered, failed to deliver, failed to send,
    delivery failed, delivery failure, deliveryfailure, delivery error, rendering failure, template rendering
    failed, policy rejection, generation failure, generation rejection, spam notification, capped, capping,
    throttled
  `),
  ignored: phrasesIn(`
    drafted, draft, attempted, attempt, deferred, deferral, deferrals, defer, delayed, delay, delivery delay,
    delivery delayed, deliverydelay, queued, processed, processing, retried, retry, scheduled, accepted, injection,
    injected, carrier sent, carrier send, carriersend, sent to carrier, not opened, not clicked, unbounce, state
    changed, state change, status changed, status change, subscription changed, subscription change, subscription
    state changed, subscription state change, subscription status changed, subscription status change, preferences
    changed, preferences updated, preferences update, preference updated, preference changed, updated preferences,
    subscription preferences changed, subscription preferences updated, token registered, token unregistered,
    registered, unregistered, uninstalled, uninstall, uninstalls, session, session started, expired, expiration,
    expire, resolved, resolution, recalled, recall, entered, enter, entry, exited, exit, enrolled, enroll, enrol,
    experiment split entry
  `),
  conversion: ["converted", "conversion", "conversions"],
  click: phrasesIn(
    "clicked, click, clicks, clicked through, click through, tapped, tap, taps, pressed, shortlinkclick",
  ),
  other: phrasesIn(`
    dismissed, dismiss, dismisses, closed, close, replied, reply, replies, reply sent, responded, response,
    responses, response received, forwarded, forward, forwards, printed, print, swiped, swipe, cleared, deleted,
    delete, inbound, inbound received, inbound receive, inboundreceive, received inbound, mobile originated,
    foreground, foreground opened, unsubscribe click, unsubscribe clicked, unsubscribe link clicked, unsubscribe
    link click, hosted unsubscribe click, hosted unsubscribe clicked
  `),
  open: phrasesIn(`
    opened, open, opens, read, reads, seen, viewed, view, views, impression, impressions, displayed, display, shown,
    show, page displayed
  `),
  opt_in: phrasesIn(`
    subscribed, subscribe, resubscribed, resubscribe, re subscribed, opted in, opt in, optin, opted back in, double
    opt in, consented, consented to receive
  `),
  delivered: phrasesIn(
    "delivered, delivery, deliveries, received, receive, delivery receipt, delivery confirmed, confirmed delivery",
  ),
  sent: phrasesIn("sent, send, sends, sending, dispatched, dispatch"),
}

/** Meanings of verbs that suppress an address. */
export const suppressing: ReadonlySet<MessageMeaning> = new Set(["spam", "unsubscribe", "bounce"])

/** Meanings of verbs that say that an opt-out, a complaint or a bounce did not happen. */
export const denying: ReadonlySet<MessageMeaning> = new Set(["failed", "ignored", "open"])

/** Verbs that deny nothing: `Unsubscribe Processed` is an opt-out. */
export const confirmingVerbs: ReadonlySet<string> = new Set(
  phrasesIn("processed, accepted, registered, status changed, status change, preferences updated, preferences changed"),
)

/** Verbs that only programs have: of an e-mail, `Entered` is what a person types. */
export const programVerbs: ReadonlySet<string> = new Set(
  phrasesIn("entered, enter, entry, exited, exit, enrolled, enroll, enrol, experiment split entry"),
)

/** Verbs that only channels other than e-mail have: registered e-mails and sessions are a person's. */
export const deviceVerbs: ReadonlySet<string> = new Set(
  phrasesIn(`
    registered, unregistered, token registered, token unregistered, uninstalled, uninstall, uninstalls, session,
    session started, expired, expiration, expire, resolved, resolution, recalled, recall, pressed, foreground,
    foreground opened, close, closed, delete, deleted, cleared
  `),
)

/** Verbs of what people see in shops and apps: a campaign or an automation that is viewed may be a page. */
export const seenVerbs: ReadonlySet<string> = new Set(
  "viewed view views read reads seen displayed display shown show accepted scheduled registered draft drafted".split(
    " ",
  ),
)

/** Words without a meaning of their own. */
export const fillers: ReadonlySet<string> = new Set([
  "automated response",
  ...`a action all amp an android app as automated batch been body browser button by cta customer desktop device event for from
  global globally had has image in initial ios is link mailing mailings marketing mobile moe of on out page person profile promotional
  recipient rich sales short shortlink step story subscriber successfully the to total track transactional triggered unique
  user users variant was web`.split(/\s+/),
])

/** Words by which a program, and not a person, opened a message. */
export const machineWords: ReadonlySet<string> = new Set(
  "machine bot proxy proxied prefetch prefetched suspected".split(" "),
)

/** Words of an opt-out that concerns only some of the messages. */
export const groupWords: ReadonlySet<string> = new Set(
  `category categories group groups list lists topic topics type types subscription subscriptions audience`.split(" "),
)

/** Names of messaging platforms in the names of their events, as in `Klaviyo: Opened Email`. */
export const senders: ReadonlyArray<string> = phrasesIn(`
  active campaign, activecampaign, adobe, airship, amazon ses, appboy, attentive, batch, braze, brevo, cio, clever
  tap, clevertap, customer io, customerio, dotdigital, drip, emarsys, hs, hub spot, hubspot, insider, intercom,
  iterable, klaviyo, leanplum, mail chimp, mailchimp, mailgun, mailjet, mandrill, marketing cloud, marketo, mkto, mo
  engage, moengage, omnisend, one signal, onesignal, pardot, postmark, postscript, resend, responsys, sailthru,
  salesforce, send grid, sendgrid, sendinblue, ses, sfmc, sg, spark post, sparkpost, twilio, urban airship, vero,
  web engage, webengage
`)
