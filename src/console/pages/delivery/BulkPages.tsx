import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { nameOf } from "../../../accounts/Actor.ts"
import { note, noteNothing } from "../../../accounts/Audit.ts"
import { type BulkAction, BulkActions, bulkDetails } from "../../../delivery/BulkActions.ts"
import { type BulkKind, type BulkPreview, type Share, stateOf } from "../../../delivery/BulkPreview.ts"
import { decodeMembers, type FilterMembers, filterOf, membersOf } from "../../../delivery/DeliveryFilter.ts"
import { InvalidInput } from "../../../domain/Errors.ts"
import { liveOf } from "../../../domain/Sandbox.ts"
import { TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { english, fill, plural, t, translated } from "../../../languages/Language.ts"
import { count, counted } from "../../Format.ts"
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
import { bulkTitle, FilterFacts, filterIn, messagesOf } from "./DeliveryFilters.tsx"
import { deliveriesPath } from "./DeliveryViews.tsx"

/** Paths of the form and the page of a bulk action. */
export const bulkPath = (org: Visit["org"]["slug"], kind: BulkKind) => `${deliveriesPath(org)}/-/${kind}`
/** Path of the page of a bulk action. */
export const actionPath = (org: Visit["org"]["slug"], id: string) => `${deliveriesPath(org)}/-/actions/${id}`

const endpoints = { retry: "retryDeliveries", cancel: "cancelDeliveries" } as const

const effects: { readonly [kind in BulkKind]: string } = {
  retry: english(
    "They are queued again with a new set of attempts. A message may arrive twice if the platform accepted an earlier " +
      "attempt but its response was lost.",
  ),
  cancel: english(
    "They will not be sent and cannot be queued again. A message that is being sent right now is not cancelled.",
  ),
}

/** The values of one kind that messages have, each with the way to the preview for it alone. */
const Shares = ({ caption, heading, hrefOf, nameOf = (value) => value, shares }: {
  readonly caption: string
  readonly heading: string
  readonly shares: ReadonlyArray<Share<string | null>>
  readonly hrefOf: (value: string) => string
  /** Default: the value itself. */
  readonly nameOf?: (value: string) => string
}) =>
  shares.length === 0 ? null : (
    <Card kind="flush">
      <Table
        cards="line"
        caption={caption}
        headings={[heading, t`Messages`, t`[Narrow]`]}
        rows={shares.map(({ count: many, value }) => [
          value === null ? <span class="muted">{t`none`}</span> : <bdi>{nameOf(value)}</bdi>,
          { content: count(many), kind: "nowrap" as const, label: t`Messages` },
          {
            content: value === null || value === "" || shares.length === 1
              ? null
              : <a href={hrefOf(value)} aria-label={t`Only these: ${nameOf(value)}`}>{t`Only these`}</a>,
            kind: "actions" as const,
          },
        ])}
      />
    </Card>
  )

/** What happens to messages to suppressed addresses. `sampled`: the latest messages that were counted, if not all. */
const suppressedText = (suppressed: number, sampled: number | undefined): string =>
  sampled === undefined
    ? counted(
      suppressed,
      "of the messages goes to suppressed addresses and will be cancelled instead of sent.",
      "of the messages go to suppressed addresses and will be cancelled instead of sent.",
    )
    : fill(
      plural(
        suppressed,
        "{0} of the latest {1} messages goes to suppressed addresses and will be cancelled instead of sent.",
        "{0} of the latest {1} messages go to suppressed addresses and will be cancelled instead of sent.",
      ),
      [count(suppressed), count(sampled)],
    )

/** The captions of the tables of a preview. `sampled`: the latest messages that were counted, if not all. */
const captionsOf = (sampled: number | undefined) =>
  sampled === undefined
    ? {
      reasons: t`Reasons of the messages`,
      templates: t`Templates of the messages`,
      connections: t`Connections of the messages`,
    }
    : {
      reasons: t`Reasons of the latest ${count(sampled)} messages`,
      templates: t`Templates of the latest ${count(sampled)} messages`,
      connections: t`Connections of the latest ${count(sampled)} messages`,
    }

/** How many messages match the filter. */
const matchText = (matched: number) =>
  fill(plural(matched, "{0} matches this filter.", "{0} match this filter."), [<b>{messagesOf(matched)}</b>])

/** `linkMembers` is the filter without the time bound of the preview, for links to other lists and previews. */
const previewView = (
  { org }: Visit,
  linkMembers: FilterMembers,
  preview: BulkPreview,
  names: ReadonlyMap<string, string>,
  key: string,
) => {
  const { composition, erased, expired, filter, kind, matched } = preview
  const { connections, reasons, sampled, suppressed, templates } = composition
  const members = membersOf(filter)
  const back = `${deliveriesPath(org.slug)}?${new URLSearchParams({ state: stateOf[kind], ...linkMembers })}`
  const narrowed = (name: string) => (value: string) =>
    `${bulkPath(org.slug, kind)}?${new URLSearchParams({ ...linkMembers, [name]: value })}`
  const latest = sampled < matched ? sampled : undefined
  const captions = captionsOf(latest)
  const title = t`${bulkTitle[kind](matched)}?`
  const seeAll = <a href={deliveriesPath(org.slug)}>{t`See all deliveries`}</a>
  return view(
    { title, back: { href: back, label: t`Deliveries` } },
    matched === 0
      ? (
        <Note kind="warn">
          {kind === "retry"
            ? t`No failed message matches the filter now, so there is nothing to retry. ${seeAll}.`
            : t`No queued message matches the filter now, so there is nothing to cancel. ${seeAll}.`}
        </Note>
      )
      : (
        <Card stacked kind="danger">
          <p>
            {matchText(matched)} {translated(effects[kind])}
          </p>
          {suppressed !== 0 && <p>{suppressedText(suppressed, latest)}</p>}
          {erased !== 0 && <p>{t`${messagesOf(erased)} to erased people are left unchanged.`}</p>}
          {expired !== 0 && <p>{t`${messagesOf(expired)} that expired are left unchanged.`}</p>}
          <FilterFacts members={members} state={stateOf[kind]} zone={org.time_zone} />
          <Form action={bulkPath(org.slug, kind)}>
            {Object.entries(members).map(([name, value]) => <input type="hidden" name={name} value={value} />)}
            <input type="hidden" name="key" value={key} />
            <div class="buttons">
              <Submit kind="danger">{bulkTitle[kind](matched)}</Submit>
              <a class="button" href={back}>{t`Go back`}</a>
            </div>
          </Form>
        </Card>
      ),
    kind === "retry" && (
      <Shares caption={captions.reasons} heading={t`Reason`} shares={reasons} hrefOf={narrowed("reason")} />
    ),
    <Shares
      caption={captions.templates}
      heading={t`Template`}
      shares={templates}
      nameOf={(id) => names.get(id) ?? id}
      hrefOf={narrowed("template_id")}
    />,
    kind === "retry" && (
      <Shares
        caption={captions.connections}
        heading={t`Connection`}
        shares={connections}
        hrefOf={narrowed("connection")}
      />
    ),
  )
}

/** Sentences about the changed messages: while the action runs, of so many, and at its end. */
const changedText: {
  readonly [kind in BulkKind]: {
    readonly running: (changed: number, matched: number) => string
    readonly done: (changed: number) => string
  }
} = {
  retry: {
    running: (changed, matched) =>
      fill(
        plural(
          changed,
          "{0} of {1} has been queued again. The rest follow, even if you leave this page.",
          "{0} of {1} have been queued again. The rest follow, even if you leave this page.",
        ),
        [count(changed), messagesOf(matched)],
      ),
    done: (changed) => counted(changed, "message has been queued again.", "messages have been queued again."),
  },
  cancel: {
    running: (changed, matched) =>
      fill(
        plural(
          changed,
          "{0} of {1} has been cancelled. The rest follow, even if you leave this page.",
          "{0} of {1} have been cancelled. The rest follow, even if you leave this page.",
        ),
        [count(changed), messagesOf(matched)],
      ),
    done: (changed) => counted(changed, "message has been cancelled.", "messages have been cancelled."),
  },
}

const actionStates: { readonly [state in BulkAction["state"]]: string } = {
  running: english("running"),
  done: english("done"),
  failed: english("failed"),
}

/** How far an action has come, in a sentence. */
const Progress = ({ action }: { readonly action: BulkAction }) => {
  const { changed, kind, matched, reason, state } = action
  if (state === "running") {
    return (
      <Note live>
        {changedText[kind].running(changed, matched)}
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
      {changedText[kind].done(changed)}
      {changed < matched && ` ${t`The other ${count(matched - changed)} had already been sent or changed.`}`}
    </Note>
  )
}

const preview = (kind: BulkKind) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const { faults, filter, members } = filterIn(visit.query, visit.org.time_zone)
    if (faults.length > 0) return yield* new InvalidInput({ faults })
    const found = yield* (yield* BulkActions).preview(visit.org.slug, kind, filter)
    const ids = found.composition.templates.flatMap(({ value }) => value ?? [])
    const names = yield* (yield* TemplateIndex).names(liveOf(visit.org.slug), ids)
    return previewView(visit, members, found, names, SecureRandom.uuidV7Unsafe())
  })

const start = (kind: BulkKind) =>
  Effect.fnUntraced(function* (visit: Visit, { key = "", ...sent }: Fields) {
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
  const still = new URLSearchParams({ state: stateOf[kind], ...membersOf(filter) })
  const title = bulkTitle[kind](matched)
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
              <Badge kind={state === "done" ? "good" : state === "failed" ? "bad" : "accent"}>
                {translated(actionStates[state])}
              </Badge>,
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
        <p>
          <a href={`${deliveriesPath(org.slug)}?${still}`}>{t`Messages that match the filter now`}</a>
        </p>
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
