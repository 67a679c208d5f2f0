import { Context } from "effect"
import type { OrgSlug } from "../domain/Ids.ts"
import { liveOf } from "../domain/Sandbox.ts"
import { reaches, type Role } from "./Account.ts"
import type { SignedIn } from "./Sessions.ts"

/** Who asks for something: the holder of the admin token (also the command line), or a person who is signed in. */
export type Actor = { readonly kind: "token" } | { readonly kind: "session"; readonly session: SignedIn }

/** Who asks, within a management request. */
export class CurrentActor extends Context.Service<CurrentActor, Actor>()("parlance/accounts/CurrentActor") {}

/** The actor as the audit log names it. */
export const nameOf = (actor: Actor): string => actor.kind === "token" ? "Admin token" : actor.session.account.email

/** The role of an actor in an organization or its sandbox; undefined without membership. */
export const roleIn = (actor: Actor, org: string): Role | undefined =>
  actor.kind === "token" || actor.session.account.administrator
    ? "admin"
    : actor.session.roles.get(liveOf(org) as OrgSlug)

/** Whether the actor has at least this role in the organization. */
export const may = (actor: Actor, org: string, needed: Role): boolean => reaches(roleIn(actor, org), needed)
