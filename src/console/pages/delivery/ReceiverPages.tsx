import { Effect, Record } from "effect"
import { DkimKeys, type DkimKeyView } from "../../../delivery/dkim/DkimKeys.ts"
import type { DnsRecord } from "../../../delivery/dkim/DkimKey.ts"
import { Connections } from "../../../delivery/Connections.ts"
import type { DeliverabilityCheck, Finding } from "../../../delivery/receivers/Findings.ts"
import { type TestMessageResult, TestMessages } from "../../../delivery/receivers/TestMessages.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, PostButton } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Table } from "../../components/Table.tsx"
import { pages } from "../../Pages.ts"
import type { Fields, Visit } from "../../Routes.tsx"

const checkNames: { readonly [check in DeliverabilityCheck]: string } = {
  spf: "SPF",
  dkim: "DKIM",
  dmarc: "DMARC",
  alignment: english("Alignment"),
  unsubscribe: english("Unsubscribe header"),
  "plain-text": english("Plain text"),
  encryption: english("Encryption"),
}

const badgeKinds = { ok: "good", missing: "warn", wrong: "bad", unknown: "plain" } as const

const statusWords = {
  ok: "ok",
  missing: english("missing"),
  wrong: english("wrong"),
  unknown: english("unknown"),
} as const

const labels = {
  to: english("Send to"),
  template_id: english("Content"),
  domain: english("Domain"),
  selector: english("Selector"),
  private_key: english("Private key"),
}

/** Templates that the field of a test message offers. Others are typed. */
const maxTemplates = 200

const RecordFacts = ({ record }: { readonly record: DnsRecord }) => (
  <Facts
    rows={[
      [t`Name`, <code>{record.name}</code>],
      [t`Type`, record.type],
      [t`Value`, <code>{record.value}</code>],
    ]}
  />
)

const FindingCell = ({ finding: { detail, record } }: { readonly finding: Finding }) => (
  <div class="stack">
    <p>{detail}</p>
    {record !== null && <RecordFacts record={record} />}
  </div>
)

const TestResult = ({ result }: { readonly result: TestMessageResult }) => (
  <>
    <Note kind={result.ok ? "good" : "bad"} live>
      <b>{result.ok ? t`The test message was sent.` : t`The test message was not sent.`}</b> {result.detail}
    </Note>
    <Card kind="flush">
      <Table
        cards="labelled"
        caption={t`Checks by receivers`}
        headings={[t`Check`, t`Result`, t`Details`]}
        rows={result.findings.map((finding) => [
          translated(checkNames[finding.check]),
          <Badge kind={badgeKinds[finding.status]}>{translated(statusWords[finding.status])}</Badge>,
          <FindingCell finding={finding} />,
        ])}
      />
    </Card>
  </>
)

const KeyState = ({ signing }: { readonly signing: boolean }) =>
  signing ? <Badge kind="good">{t`signing`}</Badge> : <Badge>{t`not signing`}</Badge>

/** A key with its DNS record. Members who may change the key also get its buttons. */
const KeyCard = ({ at, dkimKey, mayChange }: {
  readonly dkimKey: DkimKeyView
  readonly at: string
  readonly mayChange: boolean
}) => {
  const { bits, domain, isSigning, record, selector } = dkimKey
  return (
    <Card stacked title={t`DKIM key ${selector}`} lead={t`RSA with ${bits} bits for ${domain}`}>
      <div>
        <KeyState signing={isSigning} />
      </div>
      <RecordFacts record={record} />
      {mayChange && (
        <div class="buttons">
          <PostButton
            to={`${at}/dkim/${selector}`}
            fields={{ signing: isSigning ? "no" : "yes" }}
            kind={isSigning ? "plain" : "primary"}
            label={`${isSigning ? t`Stop signing` : t`Sign with this key`}: ${selector}`}
          >
            {isSigning ? t`Stop signing` : t`Sign with this key`}
          </PostButton>
          {!isSigning && (
            <PostButton
              to={`${at}/dkim/${selector}`}
              fields={{ signing: "yes", unchecked: "yes" }}
              label={t`Sign without checking DNS: ${selector}`}
            >
              {t`Sign without checking DNS`}
            </PostButton>
          )}
          <a class="button danger" href={`${at}/dkim/${selector}/remove`}>{t`Delete`}</a>
        </div>
      )}
    </Card>
  )
}

