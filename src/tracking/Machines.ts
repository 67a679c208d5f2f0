/** Request headers by lowercase name. */
type Headers = Readonly<Record<string, string | undefined>>

/** Apple's privacy proxy, which fetches every image when a message arrives, names itself by these words alone. */
const applePrivacy = "Mozilla/5.0"

/** Gmail's prefetch on arrival. Its image proxy, like Yahoo's, fetches an image when a person opens the message. */
const gmailPrefetch = /Edge\/12\.246 Mozilla\/5\.0$/

/** Names of programs that follow links without a person: security gateways, previews of links, crawlers. */
const scanners = new RegExp(
  [
    "barracuda",
    "mimecast",
    "proofpoint",
    "urldefense",
    "trendmicro",
    "symantec",
    "messagelabs",
    "sophos",
    "fortimail",
    "cisco-?iron",
    "bingpreview",
    "safelinks",
    "ms-office",
    "skypeuripreview",
    "slackbot",
    "twitterbot",
    "facebookexternalhit",
    "linkedinbot",
    "discordbot",
    "telegrambot",
    "whatsapp",
    "googlebot",
    "bingbot",
    "\\bbot\\b",
    "crawler",
    "spider",
  ].join("|"),
  "i",
)

const isPrefetch = (headers: Headers): boolean =>
  [headers["sec-purpose"], headers["purpose"], headers["x-purpose"], headers["x-moz"]].some((value) =>
    value !== undefined && /prefetch|preview|prerender/i.test(value)
  )

/**
 * Whether a machine opened a message, as platforms report it: Apple's privacy proxy and prefetches did, the image proxies of
 * Gmail and Yahoo serve people.
 */
export const isMachineOpen = (headers: Headers): boolean => {
  const agent = headers["user-agent"]?.trim() ?? ""
  return agent === applePrivacy || gmailPrefetch.test(agent) || scanners.test(agent) || isPrefetch(headers)
}

/**
 * Whether the user agent identifies itself as automated. Scanners that imitate browsers are recognized by the timing of
 * their events: see `machineClicks`.
 */
export const isMachineClick = (headers: Headers): boolean =>
  scanners.test(headers["user-agent"] ?? "") || isPrefetch(headers)
