import { Effect } from "effect"
import { type Account, AccountInput } from "../../accounts/Account.ts"
import { Accounts } from "../../accounts/Accounts.ts"
import { linkPath, OneTimeLinks } from "../../accounts/OneTimeLinks.ts"
import { Passkeys, passkeysPath } from "../../accounts/Passkeys.ts"
import * as Passwords from "../../accounts/Passwords.ts"
import { SecondFactors } from "../../accounts/SecondFactors.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { Sessions } from "../../accounts/Sessions.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { type Fault, InvalidInput } from "../../domain/Errors.ts"
import type { ListShape } from "../../domain/List.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { OwnAccountBody } from "../../api/accounts/AccountsApi.ts"
import { english, languages, t, translated } from "../../languages/Language.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { SecretOnce } from "../components/SecretOnce.tsx"
import { askFirst } from "../components/AskFirst.tsx"
import { Field } from "../components/Field.tsx"
import { Form, PostButton, Submit } from "../components/Form.tsx"
import { ErrorSummary } from "../components/Note.tsx"
import { listIn, ListPage, narrowedCaption } from "../components/ListPage.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { counted } from "../Format.ts"
import { linkNotes, mailFault } from "./MailNotes.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import type { Fields, Visit } from "../Routes.tsx"

const ownForm = inputForm(OwnAccountBody, {
  name: { label: english("Your name"), autocomplete: "name" },
  language: {
    label: english("Language"),
    as: "select",
    read: (sent = "") => sent === "" ? null : sent,
    options: [["", english("As in the browser")], ...languages.map(({ name, tag }) => [tag, name] as const)],
  },
})

const accountForm = inputForm(AccountInput, {
  email: { label: english("E-mail address"), as: "email" },
  name: { label: english("Name") },
  administrator: {
    label: english("Rights"),
    as: "checkboxes",
    read: (sent) => sent === "on",
    options: [[
      "on",
      english("Administrator of the installation"),
      english("Can do everything in every organization and manage accounts."),
    ]],
  },
})

const labels = { ...ownForm.labels, current_password: english("Current password"), password: english("New password") }

/** A browser's name out of its `User-Agent`, as far as a person needs to know their own devices. */
const deviceOf = (userAgent: string): string => {
  const browser = /(Edg|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1]?.replace("Edg", "Edge")
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent)?.[0]
  return browser === undefined
    ? userAgent.slice(0, 60) || t`Unknown`
    : `${browser}${system === undefined ? "" : t` on ${system}`}`
}

const secondFactorText = ({ has_password }: Account, hasApp: boolean, passkeys: number) =>
  hasApp
    ? t`On. You enter a code from your authenticator app after your password.`
    : passkeys > 0
    ? t`On. You use a passkey after your password.`
    : has_password
    ? t`Off. You sign in with your password alone.`
    : t`Not needed. You sign in through the identity provider.`

const own = Effect.fnUntraced(function* ({ session }: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* Sessions).list(session.account.id, session.sessionId)
  const account = yield* (yield* Accounts).get(session.account.id)
  const hasApp = (yield* (yield* SecondFactors).state(account.id)).enabled
  const passkeys = (yield* (yield* Passkeys).list(account.id)).length
  return view(
    { title: t`Your account`, lead: session.account.email },
    <ErrorSummary faults={faults} labels={labels} />,
    <Card title={t`Name and language`}>
      <Form submit={t`Save`} action="/console/account">
        <ownForm.Fields
          values={{ name: session.account.name, language: session.account.language ?? "", ...fields }}
          faults={faults}
        />
      </Form>
    </Card>,
    <Card
      title={t`Password`}
      lead={account.has_password
        ? t`Changing it ends all your other sessions.`
        : t`Your account has no password. You can choose one within 15 minutes of signing in through the
          identity provider.`}
    >
      <Form action="/console/account/password">
        <input type="hidden" name="username" autoComplete="username" value={session.account.email} />
        {account.has_password && (
          <Field
            name="current_password"
            label={translated(labels.current_password)}
            type="password"
            autocomplete="current-password"
            faults={faults}
          />
        )}
        <Field
          name="password"
          label={translated(labels.password)}
          type="password"
          autocomplete="new-password"
          faults={faults}
          hint={t`At least ${Passwords.minLength} characters. Several unrelated words make a good one.`}
        />
        <div>
          <Submit>{account.has_password ? t`Change password` : t`Choose password`}</Submit>
        </div>
      </Form>
    </Card>,
    <Card
      title={t`Passkeys`}
      lead={passkeys === 0
        ? t`None. A passkey signs you in with your fingerprint, face or PIN.`
        : t`${counted(passkeys, "passkey")} can sign you in.`}
      actions={<a class="button" href={passkeysPath}>{passkeys === 0 ? t`Add a passkey` : t`Manage passkeys`}</a>}
    />,
    <Card
      title={t`Second factor`}
      lead={secondFactorText(account, hasApp, passkeys)}
      actions={
        <a class="button" href="/console/account/second-factor">
          {account.second_factor ? t`Manage second factor` : t`Set up second factor`}
        </a>
      }
    />,
    <Card kind="flush">
      <Table
        cards="labelled"
        caption={t`Where you are signed in`}
        headings={[t`Device`, t`Address`, t`Signed in (UTC)`, t`Last used (UTC)`, t`[Actions]`]}
        rows={all.map((one) => [
          <>{deviceOf(one.user_agent)} {one.current && <Badge kind="good">{t`this session`}</Badge>}</>,
          one.address,
          { kind: "nowrap", content: <Time at={one.created_at} zone="UTC" /> },
          { kind: "nowrap", content: <Time at={one.last_seen_at} zone="UTC" /> },
          {
            kind: "actions",
            content: one.current ? null : (
              <PostButton
                to={`/console/account/sessions/${one.id}/end`}
                kind="compact danger"
                label={t`End the session of ${deviceOf(one.user_agent)}`}
              >
                {t`End`}
              </PostButton>
            ),
          },
        ])}
      />
    </Card>,
  )
})

