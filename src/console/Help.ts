/** The section of the documentation for pages below an organization, by the beginning of their path. The first match counts. */
const byPath: ReadonlyArray<readonly [path: RegExp, document: string]> = [
  [/^\/templates\/[^/]+\/results\/share/, "guide/results#sharing"],
  [/^\/templates\/[^/]+\/results\/report/, "guide/results#monday-report"],
  [/^\/templates\/[^/]+\/results\/explore/, "guide/results#segment-explorer"],
  [/^\/templates\/[^/]+\/results/, "guide/results"],
  [/^\/templates\/[^/]+\/send-times/, "guide/results#send-times"],
  [/^\/templates\/[^/]+\/comments/, "guide/team#comments"],
  [/^\/calendar/, "guide/marketers#calendar"],
  [/^\/reviews/, "guide/team#approval"],
  [/^\/templates\/[^/]+\/strings/, "guide/templates#strings-for-translators"],
  [/^\/templates\/[^/]+\/suggestions/, "guide/marketers#suggested-variants"],
  [/^\/templates\/[^/]+\/audience/, "guide/marketers#audience-and-schedule"],
  [/^\/templates\/[^/]+\/variants/, "guide/templates#liquid"],
  [/^\/templates/, "guide/marketers#your-first-template"],
  [/^\/images/, "guide/marketers#images"],
  [/^\/snippets/, "guide/templates#snippets"],
  [/^\/people/, "guide/marketers#finding-one-person-or-message"],
  [/^\/deliveries/, "guide/marketers#sending-and-deliverability"],
  [/^\/suppressions/, "operations/bounces"],
  [/^\/sandbox/, "integrations/sandbox"],
  [/^\/sources/, "integrations/README"],
  [/^\/webhook-endpoints/, "integrations/outgoing-webhooks"],
  [/^\/connections/, "integrations/sending"],
  [/^\/notifications/, "guide/marketers#notifications"],
  [/^\/settings\/keys/, "guide/api#before-you-start"],
  [/^\/settings\/test-groups/, "guide/marketers#test-messages"],
  [/^\/settings\/suggestions/, "operations/suggestions"],
  [/^\/settings\/bucket/, "guide/warehouse#bucket"],
  [/^\/settings\/members/, "guide/marketers#roles"],
]

/** The address of the help for a page of the console. Default: the guide for marketers. */
export const helpFor = (path: string): string => {
  const inside = /^\/console\/o\/[^/]+(\/.*)$/.exec(path)?.[1] ?? ""
  return `/docs/${byPath.find(([pattern]) => pattern.test(inside))?.[1] ?? "guide/marketers"}`
}
