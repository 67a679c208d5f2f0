import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Audit } from "../../accounts/Audit.ts"
import { OpenId } from "../../accounts/OpenId.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { t } from "../../languages/Language.ts"
import { alone, ownPath, problem, redirect } from "../Routes.tsx"
import { queryOf, signedOutPages } from "./SignedOut.tsx"

/** The actions of changes by groups in the audit log. */
const groupActions = {
  added: "member added by a group",
  changed: "member changed by a group",
  removed: "member removed by a group",
  kept: "last admin kept without a group",
} as const

/** Signing in at an identity provider. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { cookie, enter, get, refusals } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const audit = yield* Audit
  const openId = yield* OpenId
  const signIn = yield* SignIn

  yield* get("/console/openid", (request) => {
    const next = ownPath(queryOf(request).get("next"))
    return openId.begin(cookie.originOf(request), next).pipe(
      Effect.map(({ state, url }) =>
        HttpServerResponse.redirect(url, {
          status: 303,
          headers: {
            "cache-control": "no-store",
            "set-cookie": `parlance_openid=${state}; ${cookie.attributes}; Max-Age=600`,
          },
        })
      ),
      Effect.catch((error) =>
        Effect.succeed(alone(request, problem(502, t`Signing in this way does not work now`, error.message)))
      ),
    )
  })

  yield* get(
    "/console/openid/callback",
    (request) =>
      openId.finish(cookie.originOf(request), request.url, request.cookies["parlance_openid"] ?? "").pipe(
        Effect.flatMap(({ next, ...identity }) =>
          Effect.gen(function* () {
            const entered = yield* signIn.withIdentity(identity, cookie.clientOf(request))
            const { account, groupChanges, groupsUnknown, isNew, joined, passwordRemoved } = entered
            if (isNew) yield* audit.recordEntry(account, "account created by OpenID Connect")
            if (passwordRemoved) yield* audit.recordEntry(account, "password of unproven origin removed")
            for (const org of joined) yield* audit.recordEntry(account, "invitation accepted", org)
            for (const { group, kind, org, role } of groupChanges) {
              yield* audit.recordEntry(account, groupActions[kind], org, { group, role })
            }
            if (groupsUnknown !== undefined) {
              yield* Effect.logWarning(`Memberships by groups stay as they were: ${groupsUnknown}`)
              yield* audit.recordEntry(account, "groups of a person unknown", undefined, {
                reason: groupsUnknown,
              })
            }
            return yield* enter(request, entered, {
              to: ownPath(next),
              done: passwordRemoved ? "password-removed" : undefined,
            })
          })
        ),
        Effect.catchTag("NotInvited", () =>
          Effect.sync(() => {
            refusals.count(request, "bad_openid", { subject: t`No account or invitation` })
            return redirect({ to: "/console/sign-in?failed=openid" })
          })),
        Effect.catch((error) =>
          Effect.sync(() => {
            refusals.count(request, "bad_openid", { subject: t`Not confirmed by the provider` })
            return alone(request, problem(400, t`You could not be signed in`, error.message))
          })
        ),
      ),
  )
}))
