/**
 * The groups of a person at the identity provider. `known`: all groups. `unknown`: the provider did not send all, or
 * sent them in a form that cannot be read.
 */
export type ProvidedGroups =
  | { readonly kind: "known"; readonly groups: ReadonlyArray<string> }
  | { readonly kind: "unknown"; readonly reason: string }

/** A token without the claim, which providers leave out for a person without groups. */
export const noGroups: ProvidedGroups = { kind: "known", groups: [] }

const isText = (value: unknown): value is string => typeof value === "string"

/**
 * Reads the groups in the claim `name` of a token: a list of texts, or one text. Undefined without the claim. Entra ID
 * replaces more than 200 groups by `_claim_names` or `hasgroups`: such groups are unknown.
 */
export const groupsIn = (claims: Readonly<Record<string, unknown>>, name: string): ProvidedGroups | undefined => {
  const value = claims[name]
  const elsewhere = claims["_claim_names"]
  const isElsewhere = elsewhere !== null && typeof elsewhere === "object" && Object.hasOwn(elsewhere, name)
  if (isElsewhere || claims["hasgroups"] === true || claims["hasgroups"] === "true") {
    return {
      kind: "unknown",
      reason: `the provider left the claim ${name} out, because the person is in too many groups. ` +
        "Let it send only the groups assigned to Parlance",
    }
  }
  if (value === undefined || value === null) return undefined
  const groups = Array.isArray(value) ? value : [value]
  return groups.every(isText)
    // No group with a role has such a name, and PostgreSQL refuses texts with NUL.
    ? { kind: "known", groups: [...new Set(groups)].filter((group) => group !== "" && !group.includes("\0")) }
    : { kind: "unknown", reason: `the claim ${name} is neither a text nor a list of texts` }
}
