import { Effect } from "effect"
import { Accounts } from "../../accounts/Accounts.ts"
import { OwnSecondFactor } from "../../accounts/OwnSecondFactor.ts"
import { passkeysPath } from "../../accounts/Passkeys.ts"
import { SecondFactors } from "../../accounts/SecondFactors.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import * as Totp from "../../accounts/Totp.ts"
import { type Fault, InvalidInput } from "../../domain/Errors.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { Card } from "../components/Card.tsx"
import { Facts } from "../components/Facts.tsx"
import { askFirst } from "../components/AskFirst.tsx"
import { Field } from "../components/Field.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { PasskeyPart, PasskeyScript } from "../components/PasskeyForm.tsx"
import { QrCode } from "../components/QrCode.tsx"
import { Time } from "../components/Time.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { formFields, typed } from "../FormReaders.ts"
import { type Fields, ownPath, problem, type View, type Visit } from "../Routes.tsx"

const path = "/console/account/second-factor"
const title = english("Second factor")
const labels = { current_password: english("Current password"), code: english("Code") }
const back = () => ({ href: "/console/account", label: t`Your account` })

/** Form faults for a refused password or code. Everything else is a page of its own. */
export const asFault = (error: { readonly _tag: string; readonly message: string }) => {
  const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })
  switch (error._tag) {
    case "WrongPassword":
      return fault("/current_password", t`is not the password of this account`)
    case "WrongCode":
      return fault("/code", t`is wrong or has been used. Enter the code that your app shows now`)
    default:
      return fault("", error.message)
  }
}

/** The field for the current password. */
export const PasswordField = ({ faults }: { readonly faults: ReadonlyArray<Fault> }) => (
  <Field
    name="current_password"
    label={translated(labels.current_password)}
    type="password"
    autocomplete="current-password"
    faults={faults}
  />
)

const CodeField = ({ faults, hint }: { readonly faults: ReadonlyArray<Fault>; readonly hint: string }) => (
  <Field name="code" label={translated(labels.code)} autocomplete="one-time-code" hint={hint} faults={faults} />
)

const Next = ({ next }: { readonly next: string | undefined }) =>
  next === undefined ? null : <input type="hidden" name="next" value={next} />

/** The form that takes password and code, for changes to a second factor that is on. */
const bothForm = (faults: ReadonlyArray<Fault>, form: {
  readonly title: string
  readonly lead: string
  readonly action: string
  readonly button: string
  readonly kind: "primary" | "danger"
}): View =>
  view(
    { title: form.title, lead: form.lead, back: { href: path, label: translated(title) } },
    <ErrorSummary faults={faults} labels={labels} />,
    <Card>
      <Form action={form.action}>
        <PasswordField faults={faults} />
        <CodeField faults={faults} hint={t`Six digits of your authenticator app, or a recovery code.`} />
        <div>
          <Submit kind={form.kind}>{form.button}</Submit>
        </div>
      </Form>
    </Card>,
  )

/** The page that shows new recovery codes once. `next`: the page after it. */
export const recoveryCodesView = (codes: ReadonlyArray<string>, next: string | undefined, lead: string): View =>
  view(
    { title: t`Recovery codes`, lead },
    <Note kind="warn">
      {t`Save these codes now, in your password manager or on paper. They are not shown again.`}
    </Note>,
    <Card stacked>
      <p>{t`Each code signs you in once if you do not have your authenticator app or passkey at hand.`}</p>
      <pre class="codes" id="recovery-codes">{codes.join("\n")}</pre>
      <div class="buttons">
        <button type="button" class="button" data-copy="recovery-codes" hidden>{t`Copy`}</button>
        <a class="button primary" href={next ?? "/console/account"}>{t`I have saved the codes`}</a>
      </div>
      <p class="hint">
        <span role="status" id="recovery-codes-status"></span>
      </p>
    </Card>,
  )

/** The page to continue with after a set-up. */
export const nextOf = ({ query }: Visit, fields: Fields) => ownPath(fields["next"] ?? query.get("next"))

