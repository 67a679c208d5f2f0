import { Clock, DateTime, Effect } from "effect"
import { Keys } from "../../auth/Keys.ts"
import { prefixOf } from "../../auth/KeyText.ts"
import { type ApiKey, managementScopes, scopeNames } from "../../domain/ApiKey.ts"
import { formatRateLimit, parseRateLimit } from "../../text/RateLimit.ts"
import { type Fault, InvalidInput, KeyNotFound } from "../../domain/Errors.ts"
import { KeyBody } from "../../api/organizations/OrganizationsApi.ts"
import { Badge } from "../components/Badge.tsx"
import { MenuLink, RowMenu } from "../components/RowMenu.tsx"
import { SecretOnce } from "../components/SecretOnce.tsx"
import { askFirst } from "../components/AskFirst.tsx"
import { Empty } from "../components/Empty.tsx"
import { Note } from "../components/Note.tsx"
import { listIn, ListPage, narrowedCaption } from "../components/ListPage.tsx"
import { ifFilled } from "../FormReaders.ts"
import { inputForm } from "../components/InputForm.tsx"
import { Time } from "../components/Time.tsx"
import { type ListShape, queryOf } from "../../domain/List.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { copyName } from "../Format.ts"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { ViewsBar, viewsOf, withStartView } from "./ViewPages.tsx"
import type { Fields, Visit } from "../Routes.tsx"

const lifetimes: ReadonlyArray<readonly [string, string]> = [
  ["", english("Never")],
  ["30", english("30 days from now")],
  ["90", english("90 days from now")],
  ["365", english("365 days from now")],
]

const keyForm = inputForm(KeyBody, {
  name: { label: english("Name"), hint: english("Purpose of the key, such as “Shop, production”.") },
  kind: {
    label: english("Kind"),
    as: "radio",
    initial: "live",
    options: [
      ["live", english("Live"), english("For production: sends and events count, and messages are sent.")],
      [
        "test",
        english("Test"),
        english(
          "For development: all requests work, but nothing is counted, learned from or sent. Messages appear in the Sandbox.",
        ),
      ],
    ],
  },
  scopes: {
    label: english("Scopes"),
    as: "checkboxes",
    initial: "generate\ndeliver",
    hint: english("Scopes such as templates:read and admin open the management API. Test keys cannot have them."),
    options: [
      ["generate", english("Generate"), english("Request content and the best send time.")],
      ["deliver", english("Deliver"), english("Send messages through a connected platform.")],
      ["events", english("Report events"), english("Report opens, clicks and conversions.")],
      ...Object.entries(managementScopes).map(([scope, meaning]) => [scope, scope, meaning] as const),
    ],
  },
  lifetime: { label: english("Expires"), as: "select", options: lifetimes },
  rate_limit: {
    label: english("Limit"),
    required: false,
    read: ifFilled((sent = "") => parseRateLimit(sent.trim()) ?? sent),
    hint: english(
      "Rate limit, such as 100/second or 5000/minute. Requests over the limit are answered 429. Empty: the default of this installation.",
    ),
  },
})

type KeyState = "active" | "expired" | "revoked"

const stateOf = (key: ApiKey, now: number): KeyState =>
  key.revoked_at !== null
    ? "revoked"
    : key.expires_at !== null && Date.parse(key.expires_at) <= now
    ? "expired"
    : "active"

const badges: { readonly [state in KeyState]: "plain" | "warn" | "good" } = {
  active: "good",
  expired: "warn",
  revoked: "plain",
}

const pageSize = 25

