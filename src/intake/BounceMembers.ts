import type { EventName } from "../domain/EventKinds.ts"
import { type BounceEvent, bounceEvents } from "../domain/refusals/BounceEvent.ts"
import { bounceByReason, eventOfWords, innerItems, mildest } from "./BounceReasons.ts"
import type { Item } from "./Reading.ts"
import { readTruth } from "./Truth.ts"

// Platforms report soft bounces, hard bounces and blocked messages under one name, and say in another member which it is.
// Sources: the webhook references of Amazon SES, Brevo, HubSpot, Klaviyo, Mailchimp, Mailgun, Mailjet, Mandrill, Marketo,
// Postmark, Resend, Responsys, SendGrid and SparkPost. Read on 2026-11-29.

/** A text in lowercase without spaces and punctuation. */
const plain = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")

const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

const byWord = (event: BounceEvent, text: string): ReadonlyArray<[string, BounceEvent]> =>
  words(text).map((word) => [word, event])

/** Words for kinds of bounces, without spaces and punctuation. All other words are soft. */
const kinds: ReadonlyMap<string, BounceEvent> = new Map([
  ...byWord(
    "bounce",
    `hard hardbounce hardbounced permanent permanentbounce permanentfail permanentfailure perm h invalid invalidaddress
    invalidemail invalidemailaddress invalidmailbox invalidrecipient invaliddomain badaddress baddomain bademailaddress badmailbox
    unknownuser unknownmailbox unknownrecipient usernotfound userunknown mailboxnotfound recipientnotfound recipientunknown
    addressnotfound nomailbox nosuchuser nosuchmailbox noemail doesnotexist nonexistent nonexistentaddress norcpt`,
  ),
  ...byWord(
    "failed",
    `block blocked blockbounce blockedbounce mailblock spamblock spamblocked spam spamnotification spamcontent spamdetected content
    contentrejected prohibitedattachment attachmentrejected reputation policy policyrelated policyrejection dmarcpolicy frequency
    frequencyvolume frequencyorvolume volume ratelimited virus virusnotification relayingdenied suppressed suppression
    suppressbounce suppresscomplaint suppressunsubscribe onaccountsuppressionlist smartsendsuppression admin adminfailure
    espblock templaterenderingfailed smtpapierror inbounderror unconfirmed manuallydeactivated expired old sender senderpolicy`,
  ),
  ...byWord(
    "soft_bounce",
    `soft softbounce softbounced transient temporary temporaryfail temporaryfailure temp s mailboxfull fullmailbox mailboxunavailable
    mailboxoverquota overquota quota timeout timedout dnserror dnsfailure technical messagetoolarge toolarge autoresponder
    autoreply challengeverification challengeresponse addresschange undetermined unknown greylisted`,
  ),
])

/** Words that say nothing about the kind of a bounce. */
const neutral: ReadonlySet<string> = new Set(words("bounce bounced bounces general generic unclassified none na null"))

/** Members with the kind of a bounce: unknown words are soft. Names are without spaces and punctuation. */
const kindKeys: ReadonlySet<string> = new Set(
  words("bouncetype bouncekind bouncecategory bounceclass bounceclassification recipientstate severity"),
)

/** Members that may have the kind of a bounce among other texts: unknown words say nothing. */
const otherKeys: ReadonlySet<string> = new Set(
  words(
    "type subtype bouncesubtype class classification category kind reason bouncereason bouncedescription failurereason failuretype errortype",
  ),
)

/** Members that campaigns have too, and their words that may describe a campaign. */
const campaignKeys: ReadonlySet<string> = new Set(["category", "type"])
const campaignWords: ReadonlySet<string> = new Set(
  words("admin content expired frequency frequencyvolume old policy quota sender technical unknown volume"),
)

/** Whether a member may describe the campaign of a message, and not the bounce. */
const mayBeOfCampaign = (key: string, value: unknown): boolean =>
  campaignKeys.has(key) && typeof value === "string" && campaignWords.has(plain(value.slice(0, 200)))

/** Members that are true for one kind of bounce. False means soft for a hard bounce, and otherwise nothing. */
const flags: ReadonlyMap<string, BounceEvent> = new Map([
  ...byWord("bounce", "hard hardbounce ishard ishardbounce permanent ispermanent ispermanentfailure"),
  ...byWord("soft_bounce", "soft softbounce issoft issoftbounce temporary istemporary transient istransient"),
  ...byWord("failed", "blocked isblocked"),
])

