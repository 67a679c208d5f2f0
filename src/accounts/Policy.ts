import { grantedBy, type ManagementScope, managementScopeNames } from "../domain/ApiKey.ts"
import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import { sourceIdOf } from "../domain/Source.ts"
import { reaches, type Role } from "./Account.ts"
import { type Actor, type KeyActor, roleIn } from "./Actor.ts"

/**
 * Access to an endpoint: for people a role in the organization of its path, any account, or administrators of the
 * installation; for API keys a scope.
 */
export interface Rule {
  readonly needs: Role | "signed-in" | "administrator"
  /** The scope that an API key of the organization needs, `any` for one of the management API; absent if no key may. */
  readonly scope?: ManagementScope | "any"
  /** Its name in the audit log; absent for endpoints that change nothing. */
  readonly action?: string
  /** The audit log keeps nothing of the body: it names a person, or is a secret. */
  readonly isPrivate?: boolean
  /** Each record that it changes has an entry in the audit log, and the request itself has none. */
  readonly isMany?: boolean
  /** Why a session of any role is refused for these path parameters. */
  readonly refuses?: (params: Readonly<Record<string, string | undefined>>) => string | undefined
}

const reads = (needs: Rule["needs"], scope?: Rule["scope"]): Rule => ({ needs, ...(scope && { scope }) })
const writes = (
  needs: Rule["needs"],
  action: string,
  scope?: Rule["scope"],
  more: Pick<Rule, "isMany" | "isPrivate" | "refuses"> = {},
): Rule => ({ ...reads(needs, scope), action, ...more })

/** `provider_e` is set up on purpose, on the command line, and not in the console. */
const commandLineOnly = (params: Readonly<Record<string, string | undefined>>) =>
  sourceIdOf(params["segment"] ?? "") === "provider_e"
    ? "The webhook source provider_e is set up on the command line: `parlance webhook set provider_e`, or with the admin token"
    : undefined

/** Endpoints that can be used on the sandbox of an organization, to read and to change it. */
const ofSandbox: ReadonlySet<string> = new Set([
  "cancelDelivery",
  "retryDelivery",
  "retryDeliveries",
  "cancelDeliveries",
  "listBulkActions",
  "getBulkAction",
  "listDeliveries",
  "getDelivery",
  "deliverySummary",
  "deliverySeries",
  "listSuppressions",
  "exportSuppressions",
  "addSuppression",
  "removeSuppression",
  "findSuppression",
  "removeSuppressionByPath",
  "findSuppressionByPath",
  "findStory",
  "listEvents",
  "recentEvents",
  "listInbox",
  "replayInbox",
  "listSinkMessages",
  "getSinkMessage",
  "clearSinkMessages",
])

/** Why an endpoint cannot be used on a sandbox; undefined for organizations, and for endpoints that can. */
export const sandboxRefusal = (
  endpoint: string,
  params: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const org = params["org"] ?? ""
  return !isSandbox(org) || ofSandbox.has(endpoint)
    ? undefined
    : `A sandbox has no settings, keys or templates of its own: use the organization ${
      JSON.stringify(liveOf(org).slice(0, 100))
    }`
}

