import { languages } from "../../languages/Language.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { Account, AccountInput, Email, Invitation, Member, Role, SessionInfo } from "../../accounts/Account.ts"
import { AddressedEntry } from "../../accounts/Audit.ts"
import { auditLogs, ChainEnds } from "../../accounts/AuditChain.ts"
import { DisplayName } from "../../domain/Ids.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API for console accounts, sessions and the audit log.

const path = { org: Schema.String }
const memberPath = { ...path, account: Schema.String }
/** A link that works once. Prefix its path with the address of the console. */
const Link = Schema.Struct({
  path: Schema.String.annotate({ description: "Path with the secret token. Only this response contains it" }),
  expires_at: Schema.String,
  mailed: Schema.Boolean.annotate({ description: "Whether the link is also mailed to the person, as with `MAIL_URL`" }),
}).annotate({ identifier: "OneTimeLink" })

/** The role of a member. */
export const MemberBody = Schema.Struct({ role: Role })

/** The recipient of an invitation, and the role that the person gets. */
export const InvitationBody = Schema.Struct({ email: Email, role: Role })

/**
 * A change of one's own account. A new password requires the current one; without one, a sign-in through the identity
 * provider within the last 15 minutes. A new password ends all other sessions.
 */
export const OwnAccountBody = Schema.Struct({
  name: Schema.optionalKey(DisplayName),
  language: Schema.optionalKey(Schema.NullOr(Schema.Literals(languages.map(({ tag }) => tag)))).annotate({
    description: "Language of the console; null: the language of the browser",
  }),
  password: Schema.optionalKey(Schema.String),
  current_password: Schema.optionalKey(Schema.String),
})

/** The caller and their permissions. */
export const SessionState = Schema.Struct({
  actor: Schema.Literals(["admin_token", "account"]),
  account: Schema.NullOr(Schema.Struct({
    id: Schema.String,
    email: Schema.String,
    name: Schema.String,
    administrator: Schema.Boolean,
  })),
  roles: Schema.Record(Schema.String, Role),
  second_factor: Schema.Boolean.annotate({
    description: "Whether the session has a second factor: a code of the account's own, or the identity provider's",
  }),
  closed_to: Schema.Array(Schema.String).annotate({
    description: "Organizations that stay closed until the account has a second factor",
  }),
  csrf_token: Schema.NullOr(Schema.String).annotate({ description: "For X-CSRF-Token" }),
}).annotate({ identifier: "SessionState" })

/** Filters of an audit log and the parameters of its pages. */
export const auditQuery = {
  actor: Parameters.described(
    "Only entries of this actor, as `actor` of an entry has it: an e-mail address, `Admin token`, or an API key",
    Parameters.text("must be an actor of an entry"),
  ),
  action: Parameters.described(
    "Only entries of this action, such as `variant changed`",
    Parameters.text("must be an action"),
  ),
  subject: Parameters.described(
    "Only entries about this id. Of a template: also those about its variants",
    Parameters.text("must be an id"),
  ),
  since: Parameters.described(
    "Only entries of this time or later: a day (UTC) or an ISO 8601 time with an offset",
    Parameters.time,
  ),
  until: Parameters.described("Only entries before this time, in the same form", Parameters.time),
  ...Cursors.cursor("audit", "before", Parameters.numericPosition()),
  limit: Parameters.limit(200, 50),
}

const positionOfEntry = Parameters.numericPosition("must be the Parlance-Cursor of a page, or the seq of an entry")

