import { DateTime, Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AccountInput } from "../accounts/Account.ts"
import * as AccountErrors from "../accounts/AccountErrors.ts"
import { Accounts } from "../accounts/Accounts.ts"
import { type Actor, CurrentActor, nameOf } from "../accounts/Actor.ts"
import { Audit, installation, type Scope } from "../accounts/Audit.ts"
import { Invitations } from "../accounts/Invitations.ts"
import { Memberships } from "../accounts/Memberships.ts"
import { OneTimeLinks } from "../accounts/OneTimeLinks.ts"
import { clientOf, SessionCookie } from "../accounts/SessionCookie.ts"
import { Sessions } from "../accounts/Sessions.ts"
import { SignIn } from "../accounts/SignIn.ts"
import type { Fault } from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { InvitationBody, MemberBody, OwnAccountBody } from "./AccountsApi.ts"
import { ServedApi } from "./Api.ts"
import * as Problems from "./Problems.ts"
import { body, invalid, limitOf, lookedUp, query, slugOf, toProblems } from "./Requests.ts"

const accountInput = decoder(AccountInput)
const invitationBody = decoder(InvitationBody)
const memberBody = decoder(MemberBody)
const ownAccountBody = decoder(OwnAccountBody)

const linkMillis = 3_600_000

type ProblemOf<E> = E extends AccountErrors.AccountNotFound ? Problems.AccountNotFound
  : E extends AccountErrors.InvitationNotFound ? Problems.InvitationNotFound
  : E extends AccountErrors.SessionNotFound ? Problems.SessionNotFound
  : E extends AccountErrors.EmailTaken ? Problems.Conflict
  : E extends AccountErrors.NotOneself ? Problems.Unprocessable
  : E extends AccountErrors.WrongPassword ? Problems.InvalidRequest
  : E extends AccountErrors.TooManyAttempts ? Problems.TooManyAttempts
  : E

const problemOf = (error: unknown): unknown => {
  if (error instanceof AccountErrors.AccountNotFound) return new Problems.AccountNotFound({ detail: error.message })
  if (error instanceof AccountErrors.InvitationNotFound) {
    return new Problems.InvitationNotFound({ detail: error.message })
  }
  if (error instanceof AccountErrors.SessionNotFound) return new Problems.SessionNotFound({ detail: error.message })
  if (error instanceof AccountErrors.EmailTaken) return new Problems.Conflict({ detail: error.message })
  if (error instanceof AccountErrors.NotOneself) return new Problems.Unprocessable({ detail: error.message })
  if (error instanceof AccountErrors.TooManyAttempts) return new Problems.TooManyAttempts({ detail: error.message })
  if (error instanceof AccountErrors.WrongPassword) {
    return invalid([{ pointer: "/current_password", detail: "is not the password of this account" }])
  }
  return error
}

const accountProblems = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, ProblemOf<E>, R> =>
  Effect.mapError(effect, (error) => problemOf(error) as ProblemOf<E>)

/** The account of a session; the admin token is nobody's. */
const ownAccount = (actor: Actor): Effect.Effect<string, Problems.Unprocessable> =>
  actor.kind === "session"
    ? Effect.succeed(actor.session.account.id)
    : new Problems.Unprocessable({ detail: "The admin token belongs to no account" })