const pathOf = ({ org }: Visit, name: string) => `/console/o/${org.slug}/connections/${name}/receivers`

const named = ({ params }: Visit, name: "connection" | "selector") => {
  const text = params[name] ?? ""
  return isStorable(text) ? text : ""
}

const TestForm = ({ at, faults, sent, templates, visit }: {
  /** Ids of templates that the field offers. */
  readonly templates: ReadonlyArray<string>
  readonly visit: Visit
  readonly at: string
  readonly sent: Fields
  readonly faults: ReadonlyArray<Fault>
}) => {
  return (
    <Card
      title={t`Test message`}
      lead={t`Sends a real message and runs the checks that receivers make. It does not count in results.`}
    >
      <Form submit={t`Send test message`} action={`${at}/test-message`}>
        <Field
          name="to"
          label={translated(labels.to)}
          type="email"
          value={sent["to"] ?? visit.session.account.email}
          faults={faults}
          hint={t`Up to 100 test messages per hour and 300 per day. Addresses on the suppression list are refused.`}
        />
        <Field
          name="template_id"
          label={translated(labels.template_id)}
          value={sent["template_id"] ?? ""}
          required={false}
          list={templates}
          faults={faults}
          hint={t`The id of a template: its first active variant is sent with empty placeholders. Without an id, the message
            is a short text about the test.`}
        />
      </Form>
    </Card>
  )
}

const NewKey = ({ at, faults, sent }: {
  readonly at: string
  readonly sent: Fields
  readonly faults: ReadonlyArray<Fault>
}) => (
  <Card
    title={t`New DKIM key`}
    lead={t`A signature proves to receivers that a message is yours. Publish the DNS record of the key before
      you sign with it.`}
  >
    <Form submit={t`Create key`} action={`${at}/dkim`}>
      <Field
        name="domain"
        label={t`${translated(labels.domain)} (optional)`}
        required={false}
        value={sent["domain"] ?? ""}
        faults={faults}
        hint={t`Default: the domain of the sender.`}
      />
      <Field
        name="selector"
        label={t`${translated(labels.selector)} (optional)`}
        required={false}
        value={sent["selector"] ?? ""}
        faults={faults}
        hint={t`The name of the key below the domain. Leave empty to have one chosen.`}
      />
      <Field
        name="private_key"
        type="password"
        autocomplete="new-password"
        label={t`${translated(labels.private_key)} (optional)`}
        required={false}
        faults={faults}
        hint={t`To import an RSA key in PEM format. It is stored encrypted and never shown again. Leave empty to
          create a new key.`}
      />
    </Form>
  </Card>
)

const show = Effect.fnUntraced(
  function* (
    visit: Visit,
    sent: Fields = {},
    faults: ReadonlyArray<Fault> = [],
    result?: TestMessageResult,
  ) {
    const { can, org } = visit
    const { name, platform } = yield* (yield* Connections).get(org.slug, named(visit, "connection"))
    const at = pathOf(visit, name)
    const all = yield* (yield* DkimKeys).list(org.slug, name)
    const templates = [...(yield* TemplateCache).templates(org.slug).values()].filter(({ archived }) => !archived)
      .slice(0, maxTemplates).map(({ id }) => id)
    const head = (
      <PageHead
        title={t`Receivers`}
        back={{ href: `/console/o/${org.slug}/connections/${name}`, label: name }}
        lead={t`DKIM signatures and test messages of this connection, with the checks that receivers make.`}
      />
    )
    if (platform !== "smtp") {
      return {
        title: t`Receivers`,
        body: (
          <>
            {head}
            <Note>
              {t`The platform of this connection signs its messages itself. DKIM keys are only for SMTP connections.`}
            </Note>
          </>
        ),
      }
    }
    return {
      title: t`Receivers`,
      body: (
        <>
          {head}
          <ErrorSummary faults={faults} labels={Record.map(labels, translated)} />
          {result !== undefined && <TestResult result={result} />}
          {can("sendTestMessage") && (
            <TestForm templates={templates} visit={visit} at={at} sent={sent} faults={faults} />
          )}
          {all.map((one) => <KeyCard dkimKey={one} at={at} mayChange={can("updateDkimKey")} />)}
          {all.length === 0 && <Note>{t`This connection has no DKIM key: it does not sign messages.`}</Note>}
          {can("createDkimKey") && <NewKey at={at} sent={sent} faults={faults} />}
        </>
      ),
    }
  },
)

