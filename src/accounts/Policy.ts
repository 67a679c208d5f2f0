import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import { sourceIdOf } from "../domain/Source.ts"
import { reaches, type Role } from "./Account.ts"
import { type Actor, roleIn } from "./Actor.ts"

/** Who may use an endpoint: a role in the organization of its path, anybody signed in, or administrators of the installation. */
export interface Rule {
  readonly needs: Role | "signed-in" | "administrator"
  /** Its name in the audit log; absent for endpoints that change nothing. */
  readonly action?: string
  /** The audit log keeps nothing of the body: it names a person, or is a secret. */
  readonly isPrivate?: boolean
  /** Why a session of any role is refused for these path parameters. */
  readonly refuses?: (params: Readonly<Record<string, string | undefined>>) => string | undefined
}

const reads = (needs: Rule["needs"]): Rule => ({ needs })
const writes = (needs: Rule["needs"], action: string, more: Partial<Rule> = {}): Rule => ({ needs, action, ...more })

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
  "addSuppression",
  "removeSuppression",
  "findSuppression",
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

/** Every management endpoint by its name, and who may use it. One that is missing here takes the admin token. */
export const policy: Readonly<Record<string, Rule>> = {
  // Organizations and keys
  createOrganization: writes("administrator", "organization created"),
  listOrganizations: reads("signed-in"),
  getOrganization: reads("viewer"),
  updateOrganization: writes("admin", "organization changed"),
  organizationUsage: reads("viewer"),
  setOrganizationQuota: writes("administrator", "quota changed"),
  createKey: writes("admin", "API key created"),
  listKeys: reads("viewer"),
  updateKey: writes("admin", "API key changed"),
  revokeKey: writes("admin", "API key revoked"),
  // Templates, variants, results
  createTemplate: writes("editor", "template created"),
  listTemplates: reads("viewer"),
  importTemplates: writes("editor", "templates imported"),
  getTemplate: reads("viewer"),
  updateTemplate: writes("editor", "template changed"),
  deleteTemplate: writes("editor", "template deleted"),
  createVariant: writes("editor", "variant created"),
  getVariant: reads("viewer"),
  updateVariant: writes("editor", "variant changed"),
  deleteVariant: writes("editor", "variant deleted"),
  preview: reads("viewer"),
  findTemplates: reads("viewer"),
  templateHistory: reads("viewer"),
  templateResults: reads("viewer"),
  templateSeries: reads("viewer"),
  templateSendTimes: reads("viewer"),
  listDecisions: reads("viewer"),
  rebuild: writes("admin", "tallies recomputed"),
  listStoppedLearning: reads("viewer"),
  resumeLearning: writes("editor", "learning resumed"),
  // Sources and their inboxes
  listSources: reads("viewer"),
  putSource: writes("admin", "webhook source changed", { refuses: commandLineOnly }),
  deleteSource: writes("admin", "webhook source removed", { refuses: commandLineOnly }),
  dryRun: reads("viewer"),
  listEvents: reads("viewer"),
  recentEvents: reads("viewer"),
  findStory: reads("viewer"),
  listInbox: reads("viewer"),
  replayInbox: writes("editor", "webhook body replayed"),
  getErasure: reads("admin"),
  erasePerson: writes("admin", "person erased", { isPrivate: true }),
  // Connections and deliveries
  listConnections: reads("viewer"),
  getConnection: reads("viewer"),
  putConnection: writes("admin", "connection changed"),
  deleteConnection: writes("admin", "connection removed"),
  resumeConnection: writes("admin", "connection resumed"),
  testConnection: writes("admin", "connection tested", { isPrivate: true }),
  sendTestMessage: writes("admin", "test message sent"),
  listDkimKeys: reads("viewer"),
  createDkimKey: writes("admin", "DKIM key made"),
  updateDkimKey: writes("admin", "DKIM key changed"),
  deleteDkimKey: writes("admin", "DKIM key removed"),
  deliverySummary: reads("viewer"),
  deliverySeries: reads("viewer"),
  listDeliveries: reads("viewer"),
  getDelivery: reads("viewer"),
  cancelDelivery: writes("editor", "delivery cancelled"),
  retryDelivery: writes("editor", "delivery retried"),
  retryDeliveries: writes("editor", "deliveries retried"),
  cancelDeliveries: writes("editor", "deliveries cancelled"),
  listBulkActions: reads("viewer"),
  getBulkAction: reads("viewer"),
  // Sandbox
  listSinkMessages: reads("viewer"),
  getSinkMessage: reads("viewer"),
  clearSinkMessages: writes("editor", "sandbox messages removed"),
  // Suppressions
  listSuppressions: reads("viewer"),
  findSuppression: reads("viewer"),
  exportSuppressions: reads("viewer"),
  addSuppression: writes("editor", "address suppressed"),
  importSuppressions: writes("editor", "suppressions imported"),
  removeSuppression: writes("admin", "suppression removed"),
  // Accounts
  listAccounts: reads("administrator"),
  createAccount: writes("administrator", "account created"),
  removeAccount: writes("administrator", "account removed"),
  resetAccount: writes("administrator", "link for a new password made"),
  getSession: reads("signed-in"),
  updateOwnAccount: writes("signed-in", "own account changed", { isPrivate: true }),
  listSessions: reads("signed-in"),
  revokeSession: writes("signed-in", "own session ended"),
  getSecondFactor: reads("signed-in"),
  beginSecondFactor: writes("signed-in", "second factor set-up begun", { isPrivate: true }),
  confirmSecondFactor: writes("signed-in", "second factor turned on", { isPrivate: true }),
  disableSecondFactor: writes("signed-in", "second factor turned off", { isPrivate: true }),
  renewRecoveryCodes: writes("signed-in", "recovery codes renewed", { isPrivate: true }),
  resetSecondFactor: writes("administrator", "second factor reset"),
  listMembers: reads("viewer"),
  putMember: writes("admin", "member changed"),
  removeMember: writes("admin", "member removed"),
  createInvitation: writes("admin", "invitation sent"),
  listInvitations: reads("viewer"),
  revokeInvitation: writes("admin", "invitation withdrawn"),
  listAudit: reads("admin"),
  listInstallationAudit: reads("administrator"),
}

const isRole = (needs: Rule["needs"]): needs is Role => needs !== "signed-in" && needs !== "administrator"

/** Whether all that keeps an actor from an endpoint is that its organization requires a second factor. */
export const lacksSecondFactor = (
  actor: Actor,
  endpoint: string,
  params: Readonly<Record<string, string | undefined>>,
): boolean => {
  const rule = Object.hasOwn(policy, endpoint) ? policy[endpoint] : undefined
  if (actor.kind === "token" || rule === undefined || !isRole(rule.needs)) return false
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
  const rule = Object.hasOwn(policy, endpoint) ? policy[endpoint] : undefined
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
