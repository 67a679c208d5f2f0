import { Effect } from "effect"
import { AccountNotFound } from "../../accounts/AccountErrors.ts"
import { Accounts } from "../../accounts/Accounts.ts"
import type { Actor } from "../../accounts/Actor.ts"
import { Notifications } from "../../accounts/notifications/Notifications.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import * as Problems from "../Problems.ts"
import { lookedUp } from "../http/Requests.ts"

/**
 * Finds the account of a request about a member's own data: the caller's own account, or the named account if the caller
 * has no account. Undefined for a caller without an account that names no member. Fails with `Forbidden` if a session names
 * another account, and with `AccountNotFound` if the named account is not a member.
 */
export const makeMemberOf = Effect.gen(function* () {
  const accounts = yield* Accounts
  const notifications = yield* Notifications

  return Effect.fnUntraced(function* (org: OrgSlug, actor: Actor, name: string | undefined, data: string) {
    if (actor.kind === "session") {
      const { email, id } = actor.session.account
      if (name === undefined || name === id || name.trim().toLowerCase() === email) return id
      return yield* new Problems.Forbidden({ detail: `You can see and change your own ${data} only` })
    }
    if (name === undefined) return undefined
    const id = (yield* accounts.findByEmail(name))?.id ?? lookedUp(name)
    return (yield* notifications.mayBeNotified(org, id)) ? id : yield* new AccountNotFound({ id: name.slice(0, 254) })
  })
})