export const layer = HttpApiBuilder.group(
  ServedApi,
  "accounts",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const audit = yield* Audit
    const invitations = yield* Invitations
    const links = yield* OneTimeLinks
    const memberships = yield* Memberships
    const organizations = yield* Organizations
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const cookie = yield* SessionCookie

    const passwordLink = (id: string) =>
      Effect.map(Effect.all([links.create("password", id), DateTime.now]), ([token, now]) => ({
        path: `/console/password?token=${token}`,
        expires_at: new Date(DateTime.toEpochMillis(now) + linkMillis).toISOString(),
      }))

    const auditPage = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, scope: Scope) {
      const asked = query(request)
      const limit = limitOf(asked, 200, 50)
      const before = asked.get("before") === null ? undefined : Number(asked.get("before"))
      const faults: ReadonlyArray<Fault> = [
        ...(Result.isFailure(limit) ? [limit.failure] : []),
        ...(before === undefined || (Number.isSafeInteger(before) && before >= 0)
          ? []
          : [{ pointer: "before", detail: "must be the `next` of a page" }]),
      ]
      if (Result.isFailure(limit) || faults.length > 0) return yield* invalid(faults)
      const entries = yield* audit.list(scope, { before, limit: limit.success })
      return { entries, next: entries.length < limit.success ? null : entries.at(-1)!.id }
    })

    return handlers
      .handle("listAccounts", () => Effect.map(accounts.list, (all) => ({ accounts: all })))
      .handleRaw("createAccount", ({ request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, accountInput)
          const account = yield* accounts.create(input)
          return { ...account, link: account.has_password ? null : yield* passwordLink(account.id) }
        }).pipe(accountProblems, toProblems))
      .handle("removeAccount", ({ params }) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          if (actor.kind === "session" && actor.session.account.id === params.account) {
            return yield* new Problems.Unprocessable({
              detail: "You cannot remove your own account; another administrator can",
            })
          }
          yield* accounts.remove(lookedUp(params.account))
        }).pipe(accountProblems))
      .handle("resetAccount", ({ params }) =>
        accounts.get(lookedUp(params.account)).pipe(
          Effect.flatMap(({ id }) => passwordLink(id)),
          accountProblems,
        ))
      .handle(
        "getSession",
        () =>
          Effect.map(
            CurrentActor,
            (actor) =>
              actor.kind === "token" ? { actor: "admin_token" as const, account: null, roles: {}, csrf_token: null } : {
                actor: "account" as const,
                account: actor.session.account,
                roles: Object.fromEntries(actor.session.roles),
                csrf_token: actor.session.csrfToken,
              },
          ),
      )
      .handleRaw("updateOwnAccount", ({ request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, ownAccountBody)
          const actor = yield* CurrentActor
          const id = yield* ownAccount(actor)
          const email = (yield* accounts.get(id)).email
          let token: string | undefined
          if (input.password !== undefined) {
            token = yield* signIn.changePassword(
              { id, email },
              input.current_password ?? "",
              input.password,
              clientOf(request),
            )
          }
          const account = input.name === undefined ? yield* accounts.get(id) : yield* accounts.rename(id, input.name)
          return HttpServerResponse.jsonUnsafe(
            account,
            token === undefined ? {} : {
              headers: { "set-cookie": cookie.set(token) },
            },
          )
        }).pipe(
          // The caller's own account can only vanish under its feet.
          Effect.catchTag("AccountNotFound", () => new Problems.Unprocessable({ detail: "The account is gone" })),
          Effect.catchTag("TooManyAttempts", (error) =>
            Effect.map(
              HttpServerRespondable.toResponse(new Problems.TooManyAttempts({ detail: error.message })),
              HttpServerResponse.setHeader("retry-after", String(error.retryAfterSeconds)),
            ).pipe(Effect.orDie)),
          accountProblems,
          toProblems,
        ))
      .handle("listSessions", () =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          if (actor.kind === "token") return { sessions: [] }
          return { sessions: yield* sessions.list(actor.session.account.id, actor.session.sessionId) }
        }))
      .handle("revokeSession", ({ params }) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          const id = actor.kind === "token" ? "" : actor.session.account.id
          yield* sessions.revoke(id, lookedUp(params.session))
        }).pipe(accountProblems))
      .handle(
        "listMembers",
        ({ params }) => memberships.list(slugOf(params)).pipe(Effect.map((members) => ({ members })), toProblems),
      )
      .handleRaw("putMember", ({ params, request }) =>
        Effect.gen(function* () {
          const { role } = yield* body(request, memberBody)
          return yield* memberships.put(slugOf(params), lookedUp(params.account), role, yield* CurrentActor)
        }).pipe(accountProblems, toProblems))
      .handle("removeMember", ({ params }) =>
        Effect.flatMap(
          CurrentActor,
          (actor) => memberships.remove(slugOf(params), lookedUp(params.account), actor),
        ).pipe(accountProblems))
      .handleRaw("createInvitation", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, invitationBody)
          const invitedBy = nameOf(yield* CurrentActor)
          const { token, ...invitation } = yield* invitations.create(slugOf(params), { ...input, invitedBy })
          return { ...invitation, path: `/console/invitation?token=${token}` }
        }).pipe(toProblems))
      .handle(
        "listInvitations",
        ({ params }) => invitations.list(slugOf(params)).pipe(Effect.map((all) => ({ invitations: all })), toProblems),
      )
      .handle(
        "revokeInvitation",
        ({ params }) => invitations.revoke(slugOf(params), lookedUp(params.invitation)).pipe(accountProblems),
      )
      .handleRaw("listInstallationAudit", ({ request }) => auditPage(request, installation))
      .handleRaw(
        "listAudit",
        ({ params, request }) =>
          Effect.flatMap(organizations.get(slugOf(params)), ({ slug }) => auditPage(request, slug)).pipe(toProblems),
      )
  }),
)
