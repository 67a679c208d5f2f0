// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Clock, DateTime, Effect, Result } from "effect"
import { Keys } from "../../auth/Keys.ts"
import { prefixOf } from "../../auth/KeyText.ts"
import { type ApiKey, formatRateLimit, managementScopes, parseRateLimit, scopeNames } from "../../domain/ApiKey.ts"
import { type Fault, KeyNotFound } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { KeyBody } from "../../api/organizations/OrganizationsApi.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { SecretOnce } from "../components/SecretOnce.tsx"
import { askFirst } from "../components/AskFirst.tsx"
import { Empty } from "../components/Empty.tsx"
import { Choices, Field, SelectField } from "../components/Field.tsx"
import { Form } from "../components/Form.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { listIn, ListPage, narrowedCaption } from "../components/ListPage.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { Time } from "../components/Time.tsx"
import type { ListShape } from "../../domain/List.ts"
import { pages } from "../Pages.ts"
import { decoded, type Fields, type Visit } from "../Routes.tsx"

const decodeKey = decoder(KeyBody)

const labels = { name: "Name", kind: "Kind", scopes: "Scopes", lifetime: "Expires", rate_limit: "Limit" }

const lifetimes: ReadonlyArray<readonly [string, string]> = [
  ["", "Never"],
  ["30", "30 days from now"],
  ["90", "90 days from now"],
  ["365", "365 days from now"],
]

type KeyState = "works" | "expired" | "revoked"

const stateOf = (key: ApiKey, now: number): KeyState =>
  key.revoked_at !== null
    ? "revoked"
    : key.expires_at !== null && Date.parse(key.expires_at) <= now
    ? "expired"
    : "works"

const badges: { readonly [state in KeyState]: "plain" | "warn" | "good" } = {
  works: "good",
  expired: "warn",
  revoked: "plain",
}

const pageSize = 25

const shapeAt = (now: number): ListShape<ApiKey> => ({
  idOf: ({ id }) => id,
  textsOf: ({ id, kind, name }) => [name, `${prefixOf[kind]}${id}`],
  filters: {
    state: {
      label: "State",
      options: [["works", "works"], ["expired", "expired"], ["revoked", "revoked"]],
      matches: (key, state) => stateOf(key, now) === state,
    },
    kind: { label: "Kind", options: [["live", "live"], ["test", "test"]], matches: ({ kind }, one) => kind === one },
    scope: {
      label: "Scopes",
      options: scopeNames.map((scope) => [scope, scope] as const),
      matches: ({ scopes }, scope) => scopes.some((one) => one === scope),
    },
  },
  sorts: {
    name: { label: "Name", descending: false, valueOf: ({ name }) => name },
    created: { label: "Created", descending: true, valueOf: ({ created_at }) => Date.parse(created_at) },
    used: {
      label: "Last used",
      descending: true,
      valueOf: ({ last_used_at }) => last_used_at === null ? null : Date.parse(last_used_at),
    },
  },
  sort: "created",
})

const at = ({ org }: Visit) => `/console/o/${org.slug}/settings/keys`

const list = Effect.fnUntraced(function* (visit: Visit) {
  const { can, org } = visit
  const now = yield* Clock.currentTimeMillis
  const all = yield* (yield* Keys).list(org.slug)
  const keys = listIn(shapeAt(now), all, { at: at(visit), query: visit.query, size: pageSize })
  const create = can("createKey") ? <a class="button primary" href={`${at(visit)}/new`}>Create New API Key</a> : null
  return {
    title: "API Keys",
    body: (
      <>
        <PageHead
          title="API Keys"
          lead="Your systems send a key with every request. A key opens only this organization, within its scopes."
          actions={all.length === 0 ? undefined : create}
        />
        <ListPage
          list={keys}
          noun="key"
          caption={narrowedCaption(keys, "key", "Keys")}
          placeholder="Name or beginning of the key"
          empty={
            <Empty title="No API keys yet" action={create}>
              {can("createKey")
                ? "Create one for the system that requests content or reports events."
                : "An admin of the organization can create one."}
            </Empty>
          }
          headings={(sorted) => [
            sorted("name"),
            "State",
            "Scopes",
            sorted("created"),
            "Limit",
            sorted("used"),
            "[Actions]",
          ]}
          row={(key) => [
            <>
              <span dir="auto">{key.name}</span>
              <span class="sub mono">{prefixOf[key.kind]}{key.id}_…</span>
            </>,
            <>
              <Badge kind={badges[stateOf(key, now)]}>{stateOf(key, now)}</Badge>{" "}
              {key.kind === "test" ? <Badge kind="accent">test</Badge> : null}
            </>,
            key.scopes.join(", "),
            {
              kind: "nowrap",
              content: (
                <>
                  <Time at={key.created_at} zone={org.time_zone} />
                  {key.expires_at === null ? null : (
                    <span class="sub">
                      until <Time at={key.expires_at} zone={org.time_zone} />
                    </span>
                  )}
                </>
              ),
            },
            key.rate_limit === null ? <span class="muted">default</span> : formatRateLimit(key.rate_limit),
            { kind: "nowrap", content: <Time at={key.last_used_at} zone={org.time_zone} none="never" /> },
            {
              kind: "actions",
              content: key.revoked_at === null && can("revokeKey")
                ? (
                  <a
                    class="button compact danger"
                    href={`${at(visit)}/${key.id}/revoke`}
                    aria-label={`Revoke ${key.name}`}
                  >
                    Revoke
                  </a>
                )
                : null,
            },
          ]}
        />
      </>
    ),
  }
})