const pageSize = 25

const accountShape: ListShape<Account> = {
  idOf: ({ id }) => id,
  textsOf: ({ email, name }) => [name, email],
  filters: {
    kind: {
      label: english("Kind"),
      options: [["administrator", "administrator"], ["member", "member"]],
      matches: ({ administrator }, kind) => administrator === (kind === "administrator"),
    },
  },
  sorts: {
    name: { label: english("Name"), descending: false, valueOf: ({ name }) => name },
    created: { label: english("Created (UTC)"), descending: true, valueOf: ({ created_at }) => Date.parse(created_at) },
  },
  sort: "name",
}

const list = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* Accounts).list
  const shown = listIn(accountShape, all, { at: "/console/accounts", query: visit.query, size: pageSize })
  return view(
    {
      title: t`All accounts`,
      lead: t`Accounts of this installation. Invite members of an organization on its Members page.`,
      actions: (
        <>
          <a class="button" href="/console/accounts/tracking-keys">{t`Tracking keys`}</a>{" "}
          <a class="button" href="/console/accounts/audit">{t`Audit log`}</a>
        </>
      ),
    },
    <ErrorSummary faults={faults} labels={accountForm.labels} />,
    yield* mailFault(visit),
    <ListPage
      list={shown}
      noun="account"
      caption={narrowedCaption(shown, "account", t`Accounts`)}
      placeholder={t`Name or e-mail address`}
      headings={(sorted) => [sorted("name"), t`Kind`, sorted("created"), t`[Actions]`]}
      row={(account) => [
        <>
          {account.name}
          <span class="sub">{account.email}</span>
        </>,
        <>
          {account.administrator ? <Badge kind="accent">{t`administrator`}</Badge> : <Badge>{t`member`}</Badge>}{" "}
          {!account.has_password && <Badge kind="warn">{t`no password`}</Badge>}{" "}
          {account.second_factor && <Badge kind="good">{t`second factor`}</Badge>}
        </>,
        { kind: "nowrap", content: <Time at={account.created_at} zone="UTC" /> },
        {
          kind: "actions",
          content: account.id === visit.session.account.id ? <span class="muted">{t`you`}</span> : (
            <>
              <PostButton
                to={`/console/accounts/${account.id}/reset`}
                kind="compact"
                label={t`Password link for ${account.email}`}
              >
                {t`Password link`}
              </PostButton>{" "}
              {account.second_factor && (
                <>
                  <a
                    class="button compact"
                    href={`/console/accounts/${account.id}/reset-second-factor`}
                    aria-label={t`Reset second factor of ${account.email}`}
                  >
                    {t`Reset second factor`}
                  </a>
                  {" "}
                </>
              )}
              <a
                class="button compact danger"
                href={`/console/accounts/${account.id}/remove`}
                aria-label={t`Remove ${account.email}`}
              >
                {t`Remove`}
              </a>
            </>
          ),
        },
      ]}
    />,
    <Card
      title={t`Create an account`}
      lead={(yield* MailQueue).isOn
        ? t`The person gets a mail with a link, and then chooses a password.`
        : t`You get a link to send to the person, who then chooses a password.`}
    >
      <Form submit={t`Create account`} action="/console/accounts">
        <accountForm.Fields values={fields} faults={faults} />
      </Form>
    </Card>,
  )
})