/** Parameters of a download of an audit log. */
export const auditExportQuery = {
  log: Parameters.described(
    "`changes`, with sign-ins, or `refusals`, the refused requests. Default `changes`",
    Parameters.oneOf(auditLogs),
  ),
  format: Parameters.described(
    "`ndjson`, whose lines can be verified, or `csv`. Default `ndjson`",
    Parameters.oneOf(["ndjson", "csv"]),
  ),
  cursor: Parameters.described(
    "Only entries after this one: the header `Parlance-Cursor` of the previous page, or the `seq` of an entry",
    positionOfEntry,
  ),
  after: Cursors.earlierName("Earlier name of `cursor`", positionOfEntry),
  limit: Parameters.described(
    "Maximum number of entries. Up to 500, the response is a page with the headers `Parlance-Cursor` and " +
      "`Parlance-More`. Default: all entries",
    Parameters.numericPosition("must be a whole number from 1", 1),
  ),
}
const AuditChains = Schema.Struct({ changes: ChainEnds, refusals: ChainEnds }).annotate({ identifier: "AuditChains" })
const Ndjson = Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/x-ndjson" }))
const exportText =
  "Entries in the order of their chain, oldest first. `hash` is the SHA-256 of a line without its last " +
  'member, `,"hash":"…"`, and `previous` is the hash of the line before it. Sign-ins and refusals appear up to three ' +
  "minutes late, because they are counted by the minute."
const AuditPage = Schema.Struct({ entries: Schema.Array(AddressedEntry), ...Cursors.following(Schema.Int) })

