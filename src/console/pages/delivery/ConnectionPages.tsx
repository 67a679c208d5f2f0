import { Effect, Record } from "effect"
import { complaintAddressOf } from "../../../tracking/BounceAddress.ts"
import { ConnectionNotFound, type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { type ConnectionChange, Connections } from "../../../delivery/Connections.ts"
import type { PlatformName } from "../../../delivery/connections/Platforms.ts"
import { type ConnectionTest, testConnection } from "../../../delivery/testConnection.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { t, translated } from "../../../languages/Language.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Tracking } from "../../../tracking/Tracking.ts"
import { Card } from "../../components/Card.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, PostButton } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { MenuLink, MenuPost, RowMenu } from "../../components/RowMenu.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { platformForms } from "./ConnectionForms.ts"
import { Badges, Trouble } from "./ConnectionState.tsx"
import { ConnectionFields, ReceiversCard, SettingsCard, StateCard, switchesOf } from "./ConnectionCards.tsx"

const pathOf = ({ org }: Visit) => `/console/o/${org.slug}/connections`

const isPlatform = (name: string): name is PlatformName => Object.hasOwn(platformForms, name)

/** The name of the connection in the path. Empty, which no connection is called, for a text that cannot be stored. */
const nameIn = ({ params }: Visit) => {
  const name = params["connection"] ?? ""
  return isStorable(name) ? name : ""
}

/** The name of the connection that sends deliveries. Undefined if no connection can send. */
const nameInUse = ({ org }: Visit) => Connections.useSync((connections) => connections.active(org.slug)?.name)

const existing = (visit: Visit) => Connections.use((connections) => connections.get(visit.org.slug, nameIn(visit)))

const list = Effect.fnUntraced(function* (visit: Visit) {
  const { can, org } = visit
  const at = pathOf(visit)
  const all = yield* (yield* Connections).list(org.slug)
  const used = yield* nameInUse(visit)
  const add = can("putConnection") ? <a class="button primary" href={`${at}/-/new`}>{t`Add a connection`}</a> : null
  return view(
    {
      title: t`Connections`,
      lead: t`Platforms that send your messages. One connection is in use, the others are on standby.`,
      actions: all.length === 0 ? undefined : add,
    },
    all.filter(({ enabled }) => enabled).map((setup) => <Trouble setup={setup} zone={org.time_zone} />),
    <Card kind="flush">
      {all.length === 0
        ? (
          <Empty title={t`No connections yet`} action={add}>
            {can("putConnection")
              ? t`Add the platform that sends your messages. You do not need one if your own systems send.`
              : t`An admin of the organization can add a connection.`}
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            caption={t`Connections by name`}
            headings={[t`Name`, t`Platform`, t`State`, t`Changed`, t`[Actions]`]}
            rows={all.map((setup) => [
              <a href={`${at}/${setup.name}`}>{setup.name}</a>,
              translated(platformForms[setup.platform].title),
              <Badges setup={setup} inUse={setup.name === used} />,
              { kind: "nowrap", content: <Time at={setup.updatedAt.toISOString()} zone={org.time_zone} /> },
              {
                kind: "actions",
                content: (
                  <RowMenu label={t`Actions for ${setup.name}`}>
                    <MenuLink href={`${at}/${setup.name}`}>{can("putConnection") ? t`Edit` : t`Open`}</MenuLink>
                    {can("testConnection") && <MenuPost to={`${at}/${setup.name}/test`}>{t`Test`}</MenuPost>}
                    {can("putConnection") &&
                      switchesOf(setup).map(([to, verb]) => (
                        <MenuPost to={`${at}/${setup.name}/switch`} fields={{ to }}>{verb}</MenuPost>
                      ))}
                    {can("deleteConnection") && (
                      <MenuLink href={`${at}/${setup.name}/remove`} danger>{t`Delete`}</MenuLink>
                    )}
                  </RowMenu>
                ),
              },
            ])}
          />
        )}
    </Card>,
  )
})

const choose = (visit: Visit) =>
  Effect.succeed(view(
    {
      title: t`Add a connection`,
      back: { href: pathOf(visit), label: t`Connections` },
      lead: t`Choose the platform that sends your messages.`,
    },
    <div class="columns">
      {Object.entries(platformForms).map(([platform, { about, title }]) => (
        <Card>
          <div class="tile">
            <h2>{translated(title)}</h2>
            <p>{translated(about)}</p>
            <a class="button" href={`${pathOf(visit)}/-/new/${platform}`} aria-label={t`Set up ${translated(title)}`}>
              {t`Set up`}
            </a>
          </div>
        </Card>
      ))}
    </div>,
  ))

