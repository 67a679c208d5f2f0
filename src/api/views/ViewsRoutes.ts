import { Effect } from "effect"
import { type Actor, may } from "../../accounts/Actor.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { ListName } from "../../domain/SavedView.ts"
import { SavedViews } from "../../team/SavedViews.ts"
import { makeMemberOf } from "../accounts/MemberOf.ts"
import { managed } from "../http/Managed.ts"
import { invalid, lookedUp } from "../http/Requests.ts"

/** Serves `ViewsGroup`. */
export const layer = managed(
  "views",
  Effect.gen(function* () {
    const views = yield* SavedViews
    const memberOf = yield* makeMemberOf

    const userOf = (org: OrgSlug, actor: Actor, member: string | undefined) =>
      Effect.map(memberOf(org, actor, member, "views"), (account) => ({
        account,
        // The scope of a key or the admin token has been checked.
        mayShare: actor.kind !== "session" || may(actor, org, "editor"),
      }))

    return {
      listViews: Effect.fnUntraced(function* ({ actor, org, query: { list, member } }) {
        return { views: yield* views.list(org, yield* memberOf(org, actor, member, "views"), list) }
      }),
      putView: Effect.fnUntraced(function* ({ actor, body: { member, ...view }, org, params }) {
        return yield* views.put(org, yield* userOf(org, actor, member), params.view, view)
      }),
      deleteView: Effect.fnUntraced(function* ({ actor, org, params, query }) {
        yield* views.remove(org, yield* userOf(org, actor, query.member), lookedUp(params.view))
      }),
      putStartView: Effect.fnUntraced(function* ({ actor, body, org, params }) {
        const account = yield* memberOf(org, actor, body.member, "views")
        if (account === undefined) {
          return yield* invalid([{ pointer: "/member", detail: "is required without a session" }])
        }
        const list = ListName.literals.find((one) => one === params.list)
        if (list === undefined) {
          return yield* invalid([{ pointer: "list", detail: `must be one of ${ListName.literals.join(", ")}` }])
        }
        const view = body.view === null ? null : lookedUp(body.view)
        yield* views.start(org, account, list, view)
      }),
    }
  }),
)