const nextQuery = (visit: Visit, fields: Fields) => {
  const next = nextOf(visit, fields)
  return next === undefined ? "" : `?next=${encodeURIComponent(next)}`
}

const offView = Effect.fnUntraced(function* (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) {
  const account = yield* (yield* Accounts).get(visit.session.account.id)
  const required = visit.query.get("required")
  return (
    <>
      {required !== null && visit.session.closedTo.has(required) && (
        <Note kind="warn">
          {t`The organization ${<b>{required}</b>} requires a second factor from everyone who signs in with a password.
            Set one up to open it.`}
        </Note>
      )}
      <ErrorSummary faults={faults} labels={labels} />
      <PasskeyPart>
        <Card
          title={t`Use a passkey`}
          lead={t`Confirm with your fingerprint, face or PIN instead of typing codes.`}
          actions={<a class="button" href={`${passkeysPath}${nextQuery(visit, fields)}`}>{t`Add a passkey`}</a>}
        />
        <PasskeyScript />
      </PasskeyPart>
      {account.has_password
        ? (
          <Card
            title={t`Set up an authenticator app`}
            lead={t`You need an app on your phone or computer that shows one-time codes, such as 1Password, Google
              Authenticator or Microsoft Authenticator.`}
          >
            <Form submit={t`Continue`} action={path}>
              <Next next={nextOf(visit, fields)} />
              <PasswordField faults={faults} />
            </Form>
          </Card>
        )
        : (
          <Card>
            <p>
              {t`You sign in through the identity provider, whose second factor counts here as well. Your account has
                no password, so there is no authenticator app to set up.`}
            </p>
          </Card>
        )}
    </>
  )
})

const overview = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { enabled, enabled_at, recovery_codes_left: left } = yield* (yield* SecondFactors).state(
    visit.session.account.id,
  )
  return view(
    {
      title: translated(title),
      lead: t`A code from an authenticator app that you enter after your password. A stolen password alone is then
        not enough to sign in.`,
      back: back(),
    },
    enabled
      ? (
        <Card stacked title={t`Authenticator app`}>
          <Facts
            rows={[
              [
                t`On since`,
                <>
                  {t`${<Time at={enabled_at ?? ""} zone="UTC" />} UTC`}
                </>,
              ],
              [t`Recovery codes left`, <>{t`${left} of ${Totp.recoveryCodeCount}`}</>],
            ]}
          />
          <div class="buttons">
            <a class="button" href={`${path}/recovery-codes`}>{t`New recovery codes`}</a>
            <a class="button danger" href={`${path}/disable`}>{t`Turn off`}</a>
          </div>
        </Card>
      )
      : yield* offView(visit, fields, faults),
  )
})

const setUp = (
  visit: Visit,
  { secret, uri }: { readonly secret: string; readonly uri: string },
  fields: Fields,
  faults: ReadonlyArray<Fault> = [],
): View =>
  view(
    { title: t`Set up your authenticator app`, back: { href: path, label: translated(title) } },
    <ErrorSummary faults={faults} labels={labels} />,
    <Card
      stacked
      title={t`1. Scan the QR code`}
      lead={t`Open your authenticator app, add an account and scan this code.`}
    >
      <QrCode label={t`QR code with the secret for your authenticator app`} text={uri} />
      <div class="field">
        <label for="secret">{t`No camera? Enter this key instead`}</label>
        <div class="secret">
          <input
            type="text"
            id="secret"
            readonly
            value={secret.replace(/(.{4})(?=.)/g, "$1 ")}
            spellcheck={false}
            autocomplete="off"
          />
          <button type="button" class="button" data-copy="secret" hidden>{t`Copy`}</button>
        </div>
        <p class="hint">
          {t`Time-based, 6 digits, 30 seconds. ${<span role="status" id="secret-status"></span>}`}
        </p>
      </div>
    </Card>,
    <Card title={t`2. Enter the code`}>
      <Form submit={t`Turn on`} action={`${path}/confirm`}>
        <Next next={nextOf(visit, fields)} />
        <CodeField faults={faults} hint={t`The six digits that the app shows for Parlance.`} />
      </Form>
    </Card>,
  )

