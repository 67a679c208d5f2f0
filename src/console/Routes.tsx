import { Context, Effect, Layer, Record, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { VNode } from "preact"
import { type Actor, CurrentActor, may, nameOf, roleIn } from "../accounts/Actor.ts"
import { Audit, AuditNote } from "../accounts/Audit.ts"
import type { Role } from "../accounts/Account.ts"
import { sameCsrfToken } from "../accounts/CsrfToken.ts"
import { lacksSecondFactor, refusal } from "../accounts/Access.ts"
import { accessTable } from "../api/AccessTable.ts"
import { SessionCookie, withCookies } from "../accounts/SessionCookie.ts"
import { Sessions, type SignedIn } from "../accounts/Sessions.ts"
import { ChangeProposed, type Fault, InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Organization } from "../domain/Organization.ts"
import { isSandbox } from "../domain/Sandbox.ts"
import { compressed } from "../api/http/Compression.ts"
import { Refusals } from "../api/admission/Refusals.ts"
import { problemOf } from "../api/http/DomainProblems.ts"
import { lookedUp } from "../api/http/Requests.ts"
import { Notifications } from "../accounts/notifications/Notifications.ts"
import { english, inLanguageOf, t } from "../languages/Language.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { ChangeTrail, emptyTrail } from "../store/ChangeTrail.ts"
import { NoSecretKey, SecretFileFaulty } from "../store/SecretBox.ts"
import { Alone } from "./components/Alone.tsx"
import { Document, type Theme, toHtml } from "./components/Document.tsx"
import { Frame } from "./components/Frame.tsx"
import { accountField, type KeptFields, keptOf, secretsField } from "./components/Kept.ts"
import { KeptForm } from "./components/KeptForm.tsx"
import { Note } from "./components/Note.tsx"
import { Shared } from "./components/Shared.tsx"
import { type Flash, flashOf, withFlash } from "./Flash.ts"
import { openedField } from "./OpenedForm.ts"
import { pageHeaders, sharedHeaders } from "./PageHeaders.ts"
import { sentForm } from "./SentForms.ts"
import { readUndo, type Undo, undoCookie, writeUndo } from "./Undo.ts"

// How a page of the console comes about: session, permission, content and frame.

type Request = HttpServerRequest.HttpServerRequest

/** A page of a signed-in person. */
export interface Visit {
  readonly request: Request
  readonly actor: Actor & { readonly kind: "session" }
  readonly session: SignedIn
  /** The organization of the path; pages without an organization must not read it. */
  readonly org: Organization
  readonly role: Role | undefined
  /** Of the path, such as can be looked up (see `lookedUp`). */
  readonly params: Readonly<Record<string, string | undefined>>
  /** Of the address, such as can be looked up. */
  readonly query: URLSearchParams
  /** Files of the sent form. */
  readonly files: ReadonlyArray<File>
  /** Whether the visitor may use this endpoint here, so that no button leads to a refusal. */
  readonly can: (endpoint: string) => boolean
}

/** The content of a page. */
export interface View {
  readonly title: string
  readonly body: VNode
  readonly status?: number
  /** The page that it leads back to. */
  readonly back?: string
  /** Whether scripts of the page may request the service. Default: true for pages of an organization, whose command bar searches. */
  readonly live?: boolean
  /** The nonce of the style sheets that the page's script adds. Other pages may use the service's style sheets only. */
  readonly styleNonce?: string
}

/** Where to go after an action; `done` names the message that is shown there (see Flash.ts). */
export interface Goto extends Flash {
  readonly to: string
  /** The reverse of the action, which the message offers. */
  readonly undo?: Undo | undefined
  /** Texts of `Set-Cookie`. */
  readonly cookies?: ReadonlyArray<string>
}

/** Sent fields of a form. */
export type Fields = Readonly<Record<string, string>>

const themeOf = (request: Request): Theme => {
  const theme = request.cookies["parlance_theme"]
  return theme === "dark" || theme === "light" ? theme : "auto"
}

const pathOf = (request: Request) => request.url.split("?", 1)[0]!

/** Returns the query of a request. PostgreSQL can search for its values, as `lookedUp` makes them. */
export const queryOf = (request: Request) =>
  new URLSearchParams(
    [...new URLSearchParams(request.url.split("?")[1] ?? "")].map(([name, value]) => [name, lookedUp(value)]),
  )

/** Answers a page without navigation. */
export const alone = (request: Request, { body, status = 200, title, ...needs }: View) =>
  HttpServerResponse.text(
    toHtml(
      <Document title={title} theme={themeOf(request)}>
        <Alone>{body}</Alone>
      </Document>,
    ),
    { status, contentType: "text/html; charset=utf-8", headers: pageHeaders(needs) },
  )

/** Answers with a page that keeps the fields of a form until the account that wrote them has signed in. */
const keptPage = (request: Request, kept: KeptFields, signedInAs?: string) =>
  alone(request, {
    title: t`Sign in again`,
    status: signedInAs === undefined ? 401 : 403,
    body: <KeptForm action={pathOf(request)} kept={kept} {...(signedInAs === undefined ? {} : { signedInAs })} />,
  })

/** A page with the text of somebody whose session had ended. */
const resumed = (page: View): View => ({
  ...page,
  body: (
    <>
      <Note kind="good">{t`You are signed in again, and your text is here. Look at it, then save it.`}</Note>
      {page.body}
    </>
  ),
})

/** Answers a page that a link opens without signing in. `name`: the organization. `date`: of the results, in words. */
export const shared = (
  request: Request,
  { body, title }: View,
  { date, name }: { readonly name: string; readonly date: string },
) =>
  HttpServerResponse.text(
    toHtml(
      <Document title={`${title} · ${name}`} theme={themeOf(request)}>
        <Shared name={name} date={date}>{body}</Shared>
      </Document>,
    ),
    { contentType: "text/html; charset=utf-8", headers: sharedHeaders },
  )

/** Answers with a redirect that a browser follows with GET. */
export const redirect = ({ cookies = [], to, ...flash }: Goto) =>
  withCookies(
    HttpServerResponse.redirect(withFlash(to, flash), { status: 303, headers: { "cache-control": "no-store" } }),
    cookies,
  )

/** A path of the console to go to; anything else would let a link lead elsewhere. */
export const ownPath = (path: string | undefined | null): string | undefined =>
  path !== undefined && path !== null && /^\/console(?:[/?][\x21-\x7e]*)?$/.test(path) && !path.includes("//") &&
    !path.includes("\\")
    ? path
    : undefined

/** Decodes what a form sent, or fails with every fault for `again`. */
export const decoded = <A,>(result: Result.Result<A, ReadonlyArray<Fault>>): Effect.Effect<A, InvalidInput> =>
  Result.isSuccess(result) ? Effect.succeed(result.success) : new InvalidInput({ faults: result.failure })

const isView = (outcome: View | Goto): outcome is View => "body" in outcome

const messageOf = (error: unknown): string | undefined =>
  error !== null && typeof error === "object" && "_tag" in error && error instanceof Error && error.message !== ""
    ? error.message
    : undefined

/** A page that says that something did not work, and where to go from there. */
export const problem = (status: number, title: string, detail: string): View => ({
  title,
  status,
  body: (
    <section class="card stack">
      <h1>{title}</h1>
      <p>{detail}</p>
      <div class="buttons">
        <a class="button" href="/console">{t`Back to the console`}</a>
      </div>
    </section>
  ),
})

const unknownOrganization = (id: string): View =>
  problem(404, t`Organization not found`, t`No organization has the id ${JSON.stringify(id)} here.`)

const tooLarge = (): View =>
  problem(413, t`The form is too large`, t`The form has more than 12 MiB or 2,000 fields, or is not UTF-8. Shorten it.`)

const outOfDate = (): View =>
  problem(403, t`The form is out of date`, t`You have signed in again since it was opened. Open the page again.`)

/** The faults with which a form is shown again. Undefined for other errors. */
const formFaultsOf = (error: unknown): ReadonlyArray<Fault> | undefined =>
  error instanceof InvalidInput
    ? error.faults
    : error instanceof NoSecretKey || error instanceof SecretFileFaulty
    ? [{ pointer: "", detail: error.message }]
    : undefined

const failureTitles: Readonly<Record<number, string>> = {
  404: english("Not found"),
  503: english("The service is busy"),
}

/** The page of a failure, with the status that the API has for it; undefined for a defect. */
const failurePage = (error: unknown): View | undefined => {
  const detail = formFaultsOf(error)?.map(({ detail }) => detail).join("; ") ?? messageOf(error)
  if (detail === undefined) return undefined
  const { status = 404 } = problemOf(error) as { readonly status?: number }
  return problem(status, failureTitles[status] ?? t`This cannot be done`, detail)
}

/** Leads to the proposed change after any form whose change needs approval. */
const toProposals = (org: OrgSlug, { proposals }: ChangeProposed): Goto => ({
  to: `/console/o/${org}/reviews${proposals.length === 1 ? `/${proposals[0]!.id}` : ""}`,
  done: "change-proposed",
})

/** Services that every page of the console uses. */
interface ConsoleServices {
  readonly audit: Audit["Service"]
  readonly cookie: SessionCookie["Service"]
  readonly notifications: Notifications["Service"]
  readonly organizations: Organizations["Service"]
  readonly refusals: Refusals["Service"]
  readonly sessions: Sessions["Service"]
}

/** The cookie that keeps the organization whose pages were visited last. */
export const lastOrganizationCookie = "parlance_organization"

/** Answers a page with the navigation of the organizations that the session may see. */
const framed = Effect.fnUntraced(function* (
  { cookie, notifications, organizations }: ConsoleServices,
  request: Request,
  session: SignedIn,
  org: Organization | undefined,
  { back, body, live = org !== undefined, status = 200, title, ...needs }: View,
) {
  const actor: Actor = { kind: "session", session }
  const visible = (yield* organizations.list).filter(({ slug }) => may(actor, slug, "viewer"))
  const query = queryOf(request)
  const undo = request.cookies[undoCookie]
  const unread = org === undefined || isSandbox(org.slug)
    ? 0
    : yield* notifications.unread(org.slug, session.account.id)
  const page = HttpServerResponse.text(
    toHtml(
      <Document title={org === undefined ? title : `${title} · ${org.name}`} theme={themeOf(request)}>
        <Frame
          session={session}
          org={org}
          role={org === undefined ? undefined : roleIn(actor, org.slug)}
          organizations={visible}
          unread={unread}
          path={pathOf(request)}
          back={back}
          query={query}
          searches={live}
          can={(endpoint) => refusal(actor, accessTable.get(endpoint), { org: org?.slug }) === undefined}
          theme={themeOf(request)}
          flash={flashOf(query)}
          undo={undo === undefined ? undefined : readUndo(undo, session.csrfToken, query.get("done"))}
        >
          {body}
        </Frame>
      </Document>,
    ),
    { status, contentType: "text/html; charset=utf-8", headers: pageHeaders({ ...needs, live }) },
  )
  const isKept = org === undefined || isSandbox(org.slug) || request.cookies[lastOrganizationCookie] === org.slug
  const last = isKept ? [] : [`${lastOrganizationCookie}=${org.slug}; ${cookie.attributes}; Max-Age=31536000`]
  const used = undo === undefined ? [] : [`${undoCookie}=; ${cookie.attributes}; Max-Age=0`]
  return withCookies(yield* compressed(request, page), [...last, ...used])
})

/** Adds the cookie that offers the undo of an action on the next page. */
const withUndo = ({ cookie }: ConsoleServices, csrf: string, { undo, ...goto }: Goto): Goto => {
  const value = undo === undefined ? undefined : writeUndo(csrf, goto.done ?? "", undo)
  const text = `${undoCookie}=${value}; ${cookie.attributes}; Max-Age=600`
  return value === undefined ? goto : { ...goto, cookies: [...goto.cookies ?? [], text] }
}

/** The session of a request. Undefined when signed out. */
const signedIn = ({ cookie, sessions }: ConsoleServices, request: Request) => {
  const token = cookie.read(request)
  return token === undefined ? Effect.succeed(undefined) : sessions.resolve(token)
}

/** The posted form. Undefined if it is too large. */
const readableForm = (request: Request) => Effect.catch(sentForm(request), () => Effect.succeed(undefined))

/** The page of this service from which a form was sent; undefined if the browser does not name it. */
const senderOf = (request: Request): string | undefined => {
  const from = URL.parse(request.headers["referer"] ?? "")
  return from === null ? undefined : ownPath(`${from.pathname}${from.search}`)
}

/**
 * Redirects to the sign-in page, which leads back to the page of the request or of the sent form. If the form can be shown
 * again, its fields are kept until their author has signed in again.
 */
const toSignIn = Effect.fnUntraced(function* (request: Request, isOwnForm: boolean, keeps: boolean) {
  const form = isOwnForm && keeps ? yield* readableForm(request) : undefined
  const kept = form === undefined ? undefined : keptOf(form)
  if (kept !== undefined) return keptPage(request, kept)
  const isRead = request.method !== "POST"
  const next = isRead ? request.url : isOwnForm ? senderOf(request) : undefined
  return redirect({
    to: `/console/sign-in${next === undefined ? "" : `?next=${encodeURIComponent(next)}`}`,
    ...(isRead || next === undefined ? {} : { done: "form-not-sent" }),
  })
})

/** Answers a page or an action: checks the session and the access, runs it, and records an action in the audit log. */
const handle = <E, R, E2 = never, R2 = never>(
  services: ConsoleServices,
  endpoint: string,
  isWrite: boolean,
  run: (visit: Visit, fields: Fields) => Effect.Effect<View | Goto, E, R>,
  again?: (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) => Effect.Effect<View, E2, R2>,
) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const session = yield* signedIn(services, request)
    if (session === undefined) {
      return yield* toSignIn(request, isWrite && services.cookie.isSameOrigin(request), again !== undefined)
    }
    return yield* handleSignedIn(services, { endpoint, isWrite, request, run, session, again }).pipe(
      inLanguageOf(session.account.language),
    )
  })

