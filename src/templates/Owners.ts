import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { normalizeEmail } from "../accounts/Account.ts"
import { memberEmails } from "../accounts/MemberEmails.ts"
import type { Fault } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"

// The owner of a template must be a member when set, and stays after leaving the organization. Lists then show that the
// owner has left, and files that name the owner can still be imported.

/** Returns an owner in the stored form. */
export const normalOwner = (owner: string | null): string | null => owner === null ? null : normalizeEmail(owner)

/** Returns the fault of an owner who is not a member. */
export const notMember = (owner: string): string =>
  `must be the e-mail address of a member. ${JSON.stringify(owner)} is not a member of this organization`

/** Returns the fault of a new owner who is not a member of the organization. `before` is the present owner. */
export const ownerFaults = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  owner: string | null | undefined,
  before: string | null,
) {
  const wanted = normalOwner(owner ?? null)
  const faults: ReadonlyArray<Fault> = wanted === null || wanted === before ||
      (yield* memberEmails(sql, org, [wanted])).has(wanted)
    ? []
    : [{ pointer: "/owner", detail: notMember(wanted) }]
  return faults
})
