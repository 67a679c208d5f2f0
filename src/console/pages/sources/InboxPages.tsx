import { Effect } from "effect"
import { note, noteNothing } from "../../../accounts/Audit.ts"
import * as Json from "../../../json/Json.ts"
import { isSandbox } from "../../../domain/Sandbox.ts"
import { Inbox, type InboxEntry, type InboxStatus, replayedAtMost } from "../../../journal/inbox/Inbox.ts"
import { mailSource } from "../../../domain/Source.ts"
import { isSpent } from "../../../store/Attempts.ts"
import { count } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { pageOf } from "../../../api/http/Paging.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { PostButton } from "../../components/Form.tsx"
import { MoreRows } from "../../components/MoreRows.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { sourceForms } from "./SourceForms.ts"
import { inboxOf, sourcesPath } from "./SourcePath.ts"

/** Title of the inbox for mail. */
export const mailTitle = english("Bounces and complaints by mail")

const pageSize = 10

/** Maximum number of shown reasons of one body. */
const shownFaults = 10

const statusBadge: {
  readonly [status in InboxStatus]: readonly [kind: "good" | "plain" | "warn" | "bad", text: string]
} = {
  pending: ["plain", english("pending")],
  done: ["good", english("understood")],
  partial: ["warn", english("partly understood")],
  rejected: ["bad", english("not understood")],
}

/** The badge of a body. It distinguishes a body whose processing failed from one that was read and not understood. */
export const badgeOf = ({ attempts, status }: InboxEntry) =>
  status === "rejected" && isSpent(attempts)
    ? ["bad", t`failed ${attempts} times`] as const
    : [statusBadge[status][0], translated(statusBadge[status][1])] as const

const pretty = (text: string): string => {
  try {
    return JSON.stringify(Json.parse(text), null, 2)
  } catch {
    return text
  }
}