/** Answers a page or an action of a person who is signed in. */
const handleSignedIn = <E, R, E2 = never, R2 = never>(
  services: ConsoleServices,
  { again, endpoint, isWrite, request, run, session }: {
    readonly endpoint: string
    readonly isWrite: boolean
    readonly request: Request
    readonly session: SignedIn
    readonly run: (visit: Visit, fields: Fields) => Effect.Effect<View | Goto, E, R>
    readonly again:
      | ((visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) => Effect.Effect<View, E2, R2>)
      | undefined
  },
) =>
  Effect.gen(function* () {
    const { audit, cookie, organizations, refusals } = services
    const params = Record.map(yield* HttpRouter.params, (value) => lookedUp(value ?? ""))
    const actor = { kind: "session" as const, session }
    const rule = accessTable.get(endpoint)
    const show = (org: Organization | undefined, view: View) => framed(services, request, session, org, view)

    if (lacksSecondFactor(actor, rule, params)) {
      const next = isWrite ? "" : `&next=${encodeURIComponent(request.url)}`
      return redirect({
        to: `/console/account/second-factor?required=${encodeURIComponent(params["org"] ?? "")}${next}`,
      })
    }
    const form = isWrite ? yield* readableForm(request) : { fields: Object.create(null) as Fields, files: [] }
    const fields = form?.fields
    const isOwn = cookie.isSameOrigin(request) && sameCsrfToken(fields?.["_csrf"], session.csrfToken)
    const writer = fields?.[accountField]
    const resume = isWrite && !isOwn && writer !== undefined && cookie.isSameOrigin(request) ? again : undefined
    // Checked before the role, because the other account may lack the role.
    const kept = form !== undefined && resume !== undefined && writer !== session.account.email
      ? keptOf(form)
      : undefined
    if (kept !== undefined) return keptPage(request, kept, session.account.email)
    const refused = refusal(actor, rule, params)
    if (refused !== undefined) {
      return yield* show(undefined, problem(403, t`You do not have permission`, `${refused}.`))
    }

    const org = params["org"] === undefined ? undefined : yield* organizations.get(params["org"] as OrgSlug).pipe(
      Effect.catchTag("OrganizationNotFound", () => Effect.succeed(undefined)),
    )
    if (params["org"] !== undefined && org === undefined) {
      return yield* show(undefined, unknownOrganization(params["org"]))
    }

    const visit: Visit = {
      request,
      actor,
      session,
      org: org as Organization,
      role: org === undefined ? undefined : roleIn(actor, org.slug),
      params,
      query: queryOf(request),
      files: form?.files ?? [],
      can: (name) => refusal(actor, accessTable.get(name), params) === undefined,
    }
    if (fields === undefined) return yield* show(org, tooLarge())
    if (isWrite && !isOwn && resume === undefined) {
      refusals.count(request, "csrf", { subject: session.account.email })
      return yield* show(org, outOfDate())
    }

    const trail = emptyTrail(nameOf(actor))
    const { _csrf: _, [accountField]: __, [secretsField]: ___, ...sent } = fields
    const { [openedField]: ____, ...body } = sent
    const auditNote: { body: unknown } = { body }
    const outcome: Effect.Effect<View | Goto, E | E2, R | R2> = resume === undefined
      ? run(visit, sent)
      : Effect.map(resume(visit, sent, []), resumed)
    return yield* outcome.pipe(
      Effect.catch((error): Effect.Effect<View | Goto, E | E2> =>
        error instanceof ChangeProposed ? Effect.succeed(toProposals(visit.org.slug, error)) : Effect.fail(error)
      ),
      Effect.provideService(ChangeTrail, trail),
      Effect.provideService(AuditNote, auditNote),
      Effect.flatMap((outcome) =>
        Effect.gen(function* () {
          if (isWrite && resume === undefined) {
            yield* audit.record({ actor, endpoint, rule, params, body: auditNote.body, trail })
          }
          return isView(outcome) ? yield* show(org, outcome) : redirect(withUndo(services, session.csrfToken, outcome))
        })
      ),
      Effect.catch((error) => {
        const faults = formFaultsOf(error)
        return faults !== undefined && again !== undefined
          ? Effect.flatMap(again(visit, sent, faults), (view) => show(org, { ...view, status: view.status ?? 400 }))
          : Effect.fail(error)
      }),
      // Also when the form cannot be shown again, for example because its subject is gone.
      Effect.catch((error) => {
        const failed = failurePage(error)
        return failed === undefined ? Effect.die(error) : show(org, failed)
      }),
      Effect.provideService(CurrentActor, actor),
    )
  })

