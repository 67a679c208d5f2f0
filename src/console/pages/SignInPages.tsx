import { roleName } from "../Format.ts"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Accounts } from "../../accounts/Accounts.ts"
import { Audit } from "../../accounts/Audit.ts"
import { sameCsrfToken } from "../../accounts/CsrfToken.ts"
import { Invitations } from "../../accounts/Invitations.ts"
import { OneTimeLinks } from "../../accounts/OneTimeLinks.ts"
import { OpenId } from "../../accounts/OpenId.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { AccountInput } from "../../accounts/Account.ts"
import * as Passwords from "../../accounts/Passwords.ts"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { Card } from "../components/Card.tsx"
import { Field } from "../components/Field.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { PasskeyForm } from "../components/PasskeyForm.tsx"
import { flashes } from "../Flash.ts"
import { formFields, typed } from "../FormReaders.ts"
import { alone, Console, decoded, type Fields, ownPath, problem, redirect, type View } from "../Routes.tsx"
import { type PageHttpRequest, queryOf, signedOutPages, Title } from "./SignedOut.tsx"

const decodeAccount = decoder(AccountInput)
const labels = { email: english("E-mail address"), name: english("Your name"), password: english("Password") }
const passwordHint = () => t`At least ${Passwords.minLength} characters. Several unrelated words make a good one.`

/** The page with the form that signs in. */
export const signInView = ({ email = "", error, hasMail, next, openId, status }: {
  readonly email?: string
  readonly error?: string
  /** Whether links to choose a new password can be mailed. */
  readonly hasMail: boolean
  readonly next?: string | undefined
  readonly openId: string | undefined
  readonly status?: number
}): View => ({
  title: t`Sign in`,
  status: status ?? 200,
  live: true,
  body: (
    <Card>
      <Title>{t`Sign in`}</Title>
      <div class="stack">
        {error !== undefined && <div class="note bad" role="alert" tabIndex={-1} data-focus>{error}</div>}
        <Form action="/console/sign-in">
          {next !== undefined && <input type="hidden" name="next" value={next} />}
          <Field name="email" label={translated(labels.email)} type="email" value={email} autocomplete="username" />
          <Field name="password" label={translated(labels.password)} type="password" autocomplete="current-password" />
          <Submit wide>{t`Sign in`}</Submit>
        </Form>
        <PasskeyForm action="/console/sign-in/passkey" fields={{ next }} label={t`Sign in with a passkey`} />
        {openId !== undefined && (
          <a
            class="button wide"
            href={`/console/openid${next === undefined ? "" : `?next=${encodeURIComponent(next)}`}`}
          >
            {t`Sign in with ${openId}`}
          </a>
        )}
        {hasMail && (
          <p>
            <a href="/console/forgot-password">{t`Forgot password?`}</a>
          </p>
        )}
        <p class="muted small">
          {hasMail
            ? t`No account? An administrator can invite you.`
            : t`No account, or the password forgotten? An administrator can invite you, or make a link to choose a
              new password.`}
        </p>
      </div>
    </Card>
  ),
})

/** A form for a person without an account: name and password, for an address that is known or asked for. */
const newAccountView = (title: string, lead: string, action: string, token: string, fields: Fields, more: {
  readonly email?: string
  readonly faults?: ReadonlyArray<Fault>
}): View => ({
  title,
  status: more.faults === undefined ? 200 : 400,
  body: (
    <Card>
      <Title lead={lead}>{title}</Title>
      <div class="stack">
        <ErrorSummary faults={more.faults ?? []} labels={labels} />
        <Form action={action}>
          <input type="hidden" name="token" value={token} />
          {more.email === undefined
            ? (
              <Field
                name="email"
                label={translated(labels.email)}
                type="email"
                value={fields["email"] ?? ""}
                autocomplete="username"
                faults={more.faults ?? []}
              />
            )
            : (
              <Note>
                {t`You will sign in as ${<b>{more.email}</b>}`}
              </Note>
            )}
          <Field
            name="name"
            label={translated(labels.name)}
            value={fields["name"] ?? ""}
            autocomplete="name"
            faults={more.faults ?? []}
          />
          <Field
            name="password"
            label={translated(labels.password)}
            type="password"
            autocomplete="new-password"
            hint={passwordHint()}
            faults={more.faults ?? []}
          />
          <Submit wide>{t`Create account and sign in`}</Submit>
        </Form>
      </div>
    </Card>
  ),
})

