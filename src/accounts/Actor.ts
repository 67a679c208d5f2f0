import { Context } from "effect"
import type { Scope } from "../domain/ApiKey.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { liveOf } from "../domain/Sandbox.ts"
import { reaches, type Role } from "./Account.ts"
import type { SignedIn } from "./Sessions.ts"

/** An API key as a caller of the management API. It may have no scope of the management API. */
export interface KeyActor {
  readonly kind: "key"
  readonly keyId: string
  readonly org: OrgSlug
  readonly scopes: ReadonlySet<Scope>
}

/** The caller: the holder of the admin token (including the command line), a person who is signed in, or an API key. */
export type Actor = { readonly kind: "token" } | { readonly kind: "session"; readonly session: SignedIn } | KeyActor

/** The caller of the current management request. */
export class CurrentActor extends Context.Service<CurrentActor, Actor>()("parlance/accounts/CurrentActor") {}

/** Returns the name of an actor in the audit log. */
export const nameOf = (actor: Actor): string => {
  switch (actor.kind) {
    case "token":
      return "Admin token"
    case "key":
      return `API key ${actor.keyId}`
    case "session":
      return actor.session.account.email
  }
}

/**
 * Returns the role of an actor in an organization or its sandbox, or undefined without membership. A key is a viewer of
 * its own organization, and its scopes grant the other permissions.
 */
export const roleIn = (actor: Actor, org: string): Role | undefined => {
  if (actor.kind === "token") return "admin"
  if (actor.kind === "key") return actor.org === liveOf(org) ? "viewer" : undefined
  return actor.session.account.administrator ? "admin" : actor.session.roles.get(liveOf(org) as OrgSlug)
}

/** Whether the actor has at least this role in the organization. */
export const may = (actor: Actor, org: string, needed: Role): boolean => reaches(roleIn(actor, org), needed)