const given = (sent: Fields, name: string) => {
  const text = (sent[name] ?? "").trim()
  return text === "" ? {} : { [name]: text }
}

const testMessageAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const result = yield* (yield* TestMessages).send(visit.org.slug, named(visit, "connection"), {
    to: (sent["to"] ?? "").trim(),
    ...given(sent, "template_id"),
  }).pipe(
    Effect.catchTags({
      TestRecipientSuppressed: ({ message }) => new InvalidInput({ faults: [{ pointer: "/to", detail: message }] }),
      TemplateNotFound: ({ message }) => new InvalidInput({ faults: [{ pointer: "/template_id", detail: message }] }),
      TooManyTestMessages: ({ message }) => new InvalidInput({ faults: [{ pointer: "", detail: message }] }),
      NotRendered: ({ faults }) =>
        new InvalidInput({
          faults: faults.map(({ detail, variable }) => ({ pointer: "/template_id", detail: `${variable}: ${detail}` })),
        }),
    }),
  )
  return yield* show(visit, sent, [], result)
})

const dkimAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const name = named(visit, "connection")
  const input = { ...given(sent, "domain"), ...given(sent, "selector"), ...given(sent, "private_key") }
  yield* (yield* DkimKeys).add(visit.org.slug, name, input)
  return { to: pathOf(visit, name), done: "dkim-key-added" }
})

const receiversDkimAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const name = named(visit, "connection")
  const signing = sent["signing"] === "yes"
  yield* (yield* DkimKeys).change(visit.org.slug, name, named(visit, "selector"), {
    signing,
    unchecked: sent["unchecked"] === "yes",
  }).pipe(
    Effect.catchTag("DkimKeyNotPublished", ({ detail }) =>
      new InvalidInput({
        faults: [{
          pointer: "",
          detail: t`${detail} Nothing was changed. Publish the record, and try again once name servers return it.`,
        }],
      })),
  )
  return { to: pathOf(visit, name), done: signing ? "dkim-key-signing" : "dkim-key-stopped" }
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const { name } = yield* (yield* Connections).get(visit.org.slug, named(visit, "connection"))
  const selector = named(visit, "selector")
  const at = pathOf(visit, name)
  return askFirst({
    title: t`Delete ${selector}`,
    question: t`Delete the DKIM key ${selector}?`,
    back: { href: at, label: t`Receivers` },
    button: t`Delete the key`,
    text: (
      <p>
        {t`The private key is deleted. A connection that signs with it then sends unsigned messages. Leave the
          record in DNS for some days, so that receivers can verify messages in transit.`}
      </p>
    ),
  })
})

const removeAction = Effect.fnUntraced(function* (visit: Visit) {
  const name = named(visit, "connection")
  yield* (yield* DkimKeys).remove(visit.org.slug, name, named(visit, "selector"))
  return { to: pathOf(visit, name), done: "dkim-key-removed" }
})

/** The page of a connection with its signatures, and with a test message and its findings. */
export const layer = pages(({ action, asks, page }) => [
  page("/console/o/:org/connections/:connection/receivers", "listDkimKeys", show),
  action("/console/o/:org/connections/:connection/receivers/test-message", "sendTestMessage", testMessageAction, show),
  action("/console/o/:org/connections/:connection/receivers/dkim", "createDkimKey", dkimAction, show),
  action(
    "/console/o/:org/connections/:connection/receivers/dkim/:selector",
    "updateDkimKey",
    receiversDkimAction,
    show,
  ),
  ...asks(
    "/console/o/:org/connections/:connection/receivers/dkim/:selector/remove",
    "deleteDkimKey",
    removePage,
    removeAction,
  ),
])