/** The access to every management endpoint, by its name. One that is missing here takes the admin token. */
export const policy: Readonly<Record<string, Rule>> = {
  // Organizations and keys
  createOrganization: writes("administrator", "organization created"),
  listOrganizations: reads("signed-in", "any"),
  getOrganization: reads("viewer", "admin"),
  updateOrganization: writes("admin", "organization changed", "admin"),
  organizationUsage: reads("viewer", "admin"),
  setOrganizationQuota: writes("administrator", "quota changed"),
  createKey: writes("admin", "API key created", "admin"),
  listKeys: reads("viewer", "admin"),
  updateKey: writes("admin", "API key changed", "admin"),
  revokeKey: writes("admin", "API key revoked", "admin"),
  // Templates, variants, results
  createTemplate: writes("editor", "template created", "templates:write"),
  listTemplates: reads("viewer", "templates:read"),
  importTemplates: writes("editor", "templates imported", "templates:write"),
  changeTemplates: writes("editor", "template changed", "templates:write", { isMany: true }),
  getTemplate: reads("viewer", "templates:read"),
  updateTemplate: writes("editor", "template changed", "templates:write"),
  deleteTemplate: writes("editor", "template deleted", "templates:write"),
  createVariant: writes("editor", "variant created", "templates:write"),
  getVariant: reads("viewer", "templates:read"),
  updateVariant: writes("editor", "variant changed", "templates:write"),
  deleteVariant: writes("editor", "variant deleted", "templates:write"),
  switchVariants: writes("editor", "variant changed", "templates:write"),
  preview: reads("viewer", "templates:read"),
  listDrafts: reads("viewer", "templates:read"),
  getDraft: reads("viewer", "templates:read"),
  // Drafts are stored while somebody types, and nothing of them is served: the audit log does not record them.
  putDraft: reads("editor", "templates:write"),
  discardDraft: reads("editor", "templates:write"),
  publishDraft: writes("editor", "variant changed", "templates:write"),
  listVersions: reads("viewer", "templates:read"),
  getVersion: reads("viewer", "templates:read"),
  restoreVersion: writes("editor", "variant changed", "templates:write"),
  findTemplates: reads("viewer", "templates:read"),
  templateHistory: reads("viewer", "templates:read"),
  // Approval and comments
  listProposals: reads("viewer", "templates:read"),
  getProposal: reads("viewer", "templates:read"),
  reviseProposal: writes("editor", "proposed change revised", "templates:write"),
  approveProposal: writes("editor", "change approved", "admin"),
  rejectProposal: writes("editor", "change rejected", "admin"),
  withdrawProposal: writes("editor", "change withdrawn", "templates:write"),
  listComments: reads("viewer", "templates:read"),
  createComment: writes("viewer", "comment added", "templates:write", { isPrivate: true }),
  updateComment: writes("viewer", "comment changed", "templates:write", { isPrivate: true }),
  deleteComment: writes("viewer", "comment deleted", "templates:write", { isPrivate: true }),
  templateResults: reads("viewer", "results:read"),
  templateSeries: reads("viewer", "results:read"),
  templateSendTimes: reads("viewer", "results:read"),
  exportResults: reads("viewer", "results:read"),
  compareSegments: reads("viewer", "results:read"),
  listResultShares: reads("viewer", "results:read"),
  createResultShare: writes("editor", "results shared", "admin"),
  revokeResultShare: writes("editor", "shared results revoked", "admin"),
  listDecisions: reads("viewer", "results:read"),
  exportDecisions: reads("viewer", "results:read"),
  exportEvents: reads("viewer", "results:read"),
  exportDeliveries: reads("viewer", "results:read"),
  rebuild: writes("admin", "tallies recomputed", "admin"),
  listStoppedLearning: reads("viewer", "results:read"),
  resumeLearning: writes("editor", "learning resumed", "admin"),
  // Sources and their inboxes
  listSources: reads("viewer", "admin"),
  putSource: writes("admin", "webhook source changed", "admin", { refuses: commandLineOnly }),
  deleteSource: writes("admin", "webhook source removed", "admin", { refuses: commandLineOnly }),
  dryRun: reads("viewer", "events:read"),
  listEvents: reads("viewer", "events:read"),
  recentEvents: reads("viewer", "events:read"),
  findStory: reads("viewer", "events:read"),
  listInbox: reads("viewer", "events:read"),
  replayInbox: writes("editor", "webhook body replayed", "admin"),
  getErasure: reads("admin", "admin"),
  erasePerson: writes("admin", "person erased", "admin", { isPrivate: true }),
  // Webhook endpoints
  listWebhookEndpoints: reads("viewer", "admin"),
  getWebhookEndpoint: reads("viewer", "admin"),
  createWebhookEndpoint: writes("admin", "webhook endpoint created", "admin"),
  updateWebhookEndpoint: writes("admin", "webhook endpoint changed", "admin"),
  deleteWebhookEndpoint: writes("admin", "webhook endpoint removed", "admin"),
  rotateWebhookSecret: writes("admin", "webhook secret replaced", "admin"),
  pingWebhookEndpoint: writes("admin", "webhook endpoint tested", "admin"),
  listWebhookEvents: reads("admin", "admin"),
  replayWebhookEvents: writes("admin", "webhook events replayed", "admin"),
  // Connections and deliveries
  listConnections: reads("viewer", "admin"),
  getConnection: reads("viewer", "admin"),
  putConnection: writes("admin", "connection changed", "admin"),
  deleteConnection: writes("admin", "connection removed", "admin"),
  resumeConnection: writes("admin", "connection resumed", "admin"),
  testConnection: writes("admin", "connection tested", "admin", { isPrivate: true }),
  sendTestMessage: writes("admin", "test message sent", "admin"),
  // In the console's editor alone: to test groups and members of the organization, unless `sendTestMessage` is allowed as well.
  sendVariantTest: writes("editor", "test message sent"),
  listSamplePeople: reads("viewer", "templates:read"),
  getSamplePerson: reads("viewer", "templates:read"),
  saveSamplePerson: writes("editor", "sample person saved", "templates:write", { isPrivate: true }),
  deleteSamplePerson: writes("editor", "sample person deleted", "templates:write", { isPrivate: true }),
  listTestGroups: reads("viewer", "admin"),
  getTestGroup: reads("viewer", "admin"),
  // Its addresses may be of people outside the organization, so that only admins choose them. Editors send to them.
  putTestGroup: writes("admin", "test group saved", "admin", { isPrivate: true }),
  deleteTestGroup: writes("admin", "test group deleted", "admin"),
  sendGroupTest: writes("editor", "test message sent", "admin"),
  listDkimKeys: reads("viewer", "admin"),
  createDkimKey: writes("admin", "DKIM key made", "admin"),
  updateDkimKey: writes("admin", "DKIM key changed", "admin"),
  deleteDkimKey: writes("admin", "DKIM key removed", "admin"),
  deliverySummary: reads("viewer", "deliveries:read"),
  deliverySeries: reads("viewer", "deliveries:read"),
  listDeliveries: reads("viewer", "deliveries:read"),
  getDelivery: reads("viewer", "deliveries:read"),
  cancelDelivery: writes("editor", "delivery cancelled", "deliveries:write"),
  retryDelivery: writes("editor", "delivery retried", "deliveries:write"),
  retryDeliveries: writes("editor", "deliveries retried", "deliveries:write"),
  cancelDeliveries: writes("editor", "deliveries cancelled", "deliveries:write"),
  listBulkActions: reads("viewer", "deliveries:read"),
  getBulkAction: reads("viewer", "deliveries:read"),
  // Sandbox
  listSinkMessages: reads("viewer", "deliveries:read"),
  getSinkMessage: reads("viewer", "deliveries:read"),
  clearSinkMessages: writes("editor", "sandbox messages removed", "deliveries:write"),
  // Suppressions
  listSuppressions: reads("viewer", "deliveries:read"),
  findSuppression: reads("viewer", "deliveries:read"),
  findSuppressionByPath: reads("viewer", "deliveries:read"),
  exportSuppressions: reads("viewer", "deliveries:read"),
  addSuppression: writes("editor", "address suppressed", "deliveries:write"),
  importSuppressions: writes("editor", "suppressions imported", "deliveries:write"),
  removeSuppression: writes("admin", "suppression removed", "admin"),
  removeSuppressionByPath: writes("admin", "suppression removed", "admin"),
  // Accounts
  listAccounts: reads("administrator"),
  createAccount: writes("administrator", "account created"),
  removeAccount: writes("administrator", "account removed"),
  resetAccount: writes("administrator", "link for a new password made"),
  getSession: reads("signed-in"),
  updateOwnAccount: writes("signed-in", "own account changed", undefined, { isPrivate: true }),
  listSessions: reads("signed-in"),
  revokeSession: writes("signed-in", "own session ended"),
  getSecondFactor: reads("signed-in"),
  beginSecondFactor: writes("signed-in", "second factor set-up begun", undefined, { isPrivate: true }),
  confirmSecondFactor: writes("signed-in", "second factor turned on", undefined, { isPrivate: true }),
  disableSecondFactor: writes("signed-in", "second factor turned off", undefined, { isPrivate: true }),
  renewRecoveryCodes: writes("signed-in", "recovery codes renewed", undefined, { isPrivate: true }),
  resetSecondFactor: writes("administrator", "second factor reset"),
  listMembers: reads("viewer", "admin"),
  putMember: writes("admin", "member changed", "admin"),
  removeMember: writes("admin", "member removed", "admin"),
  createInvitation: writes("admin", "invitation sent", "admin"),
  listInvitations: reads("viewer", "admin"),
  revokeInvitation: writes("admin", "invitation withdrawn", "admin"),
  listNotifications: reads("viewer", "admin"),
  // Not in the audit log, which would be of what people read.
  readNotifications: reads("viewer", "admin"),
  getNotificationPreferences: reads("viewer", "admin"),
  updateNotificationPreferences: writes("viewer", "notification preferences changed", "admin", { isPrivate: true }),
  listAudit: reads("admin", "admin"),
  listInstallationAudit: reads("administrator"),
}

