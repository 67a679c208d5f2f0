import { isBot } from "isbot"
import { agentRules } from "./UserAgents.ts"

/** Request headers by lowercase name. */
type Headers = Readonly<Record<string, string | undefined>>

/** The user agent of Apple's privacy proxy, which fetches every image when a message arrives. */
const applePrivacy = "Mozilla/5.0"

/**
 * Gmail's prefetch on arrival. In contrast, the image proxies of Gmail and Yahoo fetch an image when a person opens the
 * message.
 */
const gmailPrefetch = /Edge\/12\.246 Mozilla\/5\.0$/

const matcherOf = (kind: (typeof agentRules)[number]["is"]): RegExp =>
  new RegExp(agentRules.flatMap(({ is, pattern }) => is === kind ? [pattern] : []).join("|"), "i")

const mailPrograms = matcherOf("mail")
const programs = matcherOf("program")
const openers = matcherOf("opener")

/** Whether a user agent belongs to a program that no person uses. Requests without a user agent come from scripts. */
const isProgram = (agent: string): boolean =>
  agent === "" || programs.test(agent) || (!mailPrograms.test(agent) && isBot(agent))

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
  return agent === applePrivacy || gmailPrefetch.test(agent) ||
    (isProgram(agent) && (!openers.test(agent) || programs.test(agent))) ||
    isPrefetch(headers)
}

/**
 * Whether the headers of a click identify a program (which includes Office and libraries that show images) or a prefetch, or have no user agent. Scanners
 * that imitate browsers are detected by the timing of their events: see `machineClicks`.
 */
export const isMachineClick = (headers: Headers): boolean => {
  const agent = agentOf(headers)
  return isProgram(agent) || openers.test(agent) || isPrefetch(headers)
}