const passwordView = (token: string, faults?: ReadonlyArray<Fault>): View => ({
  title: t`Choose a password`,
  status: faults === undefined ? 200 : 400,
  body: (
    <Card>
      <Title lead={t`You will be signed in here and signed out everywhere else.`}>{t`Choose a password`}</Title>
      <div class="stack">
        <ErrorSummary faults={faults ?? []} labels={labels} />
        <Form action="/console/password">
          <input type="hidden" name="token" value={token} />
          <Field
            name="password"
            label={translated(labels.password)}
            type="password"
            autocomplete="new-password"
            hint={passwordHint()}
            faults={faults ?? []}
          />
          <Submit wide>{t`Save and sign in`}</Submit>
        </Form>
      </div>
    </Card>
  ),
})

/** Services of these pages. */
interface Services extends Effect.Success<typeof signedOutPages> {
  readonly signedIn: Console["Service"]["signedIn"]
  readonly accounts: Accounts["Service"]
  readonly audit: Audit["Service"]
  readonly invitations: Invitations["Service"]
  readonly links: OneTimeLinks["Service"]
  readonly mail: MailQueue["Service"]
  readonly signIn: SignIn["Service"]
  readonly openId: OpenId["Service"]
}

/** The page of a link that opens nothing. */
const deadLink = ({ refusals }: Services, request: PageHttpRequest, title: string, message: string, what: string) => {
  refusals.count(request, "bad_link", { subject: what })
  return alone(request, problem(404, title, message))
}

const spent = (services: Services, request: PageHttpRequest, message: string, what: string) =>
  deadLink(services, request, t`This link no longer works`, message, what)

const firstRunTitle = english("Welcome to Parlance")

const firstRunLead = english("Create the first administrator of this installation. The link works once.")

const invitationView = Effect.fnUntraced(
  function* (
    services: Services,
    request: PageHttpRequest,
    token: string,
    fields: Fields,
    faults?: ReadonlyArray<Fault>,
  ) {
    const invitation = yield* services.invitations.find(token)
    const account = yield* services.accounts.findByEmail(invitation.email)
    const session = yield* services.signedIn(request)
    const title = t`Join ${invitation.org}`
    const lead = t`${invitation.invited_by} invites you, as ${roleName(invitation.role)}.`
    if (account === undefined) {
      return newAccountView(title, lead, "/console/invitation", token, fields, {
        email: invitation.email,
        ...(faults === undefined ? {} : { faults }),
      })
    }
    const back = `/console/invitation?token=${token}`
    return {
      title,
      body: (
        <Card>
          <Title lead={lead}>{title}</Title>
          <div class="stack">
            {session?.account.id === account.id
              ? (
                <Form action="/console/invitation">
                  <input type="hidden" name="token" value={token} />
                  <Submit wide>{t`Join as ${account.email}`}</Submit>
                </Form>
              )
              : (
                <>
                  <p>
                    {t`There is already an account for ${<b>{account.email}</b>}. Sign in with it to accept.`}
                  </p>
                  <a class="button primary wide" href={`/console/sign-in?next=${encodeURIComponent(back)}`}>
                    {t`Sign in`}
                  </a>
                </>
              )}
          </div>
        </Card>
      ),
    }
  },
)

const uninvited = (services: Services, request: PageHttpRequest, message: string) =>
  deadLink(services, request, t`This invitation no longer works`, message, t`Invitation`)

const signInFields = formFields({ email: (sent = "") => sent.slice(0, 254), next: ownPath, password: typed })

