import { Context } from "effect"
import { grantedBy, type ManagementScope, managementScopeNames } from "../domain/ApiKey.ts"
import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import { reaches, type Role } from "./Account.ts"
import { type Actor, type KeyActor, roleIn } from "./Actor.ts"

type Params = Readonly<Record<string, string | undefined>>

/**
 * Access to an endpoint. For people: a role in the organization of its path, any account, or administrators of the
 * installation. For API keys: a scope.
 */
export interface Rule {
  readonly needs: Role | "signed-in" | "administrator"
  /**
   * The scope that an API key of the organization needs. `any`: any scope of the management API. Absent: no key may use
   * the endpoint.
   */
  readonly scope?: ManagementScope | "any"
  /** Name of the action in the audit log. Absent for endpoints that change nothing. */
  readonly action?: string
  /** Whether the audit log omits the body, because it names a person or is a secret. */
  readonly isPrivate?: boolean
  /** Whether the audit log has an entry for each changed record instead of one for the request. */
  readonly isMany?: boolean
  /** Whether the endpoint can be used on the sandbox of an organization. */
  readonly inSandbox?: boolean
  /**
   * Returns the reason why sessions and API keys are refused for these path parameters, regardless of role and scope.
   * Undefined if they are not refused.
   */
  readonly refuses?: (params: Params) => string | undefined
}

type More = Pick<Rule, "inSandbox" | "isMany" | "isPrivate" | "refuses">

/** Access to an endpoint that changes nothing in use. Without a scope, no API key may use it. */
export const reads = (needs: Rule["needs"], scope?: Rule["scope"], more: More = {}): Rule => ({
  needs,
  ...(scope === undefined ? {} : { scope }),
  ...more,
})

/**
 * Access to an endpoint that changes something, with the name `action` in the audit log. Without a scope, no API key
 * may use it.
 */
export const writes = (needs: Rule["needs"], action: string, scope?: Rule["scope"], more: More = {}): Rule => ({
  ...reads(needs, scope, more),
  action,
})

/** The access to an endpoint of the management API, as an annotation. */
export class EndpointAccess extends Context.Service<EndpointAccess, Rule>()("parlance/accounts/EndpointAccess") {}

/** Returns the access to an endpoint. Undefined for an endpoint that accepts only the admin token. */
export const ruleOf = ({ annotations }: { readonly annotations: Context.Context<never> }): Rule | undefined =>
  Context.getOrUndefined(annotations as Context.Context<EndpointAccess>, EndpointAccess)

/**
 * Returns the reason why an endpoint cannot be used on a sandbox. Undefined for organizations, and for endpoints that
 * can.
 */
export const sandboxRefusal = (rule: Rule | undefined, params: Params): string | undefined => {
  const org = params["org"] ?? ""
  return !isSandbox(org) || rule?.inSandbox === true
    ? undefined
    : `A sandbox has no settings, keys or templates of its own: use the organization ${
      JSON.stringify(liveOf(org).slice(0, 100))
    }`
}

/** Returns the scopes of which an API key needs one for a management endpoint. Empty if no API key may use it. */
export const scopesFor = (rule: Rule | undefined): ReadonlyArray<ManagementScope> =>
  rule?.scope === undefined ? [] : rule.scope === "any" ? managementScopeNames : grantedBy(rule.scope)

/** The refusal of an API key. `reason` is the name under which it is counted. */
interface KeyRefusal {
  readonly reason?: "other_organization" | "missing_scope"
  readonly detail: string
}

/** Returns the reason why an API key may not use a management endpoint. Undefined if it may. */
export const keyRefusal = (
  { org, scopes }: Pick<KeyActor, "org" | "scopes">,
  rule: Rule | undefined,
  params: Params,
): KeyRefusal | undefined => {
  const named = liveOf(params["org"] ?? org)
  // The text is equal for an unknown organization, so that organizations cannot be probed.
  if (named !== org) {
    return {
      reason: "other_organization",
      detail: `The key does not belong to the organization ${JSON.stringify(named.slice(0, 100))}`,
    }
  }
  const held = `The key has the scopes ${[...scopes].join(", ")}`
  if (rule?.scope === undefined) {
    return {
      reason: "missing_scope",
      detail: `${held}; no scope opens this request: use the admin token or a session of the console`,
    }
  }
  if (!scopesFor(rule).some((scope) => scopes.has(scope))) {
    const needed = rule.scope === "any" ? `one of ${managementScopeNames.join(", ")}` : JSON.stringify(rule.scope)
    return { reason: "missing_scope", detail: `${held}; this request needs ${needed}` }
  }
  const elsewhere = sandboxRefusal(rule, params) ?? rule.refuses?.(params)
  return elsewhere === undefined ? undefined : { detail: elsewhere }
}

const isRole = (needs: Rule["needs"]): needs is Role => needs !== "signed-in" && needs !== "administrator"

/** Whether the only reason for a refusal is that the organization requires a second factor. */
export const lacksSecondFactor = (
  actor: Actor,
  rule: Rule | undefined,
  params: Params,
): boolean => {
  if (actor.kind !== "session" || rule === undefined || !isRole(rule.needs)) return false
  const org = liveOf(params["org"] ?? "")
  return actor.session.closedTo.has(org) && reaches(roleIn(actor, org), rule.needs)
}

/** Returns the reason why an actor may not use an endpoint. Undefined if the actor may. */
export const refusal = (
  actor: Actor,
  rule: Rule | undefined,
  params: Params,
): string | undefined => {
  if (actor.kind === "token") return undefined
  if (actor.kind === "key") return keyRefusal(actor, rule, params)?.detail
  if (rule === undefined) return "This request requires the admin token"
  if (rule.needs === "signed-in") return undefined
  if (rule.needs === "administrator") {
    return actor.session.account.administrator
      ? undefined
      : "This request requires an administrator of the installation"
  }
  const org = liveOf(params["org"] ?? "")
  const role = roleIn(actor, org)
  // The text is equal for an unknown organization, so that organizations cannot be probed.
  if (role === undefined) {
    return `Your account has no access to the organization ${
      JSON.stringify(org.slice(0, 100))
    }. Ask its admin for an invitation`
  }
  if (!reaches(role, rule.needs)) {
    return `This request requires the role ${rule.needs} in this organization. Your role is ${role}: ask an admin to change it`
  }
  if (actor.session.closedTo.has(org)) {
    return `The organization ${
      JSON.stringify(org)
    } requires a second factor, and your account has none. Set one up in the ` +
      "console under Your account, Second factor"
  }
  return sandboxRefusal(rule, params) ?? rule.refuses?.(params)
}