/** A new link for a password, which only this page shows. */
const linkView = Effect.fnUntraced(function* (visit: Visit, { email, id }: Account) {
  const token = yield* (yield* OneTimeLinks).create("password", id)
  return view(
    {
      document: t`Link for a password`,
      title: t`Link to choose a password`,
      back: { href: "/console/accounts", label: t`All accounts` },
    },
    yield* linkNotes(visit, [email]),
    <SecretOnce
      id="new-link"
      label={t`Link for ${email}`}
      value={`${(yield* SessionCookie).originOf(visit.request)}${linkPath("password", token)}`}
      hint={t`It works once, for one hour.`}
    />,
  )
})

const accountAction = Effect.fnUntraced(function* ({ session }: Visit, fields: Fields) {
  const { language = null, name = "" } = yield* ownForm.decode(fields)
  yield* (yield* Accounts).change(session.account.id, { language, name })
  return { to: "/console/account", done: "account-saved" }
})

const passwordAction = Effect.fnUntraced(function* ({ request, session }: Visit, fields: Fields) {
  const { current_password: current = "", password = "" } = fields
  const cookie = yield* SessionCookie
  const wrong = (detail: string) => new InvalidInput({ faults: [{ pointer: "/current_password", detail }] })
  const entered = yield* (yield* SignIn).changePassword(
    session,
    current,
    password,
    cookie.clientOf(request),
  ).pipe(Effect.catchTags({
    WrongPassword: () => wrong(t`is not the password of this account`),
    TooManyAttempts: ({ message }) => wrong(t`was wrong too often. ${message}`),
    HashingOverloaded: ({ message }) => wrong(t`could not be checked. ${message}`),
    SignInTooOld: ({ message }) => new InvalidInput({ faults: [{ pointer: "", detail: message }] }),
  }))
  return { to: "/console/account", done: "password-changed", cookies: cookie.of(entered) }
})

const accountsAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const account = yield* (yield* Accounts).create(yield* accountForm.decode(fields)).pipe(
    Effect.catchTag(
      "EmailTaken",
      () => new InvalidInput({ faults: [{ pointer: "/email", detail: t`is already used by another account` }] }),
    ),
  )
  return yield* linkView(visit, account)
})

const removePage = (visit: Visit) =>
  Effect.map(
    Accounts.use((accounts) => accounts.get(visit.params["account"] ?? "")),
    ({ email, name }) =>
      askFirst({
        title: t`Remove an account`,
        question: t`Remove ${name}?`,
        back: { href: "/console/accounts", label: t`All accounts` },
        button: t`Remove the account`,
        text: (
          <p>
            {t`${email} is signed out at once and loses every membership. Its actions stay in the audit log.`}
          </p>
        ),
      }),
  )

const removeAction = Effect.fnUntraced(function* ({ params, session }: Visit) {
  if (params["account"] === session.account.id) {
    return yield* new InvalidInput({
      faults: [{ pointer: "", detail: t`You cannot remove your own account; another administrator can.` }],
    })
  }
  yield* (yield* Accounts).remove(params["account"] ?? "")
  return { to: "/console/accounts", done: "account-removed" }
})

/** One's own account, and for administrators all accounts of the installation. */
export const layer = pages(({ action, asks, page }) => [
  page("/console/account", "getSession", own),
  action("/console/account", "updateOwnAccount", accountAction, own),
  action("/console/account/password", "updateOwnAccount", passwordAction, (visit, _, faults) => own(visit, {}, faults)),
  action(
    "/console/account/sessions/:session/end",
    "revokeSession",
    Effect.fnUntraced(function* ({ params, session }) {
      yield* (yield* Sessions).revoke(session.account.id, params["session"] ?? "")
      return { to: "/console/account", done: "session-ended" }
    }),
  ),
  page("/console/accounts", "listAccounts", list),
  action("/console/accounts", "createAccount", accountsAction, list),
  action(
    "/console/accounts/:account/reset",
    "resetAccount",
    Effect.fnUntraced(function* (visit) {
      const account = yield* (yield* Accounts).get(visit.params["account"] ?? "")
      return yield* linkView(visit, account)
    }),
  ),
  ...asks("/console/accounts/:account/remove", "removeAccount", removePage, removeAction),
])
