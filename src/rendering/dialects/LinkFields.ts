import type { SourceFinding } from "../SourceFinding.ts"

/** Names of fields in which other platforms pass the link to unsubscribe, in lower case without `_`. */
const unsubscribeNames: ReadonlyMap<string, string> = new Map([
  ["hostedunsubscribeurl", "Iterable"],
  ["unsubscribemessagetypeurl", "Iterable"],
  ["unsubscribe", "Brevo or SendGrid"],
  ["unsubscribelink", "HubSpot"],
  ["unsubscribelinkall", "HubSpot"],
  ["unsubscribeurl", "Iterable or listmonk"],
  ["unsub", "Mandrill"],
  ["unsuburl", "another platform"],
  ["unsubcenterurl", "Marketing Cloud"],
  ["setusertounsubscribedurl", "Braze"],
  ["optouturl", "another platform"],
  ["optoutlink", "another platform"],
])

/** An output of one name, such as `{{ unsubscribeUrl }}`, with or without filters. */
const output = /\{\{-?\s*(?<name>[A-Za-z_]\w*)\s*(?:\||-?\}\})/g

/** Warns of fields whose name is the link to unsubscribe of another platform. */
export const linkFields = (source: string): ReadonlyArray<SourceFinding> =>
  [...source.matchAll(output)].flatMap(({ groups, index }) => {
    const name = groups!["name"]!
    const platform = name === "unsubscribe_url"
      ? undefined
      : unsubscribeNames.get(name.toLowerCase().replaceAll("_", ""))
    return platform === undefined ? [] : [{
      begin: index,
      message: `"${name}" is the name of ${platform} for the link to unsubscribe. Write {{ unsubscribe_url }}, ` +
        `or pass the field "${name}" with every request`,
    }]
  })
