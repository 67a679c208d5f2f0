// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { complaintAddressOf } from "../../../tracking/BounceAddress.ts"
import { ConnectionNotFound, type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { type ConnectionChange, Connections, type ConnectionSetup } from "../../../delivery/Connections.ts"
import type { PlatformName } from "../../../delivery/connections/Platforms.ts"
import { type ConnectionTest, testConnection } from "../../../delivery/testConnection.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { isStorable } from "../../../domain/Attributes.ts"
import { TemplateCache } from "../../../templates/TemplateCache.ts"
import { Tracking } from "../../../tracking/Tracking.ts"
import { Card } from "../../components/Card.tsx"
import { Confirm } from "../../components/Confirm.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Field } from "../../components/Field.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import {
  faultsIn,
  FurtherFields,
  labelsOf,
  SchemaFields,
  settingsFrom,
  textIn,
} from "../../components/SchemaFields.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { Console, type Fields, type Visit } from "../../Routes.tsx"
import { platformForms } from "./ConnectionForms.ts"
import { Badges, Trouble } from "./ConnectionState.tsx"
import { ChangeForm, ReceiversCard, SecretFields, SettingsCard, StateCard } from "./ConnectionCards.tsx"

const pathOf = ({ org }: Visit) => `/console/o/${org.slug}/connections`

const isPlatform = (name: string): name is PlatformName => Object.hasOwn(platformForms, name)

/** No connection is called that: a path may hold what no name can. */
const nameIn = ({ params }: Visit) => {
  const name = params["connection"] ?? ""
  return isStorable(name) ? name : ""
}

/** Services of these pages. */
interface Services {
  readonly connections: Connections["Service"]
  readonly templateCache: TemplateCache["Service"]
  readonly tracking: Tracking["Service"]
}

const isInUse = (services: Services, visit: Visit, { name }: ConnectionSetup) =>
  services.connections.active(visit.org.slug)?.name === name

const existing = (services: Services, visit: Visit) => services.connections.get(visit.org.slug, nameIn(visit))

const list = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { can, org } = visit
  const at = pathOf(visit)
  const all = yield* services.connections.list(org.slug)
  const add = can("putConnection") ? <a class="button primary" href={`${at}/-/new`}>Add a connection</a> : null
  return {
    title: "Connections",
    body: (
      <>
        <PageHead
          title="Connections"
          lead="Platforms that send your messages. One connection is in use, the others are on standby."
          actions={all.length === 0 ? undefined : add}
        />
        {all.filter(({ enabled }) => enabled).map((setup) => <Trouble setup={setup} zone={org.time_zone} />)}
        <Card kind="flush">
          {all.length === 0
            ? (
              <Empty title="No connections yet" action={add}>
                {can("putConnection")
                  ? "Add the platform that sends your messages. You do not need one if your own systems send."
                  : "An admin of the organization can add a connection."}
              </Empty>
            )
            : (
              <Table
                cards="labelled"
                caption="Connections by name"
                headings={["Name", "Platform", "State", "Changed", "[Actions]"]}
                rows={all.map((setup) => [
                  <a href={`${at}/${setup.name}`}>{setup.name}</a>,
                  platformForms[setup.platform].title,
                  <Badges setup={setup} inUse={isInUse(services, visit, setup)} />,
                  { kind: "nowrap", content: <Time at={setup.updatedAt.toISOString()} zone={org.time_zone} /> },
                  {
                    kind: "actions",
                    content: can("testConnection")
                      ? (
                        <Form action={`${at}/${setup.name}/test`} csrf={visit.session.csrfToken} inline>
                          <Submit kind="compact" label={`Test ${setup.name}`}>Test</Submit>
                        </Form>
                      )
                      : null,
                  },
                ])}
              />
            )}
        </Card>
      </>
    ),
  }
})

const choose = (visit: Visit) =>
  Effect.succeed({
    title: "Add a connection",
    body: (
      <>
        <PageHead
          title="Add a connection"
          back={{ href: pathOf(visit), label: "Connections" }}
          lead="Choose the platform that sends your messages."
        />
        <div class="columns">
          {Object.entries(platformForms).map(([platform, { about, title }]) => (
            <Card>
              <div class="tile">
                <h2>{title}</h2>
                <p>{about}</p>
                <a class="button" href={`${pathOf(visit)}/-/new/${platform}`} aria-label={`Set up ${title}`}>
                  Set up
                </a>
              </div>
            </Card>
          ))}
        </div>
      </>
    ),
  })

