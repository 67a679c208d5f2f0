import { HttpApiError } from "effect/http-api"
import { listOfSources } from "../../domain/Source.ts"
import { declare } from "./ProblemPage.ts"

// Problems of organizations, accounts, and sources of events.

/** 404: the installation has no such organization (management only). */
export class OrganizationNotFound extends HttpApiError.Problem<OrganizationNotFound>()(
  "OrganizationNotFound",
  declare(
    "organization-not-found",
    404,
    "There is no such organization",
    "`parlance org list` lists organizations, and `parlance org create` creates one.",
  ),
) {}

/** 404: the organization has no such key. */
export class KeyNotFound extends HttpApiError.Problem<KeyNotFound>()(
  "KeyNotFound",
  declare("key-not-found", 404, "There is no such API key", "Keys are listed by `parlance key list`, by their id."),
) {}

/** 404: the inbox has no webhook body with this id. */
export class InboxEntryNotFound extends HttpApiError.Problem<InboxEntryNotFound>()(
  "InboxEntryNotFound",
  declare(
    "inbox-entry-not-found",
    404,
    "There is no such body in the inbox",
    "The bodies of a source are listed by `parlance inbox list`, by their id.",
  ),
) {}

/** 404: no erasure of the last 30 days has this id. */
export class ErasureNotFound extends HttpApiError.Problem<ErasureNotFound>()(
  "ErasureNotFound",
  declare(
    "erasure-not-found",
    404,
    "There is no such erasure",
    "Use the `id` from the response to the erasure request. Reports are kept for 30 days.",
  ),
) {}

/** 404: there is no such account, or no such member of the organization. */
export class AccountNotFound extends HttpApiError.Problem<AccountNotFound>()(
  "AccountNotFound",
  declare(
    "account-not-found",
    404,
    "There is no such account",
    "Accounts are listed by `parlance account list`, by their id; the members of an organization in the console under " +
      "Settings, Members.",
  ),
) {}

/** 404: the organization has no open invitation with this id. */
export class InvitationNotFound extends HttpApiError.Problem<InvitationNotFound>()(
  "InvitationNotFound",
  declare(
    "invitation-not-found",
    404,
    "There is no such invitation",
    "It was accepted or withdrawn, or has expired after 7 days. Invite the person again.",
  ),
) {}

/** 404: the organization has no such role of a group. */
export class GroupRoleNotFound extends HttpApiError.Problem<GroupRoleNotFound>()(
  "GroupRoleNotFound",
  declare(
    "group-role-not-found",
    404,
    "There is no such role of a group",
    "`parlance group-role list` lists the groups with a role.",
  ),
) {}

/** 404: the account has no such session. */
export class SessionNotFound extends HttpApiError.Problem<SessionNotFound>()(
  "SessionNotFound",
  declare("session-not-found", 404, "There is no such session", "It has ended, or belongs to another account."),
) {}

/** 404: the account has no such passkey. */
export class PasskeyNotFound extends HttpApiError.Problem<PasskeyNotFound>()(
  "PasskeyNotFound",
  declare("passkey-not-found", 404, "There is no such passkey", "It was removed, or belongs to another account."),
) {}

/** 404: the installation has no such key for links. */
export class TrackingKeyNotFound extends HttpApiError.Problem<TrackingKeyNotFound>()(
  "TrackingKeyNotFound",
  declare(
    "tracking-key-not-found",
    404,
    "There is no such tracking key",
    "`parlance tracking-key list` lists the keys that sign links in messages.",
  ),
) {}

/** 404: the organization has no such webhook source. */
export class SourceNotFound extends HttpApiError.Problem<SourceNotFound>()(
  "SourceNotFound",
  declare(
    "source-not-found",
    404,
    "There is no such webhook source",
    `\`parlance webhook list\` lists the sources. There are ${listOfSources}.`,
  ),
) {}

/** 404: the organization has no such webhook endpoint. */
export class EndpointNotFound extends HttpApiError.Problem<EndpointNotFound>()(
  "EndpointNotFound",
  declare(
    "webhook-endpoint-not-found",
    404,
    "There is no such webhook endpoint",
    "The endpoints of an organization are listed by GET /console/api/organizations/{org}/webhook-endpoints, by their id.",
  ),
) {}

/** 429: the organization has reached its daily quota of webhook bytes. */
export class QuotaExceeded extends HttpApiError.Problem<QuotaExceeded>()(
  "QuotaExceeded",
  declare(
    "quota-exceeded",
    429,
    "The organization has reached its daily quota of webhook bodies",
    "The request was not stored. Retry after the number of seconds in Retry-After; an event that arrives twice counts " +
      "once. The quota resets at 00:00 UTC. An administrator of the installation can raise it for the organization " +
      "with `parlance org quota`, or for all organizations with WEBHOOK_DAILY_BYTES.",
  ),
) {}
