import { HttpApi } from "effect/http-api"
import { type Rule, ruleOf, writes } from "../accounts/Access.ts"
import { otherActions } from "../accounts/Audit.ts"
import { Api } from "./Api.ts"

const rules = new Map<string, Rule>()
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const rule = ruleOf(endpoint)
    if (rule !== undefined) rules.set(endpoint.identifier, rule)
  },
})
// An action of the console's editor without an endpoint. It sends to test groups and members, or to any address with
// `sendTestMessage`.
rules.set("sendVariantTest", writes("editor", "test message sent"))

/** The access to every endpoint of the management API, by its name. */
export const accessTable: ReadonlyMap<string, Rule> = rules

/** The names of all actions that the audit log records, sorted. */
export const recordedActions: ReadonlyArray<string> = [
  ...new Set([...[...rules.values()].flatMap(({ action }) => action === undefined ? [] : [action]), ...otherActions]),
].sort()
