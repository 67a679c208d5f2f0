import type { NormalizedEvent } from "./Event.ts"
import { type EventName, isSuppressing } from "./EventKinds.ts"

/** Names of events by which a person opts in to messages again, in lowercase. */
export const optInNames: ReadonlySet<string> = new Set([
  "subscribe",
  "subscribed",
  "resubscribe",
  "resubscribed",
  "re_subscribed",
  "opt_in",
  "opted_in",
  "optin",
  "opt-in",
  "opted-in",
  "opt in",
  "opted in",
  "double_opt_in",
])

/** The members of an event by which a person opts in to e-mail again. */
export const optIn = { event: "other", optIn: true } as const satisfies Partial<NormalizedEvent>

/** Channels other than e-mail, in lowercase without spaces and punctuation. */
const otherChannels: ReadonlySet<string> = new Set([
  "androidpush",
  "app",
  "banner",
  "browserpush",
  "call",
  "contentcard",
  "contentcards",
  "directmail",
  "embedded",
  "facebook",
  "fax",
  "inapp",
  "inappmessage",
  "inbox",
  "instagram",
  "iospush",
  "kakao",
  "kakaotalk",
  "letter",
  "line",
  "messenger",
  "mms",
  "mobile",
  "mobilepush",
  "phone",
  "post",
  "postal",
  "push",
  "pushnotification",
  "rcs",
  "slack",
  "sms",
  "telegram",
  "telephone",
  "text",
  "textmessage",
  "viber",
  "voice",
  "web",
  "webhook",
  "webpush",
  "wechat",
  "whatsapp",
])

const plainChannel = (channel: string): string => channel.toLowerCase().replaceAll(/[\s_./-]/g, "")

/** Whether a channel is known to be e-mail. An event without a channel concerns e-mail. */
export const isEmailChannel = (channel: string | undefined): boolean =>
  channel === undefined || ["email", "mail"].includes(plainChannel(channel))

/**
 * Whether a channel may be e-mail: its name is not a known name of another channel. Opt-outs of such a channel count,
 * so that a name such as `newsletter` loses no opt-out.
 */
export const mayBeEmail = (channel: string | undefined): boolean =>
  channel === undefined || !otherChannels.has(plainChannel(channel))

/** Marks a suppressing event of a message on another channel, so that it does not suppress an e-mail address. */
export const channelOf = (event: EventName, isEmail: boolean): Pick<NormalizedEvent, "otherChannel"> =>
  isSuppressing(event) && !isEmail ? { otherChannel: true } : {}
