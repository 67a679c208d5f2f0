import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import type { ComponentChildren } from "preact"
import { nameOf } from "../../../accounts/Actor.ts"
import { note, noteNothing } from "../../../accounts/Audit.ts"
import { type BulkAction, BulkActions, bulkDetails } from "../../../delivery/BulkActions.ts"
import { type BulkKind, type BulkPreview, type Share, stateOf } from "../../../delivery/BulkPreview.ts"
import { decodeMembers, type FilterMembers, filterOf, membersOf } from "../../../delivery/DeliveryFilter.ts"
import { InvalidInput } from "../../../domain/Errors.ts"
import { english, t } from "../../../languages/Language.ts"
import { count } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Facts } from "../../components/Facts.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { Live, LiveScript } from "../../components/Live.tsx"
import { Note } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { decoded, type Fields, type Visit } from "../../Routes.tsx"
import { FilterFacts, filterIn, messagesOf, verbs } from "./DeliveryFilters.tsx"
import { deliveriesPath } from "./DeliveryViews.tsx"

/** Paths of the form and the page of a bulk action. */
export const bulkPath = (org: Visit["org"]["slug"], kind: BulkKind) => `${deliveriesPath(org)}/-/${kind}`
/** Path of the page of a bulk action. */
export const actionPath = (org: Visit["org"]["slug"], id: string) => `${deliveriesPath(org)}/-/actions/${id}`

const endpoints = { retry: english("retryDeliveries"), cancel: "cancelDeliveries" } as const

const effects: { readonly [kind in BulkKind]: ComponentChildren } = {
  retry: english(
    "They are queued again with a new set of attempts. A message may arrive twice if the platform accepted an earlier " +
      "attempt but its response was lost.",
  ),
  cancel: english(
    "They will not be sent and cannot be queued again. A message that is being sent right now is not cancelled.",
  ),
}

/** The values of one kind that messages have, each with the way to the preview for it alone. */
const Shares = ({ caption, heading, hrefOf, shares }: {
  readonly caption: string
  readonly heading: string
  readonly shares: ReadonlyArray<Share<string | null>>
  readonly hrefOf: (value: string) => string
}) =>
  shares.length === 0 ? null : (
    <Card kind="flush">
      <Table
        cards="line"
        caption={caption}
        headings={[heading, t`Messages`, "[Narrow]"]}
        rows={shares.map(({ count: many, value }) => [
          value ?? <span class="muted">{t`none`}</span>,
          { content: count(many), kind: "nowrap" as const, label: t`Messages` },
          {
            content: value === null || value === "" || shares.length === 1
              ? null
              : <a href={hrefOf(value)} aria-label={t`Only these: ${value}`}>{t`Only these`}</a>,
            kind: "actions" as const,
          },
        ])}
      />
    </Card>
  )