const ruleOf = (endpoint: string): Rule | undefined => Object.hasOwn(policy, endpoint) ? policy[endpoint] : undefined

/** The scopes of which an API key needs one for a management endpoint; empty if no API key may use it. */
export const scopesFor = (endpoint: string): ReadonlyArray<ManagementScope> => {
  const scope = ruleOf(endpoint)?.scope
  return scope === undefined ? [] : scope === "any" ? managementScopeNames : grantedBy(scope)
}

/** The refusal of an API key. `reason` is the name under which it is counted. */
export interface KeyRefusal {
  readonly reason?: "other_organization" | "missing_scope"
  readonly detail: string
}

/** Why an API key may not use a management endpoint; undefined if it may. */
export const keyRefusal = (
  { org, scopes }: Pick<KeyActor, "org" | "scopes">,
  endpoint: string,
  params: Readonly<Record<string, string | undefined>>,
): KeyRefusal | undefined => {
  const named = liveOf(params["org"] ?? org)
  // An organization that does not exist has this text as well.
  if (named !== org) {
    return {
      reason: "other_organization",
      detail: `The key does not belong to the organization ${JSON.stringify(named.slice(0, 100))}`,
    }
  }
  const held = `The key has the scopes ${[...scopes].join(", ")}`
  const rule = ruleOf(endpoint)
  if (rule?.scope === undefined) {
    return {
      reason: "missing_scope",
      detail: `${held}; no scope opens this request, which takes the admin token or a session of the console`,
    }
  }
  if (!scopesFor(endpoint).some((scope) => scopes.has(scope))) {
    const needed = rule.scope === "any" ? `one of ${managementScopeNames.join(", ")}` : JSON.stringify(rule.scope)
    return { reason: "missing_scope", detail: `${held}; this request needs ${needed}` }
  }
  const elsewhere = sandboxRefusal(endpoint, params) ?? rule.refuses?.(params)
  return elsewhere === undefined ? undefined : { detail: elsewhere }
}