/** The form that signs in with a password. */
const signInRoutes = Effect.fnUntraced(function* (services: Services) {
  const { cookie, get, post, proceed, signedIn } = services
  yield* get("/console/sign-in", (request) =>
    Effect.map(signedIn(request), (session) => {
      const next = ownPath(queryOf(request).get("next"))
      if (session !== undefined) return redirect({ to: next ?? "/console" })
      const failed = queryOf(request).get("failed") === "openid"
      const done = ["signed-out", "sign-in-expired", "form-not-sent"].find((one) =>
        one === queryOf(request).get("done")
      )
      const view = signInView({
        next,
        openId: services.openId.label,
        hasMail: services.mail.isOn,
        ...(failed
          ? {
            error: t`The identity provider signed you in, but no account or invitation here has your verified e-mail
              address, and none of your groups has a role here.`,
          }
          : {}),
      })
      return alone(request, {
        ...view,
        body: <>{done !== undefined && <Note live>{translated(flashes[done]!)}</Note>}{view.body}</>,
      })
    }))

  yield* post("/console/sign-in", (request, fields) => {
    const { email, next, password } = signInFields(fields)
    const again = (status: number, error: string) =>
      alone(
        request,
        signInView({ email, error, next, openId: services.openId.label, hasMail: services.mail.isOn, status }),
      )
    return services.signIn.withPassword(email, password, cookie.clientOf(request)).pipe(
      Effect.flatMap((result) => proceed(request, result, { to: next })),
      Effect.catchTags({
        WrongPassword: ({ message }) => Effect.succeed(again(401, message)),
        HashingOverloaded: ({ message }) => Effect.succeed(again(503, message)),
        TooManyAttempts: ({ message, retryAfterSeconds }) =>
          Effect.succeed(HttpServerResponse.setHeader(again(429, message), "retry-after", String(retryAfterSeconds))),
      }),
    )
  })
})

const themeFields = formFields({
  theme: (sent) => sent === "dark" || sent === "light" ? sent : "auto",
  back: ownPath,
})

/** Signing out, and the choice of a theme. */
const signOutRoutes = Effect.fnUntraced(function* (services: Services) {
  const { cookie, post, refusals, sessions, signedIn } = services
  yield* post("/console/sign-out", (request, fields) =>
    Effect.gen(function* () {
      const session = yield* signedIn(request)
      if (session !== undefined && !sameCsrfToken(fields["_csrf"], session.csrfToken)) {
        refusals.count(request, "csrf", { subject: session.account.email })
        return alone(request, problem(403, t`The form is out of date`, t`Open the console again and sign out there.`))
      }
      const token = cookie.read(request)
      if (token !== undefined) yield* sessions.end(token)
      return redirect({ to: "/console/sign-in", done: "signed-out", cookies: [cookie.clear] })
    }))

  yield* post("/console/theme", (_, fields) => {
    const { back, theme } = themeFields(fields)
    return Effect.succeed(redirect({
      to: back ?? "/console",
      cookies: [`parlance_theme=${theme}; ${cookie.attributes}; Max-Age=31536000`],
    }))
  })
})

const accountFields = formFields({ email: typed, name: typed, password: typed, token: typed })

/** The link that creates the first administrator. */
const firstRunRoutes = Effect.fnUntraced(function* (services: Services) {
  const { cookie, enter, get, post } = services
  yield* get("/console/first-run", (request) => {
    const token = queryOf(request).get("token") ?? ""
    return services.links.find("first_run", token).pipe(
      Effect.as(
        alone(
          request,
          newAccountView(translated(firstRunTitle), translated(firstRunLead), "/console/first-run", token, {}, {}),
        ),
      ),
      Effect.catch((error) => Effect.succeed(spent(services, request, error.message, t`First-run link`))),
    )
  })

  yield* post("/console/first-run", (request, fields) => {
    const { email, name, password, token } = accountFields(fields)
    const again = (faults: ReadonlyArray<Fault>) =>
      alone(
        request,
        newAccountView(translated(firstRunTitle), translated(firstRunLead), "/console/first-run", token, fields, {
          faults,
        }),
      )
    return Effect.gen(function* () {
      yield* services.links.find("first_run", token)
      const input = yield* decoded(decodeAccount({ email, name, password, administrator: true }))
      const account = yield* services.accounts.create(input, "own")
      // Of two who used the link at once, one created an account that it must not keep.
      yield* Effect.catch(
        services.links.spend("first_run", token),
        (error) => Effect.andThen(Effect.ignore(services.accounts.remove(account.id)), error),
      )
      yield* services.audit.recordEntry(account, "first administrator created")
      return yield* enter(request, yield* services.signIn.asNew(account, "first_run", cookie.clientOf(request)), {
        done: "welcome",
      })
    }).pipe(
      Effect.catchTags({
        LinkSpent: (error) => Effect.succeed(spent(services, request, error.message, t`First-run link`)),
        InvalidInput: ({ faults }) => Effect.succeed(again(faults)),
        EmailTaken: () => Effect.succeed(again([{ pointer: "/email", detail: t`is taken: sign in with it instead` }])),
      }),
    )
  })
})

