import { Buffer } from "node:buffer"
import { currentLanguage, english, plural, t, translated } from "../languages/Language.ts"
import { smsLength } from "./SmsLength.ts"

// Checks of rendered texts for SMS and push. The name of a variable says its channel. Pure.

/** A check of a variable that is a text of SMS or push. */
export interface ChannelCheck {
  readonly variable: string
  readonly channel: "sms" | "push"
  readonly status: "ok" | "warn" | "wrong"
  /** Septets or 16-bit units of an SMS; characters of a push. */
  readonly length: number
  /** Number of messages of an SMS. Absent for push. */
  readonly segments?: number
  /** The finding and its remedy, in one to three sentences. */
  readonly detail: string
}

/** Parts of messages by the names of their variables, in any case, with `_`, `-` or nothing between the words. */
const parts = {
  sms: /^sms(?:[_-]?(?:text|body|message|content))?$/i,
  pushTitle: /^push[_-]?(?:title|heading|headline)$/i,
  pushBody: /^push(?:[_-]?(?:text|body|message|content|alert))?$/i,
} as const

/** Characters of a push that a platform shows, or takes. */
interface PushLimit {
  readonly platform: string
  readonly title: number
  readonly body: number
  /** Whether Chinese, Japanese and Korean characters count as two. */
  readonly wide?: true
  /** Whether the platform refuses longer texts. Others cut them. */
  readonly refuses?: true
}

/**
 * Limits of push by platform. iOS, Huawei, Xiaomi, OPPO and vivo: "Message content restrictions" of Alibaba Cloud's Mobile
 * Push, February 2025. Android: 65 and 240 characters, as platforms of engagement recommend. What a phone shows depends on
 * its size, so lengths that are cut are rules of thumb.
 */
export const pushLimits: ReadonlyArray<PushLimit> = [
  { platform: "iOS", title: 40, body: 110, wide: true },
  { platform: "Android", title: 65, body: 240 },
  { platform: "Huawei", title: 40, body: 1024, refuses: true },
  { platform: "Xiaomi", title: 50, body: 128, refuses: true },
  { platform: "OPPO", title: 32, body: 200, refuses: true },
  { platform: "vivo", title: 40, body: 100, wide: true, refuses: true },
]

/** Maximum size of the payload of APNs and of Firebase Cloud Messaging. Unit: bytes. */
const payloadMax = 4_096

/** Longer SMS are refused by several senders, Twilio among them. Unit: characters. */
const smsMax = 1_600

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })
const isWide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/** Characters as a reader counts them: an emoji is one. `wide` counts Chinese, Japanese and Korean characters twice. */
export const charactersOf = (text: string, wide = false): number => {
  let count = 0
  for (const { segment } of graphemes.segment(text)) count += wide && isWide.test(segment) ? 2 : 1
  return count
}

/** Typographic characters that need UCS-2, and characters of GSM-7 that read the same. */
const replacements: Readonly<Record<string, string>> = {
  "‘": "'",
  "’": "'",
  "“": '"',
  "”": '"',
  "„": '"',
  "–": "-",
  "—": "-",
  "…": "...",
  "\u00a0": english("a space"),
  "`": "'",
  "•": "-",
}

/** Maximum number of characters that a finding names. */
const namedMax = 3

const codeOf = (character: string) => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`

const foreignText = (foreign: ReadonlyArray<string>): string => {
  const named = foreign.slice(0, namedMax).map((character) => {
    const instead = replacements[character]
    const code = codeOf(character)
    return `${/\p{Z}|\p{C}/u.test(character) ? "" : `${character} `}${
      instead === undefined ? `(${code})` : t`(${code}, write ${translated(instead)})`
    }`
  }).join(", ")
  const others = foreign.length - namedMax
  return t`It is sent as UCS-2, because GSM-7 has no ${others > 0 ? t`${named} and ${others} others` : named}.`
}

const smsCheck = (variable: string, text: string): ChannelCheck => {
  const { encoding, foreign, segments, units } = smsLength(text)
  const length = encoding === "GSM-7" ? t`${units} septets in GSM-7` : t`${units} units in ${encoding}`
  const size = `${length}: ${plural(segments, "{0} message", "{0} messages").replace("{0}", `${segments}`)}.`
  const isRefused = [...text].length > smsMax
  const remedy = isRefused
    ? t`Several senders refuse more than ${smsMax} characters. Shorten it.`
    : segments > 1
    ? t`Each message is charged.`
    : ""
  return {
    variable,
    channel: "sms",
    status: isRefused ? "wrong" : segments > 1 ? "warn" : "ok",
    length: units,
    segments,
    detail: [size, foreign.length > 0 ? foreignText(foreign) : "", remedy].filter((part) => part !== "").join(" "),
  }
}

const pushCheck = (variable: string, part: "title" | "body", text: string): ChannelCheck => {
  const length = charactersOf(text)
  const exceeded = pushLimits.filter((limit) => charactersOf(text, limit.wide === true) > limit[part])
  const namesOf = (refuses: boolean) =>
    exceeded.filter((limit) => (limit.refuses === true) === refuses)
      .map((limit) => `${limit.platform} (${limit[part]})`).join(", ")
  const [cut, refused] = [namesOf(false), namesOf(true)]
  const isTooLarge = Buffer.byteLength(text) > payloadMax
  return {
    variable,
    channel: "push",
    status: isTooLarge ? "wrong" : cut !== "" ? "warn" : "ok",
    length,
    detail: [
      `${plural(length, "{0} character", "{0} characters").replace("{0}", `${length}`)}.`,
      cut === "" ? "" : t`Cut on ${cut}.`,
      refused === "" ? "" : t`Refused by the push services of ${refused}.`,
      isTooLarge
        ? t`It is larger than a push may be, ${payloadMax.toLocaleString(currentLanguage().locale)} bytes. Shorten it.`
        : "",
    ].filter((sentence) => sentence !== "").join(" "),
  }
}

/** Checks the variables whose names say that they are texts of SMS or push. */
export const channelChecks = (vars: Readonly<Record<string, string>>): ReadonlyArray<ChannelCheck> =>
  Object.entries(vars).flatMap(([name, text]) =>
    parts.sms.test(name)
      ? [smsCheck(name, text)]
      : parts.pushTitle.test(name)
      ? [pushCheck(name, "title", text)]
      : parts.pushBody.test(name)
      ? [pushCheck(name, "body", text)]
      : []
  )
