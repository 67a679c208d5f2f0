import { Effect } from "effect"
import { TrackingKeyNotFound } from "../../domain/Errors.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { TrackingKey, type TrackingKeyInfo, type TrackingKeyState } from "../../tracking/TrackingKey.ts"
import { askFirst } from "../components/AskFirst.tsx"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { PostButton } from "../components/Form.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { counted } from "../Format.ts"
import { pages } from "../Pages.ts"
import type { Visit } from "../Routes.tsx"
import { view } from "../View.tsx"

const at = "/console/accounts/tracking-keys"

const stateWords = {
  waiting: ["plain", english("signs 5 minutes after it was created")],
  signing: ["good", english("signs new links")],
  accepted: ["plain", english("accepted in earlier messages")],
} as const satisfies Record<TrackingKeyState, unknown>

const row = ({ createdAt, id, state }: TrackingKeyInfo) => {
  const [kind, words] = stateWords[state]
  return [
    <code>{id}</code>,
    { kind: "nowrap" as const, content: <Time at={createdAt.toISOString()} zone="UTC" /> },
    <Badge kind={kind}>{translated(words)}</Badge>,
    {
      kind: "actions" as const,
      content: state !== "accepted"
        ? null
        : (
          <a class="button compact danger" href={`${at}/${id}/remove`} aria-label={t`Remove the key ${id}`}>
            {t`Remove`}
          </a>
        ),
    },
  ]
}

const allKeys = Effect.flatMap(TrackingKey, ({ list }) => Effect.orDie(list))

const list = () =>
  Effect.map(allKeys, (keys) =>
    view(
      {
        title: t`Tracking keys`,
        lead: t`Keys that sign links, pixels, unsubscribe links and return paths in messages of this installation.
          Replace the key on a schedule, or if somebody may have read it.`,
        back: { href: "/console/accounts", label: t`All accounts` },
        actions: keys.some(({ state }) => state === "waiting")
          ? undefined
          : <PostButton to={at} label={t`Create a new key`}>{t`Create a new key`}</PostButton>,
      },
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={counted(keys.length, "key")}
          headings={[t`Key`, t`Created (UTC)`, t`Use`, t`[Actions]`]}
          rows={keys.map(row)}
        />
      </Card>,
    ))

const removePage = Effect.fnUntraced(function* ({ params }: Visit) {
  const id = params["key"] ?? ""
  const all = yield* allKeys
  if (all.every((key) => key.id !== id)) return yield* new TrackingKeyNotFound({ id: id.slice(0, 100) })
  return askFirst({
    title: t`Remove a tracking key`,
    question: t`Remove the key ${id}?`,
    back: { href: at, label: t`Tracking keys` },
    button: t`Remove the key`,
    text: (
      <p>
        {t`All links that the key signed end within a minute, also unsubscribe links in messages that people already
          have. Remove a key only if it leaked and forged clicks do more harm.`}
      </p>
    ),
  })
})

const rotate = Effect.fnUntraced(function* (_visit: Visit) {
  yield* Effect.catchTag((yield* TrackingKey).rotate, "SqlError", Effect.die)
  return { to: at, done: "tracking-key-created" }
})

const remove = Effect.fnUntraced(function* ({ params }: Visit) {
  yield* Effect.catchTag((yield* TrackingKey).remove(params["key"] ?? ""), "SqlError", Effect.die)
  return { to: at, done: "tracking-key-removed" }
})

/** Accounts, Tracking keys: the keys of the installation that sign links in messages. */
export const layer = pages(({ action, asks, page }) => [
  page(at, "listTrackingKeys", list),
  action(at, "rotateTrackingKey", rotate),
  ...asks(`${at}/:key/remove`, "removeTrackingKey", removePage, remove),
])