/** Builds the routes of console pages. */
export class Console extends Context.Service<Console, {
  /** A page that is read. `endpoint` names the rule of `policy` that says who may. */
  readonly page: <E, R>(
    path: `/console${string}`,
    endpoint: string,
    render: (visit: Visit) => Effect.Effect<View | Goto, E, R>,
  ) => HttpRouter.Route<never, R>
  /**
   * A form that changes something: checked for its origin, its token and the role, and recorded in the audit log.
   * Where `run` fails with `InvalidInput`, `again` shows the form with the faults. Where it fails with `ChangeProposed`,
   * the proposed change is shown. A form with `again` that was sent after the session had ended is kept by the browser
   * until the same account has signed in again. `again` then shows the form, and nothing is changed.
   */
  readonly action: {
    <E, R>(
      path: `/console${string}`,
      endpoint: string,
      run: (visit: Visit, fields: Fields) => Effect.Effect<View | Goto, E | InvalidInput | ChangeProposed, R>,
    ): HttpRouter.Route<never, R>
    <E, R, E2, R2>(
      path: `/console${string}`,
      endpoint: string,
      run: (visit: Visit, fields: Fields) => Effect.Effect<View | Goto, E | InvalidInput | ChangeProposed, R>,
      again?: (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) => Effect.Effect<View, E2, R2>,
    ): HttpRouter.Route<never, R | R2>
  }
  /** The session of the request; undefined when signed out. */
  readonly signedIn: (request: Request) => Effect.Effect<SignedIn | undefined>
}>()("parlance/console/Console") {
  static readonly layer = Layer.effect(
    Console,
    Effect.gen(function* () {
      const services: ConsoleServices = {
        audit: yield* Audit,
        cookie: yield* SessionCookie,
        notifications: yield* Notifications,
        organizations: yield* Organizations,
        refusals: yield* Refusals,
        sessions: yield* Sessions,
      }
      return Console.of({
        page: (path, endpoint, render) =>
          HttpRouter.route("GET", path, handle(services, endpoint, false, (visit) => render(visit))),
        action: <E, R, E2 = never, R2 = never>(
          path: `/console${string}`,
          endpoint: string,
          run: (visit: Visit, fields: Fields) => Effect.Effect<View | Goto, E, R>,
          again?: (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) => Effect.Effect<View, E2, R2>,
        ) => HttpRouter.route("POST", path, handle(services, endpoint, true, run, again)),
        signedIn: (request) => signedIn(services, request),
      })
    }),
  )
}