const ofNumbers = (event: BounceEvent, ...codes: ReadonlyArray<number>): ReadonlyArray<[string, BounceEvent]> =>
  codes.map((code) => [String(code), event])

/** Numbers for kinds of bounces, by member. Other numbers are soft. */
const codes: ReadonlyMap<string, ReadonlyMap<string, BounceEvent>> = new Map([
  // Postmark.
  [
    "typecode",
    new Map([
      ...ofNumbers("bounce", 1, 100_000),
      ...ofNumbers("failed", 512, 8192, 100_002, 100_003, 100_006, 100_007, 100_008, 100_009, 100_010),
    ]),
  ],
  // SparkPost.
  [
    "bounceclass",
    new Map([...ofNumbers("bounce", 10, 30, 90), ...ofNumbers("failed", 25, 26, 50, 51, 52, 53, 54, 80)]),
  ],
])

/** Enhanced codes of addresses that do not exist. */
const noSuchAddress = /^5\.1\.[1236]$/

const hardBeginning = /^(?:hard|permanent)[ _-]?(?:bounced?|fail(?:ed|ure)?)?(?![a-z])/

/** Returns the kind of a text such as `Hard Bounce - Mailbox Full`: soft if the text is not known. */
const kindOfText = (value: string): BounceEvent => {
  const known = kinds.get(plain(value))
  if (known !== undefined) return known
  const text = value.trim().toLowerCase()
  if (noSuchAddress.test(text)) return "bounce"
  return hardBeginning.test(text) ? kinds.get(plain(text.replace(hardBeginning, ""))) ?? "bounce" : "soft_bounce"
}

/** Returns the kind of a bounce by a member; undefined if the member does not say it. */
const kindIn = (key: string, value: unknown): BounceEvent | undefined => {
  const flag = flags.get(key)
  if (flag !== undefined) {
    const truth = readTruth(value)
    if ("value" in truth) return truth.value ? flag : flag === "bounce" ? "soft_bounce" : undefined
  }
  if (typeof value !== "string" && typeof value !== "number") return undefined
  const stated = String(value).slice(0, 200)
  const text = plain(stated)
  const numbers = /^\d+$/.test(stated.trim()) ? codes.get(key) : undefined
  if (numbers !== undefined) return numbers.get(text) ?? "soft_bounce"
  if (text === "" || neutral.has(text)) return undefined
  if (kindKeys.has(key)) return kindOfText(stated)
  return otherKeys.has(key) ? kinds.get(text) : undefined
}

/** Maximum number of members of an object that are read. */
const maxMembers = 100

const isFailure = (event: EventName): event is BounceEvent => bounceEvents.some((failure) => failure === event)

/**
 * Returns the event of a bounce by the members that say which kind it is. They can only make it milder, and the mildest
 * counts. A permanent failure (`failed` with the severity `permanent`, as Mailgun reports it) is a bounce. The words of a
 * campaign do not count if the server says that the address does not exist.
 */
export const bounceByMember = (event: EventName, levels: ReadonlyArray<Item>): EventName => {
  if (!isFailure(event)) return event
  let found: BounceEvent | undefined
  let isPermanent = false
  const isNoSuchAddress = eventOfWords(levels) === "bounce"
  for (const item of [...levels, ...innerItems(levels)]) {
    for (const name of Object.keys(item).slice(0, maxMembers)) {
      const key = plain(name)
      if (isNoSuchAddress && levels.includes(item) && mayBeOfCampaign(key, item[name])) continue
      const kind = kindIn(key, item[name])
      if (kind === undefined) continue
      found = found === undefined ? kind : mildest(found, kind)
      isPermanent ||= key === "severity" && kind === "bounce"
    }
  }
  if (event === "failed") return isPermanent && found === "bounce" ? "bounce" : event
  return found === undefined ? event : mildest(event, found)
}

/** Returns the event of a bounce by the members that say its kind, and by the words of the recipient's server. */
export const bounceIn = (event: EventName, levels: ReadonlyArray<Item>): EventName =>
  bounceByReason(bounceByMember(event, levels), levels)