/** The secrets that a form sent: an empty field keeps the secret, null removes it. */
const secretsFrom = (platform: PlatformName, sent: Fields): Readonly<Record<string, string | null>> =>
  Object.fromEntries(
    Object.entries(platformForms[platform].secrets.fields).flatMap(([name, { at }]) => {
      const text = (sent[name] ?? "").trim()
      return text !== "" || sent[`remove-${name}`] === "yes" ? [[at!.at(-1)!, text === "" ? null : text]] : []
    }),
  )

/** The settings and secrets that a form sent. */
const changeFrom = (platform: PlatformName, sent: Fields) => ({
  settings: platformForms[platform].settings.read(sent)["settings"] as Readonly<Record<string, unknown>> ?? {},
  secrets: secretsFrom(platform, sent),
})

const placed = (platform: PlatformName, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> => {
  const { secrets, settings } = platformForms[platform]
  return secrets.placed(settings.placed(faults))
    .map((fault) => fault.pointer === "name" ? { ...fault, pointer: "/name" } : fault)
}

const labels = (platform: PlatformName) => ({
  name: t`Name`,
  ...Record.map(platformForms[platform].settings.labels, translated),
  ...Record.map(platformForms[platform].secrets.labels, translated),
})

const platformIn = ({ params }: Visit): Effect.Effect<PlatformName, ConnectionNotFound> => {
  const name = params["platform"] ?? ""
  return isPlatform(name) ? Effect.succeed(name) : new ConnectionNotFound({ id: name.slice(0, 100) })
}

const create = Effect.fnUntraced(function* (visit: Visit, sent: Fields = {}, found: ReadonlyArray<Fault> = []) {
  const platform = yield* platformIn(visit)
  const { about, title } = platformForms[platform]
  const faults = placed(platform, found)
  const all = yield* (yield* Connections).list(visit.org.slug)
  const free = all.some(({ name }) => name === platform) ? "" : platform
  return view(
    {
      title: t`Set up ${translated(title)}`,
      back: { href: `${pathOf(visit)}/-/new`, label: t`Add a connection` },
      lead: translated(about),
    },
    <ErrorSummary faults={faults} labels={labels(platform)} />,
    <Card>
      <Form submit={t`Set up`} action={`${pathOf(visit)}/-/new/${platform}`}>
        <Field
          name="name"
          label={t`Name`}
          value={sent["name"] ?? free}
          faults={faults}
          hint={t`The name of this connection: lowercase letters, digits, hyphens and underscores.`}
        />
        <ConnectionFields platform={platform} set={[]} values={sent} faults={faults} />
      </Form>
    </Card>,
  )
})

const show = Effect.fnUntraced(
  function* (
    visit: Visit,
    sent?: Fields,
    found: ReadonlyArray<Fault> = [],
    tested?: ConnectionTest,
  ) {
    const { can, org } = visit
    const setup = yield* existing(visit)
    const at = `${pathOf(visit)}/${setup.name}`
    const { settings, title } = platformForms[setup.platform]
    const faults = placed(setup.platform, found)
    const values = sent ?? settings.valuesOf({ settings: setup.settings })
    const inUse = setup.name === (yield* nameInUse(visit))
    const mayChange = can("putConnection")
    const complaints = complaintAddressOf(
      yield* Effect.orDie((yield* Tracking).complaintMailbox(org.slug)),
      setup.settings,
    )
    return view(
      {
        title: setup.name,
        back: { href: pathOf(visit), label: t`Connections` },
        lead: translated(title),
        actions: (
          <>
            {can("sendTestMessage") && setup.platform === "smtp" && (
              <PostButton to={`${at}/receivers/test-message`} fields={{ to: visit.session.account.email }}>
                {t`Send me a message`}
              </PostButton>
            )}
            {can("testConnection") && <PostButton to={`${at}/test`} kind="primary">{t`Test the connection`}
            </PostButton>}
          </>
        ),
      },
      tested !== undefined && (
        <Note kind={tested.ok ? "good" : "bad"} live>
          <b>{tested.ok ? t`Reachable.` : t`The test failed.`}</b> {tested.detail}{" "}
          {tested.ok && t`No message was sent.`}
        </Note>
      ),
      tested?.warnings.map((warning) => <Note kind="warn">{warning}</Note>),
      <ErrorSummary faults={faults} labels={labels(setup.platform)} />,
      <StateCard at={at} complaints={complaints} inUse={inUse} mayChange={mayChange} org={org} setup={setup} />,
      mayChange
        ? (
          <Card title={t`Change`}>
            <Form submit={t`Save`} action={at}>
              <ConnectionFields platform={setup.platform} set={setup.secrets} values={values} faults={faults} />
            </Form>
          </Card>
        )
        : <SettingsCard setup={setup} values={values} />,
      setup.platform === "smtp" && <ReceiversCard at={at} />,
      can("deleteConnection") && (
        <Card title={t`Delete`}>
          <div class="buttons">
            <a class="button danger" href={`${at}/remove`}>{t`Delete the connection`}</a>
          </div>
        </Card>
      ),
    )
  },
)

/** The changes behind the buttons of a connection. `resumed` also ends an automatic pause. */
const switches: Readonly<Record<string, ConnectionChange | "resume">> = {
  default: { default: true },
  paused: { paused: true },
  resumed: "resume",
  enabled: { enabled: true },
  disabled: { enabled: false },
}

/** Switches that another switch reverses. */
const reverses: Readonly<Record<string, string>> = {
  paused: "resumed",
  resumed: "paused",
  enabled: "disabled",
  disabled: "enabled",
}

const newAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const connections = yield* Connections
  const platform = yield* platformIn(visit)
  const name = (sent["name"] ?? "").trim()
  const taken = (yield* connections.list(visit.org.slug)).some((one) => one.name === name)
  if (taken) {
    return yield* new InvalidInput({
      faults: [{ pointer: "/name", detail: t`is used by another connection: choose a different name` }],
    })
  }
  yield* connections.put(visit.org.slug, name, { platform, ...changeFrom(platform, sent) })
  return { to: `${pathOf(visit)}/${name}`, done: "connection-added" }
})

const connectionAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const { name, platform } = yield* existing(visit)
  yield* (yield* Connections).put(visit.org.slug, name, changeFrom(platform, sent))
  return { to: `${pathOf(visit)}/${name}`, done: "connection-saved" }
})

const switchAction = Effect.fnUntraced(function* (visit: Visit, sent: Fields) {
  const connections = yield* Connections
  const { name } = yield* existing(visit)
  const to = sent["to"] ?? ""
  const change = Object.hasOwn(switches, to) ? switches[to] : undefined
  if (change === undefined) {
    return yield* new InvalidInput({ faults: [{ pointer: "/to", detail: t`There is no such switch` }] })
  }
  yield* change === "resume" ? connections.resume(visit.org.slug, name) : connections.put(visit.org.slug, name, change)
  const at = `${pathOf(visit)}/${name}`
  const back = reverses[to]
  return {
    to: at,
    done: `connection-${to}`,
    undo: back === undefined ? undefined : { to: `${at}/switch`, fields: { to: back } },
  }
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const setup = yield* existing(visit)
  const used = yield* nameInUse(visit)
  const at = `${pathOf(visit)}/${setup.name}`
  return askFirst({
    title: t`Delete ${setup.name}`,
    question: t`Delete ${setup.name}?`,
    back: { href: at, label: setup.name },
    button: t`Delete the connection`,
    text: (
      <p>
        {t`Its settings and secrets are deleted. Queued messages wait for another connection.`}
        {setup.name === used && ` ${t`This connection is in use now.`}`}
      </p>
    ),
  })
})

const removeAction = Effect.fnUntraced(function* (visit: Visit) {
  const { name } = yield* existing(visit)
  yield* (yield* Connections).remove(visit.org.slug, name)
  return { to: pathOf(visit), done: "connection-removed" }
})

/** Connections to sending platforms, of which one sends the deliveries. */
export const layer = pages(({ action, asks, form, page }) => [
  page("/console/o/:org/connections", "listConnections", list),
  page("/console/o/:org/connections/-/new", "putConnection", choose),
  ...form("/console/o/:org/connections/-/new/:platform", "putConnection", create, newAction),
  page("/console/o/:org/connections/:connection", "listConnections", show),
  action("/console/o/:org/connections/:connection", "putConnection", connectionAction, show),
  action("/console/o/:org/connections/:connection/switch", "putConnection", switchAction),
  action(
    "/console/o/:org/connections/:connection/test",
    "testConnection",
    Effect.fnUntraced(function* (visit) {
      const { name } = yield* existing(visit)
      return yield* show(
        visit,
        undefined,
        [],
        yield* testConnection(yield* Connections, yield* TemplateCache, visit.org.slug, name),
      )
    }),
  ),
  ...asks("/console/o/:org/connections/:connection/remove", "deleteConnection", removePage, removeAction),
])
