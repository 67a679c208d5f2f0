import { isBot } from "isbot"

/** Request headers by lowercase name. */
type Headers = Readonly<Record<string, string | undefined>>

/** The user agent of Apple's privacy proxy, which fetches every image when a message arrives. */
const applePrivacy = "Mozilla/5.0"

/**
 * Gmail's prefetch on arrival. In contrast, the image proxies of Gmail and Yahoo fetch an image when a person opens the
 * message.
 */
const gmailPrefetch = /Edge\/12\.246 Mozilla\/5\.0$/

/**
 * Mail programs, and image proxies that fetch when a person opens a message. `isbot`, made for web sites, classifies
 * them as bots.
 */
const mailPrograms =
  /ggpht\.com|(?:image|mail)proxy|outlook|thunderbird|em client|airmail|spark\/|superhuman|mailbird|protonmail|navermailapp|lotus-notes/i

/**
 * Programs that `isbot` does not know: security gateways that follow links before a person reads the message, and a
 * crawler.
 */
const scanners =
  /barracuda|mimecast|proofpoint|urldefense|trend ?micro|symantec|messagelabs|sophos|fortimail|cisco-?iron|safelinks|forcepoint|fireeye|cloudmark|slurp/i

/**
 * Office programs. Outlook fetches images when a person opens a message. After a click, office programs check the link
 * before the browser opens it.
 */
const office = /\bms-?office\b/i

/** Whether a user agent belongs to a program that no person uses. Requests without a user agent come from scripts. */
const isProgram = (agent: string): boolean =>
  agent === "" || scanners.test(agent) || (!mailPrograms.test(agent) && isBot(agent))

const isPrefetch = (headers: Headers): boolean =>
  [headers["sec-purpose"], headers["purpose"], headers["x-purpose"], headers["x-moz"]].some((value) =>
    value !== undefined && /prefetch|preview|prerender/i.test(value)
  )

const agentOf = (headers: Headers): string => headers["user-agent"]?.trim() ?? ""

/**
 * Whether a machine opened a message: Apple's privacy proxy, a prefetch, or a program. Outlook and the image proxies of
 * Gmail and Yahoo act for people.
 */
export const isMachineOpen = (headers: Headers): boolean => {
  const agent = agentOf(headers)
  return agent === applePrivacy || gmailPrefetch.test(agent) || (!office.test(agent) && isProgram(agent)) ||
    isPrefetch(headers)
}

/**
 * Whether the headers of a click identify a program, a prefetch or an office program, or have no user agent. Scanners
 * that imitate browsers are detected by the timing of their events: see `machineClicks`.
 */
export const isMachineClick = (headers: Headers): boolean => {
  const agent = agentOf(headers)
  return (agent !== applePrivacy && isProgram(agent)) || office.test(agent) || isPrefetch(headers)
}