/** Endpoints of accounts, members, sessions and the audit log. */
export class AccountsGroup extends managementGroup(
  "accounts",
  "Accounts, members, sessions and the audit log",
  {
    listAccounts: reads("administrator"),
    createAccount: writes("administrator", "account created"),
    removeAccount: writes("administrator", "account removed"),
    resetAccount: writes("administrator", "link for a new password made"),
    getSession: reads("signed-in"),
    updateOwnAccount: writes("signed-in", "own account changed", undefined, { isPrivate: true }),
    listSessions: reads("signed-in"),
    revokeSession: writes("signed-in", "own session ended"),
    listMembers: reads("viewer", "admin"),
    putMember: writes("admin", "member changed", "admin"),
    removeMember: writes("admin", "member removed", "admin"),
    createInvitation: writes("admin", "invitation sent", "admin"),
    listInvitations: reads("viewer", "admin"),
    revokeInvitation: writes("admin", "invitation withdrawn", "admin"),
    listInstallationAudit: reads("administrator"),
    listAudit: reads("admin", "admin"),
    getInstallationAuditChains: reads("administrator"),
    getAuditChains: reads("admin", "admin"),
    exportInstallationAudit: reads("administrator"),
    exportAudit: reads("admin", "admin"),
  },
  HttpApiEndpoint.get("listAccounts", "/accounts", {
    success: Schema.Struct({ accounts: Schema.Array(Account) }),
  }).annotate(OpenApi.Summary, "All accounts").annotate(
    OpenApi.Description,
    "All accounts of the installation, for its administrators.",
  ),
  HttpApiEndpoint.post("createAccount", "/accounts", {
    payload: AccountInput,
    success: Schema.Struct({ ...Account.fields, link: Schema.NullOr(Link) }).pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Creates an account").annotate(
    OpenApi.Description,
    "Without a password, `link` lets the person choose one.",
  ),
  HttpApiEndpoint.delete("removeAccount", "/accounts/:account", {
    params: { account: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [Problems.AccountNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Removes an account").annotate(
    OpenApi.Description,
    "Also removes its memberships and sessions. Its actions stay in the audit log.",
  ),
  HttpApiEndpoint.post("resetAccount", "/accounts/:account/reset", {
    params: { account: Schema.String },
    success: Link,
    error: Problems.AccountNotFound,
  }).annotate(OpenApi.Summary, "Creates a password reset link").annotate(
    OpenApi.Description,
    "A link to choose a new password; it works once, for one hour.",
  ),
  HttpApiEndpoint.get("getSession", "/session", { success: SessionState }).annotate(
    OpenApi.Summary,
    "The caller and their permissions",
  ),
  HttpApiEndpoint.patch("updateOwnAccount", "/account", {
    payload: OwnAccountBody,
    success: Account,
    error: [...Problems.ofBody, Problems.Unprocessable, Problems.TooManyAttempts],
  }).annotate(OpenApi.Summary, "Changes the caller's own name or password"),
  HttpApiEndpoint.get("listSessions", "/sessions", {
    success: Schema.Struct({ sessions: Schema.Array(SessionInfo) }),
  }).annotate(OpenApi.Summary, "The caller's own sessions").annotate(
    OpenApi.Description,
    "Every browser in which the caller's account is signed in.",
  ),
  HttpApiEndpoint.delete("revokeSession", "/sessions/:session", {
    params: { session: Schema.String },
    success: HttpApiSchema.NoContent,
    error: Problems.SessionNotFound,
  }).annotate(OpenApi.Summary, "Ends one of the caller's own sessions"),
  HttpApiEndpoint.get("listMembers", "/organizations/:org/members", {
    params: path,
    success: Schema.Struct({ members: Schema.Array(Member) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The members of an organization and their roles"),
  HttpApiEndpoint.put("putMember", "/organizations/:org/members/:account", {
    params: memberPath,
    payload: MemberBody,
    success: Member,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.AccountNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Sets the role of a member").annotate(
    OpenApi.Description,
    "Changes the role of a member. With the admin token or as an administrator, also makes any account a member.",
  ),
  HttpApiEndpoint.delete("removeMember", "/organizations/:org/members/:account", {
    params: memberPath,
    success: HttpApiSchema.NoContent,
    error: [Problems.AccountNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Removes a member from an organization"),
  HttpApiEndpoint.post("createInvitation", "/organizations/:org/invitations", {
    params: path,
    payload: InvitationBody,
    success: Schema.Struct({
      ...Invitation.fields,
      path: Schema.String,
      mailed: Schema.Boolean.annotate({
        description: "Whether the link is also mailed to the person, as with `MAIL_URL`",
      }),
    }).pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Invites a person to an organization").annotate(
    OpenApi.Description,
    "`path` is the link to send to the person. Only this response contains it. It works once, within 7 days.",
  ),
  HttpApiEndpoint.get("listInvitations", "/organizations/:org/invitations", {
    params: path,
    success: Schema.Struct({ invitations: Schema.Array(Invitation) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "Invitations that can still be accepted"),
  HttpApiEndpoint.delete("revokeInvitation", "/organizations/:org/invitations/:invitation", {
    params: { ...path, invitation: Schema.String },
    success: HttpApiSchema.NoContent,
    error: Problems.InvitationNotFound,
  }).annotate(OpenApi.Summary, "Withdraws an invitation"),
  HttpApiEndpoint.get("listInstallationAudit", "/audit", {
    query: auditQuery,
    success: AuditPage,
    error: Problems.InvalidRequest,
  }).annotate(OpenApi.Summary, "The audit log of the installation").annotate(
    OpenApi.Description,
    "Entries without an organization, newest first, for administrators of the installation: sign-ins and refused requests " +
      "(counted by the minute), accounts, sessions, links for passwords, and created organizations.",
  ),
  HttpApiEndpoint.get("listAudit", "/organizations/:org/audit", {
    params: path,
    query: auditQuery,
    success: AuditPage,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The audit log of an organization").annotate(
    OpenApi.Description,
    "Changes with their authors, and refused API keys (counted per minute), newest first. Filters are combined. `next` " +
      "is the value of `before` for the next page.",
  ),
  HttpApiEndpoint.get("getInstallationAuditChains", "/audit/chains", { success: AuditChains }).annotate(
    OpenApi.Summary,
    "The ends of the audit log's chains, of the installation",
  ),
  HttpApiEndpoint.get("getAuditChains", "/organizations/:org/audit/chains", {
    params: path,
    success: AuditChains,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The ends of the audit log's chains").annotate(
    OpenApi.Description,
    "Each entry has a hash over its content and the hash of the entry before it. `parlance audit verify` finds the first " +
      "entry that was removed or changed.",
  ),
  HttpApiEndpoint.get("exportInstallationAudit", "/audit/export", {
    query: auditExportQuery,
    success: Ndjson,
    error: Problems.InvalidRequest,
  }).annotate(OpenApi.Summary, "The audit log of the installation as NDJSON or CSV").annotate(
    OpenApi.Description,
    exportText,
  ),
  HttpApiEndpoint.get("exportAudit", "/organizations/:org/audit/export", {
    params: path,
    query: auditExportQuery,
    success: Ndjson,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The audit log of an organization as NDJSON or CSV").annotate(
    OpenApi.Description,
    exportText,
  ),
) {}