/** Invitations to an organization. */
const invitationRoutes = Effect.fnUntraced(function* (services: Services) {
  const { cookie, enter, get, post, signedIn } = services
  yield* get(
    "/console/invitation",
    (request) =>
      invitationView(services, request, queryOf(request).get("token") ?? "", {}).pipe(
        Effect.map((view) => alone(request, view)),
        Effect.catch((error) => Effect.succeed(uninvited(services, request, error.message))),
      ),
  )

  yield* post("/console/invitation", (request, fields) => {
    const { name, password, token } = accountFields(fields)
    return Effect.gen(function* () {
      const invitation = yield* services.invitations.find(token)
      const known = yield* services.accounts.findByEmail(invitation.email)
      if (known !== undefined) {
        const session = yield* signedIn(request)
        if (session?.account.id !== known.id || !sameCsrfToken(fields["_csrf"], session.csrfToken)) {
          return redirect({ to: `/console/invitation?token=${encodeURIComponent(token)}` })
        }
      }
      const account = known ?? (yield* services.accounts.create(
        yield* decoded(
          decodeAccount({ email: invitation.email, name, password }),
        ),
        "invitation",
      ))
      const org = yield* services.invitations.accept(token, account)
      yield* services.audit.recordEntry(account, "invitation accepted", org)
      if (known === undefined) yield* services.audit.recordEntry(account, "account created by an invitation")
      const to = `/console/o/${org}`
      // A session ends and another begins only where somebody comes in: the roles of a session are read with every request.
      return known === undefined
        ? yield* enter(request, yield* services.signIn.asNew(account, "invitation", cookie.clientOf(request)), {
          to,
          done: "welcome",
        })
        : redirect({ to, done: "welcome" })
    }).pipe(
      Effect.catchTags({
        InvitationNotFound: (error) => Effect.succeed(uninvited(services, request, error.message)),
        EmailTaken: () => Effect.succeed(redirect({ to: `/console/invitation?token=${encodeURIComponent(token)}` })),
        InvalidInput: ({ faults }) =>
          invitationView(services, request, token, fields, faults).pipe(
            Effect.map((view) => alone(request, view)),
            Effect.catch((error) => Effect.succeed(uninvited(services, request, error.message))),
          ),
      }),
    )
  })
})

/** Links that set a password. */
const passwordRoutes = Effect.fnUntraced(function* (services: Services) {
  const { cookie, get, post, proceed } = services
  yield* get("/console/password", (request) => {
    const token = queryOf(request).get("token") ?? ""
    return services.links.find("password", token).pipe(
      Effect.as(alone(request, passwordView(token))),
      Effect.catch((error) => Effect.succeed(spent(services, request, error.message, t`Password link`))),
    )
  })

  yield* post("/console/password", (request, fields) => {
    const { password, token } = accountFields(fields)
    return services.signIn.withLink(token, password, cookie.clientOf(request)).pipe(
      Effect.tap(({ account }) => services.audit.recordEntry(account, "password chosen by a link")),
      Effect.flatMap((result) => proceed(request, result, { done: "password-changed" })),
      Effect.catchTags({
        InvalidInput: ({ faults }) => Effect.succeed(alone(request, passwordView(token, faults))),
        LinkSpent: (error) => Effect.succeed(spent(services, request, error.message, t`Password link`)),
        AccountNotFound: () =>
          Effect.succeed(spent(services, request, t`The account has been removed.`, t`Password link`)),
      }),
    )
  })
})

/** Everything that works without being signed in. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const services: Services = {
    ...yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router),
    signedIn: (yield* Console).signedIn,
    accounts: yield* Accounts,
    audit: yield* Audit,
    invitations: yield* Invitations,
    links: yield* OneTimeLinks,
    mail: yield* MailQueue,
    signIn: yield* SignIn,
    openId: yield* OpenId,
  }

  yield* signInRoutes(services)
  yield* signOutRoutes(services)
  yield* firstRunRoutes(services)
  yield* invitationRoutes(services)
  yield* passwordRoutes(services)
}))