const disable = (_: Visit, __: Fields = {}, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed(bothForm(faults, {
    title: t`Turn off the second factor`,
    lead: t`Your password alone will sign you in.`,
    action: `${path}/disable`,
    button: t`Turn off`,
    kind: "danger",
  }))

const renew = (_: Visit, __: Fields = {}, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed(bothForm(faults, {
    title: t`New recovery codes`,
    lead: t`You get ten new codes. The old ones stop working.`,
    action: `${path}/recovery-codes`,
    button: t`Show new recovery codes`,
    kind: "primary",
  }))

const passwordFields = formFields({ code: typed, current_password: typed })

const beginAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const client = (yield* SessionCookie).clientOf(visit.request)
  const begun = yield* Effect.mapError(
    (yield* OwnSecondFactor).begin(visit.session, passwordFields(fields).current_password, client),
    asFault,
  )
  return setUp(visit, begun, fields)
})

const disableAction = Effect.fnUntraced(function* ({ request, session }: Visit, fields: Fields) {
  const { code, current_password: password } = passwordFields(fields)
  yield* Effect.mapError(
    (yield* OwnSecondFactor).disable(session, password, code, (yield* SessionCookie).clientOf(request)),
    asFault,
  )
  return { to: "/console/account", done: "second-factor-off" }
})

const renewAction = Effect.fnUntraced(function* ({ request, session }: Visit, fields: Fields) {
  const { code, current_password: password } = passwordFields(fields)
  const codes = yield* Effect.mapError(
    (yield* OwnSecondFactor).renewRecoveryCodes(session, password, code, (yield* SessionCookie).clientOf(request)),
    asFault,
  )
  return recoveryCodesView(codes, undefined, t`These replace your old recovery codes.`)
})

const resetSecondFactorPage = (visit: Visit) =>
  Effect.map(
    Accounts.use((accounts) => accounts.get(visit.params["account"] ?? "")),
    ({ email, name, second_factor }) =>
      second_factor
        ? askFirst({
          title: t`Reset a second factor`,
          question: t`Reset the second factor of ${name}?`,
          back: { href: "/console/accounts", label: t`All accounts` },
          button: t`Reset the second factor`,
          text: (
            <p>
              {t`The authenticator app and all passkeys are removed. ${email} is signed out at once and then
                signs in with the password alone. Make sure that it is really ${name} who asks for this.`}
            </p>
          ),
        })
        : problem(404, t`There is nothing to reset`, t`${email} has no second factor.`),
  )

/** Your account, Second factor; and for administrators the reset of another account's second factor. */
export const layer = pages(({ action, asks, form, page }) => [
  page(path, "getSecondFactor", overview),
  action(path, "beginSecondFactor", beginAction, overview),
  action(
    `${path}/confirm`,
    "confirmSecondFactor",
    Effect.fnUntraced(function* (visit, fields) {
      const codes = yield* Effect.mapError(
        (yield* OwnSecondFactor).confirm(visit.session, passwordFields(fields).code),
        asFault,
      )
      return recoveryCodesView(codes, nextOf(visit, fields), t`Your second factor is on.`)
    }),
    Effect.fnUntraced(function* (visit: Visit, fields: Fields, faults: ReadonlyArray<Fault>) {
      const pending = yield* (yield* SecondFactors).pending(visit.session.account)
      return pending === undefined ? yield* overview(visit, fields, faults) : setUp(visit, pending, fields, faults)
    }),
  ),
  ...form(`${path}/disable`, "disableSecondFactor", disable, disableAction),
  ...form(`${path}/recovery-codes`, "renewRecoveryCodes", renew, renewAction),
  ...asks(
    "/console/accounts/:account/reset-second-factor",
    "resetSecondFactor",
    resetSecondFactorPage,
    Effect.fnUntraced(function* ({ params }) {
      yield* (yield* OwnSecondFactor).reset(params["account"] ?? "")
      return { to: "/console/accounts", done: "second-factor-reset" }
    }),
  ),
])