const isRole = (needs: Rule["needs"]): needs is Role => needs !== "signed-in" && needs !== "administrator"

/** Whether all that keeps an actor from an endpoint is that its organization requires a second factor. */
export const lacksSecondFactor = (
  actor: Actor,
  endpoint: string,
  params: Readonly<Record<string, string | undefined>>,
): boolean => {
  const rule = ruleOf(endpoint)
  if (actor.kind !== "session" || rule === undefined || !isRole(rule.needs)) return false
  const org = liveOf(params["org"] ?? "")
  return actor.session.closedTo.has(org) && reaches(roleIn(actor, org), rule.needs)
}

/** Why an actor may not use an endpoint; undefined if it may. */
export const refusal = (
  actor: Actor,
  endpoint: string,
  params: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  if (actor.kind === "token") return undefined
  if (actor.kind === "key") return keyRefusal(actor, endpoint, params)?.detail
  const rule = ruleOf(endpoint)
  if (rule === undefined) return "This takes the admin token"
  if (rule.needs === "signed-in") return undefined
  if (rule.needs === "administrator") {
    return actor.session.account.administrator ? undefined : "This takes an administrator of the installation"
  }
  const org = liveOf(params["org"] ?? "")
  const role = roleIn(actor, org)
  // The same for an organization that does not exist.
  if (role === undefined) return `Your account does not open the organization ${JSON.stringify(org.slice(0, 100))}`
  if (!reaches(role, rule.needs)) {
    return `This takes the role ${rule.needs} in this organization; you have the role ${role}. An admin can change that`
  }
  if (actor.session.closedTo.has(org)) {
    return `The organization ${
      JSON.stringify(org)
    } requires a second factor, and your account has none. Set one up in the ` +
      "console under Your account, Second factor"
  }
  return sandboxRefusal(endpoint, params) ?? rule.refuses?.(params)
}
