import { DateTime, Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Accounts } from "../../accounts/Accounts.ts"
import { type Actor, nameOf, roleIn } from "../../accounts/Actor.ts"
import { Audit, type AuditScope, installation } from "../../accounts/Audit.ts"
import { AuditChain } from "../../accounts/AuditChain.ts"
import { recordedActions } from "../AccessTable.ts"
import { invitationPath, Invitations } from "../../accounts/Invitations.ts"
import { Memberships } from "../../accounts/Memberships.ts"
import { linkPath, OneTimeLinks } from "../../accounts/OneTimeLinks.ts"
import { SessionCookie, withCookies } from "../../accounts/SessionCookie.ts"
import { Sessions } from "../../accounts/Sessions.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import * as Problems from "../Problems.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import type { ReadParameter } from "../http/Parameters.ts"
import { readQuery } from "../http/Requests.ts"
import { auditQuery, type SessionState } from "./AccountsApi.ts"
import { auditDownload } from "./AuditExport.ts"
import { ownSession } from "./ownSession.ts"

/**
 * Reads an action of the audit log. Rejects unknown actions, because a filter by a misspelled action would find
 * nothing.
 */
const knownAction: ReadParameter<string | undefined> = (given) =>
  given === undefined || recordedActions.includes(given)
    ? Result.succeed(given)
    : Result.fail('must be the `action` of entries, such as "template created", "variant changed" or "API key refused"')

const sessionState = (actor: Actor): typeof SessionState.Type =>
  actor.kind !== "session"
    ? { actor: "admin_token", account: null, roles: {}, second_factor: true, closed_to: [], csrf_token: null }
    : {
      actor: "account",
      account: actor.session.account,
      roles: Object.fromEntries(actor.session.roles),
      second_factor: actor.session.hasSecondFactor,
      closed_to: [...actor.session.closedTo].filter((org) => roleIn(actor, org) !== undefined),
      csrf_token: actor.session.csrfToken,
    }

const linkMillis = 3_600_000

/** Serves `AccountsGroup`. */
export const layer = managed(
  "accounts",
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const audit = yield* Audit
    const chain = yield* AuditChain
    const invitations = yield* Invitations
    const links = yield* OneTimeLinks
    const mail = yield* MailQueue
    const memberships = yield* Memberships
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const cookie = yield* SessionCookie

    const passwordLink = (id: string) =>
      Effect.map(Effect.all([links.create("password", id), DateTime.now]), ([token, now]) => ({
        path: linkPath("password", token),
        expires_at: new Date(DateTime.toEpochMillis(now) + linkMillis),
        mailed: mail.isOn,
      }))

    const auditPage = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, scope: AuditScope) {
      const { cursor, limit, ...filter } = yield* readQuery(request, {
        ...auditQuery,
        action: { read: knownAction },
      })
      const { next, page } = yield* pageOf(limit, (limit) => audit.list(scope, { ...filter, cursor, limit }))
      return { entries: page, next }
    })

    const chainsOf = (org: string | undefined) =>
      Effect.all({ changes: chain.ends({ org, log: "changes" }), refusals: chain.ends({ org, log: "refusals" }) })

    return {
      listAccounts: () => Effect.map(accounts.list, (all) => ({ accounts: all })),
      createAccount: Effect.fnUntraced(function* ({ body }) {
        const account = yield* accounts.create(body)
        return { ...account, link: account.has_password ? null : yield* passwordLink(account.id) }
      }),
      removeAccount: ({ actor, params }) =>
        actor.kind === "session" && actor.session.account.id === params.account
          ? new Problems.Unprocessable({ detail: "You cannot remove your own account; another administrator can" })
          : accounts.remove(params.account),
      resetAccount: ({ params }) => Effect.flatMap(accounts.get(params.account), ({ id }) => passwordLink(id)),
      getSession: ({ actor }) => Effect.succeed(sessionState(actor)),
      updateOwnAccount: ({ actor, body, request }) =>
        Effect.gen(function* () {
          const session = yield* ownSession(actor)
          const { id } = session.account
          const entered = body.password === undefined ? undefined : yield* signIn.changePassword(
            session,
            body.current_password ?? "",
            body.password,
            cookie.clientOf(request),
          )
          const { language, name } = body
          const account = yield* accounts.change(id, {
            ...(name === undefined ? {} : { name }),
            ...(language === undefined ? {} : { language }),
          })
          return withCookies(HttpServerResponse.jsonUnsafe(account), entered === undefined ? [] : cookie.of(entered))
        }).pipe(
          // The caller's account exists unless someone removes it during the request.
          Effect.catchTag("AccountNotFound", () => new Problems.Unprocessable({ detail: "The account was removed" })),
        ),
      listSessions: Effect.fnUntraced(function* ({ actor }) {
        if (actor.kind !== "session") return { sessions: [] }
        return { sessions: yield* sessions.list(actor.session.account.id, actor.session.sessionId) }
      }),
      revokeSession: ({ actor, params }) =>
        sessions.revoke(actor.kind === "session" ? actor.session.account.id : "", params.session),
      listMembers: ({ org }) => Effect.map(memberships.list(org), (members) => ({ members })),
      putMember: ({ actor, body, org, params }) => memberships.put(org, params.account, body.role, actor),
      removeMember: ({ actor, org, params }) => memberships.remove(org, params.account, actor),
      createInvitation: Effect.fnUntraced(function* ({ actor, body, org }) {
        const { token, ...invitation } = yield* invitations.create(org, { ...body, invitedBy: nameOf(actor) })
        return { ...invitation, path: invitationPath(token), mailed: mail.isOn }
      }),
      listInvitations: ({ org }) => Effect.map(invitations.list(org), (all) => ({ invitations: all })),
      revokeInvitation: ({ org, params }) => invitations.revoke(org, params.invitation),
      listInstallationAudit: { inSteps: ({ request }) => auditPage(request, installation) },
      listAudit: {
        inSteps: ({ org, request }) => Effect.flatMap(org, (slug) => auditPage(request, slug)),
      },
      getInstallationAuditChains: () => chainsOf(undefined),
      getAuditChains: { inSteps: ({ org }) => Effect.flatMap(org, chainsOf) },
      exportInstallationAudit: ({ query }) => auditDownload(chain, undefined, query),
      exportAudit: {
        inSteps: ({ org, query }) =>
          Effect.flatMap(Effect.all([org, query]), ([slug, selection]) => auditDownload(chain, slug, selection)),
      },
    }
  }),
  "by the services",
)