/** The secrets that a form sent: an empty field keeps the secret, null removes it. */
const secretsFrom = (platform: PlatformName, sent: Fields): Readonly<Record<string, string | null>> =>
  Object.fromEntries(
    platformForms[platform].secrets.flatMap(({ name, path }): ReadonlyArray<readonly [string, string | null]> => {
      const text = (sent[name] ?? "").trim()
      return text !== "" ? [[path[0]!, text]] : sent[`remove-${name}`] === "yes" ? [[path[0]!, null]] : []
    }),
  )

const placed = (platform: PlatformName, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> => {
  const { secrets, settings } = platformForms[platform]
  return faultsIn(secrets, faultsIn(settings, faults, "settings"), "secrets")
    .map((fault) => fault.pointer === "name" ? { ...fault, pointer: "/name" } : fault)
}

const labels = (platform: PlatformName) => ({
  name: "Name",
  ...labelsOf(platformForms[platform].settings),
  ...labelsOf(platformForms[platform].secrets),
})

const platformIn = ({ params }: Visit): Effect.Effect<PlatformName, ConnectionNotFound> => {
  const name = params["platform"] ?? ""
  return isPlatform(name) ? Effect.succeed(name) : new ConnectionNotFound({ id: name.slice(0, 100) })
}

const create = Effect.fnUntraced(
  function* (services: Services, visit: Visit, sent: Fields = {}, found: ReadonlyArray<Fault> = []) {
    const platform = yield* platformIn(visit)
    const { about, settings, title } = platformForms[platform]
    const faults = placed(platform, found)
    const all = yield* services.connections.list(visit.org.slug)
    const free = all.some(({ name }) => name === platform) ? "" : platform
    return {
      title: `Set up ${title}`,
      body: (
        <>
          <PageHead
            title={`Set up ${title}`}
            back={{ href: `${pathOf(visit)}/-/new`, label: "Add a connection" }}
            lead={about}
          />
          <ErrorSummary faults={faults} labels={labels(platform)} />
          <Card>
            <Form submit="Set up" action={`${pathOf(visit)}/-/new/${platform}`} csrf={visit.session.csrfToken}>
              <Field
                name="name"
                label="Name"
                value={sent["name"] ?? free}
                faults={faults}
                hint="The name of this connection: lowercase letters, digits, hyphens and underscores."
              />
              <SchemaFields fields={settings} values={sent} faults={faults} />
              <SecretFields platform={platform} set={[]} faults={faults} />
              <FurtherFields fields={settings} values={sent} faults={faults} />
            </Form>
          </Card>
        </>
      ),
    }
  },
)

const show = Effect.fnUntraced(
  function* (
    services: Services,
    visit: Visit,
    sent?: Fields,
    found: ReadonlyArray<Fault> = [],
    tested?: ConnectionTest,
  ) {
    const { can, org, session: { csrfToken: csrf } } = visit
    const setup = yield* existing(services, visit)
    const at = `${pathOf(visit)}/${setup.name}`
    const { settings, title } = platformForms[setup.platform]
    const faults = placed(setup.platform, found)
    const values = sent ?? Object.fromEntries(settings.map((field) => [field.name, textIn(field, setup.settings)]))
    const inUse = isInUse(services, visit, setup)
    const mayChange = can("putConnection")
    const complaints = complaintAddressOf(
      yield* Effect.orDie(services.tracking.complaintMailbox(org.slug)),
      setup.settings,
    )
    return {
      title: setup.name,
      body: (
        <>
          <PageHead
            title={setup.name}
            back={{ href: pathOf(visit), label: "Connections" }}
            lead={title}
            actions={can("testConnection")
              ? (
                <Form action={`${at}/test`} csrf={csrf} inline>
                  <Submit>Test the connection</Submit>
                </Form>
              )
              : undefined}
          />
          {tested === undefined ? null : (
            <Note kind={tested.ok ? "good" : "bad"} live>
              <b>{tested.ok ? "The test succeeded." : "The test failed."}</b> {tested.detail}
            </Note>
          )}
          {tested?.warnings.map((warning) => <Note kind="warn">{warning}</Note>)}
          <ErrorSummary faults={faults} labels={labels(setup.platform)} />
          <StateCard
            at={at}
            complaints={complaints}
            csrf={csrf}
            inUse={inUse}
            mayChange={mayChange}
            org={org}
            setup={setup}
          />
          {mayChange
            ? <ChangeForm at={at} csrf={csrf} faults={faults} settings={settings} setup={setup} values={values} />
            : <SettingsCard settings={settings} setup={setup} values={values} />}
          {setup.platform === "smtp" ? <ReceiversCard at={at} /> : null}
          {can("deleteConnection")
            ? (
              <Card title="Remove">
                <div class="buttons">
                  <a class="button danger" href={`${at}/remove`}>Remove the connection</a>
                </div>
              </Card>
            )
            : null}
        </>
      ),
    }
  },
)

const put = (services: Services, change: ConnectionChange) => (org: OrgSlug, name: string) =>
  services.connections.put(org, name, change)

const switches = (services: Services) => ({
  default: put(services, { default: true }),
  paused: put(services, { paused: true }),
  resumed: services.connections.resume,
  enabled: put(services, { enabled: true }),
  disabled: put(services, { enabled: false }),
} as const)

const newAction = Effect.fnUntraced(function* (services: Services, visit: Visit, sent: Fields) {
  const platform = yield* platformIn(visit)
  const name = (sent["name"] ?? "").trim()
  const taken = (yield* services.connections.list(visit.org.slug)).some((one) => one.name === name)
  if (taken) {
    return yield* new InvalidInput({
      faults: [{ pointer: "/name", detail: "is used by another connection: choose a different name" }],
    })
  }
  yield* services.connections.put(visit.org.slug, name, {
    platform,
    settings: settingsFrom(platformForms[platform].settings, sent),
    secrets: secretsFrom(platform, sent),
  })
  return { to: `${pathOf(visit)}/${name}`, done: "connection-added" }
})

const connectionAction = Effect.fnUntraced(function* (services: Services, visit: Visit, sent: Fields) {
  const { name, platform } = yield* existing(services, visit)
  yield* services.connections.put(visit.org.slug, name, {
    settings: settingsFrom(platformForms[platform].settings, sent),
    secrets: secretsFrom(platform, sent),
  })
  return { to: `${pathOf(visit)}/${name}`, done: "connection-saved" }
})

const switchAction = Effect.fnUntraced(function* (services: Services, visit: Visit, sent: Fields) {
  const { name } = yield* existing(services, visit)
  const to = sent["to"] ?? ""
  if (!Object.hasOwn(switches(services), to)) {
    return yield* new InvalidInput({ faults: [{ pointer: "/to", detail: "There is no such switch" }] })
  }
  yield* switches(services)[to as keyof ReturnType<typeof switches>](visit.org.slug, name)
  return { to: `${pathOf(visit)}/${name}`, done: `connection-${to}` }
})

const removePage = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const setup = yield* existing(services, visit)
  const at = `${pathOf(visit)}/${setup.name}`
  return {
    title: `Remove ${setup.name}`,
    body: (
      <>
        <PageHead title={`Remove ${setup.name}?`} back={{ href: at, label: setup.name }} />
        <Confirm action={`${at}/remove`} csrf={visit.session.csrfToken} back={at} button="Remove the connection">
          <p>
            Its settings and secrets are deleted. Queued messages wait for another connection
            {isInUse(services, visit, setup) ? ". This connection is in use now" : ""}.
          </p>
        </Confirm>
      </>
    ),
  }
})

