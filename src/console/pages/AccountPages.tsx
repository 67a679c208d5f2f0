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

const ownForm = inputForm(OwnAccountBody, { name: { label: "Your name", autocomplete: "name" } })

const accountForm = inputForm(AccountInput, {
  email: { label: "E-mail address", as: "email" },
  name: { label: "Name" },
  administrator: {
    label: "Rights",
    as: "checkboxes",
    read: (sent) => sent === "on",
    options: [[
      "on",
      "Administrator of the installation",
      "Can do everything in every organization and manage accounts.",
    ]],
  },
})

const labels = { ...ownForm.labels, current_password: "Current password", password: "New password" }

/** A browser's name out of its `User-Agent`, as far as a person needs to know their own devices. */
const deviceOf = (userAgent: string): string => {
  const browser = /(Edg|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1]?.replace("Edg", "Edge")
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent)?.[0]
  return browser === undefined
    ? userAgent.slice(0, 60) || "Unknown"
    : `${browser}${system === undefined ? "" : ` on ${system}`}`
}

const secondFactorText = ({ has_password }: Account, hasApp: boolean, passkeys: number) =>
  hasApp
    ? "On. You enter a code from your authenticator app after your password."
    : passkeys > 0
    ? "On. You use a passkey after your password."
    : has_password
    ? "Off. You sign in with your password alone."
    : "Not needed. You sign in through the identity provider."

const own = Effect.fnUntraced(function* ({ session }: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* Sessions).list(session.account.id, session.sessionId)
  const account = yield* (yield* Accounts).get(session.account.id)
  const hasApp = (yield* (yield* SecondFactors).state(account.id)).enabled
  const passkeys = (yield* (yield* Passkeys).list(account.id)).length
  return view(
    { title: "Your account", lead: session.account.email },
    <ErrorSummary faults={faults} labels={labels} />,
    <Card title="Name">
      <Form submit="Save name" action="/console/account">
        <ownForm.Fields values={{ name: session.account.name, ...fields }} faults={faults} />
      </Form>
    </Card>,
    <Card
      title="Password"
      lead={account.has_password
        ? "Changing it ends all your other sessions."
        : "Your account has no password. You can choose one within 15 minutes of signing in through the identity provider."}
    >
      <Form action="/console/account/password">
        <input type="hidden" name="username" autoComplete="username" value={session.account.email} />
        {account.has_password && (
          <Field
            name="current_password"
            label={labels.current_password}
            type="password"
            autocomplete="current-password"
            faults={faults}
          />
        )}
        <Field
          name="password"
          label={labels.password}
          type="password"
          autocomplete="new-password"
          faults={faults}
          hint={`At least ${Passwords.minLength} characters. Several unrelated words make a good one.`}
        />
        <div>
          <Submit>{account.has_password ? "Change password" : "Choose password"}</Submit>
        </div>
      </Form>
    </Card>,
    <Card
      title="Passkeys"
      lead={passkeys === 0
        ? "None. A passkey signs you in with your fingerprint, face or PIN."
        : `${counted(passkeys, "passkey")} can sign you in.`}
      actions={<a class="button" href={passkeysPath}>{passkeys === 0 ? "Add a passkey" : "Manage passkeys"}</a>}
    />,
    <Card
      title="Second factor"
      lead={secondFactorText(account, hasApp, passkeys)}
      actions={
        <a class="button" href="/console/account/second-factor">
          {account.second_factor ? "Manage second factor" : "Set up second factor"}
        </a>
      }
    />,
    <Card kind="flush">
      <Table
        cards="labelled"
        caption="Where you are signed in"
        headings={["Device", "Address", "Signed in (UTC)", "Last used (UTC)", "[Actions]"]}
        rows={all.map((one) => [
          <>{deviceOf(one.user_agent)} {one.current && <Badge kind="good">this session</Badge>}</>,
          one.address,
          { kind: "nowrap", content: <Time at={one.created_at} zone="UTC" /> },
          { kind: "nowrap", content: <Time at={one.last_seen_at} zone="UTC" /> },
          {
            kind: "actions",
            content: one.current ? null : (
              <PostButton
                to={`/console/account/sessions/${one.id}/end`}
                kind="compact danger"
                label={`End the session of ${deviceOf(one.user_agent)}`}
              >
                End
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
      label: "Kind",
      options: [["administrator", "administrator"], ["member", "member"]],
      matches: ({ administrator }, kind) => administrator === (kind === "administrator"),
    },
  },
  sorts: {
    name: { label: "Name", descending: false, valueOf: ({ name }) => name },
    created: { label: "Created (UTC)", descending: true, valueOf: ({ created_at }) => Date.parse(created_at) },
  },
  sort: "name",
}

const list = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* Accounts).list
  const shown = listIn(accountShape, all, { at: "/console/accounts", query: visit.query, size: pageSize })
  return view(
    {
      title: "All accounts",
      lead: "Accounts of this installation. Invite members of an organization on its Members page.",
      actions: <a class="button" href="/console/accounts/audit">Audit log</a>,
    },
    <ErrorSummary faults={faults} labels={accountForm.labels} />,
    yield* mailFault(visit),
    <ListPage
      list={shown}
      noun="account"
      caption={narrowedCaption(shown, "account", "Accounts")}
      placeholder="Name or e-mail address"
      headings={(sorted) => [sorted("name"), "Kind", sorted("created"), "[Actions]"]}
      row={(account) => [
        <>
          {account.name}
          <span class="sub">{account.email}</span>
        </>,
        <>
          {account.administrator ? <Badge kind="accent">administrator</Badge> : <Badge>member</Badge>}{" "}
          {!account.has_password && <Badge kind="warn">no password</Badge>}{" "}
          {account.second_factor && <Badge kind="good">second factor</Badge>}
        </>,
        { kind: "nowrap", content: <Time at={account.created_at} zone="UTC" /> },
        {
          kind: "actions",
          content: account.id === visit.session.account.id ? <span class="muted">you</span> : (
            <>
              <PostButton
                to={`/console/accounts/${account.id}/reset`}
                kind="compact"
                label={`Password link for ${account.email}`}
              >
                Password link
              </PostButton>{" "}
              {account.second_factor && (
                <>
                  <a
                    class="button compact"
                    href={`/console/accounts/${account.id}/reset-second-factor`}
                    aria-label={`Reset second factor of ${account.email}`}
                  >
                    Reset second factor
                  </a>
                  {" "}
                </>
              )}
              <a
                class="button compact danger"
                href={`/console/accounts/${account.id}/remove`}
                aria-label={`Remove ${account.email}`}
              >
                Remove
              </a>
            </>
          ),
        },
      ]}
    />,
    <Card
      title="Create an account"
      lead={(yield* MailQueue).isOn
        ? "The person gets a mail with a link, and then chooses a password."
        : "You get a link to send to the person, who then chooses a password."}
    >
      <Form submit="Create account" action="/console/accounts">
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
      document: "Link for a password",
      title: "Link to choose a password",
      back: { href: "/console/accounts", label: "All accounts" },
    },
    yield* linkNotes(visit, email),
    <SecretOnce
      id="new-link"
      label={`Link for ${email}`}
      value={`${(yield* SessionCookie).originOf(visit.request)}${linkPath("password", token)}`}
      hint="It works once, for one hour."
    />,
  )
})

