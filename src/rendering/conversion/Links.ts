import { linkNames } from "../dialects/LinkFields.ts"
import type { Result } from "./Result.ts"

// Links that platforms make. This service makes the link to unsubscribe. The caller passes the addresses of the others.

type Target = "unsubscribe_url" | "preferences_url" | "browser_url"

const meanings: Readonly<Record<Target, string>> = {
  unsubscribe_url: "the link to unsubscribe",
  preferences_url: "the page of the preferences",
  browser_url: "the message in a browser",
}

/** Tags that are a link or its address, with the words of a link. */
const linkTags: Readonly<Record<string, readonly [Target, string?]>> = {
  unsubscribe_link: ["unsubscribe_url"],
  unsubscribe_url: ["unsubscribe_url"],
  unsubscribe: ["unsubscribe_url", "Unsubscribe"],
  manage_preferences_link: ["preferences_url"],
  manage_preferences: ["preferences_url", "Manage preferences"],
  manage_subscription_preferences_url: ["preferences_url"],
  subscription_preferences_url: ["preferences_url"],
  subscription_management_url: ["preferences_url"],
  web_view_link: ["browser_url"],
  web_view: ["browser_url", "View in browser"],
  view_in_browser_url: ["browser_url"],
}

/** Returns the target of a name that platforms give to a link, such as `unsubscribeUrl`. */
export const targetOf = (name: string): Target | undefined => {
  const [, meaning = ""] = linkNames.get(name.toLowerCase().replaceAll("_", "")) ?? []
  return /preferences/.test(meaning)
    ? "preferences_url"
    : /unsubscribe/.test(meaning)
    ? "unsubscribe_url"
    : meaning === ""
    ? undefined
    : "browser_url"
}

/** Returns the path of a link, and reports an address that the caller must pass. */
export const linkTo = (result: Result, target: Target, text: string, at: number): string => {
  if (target === "unsubscribe_url") return target
  result.find("check", at, text, `Pass the address of ${meanings[target]} as the field ${target}, or remove the link`)
  return result.field(text, target)
}

/** Returns the Liquid of a tag that is a link. Undefined for other tags. */
export const linkTag = (
  result: Result,
  name: string,
  words: string,
  text: string,
  at: number,
  hasWholeLinks = false,
): string | undefined => {
  const found = Object.hasOwn(linkTags, name) ? linkTags[name] : undefined
  if (found === undefined) return undefined
  const [target, own = hasWholeLinks && name === "unsubscribe_link" ? "Unsubscribe" : undefined] = found
  const url = linkTo(result, target, text, at)
  // The platform writes a whole link, which is broken within the address of another one.
  const isAddress = /\b(?:href|src)\s*=\s*["']?\s*$/i.test(result.source.slice(Math.max(0, at - 40), at))
  return isAddress || own === undefined ? `{{ ${url} }}` : `<a href="{{ ${url} }}">${words === "" ? own : words}</a>`
}