const shapeAt = (now: number): ListShape<ApiKey> => ({
  idOf: ({ id }) => id,
  textsOf: ({ id, kind, name }) => [name, `${prefixOf[kind]}${id}`],
  filters: {
    state: {
      label: t`State`,
      options: [["active", english("active")], ["expired", english("expired")], ["revoked", english("revoked")]],
      matches: (key, state) => stateOf(key, now) === state,
    },
    kind: { label: t`Kind`, options: [["live", "live"], ["test", "test"]], matches: ({ kind }, one) => kind === one },
    scope: {
      label: t`Scopes`,
      options: scopeNames.map((scope) => [scope, scope] as const),
      matches: ({ scopes }, scope) => scopes.some((one) => one === scope),
    },
  },
  sorts: {
    name: { label: t`Name`, descending: false, valueOf: ({ name }) => name },
    created: { label: t`Created`, descending: true, valueOf: ({ created_at }) => Date.parse(created_at) },
    used: {
      label: t`Last used`,
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
  const create = can("createKey")
    ? <a class="button primary" href={`${at(visit)}/new`}>{t`Create New API Key`}</a>
    : null
  return view(
    {
      title: t`API Keys`,
      lead: t`Your systems send a key with every request. A key opens only this organization, within its scopes.`,
      actions: all.length === 0 ? undefined : create,
    },
    <ViewsBar query={queryOf(keys.shape, keys.listQuery)} views={yield* viewsOf(visit, "keys")} visit={visit} />,
    <ListPage
      list={keys}
      noun="key"
      caption={narrowedCaption(keys, "key", t`Keys`)}
      placeholder={t`Name or beginning of the key`}
      empty={
        <Empty title={t`No API keys yet`} action={create}>
          {can("createKey")
            ? t`Create one for the system that requests content or reports events.`
            : t`An admin of the organization can create one.`}
        </Empty>
      }
      headings={(sorted) => [
        sorted("name"),
        t`State`,
        t`Scopes`,
        sorted("created"),
        t`Limit`,
        sorted("used"),
        t`[Actions]`,
      ]}
      row={(key) => [
        <>
          <span dir="auto">{key.name}</span>
          <span class="sub mono">{prefixOf[key.kind]}{key.id}_…</span>
        </>,
        <>
          <Badge kind={badges[stateOf(key, now)]}>{translated(stateOf(key, now))}</Badge>{" "}
          {key.kind === "test" && <Badge kind="accent">{t`test`}</Badge>}
        </>,
        key.scopes.join(", "),
        {
          kind: "nowrap",
          content: (
            <>
              <Time at={key.created_at} zone={org.time_zone} />
              {key.expires_at !== null && (
                <span class="sub">
                  {t`until ${<Time at={key.expires_at} zone={org.time_zone} />}`}
                </span>
              )}
            </>
          ),
        },
        key.rate_limit === null ? <span class="muted">{t`default`}</span> : formatRateLimit(key.rate_limit),
        { kind: "nowrap", content: <Time at={key.last_used_at} zone={org.time_zone} none={t`never`} /> },
        {
          kind: "actions",
          content: can("createKey") || can("revokeKey")
            ? (
              <RowMenu label={t`Actions for ${key.name}`}>
                {can("createKey") && <MenuLink href={`${at(visit)}/new?from=${key.id}`}>{t`Duplicate`}</MenuLink>}
                {key.revoked_at === null && can("revokeKey") && (
                  <MenuLink href={`${at(visit)}/${key.id}/revoke`} danger>{t`Revoke`}</MenuLink>
                )}
              </RowMenu>
            )
            : null,
        },
      ]}
    />,
  )
})

/** The fields of a new key with the kind, scopes and limit of another one. */
const valuesLike = ({ kind, name, rate_limit: limit, scopes }: ApiKey): Fields => ({
  name: copyName(name),
  kind,
  scopes: scopes.join("\n"),
  rate_limit: limit === null ? "" : formatRateLimit(limit),
})

const create = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const from = visit.query.get("from")
  const like = from === null ? undefined : (yield* (yield* Keys).list(visit.org.slug)).find(({ id }) => id === from)
  return view(
    { title: t`Create New API Key`, back: { href: at(visit), label: t`API Keys` } },
    <keyForm.Card
      submit={t`Create key`}
      action={`${at(visit)}/new`}
      values={fields ?? (like === undefined ? undefined : valuesLike(like))}
      faults={faults}
    />,
  )
})

const shown = (visit: Visit, key: ApiKey & { readonly key: string }) =>
  view(
    { title: t`Your new API key`, back: { href: at(visit), label: t`API Keys` } },
    <Note kind="warn">{t`Copy it now: it is shown only once. Parlance stores only a hash of it.`}</Note>,
    <SecretOnce
      id="new-key"
      label={key.name}
      value={key.key}
      hint={t`Scopes: ${key.scopes.join(", ")}.`}
      done={at(visit)}
    />,
  )

const existing = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const key = (yield* (yield* Keys).list(org.slug)).find(({ id }) => id === params["key"])
  return key ?? (yield* new KeyNotFound({ id: (params["key"] ?? "").slice(0, 100) }))
})

const newAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { lifetime: days } = keyForm.read(fields)
  const expiry = DateTime.add(yield* DateTime.now, { days: Number(days) })
  const input = yield* keyForm.decode(
    fields,
    Number(days) > 0 && Number(days) <= 3650 ? { expires_at: DateTime.formatIso(expiry) } : {},
  ).pipe(
    Effect.mapError(({ faults }) =>
      new InvalidInput({
        faults: faults.map((fault) =>
          fault.pointer.startsWith("/rate_limit")
            ? {
              pointer: "/rate_limit",
              detail: t`must be a limit such as 100/second, with 1 to 1,000,000 requests, or empty`,
            }
            : fault
        ),
      })
    ),
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
      title: t`Revoke a key`,
      question: t`Revoke ${key.name}?`,
      back: { href: at(visit), label: t`API Keys` },
      button: t`Revoke the key`,
      text: (
        <>
          <p>
            {t`Requests with ${(
              <code>{prefixOf[key.kind]}{key.id}_…</code>
            )} will be refused everywhere within 5 seconds. This cannot be undone:
              systems that use the key need a new one.`}
          </p>
          <p class="muted">
            {t`Last used: ${<Time at={key.last_used_at} zone={visit.org.time_zone} none={t`never`} />}`}
          </p>
        </>
      ),
    }))

/** Settings, API Keys. */
export const layer = pages(({ asks, form, page }) => [
  page("/console/o/:org/settings/keys", "listKeys", withStartView("keys", list)),
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