const create = (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed({
    title: "Create New API Key",
    body: (
      <>
        <PageHead title="Create New API Key" back={{ href: at(visit), label: "API Keys" }} />
        <ErrorSummary faults={faults} labels={labels} />
        <Card>
          <Form submit="Create key" action={`${at(visit)}/new`}>
            <Field
              name="name"
              label={labels.name}
              value={fields["name"] ?? ""}
              faults={faults}
              hint="Purpose of the key, such as “Shop, production”."
            />
            <Choices
              name="kind"
              label={labels.kind}
              type="radio"
              faults={faults}
              values={[fields["kind"] ?? "live"]}
              options={[
                ["live", "Live", "For production: decisions and events count, and messages are sent."],
                [
                  "test",
                  "Test",
                  "For development: all requests work, but nothing is counted, learned from or sent. Messages appear in the Sandbox.",
                ],
              ]}
            />
            <Choices
              name="scopes"
              label={labels.scopes}
              type="checkbox"
              hint="Scopes such as templates:read and admin open the management API. Test keys cannot have them."
              faults={faults}
              values={fields["name"] === undefined ? ["generate", "deliver"] : (fields["scopes"] ?? "").split("\n")}
              options={[
                ["generate", "Generate", "Request content and the best send time."],
                ["deliver", "Deliver", "Send messages through a connected platform."],
                ["events", "Report events", "Report opens, clicks and conversions."],
                ...Object.entries(managementScopes).map(([scope, meaning]) => [scope, scope, `${meaning}.`] as const),
              ]}
            />
            <SelectField
              name="lifetime"
              label={labels.lifetime}
              value={fields["lifetime"] ?? ""}
              options={lifetimes}
              faults={faults}
            />
            <Field
              name="rate_limit"
              label={labels.rate_limit}
              value={fields["rate_limit"] ?? ""}
              required={false}
              faults={faults}
              hint="Rate limit, such as 100/second or 5000/minute. Requests over the limit are answered 429. Empty: the default of this installation."
            />
          </Form>
        </Card>
      </>
    ),
  })

const shown = (visit: Visit, key: ApiKey & { readonly key: string }) => ({
  title: "Your new API key",
  body: (
    <>
      <PageHead title="Your new API key" back={{ href: at(visit), label: "API Keys" }} />
      <Note kind="warn">Copy it now: it is shown only once. Parlance stores only a hash of it.</Note>
      <SecretOnce
        id="new-key"
        label={key.name}
        value={key.key}
        hint={`Scopes: ${key.scopes.join(", ")}.`}
        done={at(visit)}
      />
    </>
  ),
})

const existing = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const key = (yield* (yield* Keys).list(org.slug)).find(({ id }) => id === params["key"])
  return key ?? (yield* new KeyNotFound({ id: (params["key"] ?? "").slice(0, 100) }))
})

const newAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const now = yield* DateTime.now
  const days = Number(fields["lifetime"] ?? "")
  const text = (fields["rate_limit"] ?? "").trim()
  const limit = parseRateLimit(text)
  const result = decodeKey({
    name: fields["name"] ?? "",
    ...(fields["kind"] === undefined ? {} : { kind: fields["kind"] }),
    scopes: (fields["scopes"] ?? "").split("\n").filter((scope) => scope !== ""),
    ...(days > 0 && days <= 3650 ? { expires_at: DateTime.formatIso(DateTime.add(now, { days })) } : {}),
    ...(limit === undefined ? {} : { rate_limit: limit }),
  })
  const input = yield* decoded(
    text === "" || limit !== undefined ? result : Result.fail([
      ...(Result.isFailure(result) ? result.failure : []),
      {
        pointer: "/rate_limit",
        detail: "must be a limit such as 100/second, with 1 to 1,000,000 requests, or empty",
      },
    ]),
  )
  const key = yield* (yield* Keys).create(visit.org.slug, {
    name: input.name,
    kind: input.kind,
    scopes: input.scopes,
    expiresAt: input.expires_at ?? undefined,
    rateLimit: input.rate_limit ?? undefined,
  })
  return shown(visit, key)
})

const revokePage = (visit: Visit) =>
  Effect.map(existing(visit), (key) =>
    askFirst({
      title: "Revoke a key",
      question: `Revoke ${key.name}?`,
      back: { href: at(visit), label: "API Keys" },
      button: "Revoke the key",
      text: (
        <>
          <p>
            Requests with <code>{prefixOf[key.kind]}{key.id}_…</code>{" "}
            will be refused everywhere within 5 seconds. This cannot be undone: systems that use the key need a new one.
          </p>
          <p class="muted">
            Last used: <Time at={key.last_used_at} zone={visit.org.time_zone} none="never" />
          </p>
        </>
      ),
    }))

/** Settings, API Keys. */
export const layer = pages(({ asks, form, page }) => [
  page("/console/o/:org/settings/keys", "listKeys", list),
  ...form("/console/o/:org/settings/keys/new", "createKey", create, newAction),
  ...asks(
    "/console/o/:org/settings/keys/:key/revoke",
    "revokeKey",
    revokePage,
    Effect.fnUntraced(function* (visit) {
      yield* (yield* Keys).revoke(visit.org.slug, (yield* existing(visit)).id)
      return { to: at(visit), done: "key-revoked" }
    }),
  ),
])