const accountAction = Effect.fnUntraced(function* ({ session }: Visit, fields: Fields) {
  const { name } = yield* ownForm.decode(fields)
  yield* (yield* Accounts).rename(session.account.id, name ?? "")
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
    WrongPassword: () => wrong("is not the password of this account"),
    TooManyAttempts: ({ message }) => wrong(`was wrong too often. ${message}`),
    HashingOverloaded: ({ message }) => wrong(`could not be checked. ${message}`),
    SignInTooOld: ({ message }) => new InvalidInput({ faults: [{ pointer: "", detail: message }] }),
  }))
  return { to: "/console/account", done: "password-changed", cookies: cookie.of(entered) }
})

const accountsAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const account = yield* (yield* Accounts).create(yield* accountForm.decode(fields)).pipe(
    Effect.catchTag(
      "EmailTaken",
      () => new InvalidInput({ faults: [{ pointer: "/email", detail: "is already used by another account" }] }),
    ),
  )
  return yield* linkView(visit, account)
})

const removePage = (visit: Visit) =>
  Effect.map(
    Accounts.use((accounts) => accounts.get(visit.params["account"] ?? "")),
    ({ email, name }) =>
      askFirst({
        title: "Remove an account",
        question: `Remove ${name}?`,
        back: { href: "/console/accounts", label: "All accounts" },
        button: "Remove the account",
        text: (
          <p>
            {email} is signed out at once and loses every membership. Its actions stay in the audit log.
          </p>
        ),
      }),
  )

const removeAction = Effect.fnUntraced(function* ({ params, session }: Visit) {
  if (params["account"] === session.account.id) {
    return yield* new InvalidInput({
      faults: [{ pointer: "", detail: "You cannot remove your own account; another administrator can." }],
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
