import type { SourceFinding } from "../SourceFinding.ts"
import { passLink } from "./Notation.ts"

const unsubscribe = "the link to unsubscribe. Write {{ unsubscribe_url }}"
const preferences = "the link to the preferences. Write {{ unsubscribe_url }}"
const browser = `the link to the message in a browser. ${passLink}`

/** Names of fields in which other platforms pass links, in lower case without `_`, with the platform. */
export const linkNames: ReadonlyMap<string, readonly [platform: string, meaning: string]> = new Map([
  ["unsubscribeurl", ["Iterable or listmonk", unsubscribe]],
  ["hostedunsubscribeurl", ["Iterable", unsubscribe]],
  ["unsubscribemessagetypeurl", ["Iterable", unsubscribe]],
  ["unsubscribe", ["Brevo or SendGrid", unsubscribe]],
  ["unsubscribelink", ["HubSpot or Klaviyo", unsubscribe]],
  ["unsubscribelinkall", ["HubSpot", unsubscribe]],
  ["unsub", ["Mandrill", unsubscribe]],
  ["unsuburl", ["another platform", unsubscribe]],
  ["unsublink", ["another platform", unsubscribe]],
  ["unsubcenterurl", ["Marketing Cloud", unsubscribe]],
  ["optout", ["another platform", unsubscribe]],
  ["optouturl", ["another platform", unsubscribe]],
  ["optoutlink", ["another platform", unsubscribe]],
  ["unsubscribepreferences", ["SendGrid", preferences]],
  ["managepreferenceslink", ["Klaviyo", preferences]],
  ["subscriptionpreferencesurl", ["Customer.io", preferences]],
  ["managesubscriptionpreferencesurl", ["Customer.io", preferences]],
  ["subscriptioncenterurl", ["Marketing Cloud", preferences]],
  ["profilecenterurl", ["Marketing Cloud", preferences]],
  ["viewemailurl", ["Marketing Cloud", browser]],
  ["viewinbrowserurl", ["Iterable or Customer.io", browser]],
  ["viewaspageurl", ["HubSpot", browser]],
  ["webviewlink", ["Klaviyo", browser]],
  ["webversion", ["Campaign Monitor", browser]],
  ["weblink", ["SendGrid", browser]],
  ["messageurl", ["listmonk", browser]],
  ["mirror", ["Brevo", browser]],
])

/** An output of one name, such as `{{ unsubscribeUrl }}`, with or without filters. */
const output = /\{\{-?\s*(?:(?:params|system|contact)\.)?(?<name>[A-Za-z_]\w*)\s*(?:\||-?\}\})/g

/** Warns of fields whose name is a link of another platform. */
export const linkFields = (source: string): ReadonlyArray<SourceFinding> =>
  [...source.matchAll(output)].flatMap(({ groups, index }) => {
    const name = groups!["name"]!
    const known = name === "unsubscribe_url" ? undefined : linkNames.get(name.toLowerCase().replaceAll("_", ""))
    if (known === undefined) return []
    const [platform, meaning] = known
    return [{ begin: index, message: `"${name}" is the name of ${platform} for ${meaning}` }]
  })
