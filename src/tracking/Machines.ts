import { isBot } from "isbot"

/** Request headers by lowercase name. */
type Headers = Readonly<Record<string, string | undefined>>

/** Apple's privacy proxy, which fetches every image when a message arrives, names itself by these words alone. */
const applePrivacy = "Mozilla/5.0"

/** Gmail's prefetch on arrival. Its image proxy, like Yahoo's, fetches an image when a person opens the message. */
const gmailPrefetch = /Edge\/12\.246 Mozilla\/5\.0$/

/** Mail programs, and image proxies that fetch when a person opens a message. `isbot`, made for web sites, takes them for bots. */
const mailPrograms =
  /ggpht\.com|(?:image|mail)proxy|outlook|thunderbird|em client|airmail|spark\/|superhuman|mailbird|protonmail|navermailapp|lotus-notes/i

/** Names that `isbot` does not know: security gateways that follow links before a person reads the message, and a crawler. */
const scanners =
  /barracuda|mimecast|proofpoint|urldefense|trend ?micro|symantec|messagelabs|sophos|fortimail|cisco-?iron|safelinks|forcepoint|fireeye|cloudmark|slurp/i

/** Office programs. Outlook fetches images when a person opens a message. At a click, they check the link before the browser opens it. */
const office = /\bms-?office\b/i

/** Whether an agent names a program that no person uses. Programs without a name are scripts. */
const isProgram = (agent: string): boolean =>
  agent === "" || scanners.test(agent) || (!mailPrograms.test(agent) && isBot(agent))

const isPrefetch = (headers: Headers): boolean =>
  [headers["sec-purpose"], headers["purpose"], headers["x-purpose"], headers["x-moz"]].some((value) =>
    value !== undefined && /prefetch|preview|prerender/i.test(value)
  )

const agentOf = (headers: Headers): string => headers["user-agent"]?.trim() ?? ""

/**
 * Whether a machine opened a message, as platforms report it: Apple's privacy proxy, prefetches and programs did. Outlook and
 * the image proxies of Gmail and Yahoo serve people.
 */
export const isMachineOpen = (headers: Headers): boolean => {
  const agent = agentOf(headers)
  return agent === applePrivacy || gmailPrefetch.test(agent) || (!office.test(agent) && isProgram(agent)) ||
    isPrefetch(headers)
}

/**
 * Whether the user agent identifies itself as automated, or is missing. Scanners that imitate browsers are recognized by the timing of
 * their events: see `machineClicks`.
 */
export const isMachineClick = (headers: Headers): boolean => {
  const agent = agentOf(headers)
  return (agent !== applePrivacy && isProgram(agent)) || office.test(agent) || isPrefetch(headers)
}