const sizeOf = (bytes: number) => bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`

const Entry = ({ at, entry, visit }: { readonly at: string; readonly entry: InboxEntry; readonly visit: Visit }) => {
  const faults = entry.faults ?? []
  const [kind, text] = badgeOf(entry)
  const headers = Object.entries(entry.headers).sort(([a], [b]) => a < b ? -1 : 1)
  const isCut = entry.bytes > new TextEncoder().encode(entry.body).length
  return (
    <Card stacked>
      <div class="source-head">
        <h2>{t`Payload ${entry.id}`}</h2>
        <Badge kind={kind}>{text}</Badge>
        <Time at={entry.receivedAt.toISOString()} zone={visit.org.time_zone} />
      </div>
      {faults.length !== 0 && (
        <ul class="reasons">
          {faults.slice(0, shownFaults).map(({ pointer, reason }) => (
            <li>{pointer !== "" && <code>{pointer}</code>} {reason}</li>
          ))}
          {faults.length > shownFaults && <li>{t`and ${faults.length - shownFaults} more of this kind`}</li>}
        </ul>
      )}
      {(entry.unused ?? []).length !== 0 && (
        <details class="body">
          <summary>
            {t`Show what was ignored`} <span class="visually-hidden">{t`of body ${entry.id}`}</span>
          </summary>
          <ul class="reasons">
            {entry.unused!.map(({ count, pointer, reason }) => (
              <li>
                {pointer !== "" && <code>{pointer}</code>} {reason}
                {count !== 1 && t` (${count} items of this kind)`}
              </li>
            ))}
          </ul>
        </details>
      )}
      <p class="small muted">
        {sizeOf(entry.bytes)}
        {entry.status === "pending" && entry.attempts > 0 && t` · failed attempts: ${entry.attempts}`}
        {entry.events !== null &&
          t` · new events: ${entry.events}, duplicates: ${entry.duplicates ?? 0}, ignored: ${entry.ignored ?? 0}`}
      </p>
      <div class="entry-details">
        {entry.bytes === 0 ? <p class="muted">{t`The payload is empty or was erased.`}</p> : (
          <details class="body">
            <summary>{isCut ? t`Show the payload (its first 10,000 characters)` : t`Show the payload`}</summary>
            <pre tabIndex={0} aria-label={t`Body ${entry.id}`}>{isCut ? entry.body : pretty(entry.body)}</pre>
          </details>
        )}
        {headers.length !== 0 && (
          <details class="body">
            <summary>
              {t`Show the headers`} <span class="visually-hidden">{t`of body ${entry.id}`}</span>
            </summary>
            <dl class="found">
              {headers.map(([name, value]) => (
                <div>
                  <dt>
                    <code>{name}</code>
                  </dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
            <p class="small muted">
              {t`Only headers that a mapping or a platform format may need are kept, and none that may contain
                credentials.`}
            </p>
          </details>
        )}
        {visit.can("replayInbox") && entry.status !== "pending" && entry.bytes > 0 && (
          <PostButton to={`${at}/${entry.id}/replay`} kind="compact" label={t`Replay payload ${entry.id}`}>
            {t`Replay`}
          </PostButton>
        )}
      </div>
    </Card>
  )
}

const list = Effect.fnUntraced(function* (visit: Visit) {
  const inbox = yield* Inbox
  const { org, query } = visit
  const sourceId = yield* inboxOf(visit)
  const at = `${sourcesPath(visit)}/${sourceId}/inbox`
  const all = query.get("all") === "true"
  const given = Number(query.get("cursor") ?? "")
  const cursor = Number.isSafeInteger(given) && given > 0 ? given : undefined
  const { next, page: entries } = yield* pageOf(
    pageSize,
    (limit) => inbox.list(org.slug, sourceId, { cursor, limit, all }),
  )
  const replayable = all || cursor !== undefined || !visit.can("replayInbox")
    ? 0
    : yield* inbox.countNotUnderstood(org.slug, sourceId)
  const here = `${at}?all=${all}`
  const { title } = sourceId === mailSource ? { title: translated(mailTitle) } : sourceForms[sourceId]
  const back = isSandbox(org.slug)
    ? { href: `/console/o/${org.slug}/sandbox`, label: t`Sandbox` }
    : sourceId === mailSource
    ? { href: sourcesPath(visit), label: t`Webhook sources` }
    : { href: `${sourcesPath(visit)}/${sourceId}`, label: title }
  return view(
    {
      title: t`Inbox: ${title}`,
      back,
      lead: sourceId === mailSource
        ? t`Bounces and complaints that mail servers and mailbox providers report about messages sent by SMTP.
          The first 256 KiB of each mail are kept.`
        : t`Payloads as they were received. After you fix a mapping or a setting, replay them: events that were
          counted before are not counted twice.`,
      actions: all
        ? <a class="button" href={at}>{t`Only not understood`}</a>
        : <a class="button" href={`${at}?all=true`}>{t`Show all payloads`}</a>,
    },
    replayable >= 2 && (
      <Card stacked>
        <p>
          {t`${
            replayable < replayedAtMost ? count(replayable) : t`${count(replayable)} or more`
          } payloads were not or only partly understood. Fix the source first: a replay
            reads them again with the settings of now.`}
        </p>
        <PostButton to={`${at}/replay`} fields={{ until: String(entries[0]!.id) }} kind="primary">
          {replayable < replayedAtMost ? t`Replay all ${count(replayable)}` : t`Replay the latest ${count(replayable)}`}
        </PostButton>
      </Card>
    ),
    entries.length === 0
      ? (
        <Card kind="flush">
          <Empty title={all || cursor !== undefined ? t`No payloads` : t`All payloads were understood`}>
            {all
              ? t`New payloads from this source are listed here.`
              : t`Payloads that were not or only partly understood are listed here with the reason.`}
          </Empty>
        </Card>
      )
      : (
        <>
          <div class="stack">{entries.map((entry) => <Entry at={at} entry={entry} visit={visit} />)}</div>
          <MoreRows first={6} rows={entries.length} label={t`Show all ${entries.length} payloads`} />
        </>
      ),
    <Pagination
      label={t`Pages of the inbox`}
      at={here}
      cursor={cursor}
      next={next}
    />,
  )
})

const replayAction = Effect.fnUntraced(function* (visit: Visit) {
  const sourceId = yield* inboxOf(visit)
  const id = visit.params["id"] ?? ""
  yield* (yield* Inbox).replay(visit.org.slug, sourceId, /^\d{1,15}$/.test(id) ? Number(id) : 0)
  return { to: `${sourcesPath(visit)}/${sourceId}/inbox?all=true`, done: "body-replayed" }
})

const replayAllAction = Effect.fnUntraced(function* (visit: Visit, { until = "" }: Fields) {
  const sourceId = yield* inboxOf(visit)
  const last = /^\d{1,15}$/.test(until) ? Number(until) : 0
  const replayed = yield* (yield* Inbox).replayNotUnderstood(visit.org.slug, sourceId, last)
  yield* replayed === 0 ? noteNothing : note({ replayed, until: last })
  return { to: `${sourcesPath(visit)}/${sourceId}/inbox`, done: "bodies-replayed" }
})

/** Payloads that could not be read, with the reason. Each payload can be replayed. */
export const layer = pages(({ action, page }) => [
  action("/console/o/:org/sources/:segment/inbox/replay", "replayInbox", replayAllAction),
  page("/console/o/:org/sources/:segment/inbox", "listInbox", list),
  action("/console/o/:org/sources/:segment/inbox/:id/replay", "replayInbox", replayAction),
])
