import { DateTime, Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AccountInput } from "../../accounts/Account.ts"
import { Accounts } from "../../accounts/Accounts.ts"
import { CurrentActor, nameOf, roleIn } from "../../accounts/Actor.ts"
import { Audit, type AuditScope, installation } from "../../accounts/Audit.ts"
import { recordedActions } from "../AccessTable.ts"
import { invitationPath, Invitations } from "../../accounts/Invitations.ts"
import { Memberships } from "../../accounts/Memberships.ts"
import { linkPath, OneTimeLinks } from "../../accounts/OneTimeLinks.ts"
import { SessionCookie, withCookies } from "../../accounts/SessionCookie.ts"
import { Sessions } from "../../accounts/Sessions.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { decoder } from "../../domain/Faults.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { accountProblems, ownSession } from "./AccountProblems.ts"
import { InvitationBody, MemberBody, OwnAccountBody } from "./AccountsApi.ts"
import { ServedApi } from "../Api.ts"
import * as Problems from "../Problems.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, lookedUp, slugOf, toProblems } from "../server/Requests.ts"

const accountInput = decoder(AccountInput)
const invitationBody = decoder(InvitationBody)
const memberBody = decoder(MemberBody)
const ownAccountBody = decoder(OwnAccountBody)

/** An action of the log. A filter by a misspelled one would find nothing. */
const knownAction: Parameters.Parameter<string | undefined> = (given) =>
  given === undefined || recordedActions.includes(given)
    ? Result.succeed(given)
    : Result.fail('must be the `action` of entries, such as "template created", "variant changed" or "API key refused"')

const linkMillis = 3_600_000

export const layer = HttpApiBuilder.group(
  ServedApi,
  "accounts",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const audit = yield* Audit
    const invitations = yield* Invitations
    const links = yield* OneTimeLinks
    const mail = yield* MailQueue
    const memberships = yield* Memberships
    const organizations = yield* Organizations
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const cookie = yield* SessionCookie

    const passwordLink = (id: string) =>
      Effect.map(Effect.all([links.create("password", id), DateTime.now]), ([token, now]) => ({
        path: linkPath("password", token),
        expires_at: new Date(DateTime.toEpochMillis(now) + linkMillis).toISOString(),
        mailed: mail.isOn,
      }))

    const auditPage = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, scope: AuditScope) {
      const { before: cursor, limit, ...filter } = yield* Parameters.parameters(request, {
        limit: Parameters.limit(200, 50),
        before: Parameters.numericCursor(),
        actor: Parameters.text("must be an actor of an entry"),
        action: knownAction,
        subject: Parameters.text("must be an id"),
        since: Parameters.time,
        until: Parameters.time,
      })
      const found = yield* audit.list(scope, { ...filter, cursor, limit: limit + 1 })
      const entries = found.slice(0, limit)
      return { entries, next: found.length > limit ? entries.at(-1)!.id : null }
    })

    return handlers
      .handle("listAccounts", () => Effect.map(accounts.list, (all) => ({ accounts: all })))
      .handleRaw("createAccount", ({ request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, accountInput)
          const account = yield* accounts.create(input)
          return { ...account, link: account.has_password ? null : yield* passwordLink(account.id) }
        }).pipe(accountProblems(), toProblems))
      .handle("removeAccount", ({ params }) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          if (actor.kind === "session" && actor.session.account.id === params.account) {
            return yield* new Problems.Unprocessable({
              detail: "You cannot remove your own account; another administrator can",
            })
          }
          yield* accounts.remove(lookedUp(params.account))
        }).pipe(accountProblems()))
      .handle("resetAccount", ({ params }) =>
        accounts.get(lookedUp(params.account)).pipe(
          Effect.flatMap(({ id }) => passwordLink(id)),
          accountProblems(),
        ))
      .handle(
        "getSession",
        () =>
          Effect.map(
            CurrentActor,
            (actor) =>
              actor.kind !== "session"
                ? {
                  actor: "admin_token" as const,
                  account: null,
                  roles: {},
                  second_factor: true,
                  closed_to: [],
                  csrf_token: null,
                }
                : {
                  actor: "account" as const,
                  account: actor.session.account,
                  roles: Object.fromEntries(actor.session.roles),
                  second_factor: actor.session.hasSecondFactor,
                  closed_to: [...actor.session.closedTo].filter((org) => roleIn(actor, org) !== undefined),
                  csrf_token: actor.session.csrfToken,
                },
          ),
      )
      .handleRaw("updateOwnAccount", ({ request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, ownAccountBody)
          const session = yield* ownSession(yield* CurrentActor)
          const { id } = session.account
          const entered = input.password === undefined ? undefined : yield* signIn.changePassword(
            session,
            input.current_password ?? "",
            input.password,
            cookie.clientOf(request),
          )
          const account = input.name === undefined ? yield* accounts.get(id) : yield* accounts.rename(id, input.name)
          return withCookies(HttpServerResponse.jsonUnsafe(account), entered === undefined ? [] : cookie.of(entered))
        }).pipe(
          // The caller's own account can only vanish under its feet.
          Effect.catchTag("AccountNotFound", () => new Problems.Unprocessable({ detail: "The account was removed" })),
          accountProblems(request),
          toProblems,
        ))
      .handle("listSessions", () =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          if (actor.kind !== "session") return { sessions: [] }
          return { sessions: yield* sessions.list(actor.session.account.id, actor.session.sessionId) }
        }))
      .handle("revokeSession", ({ params }) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          const id = actor.kind !== "session" ? "" : actor.session.account.id
          yield* sessions.revoke(id, lookedUp(params.session))
        }).pipe(accountProblems()))
      .handle(
        "listMembers",
        ({ params }) => memberships.list(slugOf(params)).pipe(Effect.map((members) => ({ members })), toProblems),
      )
      .handleRaw("putMember", ({ params, request }) =>
        Effect.gen(function* () {
          const { role } = yield* body(request, memberBody)
          return yield* memberships.put(slugOf(params), lookedUp(params.account), role, yield* CurrentActor)
        }).pipe(accountProblems(), toProblems))
      .handle("removeMember", ({ params }) =>
        Effect.flatMap(
          CurrentActor,
          (actor) => memberships.remove(slugOf(params), lookedUp(params.account), actor),
        ).pipe(accountProblems()))
      .handleRaw("createInvitation", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, invitationBody)
          const invitedBy = nameOf(yield* CurrentActor)
          const { token, ...invitation } = yield* invitations.create(slugOf(params), { ...input, invitedBy })
          return { ...invitation, path: invitationPath(token), mailed: mail.isOn }
        }).pipe(toProblems))
      .handle(
        "listInvitations",
        ({ params }) => invitations.list(slugOf(params)).pipe(Effect.map((all) => ({ invitations: all })), toProblems),
      )
      .handle(
        "revokeInvitation",
        ({ params }) => invitations.revoke(slugOf(params), lookedUp(params.invitation)).pipe(accountProblems()),
      )
      .handleRaw("listInstallationAudit", ({ request }) => auditPage(request, installation))
      .handleRaw(
        "listAudit",
        ({ params, request }) =>
          Effect.flatMap(organizations.get(slugOf(params)), ({ slug }) => auditPage(request, slug)).pipe(toProblems),
      )
  }),
)