const removeAction = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { name } = yield* existing(services, visit)
  yield* services.connections.remove(visit.org.slug, name)
  return { to: pathOf(visit), done: "connection-removed" }
})

/** Connections: the ways out, of which one carries what is delivered. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    connections: yield* Connections,
    templateCache: yield* TemplateCache,
    tracking: yield* Tracking,
  }

  yield* router.addAll([
    page("/console/o/:org/connections", "listConnections", (visit) => list(services, visit)),
    page("/console/o/:org/connections/-/new", "putConnection", choose),
    page("/console/o/:org/connections/-/new/:platform", "putConnection", (visit) => create(services, visit)),
    action(
      "/console/o/:org/connections/-/new/:platform",
      "putConnection",
      (visit, fields) => newAction(services, visit, fields),
      (visit, sent, found) => create(services, visit, sent, found),
    ),
    page("/console/o/:org/connections/:connection", "listConnections", (visit) => show(services, visit)),
    action(
      "/console/o/:org/connections/:connection",
      "putConnection",
      (visit, fields) => connectionAction(services, visit, fields),
      (visit, sent, found) => show(services, visit, sent, found),
    ),
    action(
      "/console/o/:org/connections/:connection/switch",
      "putConnection",
      (visit, fields) => switchAction(services, visit, fields),
    ),
    action(
      "/console/o/:org/connections/:connection/test",
      "testConnection",
      Effect.fnUntraced(function* (visit) {
        const { name } = yield* existing(services, visit)
        return yield* show(
          services,
          visit,
          undefined,
          [],
          yield* testConnection(services.connections, services.templateCache, visit.org.slug, name),
        )
      }),
    ),
    page(
      "/console/o/:org/connections/:connection/remove",
      "deleteConnection",
      (visit) => removePage(services, visit),
    ),
    action(
      "/console/o/:org/connections/:connection/remove",
      "deleteConnection",
      (visit) => removeAction(services, visit),
    ),
  ])
}))