/** `linkMembers` is the filter without the time bound of the preview, for links to other lists and previews. */
const previewView = ({ org }: Visit, linkMembers: FilterMembers, preview: BulkPreview, key: string) => {
  const { composition, erased, expired, filter, kind, matched } = preview
  const { connections, reasons, sampled, suppressed, templates } = composition
  const members = membersOf(filter)
  const back = `${deliveriesPath(org.slug)}?${new URLSearchParams({ state: stateOf[kind], ...linkMembers })}`
  const narrowed = (name: string) => (value: string) =>
    `${bulkPath(org.slug, kind)}?${new URLSearchParams({ ...linkMembers, [name]: value })}`
  const which = sampled < matched ? t`of the latest ${count(sampled)} messages` : t`of the messages`
  const title = `${verbs[kind]} ${messagesOf(matched)}?`
  return view(
    { title, back: { href: back, label: t`Deliveries` } },
    matched === 0
      ? (
        <Note kind="warn">
          {t`No ${stateOf[kind]} message matches the filter now, so there is nothing to ${kind}. ${(
            <a href={deliveriesPath(org.slug)}>{t`See all deliveries`}</a>
          )}.`}
        </Note>
      )
      : (
        <Card stacked kind="danger">
          <p>
            {t`${<b>{messagesOf(matched)}</b>} ${matched === 1 ? t`matches` : t`match`} this filter. ${effects[kind]}`}
          </p>
          {suppressed !== 0 && (
            <p>
              {t`${count(suppressed)} ${which} ${
                suppressed === 1 ? t`goes` : t`go`
              } to suppressed addresses and will be cancelled instead of
                sent.`}
            </p>
          )}
          {erased !== 0 && <p>{t`${messagesOf(erased)} to erased people are left unchanged.`}</p>}
          {expired !== 0 && <p>{t`${messagesOf(expired)} that expired are left unchanged.`}</p>}
          <FilterFacts members={members} state={stateOf[kind]} zone={org.time_zone} />
          <Form action={bulkPath(org.slug, kind)}>
            {Object.entries(members).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
            <input type="hidden" name="key" value={key} />
            <div class="buttons">
              <Submit kind="danger">{verbs[kind]} {messagesOf(matched)}</Submit>
              <a class="button" href={back}>{t`Go back`}</a>
            </div>
          </Form>
        </Card>
      ),
    kind === "retry" && (
      <Shares caption={t`Reasons ${which}`} heading={t`Reason`} shares={reasons} hrefOf={narrowed("reason")} />
    ),
    <Shares
      caption={t`Templates ${which}`}
      heading={t`Template`}
      shares={templates}
      hrefOf={narrowed("template_id")}
    />,
    kind === "retry" && (
      <Shares
        caption={t`Connections ${which}`}
        heading={t`Connection`}
        shares={connections}
        hrefOf={narrowed("connection")}
      />
    ),
  )
}

const done: { readonly [kind in BulkKind]: string } = { retry: english("queued again"), cancel: "cancelled" }

/** How far an action has come, in a sentence. */
const Progress = ({ action }: { readonly action: BulkAction }) => {
  const { changed, kind, matched, reason, state } = action
  if (state === "running") {
    return (
      <Note live>
        {t`${count(changed)} of ${messagesOf(matched)} ${changed === 1 ? t`has` : t`have`} been ${
          done[kind]
        }. The rest follow, even if you leave this
          page.`}
      </Note>
    )
  }
  if (state === "failed") {
    return (
      <Note kind="bad" live>
        {t`Stopped after ${count(changed)} of ${messagesOf(matched)}: ${reason ?? t`unknown`}. The rest are unchanged.`}
      </Note>
    )
  }
  return (
    <Note kind="good" live>
      {t`${messagesOf(changed)} ${changed === 1 ? t`has` : t`have`} been ${done[kind]}.${
        changed < matched ? t` The other ${count(matched - changed)} had already been sent or changed.` : ""
      }`}
    </Note>
  )
}

const preview = (kind: BulkKind) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const { faults, filter, members } = filterIn(visit.query, visit.org.time_zone)
    if (faults.length > 0) return yield* new InvalidInput({ faults })
    const found = yield* (yield* BulkActions).preview(visit.org.slug, kind, filter)
    return previewView(visit, members, found, SecureRandom.uuidV7Unsafe())
  })

const start = (kind: BulkKind) =>
  Effect.fnUntraced(function* (visit: Visit, { _csrf, key = "", ...sent }: Fields) {
    const filter = filterOf(yield* decoded(decodeMembers(sent)))
    const started = yield* (yield* BulkActions).start(visit.org.slug, {
      kind,
      filter,
      requestedBy: nameOf(visit.actor),
      idempotencyKey: /^[\x20-\x7e]{1,255}$/.test(key) ? key : undefined,
    })
    yield* started.isRepetition ? noteNothing : note(bulkDetails(started))
    return { to: actionPath(visit.org.slug, started.id) }
  })

const show = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const found = yield* (yield* BulkActions).get(org.slug, params["action"] ?? "")
  const { filter, finishedAt, id: _, kind, matched, requestedAt, requestedBy, state } = found
  const title = `${verbs[kind]} ${messagesOf(matched)}`
  return view(
    {
      title,
      live: true,
      back: { href: deliveriesPath(org.slug), label: t`Deliveries` },
      actions: state === "running" ? <Live /> : undefined,
    },
    <div class="stack" data-live="action">
      <Progress action={found} />
      <Card>
        <Facts
          rows={[
            [
              t`Progress`,
              <Badge kind={state === "done" ? "good" : state === "failed" ? "bad" : "accent"}>{state}</Badge>,
            ],
            [
              t`Requested`,
              <>
                {t`${<Time at={requestedAt.toISOString()} zone={org.time_zone} />} by ${requestedBy}`}
              </>,
            ],
            finishedAt !== null && [t`Ended`, <Time at={finishedAt.toISOString()} zone={org.time_zone} />],
          ]}
        />
      </Card>
      <Card title={t`Filter`}>
        <FilterFacts members={membersOf(filter)} state={stateOf[kind]} zone={org.time_zone} />
      </Card>
    </div>,
    <LiveScript />,
  )
})

/** Retrying and cancelling many messages: the preview, the action, and how far it has come. */
export const layer = pages(({ action, page }) => [
  ...(["retry", "cancel"] as const).flatMap((kind) => [
    page(`/console/o/:org/deliveries/-/${kind}`, endpoints[kind], preview(kind)),
    action(`/console/o/:org/deliveries/-/${kind}`, endpoints[kind], start(kind)),
  ]),
  page("/console/o/:org/deliveries/-/actions/:action", "getBulkAction", show),
])
