import { Schema } from "effect"
import { DisplayName, GroupName } from "../domain/Ids.ts"

/** Roles in an organization. Each role includes the permissions of the roles before it. */
export const Role = Schema.Literals(["viewer", "editor", "admin"])
export type Role = typeof Role.Type

const ranks: Record<Role, number> = { viewer: 1, editor: 2, admin: 3 }

/** Whether `role` includes the permissions of `needed`. */
export const reaches = (role: Role | undefined, needed: Role): boolean =>
  role !== undefined && ranks[role] >= ranks[needed]

/** Returns an e-mail address in the form for comparison and storage: trimmed, lowercase. */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase()

/** An e-mail address of an account, up to 254 characters. */
export const Email = Schema.String.check(
  Schema.makeFilter<string>((value) =>
    value.length <= 254 && value.isWellFormed() && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(value.trim())
      ? undefined
      : "must be an e-mail address, such as ann@example.com"
  ),
)

/** A stored account. Times are ISO 8601 UTC. */
export const Account = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  name: Schema.String,
  administrator: Schema.Boolean.annotate({ description: "Of the whole installation" }),
  has_password: Schema.Boolean,
  second_factor: Schema.Boolean.annotate({
    description: "Whether sign-in requires a passkey or a code in addition to the password",
  }),
  language: Schema.NullOr(Schema.String).annotate({
    description: "Language of the console, such as `de`; null: the language of the browser",
  }),
  created_at: Schema.String,
}).annotate({ identifier: "Account" })
export type Account = typeof Account.Type

/** The input for a new account. An account without a password needs a link to choose one. */
export const AccountInput = Schema.Struct({
  email: Email,
  name: DisplayName,
  administrator: Schema.optionalKey(Schema.Boolean),
  password: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "AccountInput" })
export type AccountInput = typeof AccountInput.Type

/** A member of an organization. */
export const Member = Schema.Struct({
  account_id: Schema.String,
  email: Schema.String,
  name: Schema.String,
  role: Role,
  second_factor: Schema.Boolean.annotate({
    description: "Whether sign-in requires a passkey or a code in addition to the password",
  }),
  from_group: Schema.NullOr(Schema.String).annotate({
    description: "Group of the identity provider that assigned the role; null if a person invited or added the member",
  }),
  since: Schema.String,
  last_seen_on: Schema.NullOr(Schema.String).annotate({
    description: "Last day (UTC) on which the person used the console, such as `2026-11-30`; null: never, or not known",
  }),
}).annotate({ identifier: "Member" })
export type Member = typeof Member.Type

/** A group of the identity provider, and the role of its members in an organization. */
export const GroupRoleInput = Schema.Struct({ group: GroupName, role: Role }).annotate({ identifier: "GroupRoleInput" })
export type GroupRoleInput = typeof GroupRoleInput.Type

/** A group with a role in an organization. */
export const GroupRole = Schema.Struct({
  id: Schema.String,
  group: Schema.String,
  role: Role,
  members: Schema.Int.annotate({ description: "Members whose role comes from this group" }),
}).annotate({ identifier: "GroupRole" })
export type GroupRole = typeof GroupRole.Type

/** An invitation that has not been accepted. */
export const Invitation = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  role: Role,
  invited_by: Schema.String,
  created_at: Schema.String,
  expires_at: Schema.String,
}).annotate({ identifier: "Invitation" })
export type Invitation = typeof Invitation.Type

/** The way in which an account was signed in. */
export const SignInMethod = Schema.Literals(["password", "link", "invitation", "first_run", "openid", "passkey"])
export type SignInMethod = typeof SignInMethod.Type

/** The authenticator app and the recovery codes of an account. Times are ISO 8601 UTC. */
export const SecondFactorState = Schema.Struct({
  enabled: Schema.Boolean.annotate({ description: "Whether an authenticator app is set up. Passkeys do not count" }),
  enabled_at: Schema.NullOr(Schema.String),
  recovery_codes_left: Schema.Int,
}).annotate({ identifier: "SecondFactor" })
export type SecondFactorState = typeof SecondFactorState.Type

/** A passkey of an account. Times are ISO 8601 UTC. */
export const Passkey = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  domain: Schema.String.annotate({ description: "Domain of the console at the registration. It works there only" }),
  synced: Schema.Boolean.annotate({ description: "Whether it can be on several devices of its owner" }),
  created_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String).annotate({ description: "Null before the first sign-in with it" }),
}).annotate({ identifier: "Passkey" })
export type Passkey = typeof Passkey.Type

/** A session of an account. */
export const SessionInfo = Schema.Struct({
  id: Schema.String,
  user_agent: Schema.String,
  address: Schema.String,
  method: Schema.NullOr(SignInMethod).annotate({ description: "How it began; null for sessions of earlier releases" }),
  created_at: Schema.String,
  last_seen_at: Schema.String,
  expires_at: Schema.String,
  current: Schema.Boolean,
}).annotate({ identifier: "Session" })
export type SessionInfo = typeof SessionInfo.Type
