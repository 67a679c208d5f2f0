import { Effect } from "effect"
import type { Passkey } from "../../accounts/Account.ts"
import { PasskeyNotFound } from "../../accounts/AccountErrors.ts"
import { OwnPasskeys } from "../../accounts/OwnPasskeys.ts"
import { Passkeys, passkeysPath } from "../../accounts/Passkeys.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { PasskeyName } from "../../api/accounts/PasskeysApi.ts"
import type { Fault } from "../../domain/Errors.ts"
import { english, t } from "../../languages/Language.ts"
import { Card } from "../components/Card.tsx"
import { Form, PostButton, Submit } from "../components/Form.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { PasskeyForm, PasskeyPart, PasskeyScript } from "../components/PasskeyForm.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { formFields, typed } from "../FormReaders.ts"
import { pages } from "../Pages.ts"
import type { Fields, Visit } from "../Routes.tsx"
import { view } from "../View.tsx"
import { asFault, nextOf, PasswordField, recoveryCodesView } from "./SecondFactorPages.tsx"

const title = english("Passkeys")
const back = { href: passkeysPath, label: title }

const nameForm = inputForm(PasskeyName, { name: { label: english("Name") } })
const labels = { ...nameForm.labels, current_password: english("Current password") }

const sentFields = formFields({ current_password: typed, response: typed })

const row = (one: Passkey, domain: string | undefined) => [
  <>
    <bdi>{one.name}</bdi>
    <span class="sub">
      {one.domain !== domain
        ? t`Works only at ${one.domain}`
        : one.synced
        ? t`Can be on several devices`
        : t`On one device`}
    </span>
  </>,
  { kind: "nowrap" as const, content: <Time at={one.created_at} zone="UTC" /> },
  {
    kind: "nowrap" as const,
    content: one.last_used_at === null ? t`never` : <Time at={one.last_used_at} zone="UTC" />,
  },
  {
    kind: "actions" as const,
    content: (
      <>
        <a class="button compact" href={`${passkeysPath}/${one.id}`} aria-label={t`Rename ${one.name}`}>{t`Rename`}</a>
        {" "}
        <a class="button compact danger" href={`${passkeysPath}/${one.id}/remove`} aria-label={t`Remove ${one.name}`}>
          {t`Remove`}
        </a>
      </>
    ),
  },
]

/** The request to sign in again before a change of the passkeys. */
const AgainCard = () => (
  <Card
    title={t`Sign in again to change your passkeys`}
    lead={t`You can add and remove passkeys within 15 minutes of signing in.`}
    actions={<PostButton to="/console/sign-out">{t`Sign out`}</PostButton>}
  />
)

/** The form that begins a new passkey. */
const addCard = Effect.fnUntraced(function* (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) {
  const needs = yield* (yield* OwnPasskeys).needs(visit.session)
  if (needs.signIn) return <AgainCard />
  const next = nextOf(visit, fields)
  return (
    <Card
      title={t`Add a passkey`}
      lead={t`Your device or password manager keeps it. From then on, your password alone does not sign you in: it
        takes a passkey, a code or a recovery code as well.`}
    >
      <PasskeyPart off>
        <p>{t`This browser cannot create passkeys, or its scripts are off. Use a current browser with scripts.`}</p>
      </PasskeyPart>
      <PasskeyPart>
        <Form action={passkeysPath} submit={t`Continue`}>
          {next !== undefined && <input type="hidden" name="next" value={next} />}
          <nameForm.Fields values={{ name: "Passkey", ...fields }} faults={faults} />
          {needs.password && <PasswordField faults={faults} />}
        </Form>
      </PasskeyPart>
    </Card>
  )
})

const list = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* Passkeys).list(visit.session.account.id)
  const site = yield* Effect.result((yield* SessionCookie).siteOf(visit.request))
  const domain = site._tag === "Success" ? site.success.rpId : undefined
  return view(
    {
      title,
      lead: t`Sign in with your fingerprint, face or PIN. A passkey works alone, or as second factor after your
        password.`,
      back: { href: "/console/account", label: t`Your account` },
    },
    <ErrorSummary faults={faults} labels={labels} />,
    all.length > 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={t`Your passkeys`}
          headings={[t`Name`, t`Added (UTC)`, t`Last used (UTC)`, t`[Actions]`]}
          rows={all.map((one) => row(one, domain))}
        />
      </Card>
    ),
    site._tag === "Failure" ? <Note kind="warn">{site.failure.message}</Note> : yield* addCard(visit, fields, faults),
    <PasskeyScript />,
  )
})

const beginAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const cookie = yield* SessionCookie
  const { name } = yield* nameForm.decode(fields)
  const { current_password: password } = sentFields(fields)
  const site = yield* Effect.mapError(cookie.siteOf(visit.request), asFault)
  const options = yield* Effect.mapError(
    (yield* OwnPasskeys).begin(visit.session, site, password, cookie.clientOf(visit.request)),
    asFault,
  )
  return view(
    { title: t`Create your passkey`, lead: t`Your browser asks where to keep “${name}”.`, back },
    <Card>
      <PasskeyForm
        action={`${passkeysPath}/new`}
        fields={{ name, next: nextOf(visit, fields) }}
        kind="primary"
        label={t`Create passkey`}
        options={options}
      />
    </Card>,
  )
})

const addAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { name } = yield* nameForm.decode(fields)
  const site = yield* Effect.mapError((yield* SessionCookie).siteOf(visit.request), asFault)
  const { recoveryCodes } = yield* Effect.mapError(
    (yield* OwnPasskeys).add(visit.session, site, name, sentFields(fields).response),
    asFault,
  )
  const next = nextOf(visit, fields)
  return recoveryCodes === undefined
    ? { to: next ?? passkeysPath, done: "passkey-added" }
    : recoveryCodesView(recoveryCodes, next, t`Your passkey has been added.`)
})

const passkey = Effect.fnUntraced(function* ({ params, session }: Visit) {
  const id = params["passkey"] ?? ""
  const found = (yield* (yield* Passkeys).list(session.account.id)).find((one) => one.id === id)
  return found ?? (yield* new PasskeyNotFound({ id: id.slice(0, 100) }))
})

const rename = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { id, name } = yield* passkey(visit)
  return view(
    { title: t`Rename a passkey`, back },
    <nameForm.Card
      submit={t`Save name`}
      action={`${passkeysPath}/${id}`}
      values={{ name, ...fields }}
      faults={faults}
    />,
  )
})

const renameAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { name } = yield* nameForm.decode(fields)
  yield* (yield* Passkeys).rename(visit.session.account.id, (yield* passkey(visit)).id, name)
  return { to: passkeysPath, done: "passkey-renamed" }
})

const remove = Effect.fnUntraced(function* (visit: Visit, _: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { id, name } = yield* passkey(visit)
  const needs = yield* (yield* OwnPasskeys).needs(visit.session)
  return view(
    {
      document: t`Remove a passkey`,
      title: t`Remove “${name}”?`,
      lead: t`It no longer signs you in. Delete it in your password manager or on your device too.`,
      back,
    },
    <ErrorSummary faults={faults} labels={labels} />,
    needs.signIn ? <AgainCard /> : (
      <Card>
        <Form action={`${passkeysPath}/${id}/remove`}>
          {needs.password && <PasswordField faults={faults} />}
          <div>
            <Submit kind="danger">{t`Remove the passkey`}</Submit>
          </div>
        </Form>
      </Card>
    ),
  )
})

const removeAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const client = (yield* SessionCookie).clientOf(visit.request)
  const { id } = yield* passkey(visit)
  yield* Effect.mapError(
    (yield* OwnPasskeys).remove(visit.session, id, sentFields(fields).current_password, client),
    asFault,
  )
  return { to: passkeysPath, done: "passkey-removed" }
})

/** Your account, Passkeys. */
export const layer = pages(({ action, form, page }) => [
  page(passkeysPath, "listPasskeys", list),
  action(passkeysPath, "beginPasskey", beginAction, list),
  action(`${passkeysPath}/new`, "addPasskey", addAction, list),
  ...form(`${passkeysPath}/:passkey`, "renamePasskey", rename, renameAction),
  ...form(`${passkeysPath}/:passkey/remove`, "removePasskey", remove, removeAction),
])
