import { Effect } from "effect"
import { Accounts } from "../../accounts/Accounts.ts"
import {
  Audit,
  type AuditEntry,
  type AuditFilter,
  type AuditScope,
  countedEntries,
  installation,
} from "../../accounts/Audit.ts"
import { AuditChain, auditLogs, type ChainEnds } from "../../accounts/AuditChain.ts"
import { auditDownload } from "../../api/accounts/AuditExport.ts"
import { isStorable } from "../../domain/Attributes.ts"
import { inField, instantOf } from "../FieldTime.ts"
import { count, counted } from "../Format.ts"
import { pageOf } from "../../api/http/Paging.ts"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { recordedActions } from "../../api/AccessTable.ts"
import { t, translated } from "../../languages/Language.ts"
import { Pagination } from "../components/Pagination.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import type { Visit } from "../Routes.tsx"
import { ViewsBar, viewsOf, withStartView } from "./ViewPages.tsx"
import { ChangeList } from "./history/ChangeList.tsx"
import { entryId, entryView } from "./history/EntryView.tsx"

const pageSize = 20

/** Logs of up to so many changes show no filter. */
const shortLog = 10

/** Accounts that the field for the actor offers. */
const offeredActors = 200

/** A log as a page shows it. */
interface Log {
  readonly scope: AuditScope
  readonly path: string
  readonly title: string
  readonly lead: string
  readonly back?: { readonly href: string; readonly label: string }
  readonly zone: string
  readonly subjectOf: (entry: AuditEntry) => string
}

/** Accounts are named by their ids in some paths; people know them by their addresses. */
const addressed = Effect.map(Accounts.use((accounts) => accounts.list), (all) => {
  const emails = new Map(all.map(({ email, id }) => [id, email]))
  return ({ subject }: AuditEntry): string => emails.get(subject) ?? subject
})

const ofOrganization = ({ org }: Visit) =>
  Effect.map(addressed, (subjectOf): Log => ({
    scope: org.slug,
    path: `/console/o/${org.slug}/settings/audit`,
    title: t`Audit log`,
    lead:
      t`Changes made in the console, the API and the command line, and refused API keys. Secrets are never recorded.`,
    zone: org.time_zone,
    subjectOf,
  }))

const ofInstallation = Effect.map(addressed, (subjectOf): Log => ({
  scope: installation,
  path: "/console/accounts/audit",
  title: t`Audit log of the installation`,
  lead: t`Actions outside organizations: sign-ins, refused requests, accounts, password links, ended sessions,
    and created organizations. Times are UTC.`,
  back: { href: "/console/accounts", label: t`All accounts` },
  zone: "UTC",
  subjectOf,
}))

const maxText = 400

/** The filter that a query asks for. Actions that do not exist and texts that are no time are left out. */
const filterIn = (query: URLSearchParams, zone: string): AuditFilter => {
  const text = (name: string) => {
    const value = (query.get(name) ?? "").trim().slice(0, maxText)
    return value === "" || !isStorable(value) ? undefined : value
  }
  const time = (name: string) => {
    const at = new Date(instantOf(text(name) ?? "", zone))
    return Number.isNaN(at.getTime()) ? undefined : at
  }
  const action = text("action")
  return {
    actor: text("actor"),
    action: action !== undefined && recordedActions.includes(action) ? action : undefined,
    subject: text("subject"),
    since: time("since"),
    until: time("until"),
  }
}

const Filter = ({ actors, all, at, filter, zone }: {
  /** Offered by the field. */
  readonly actors: ReadonlyArray<string>
  readonly at: string
  /** The address of the log without a filter. */
  readonly all: string
  readonly filter: AuditFilter
  readonly zone: string
}) => (
  <form method="get" action={at} class="list-form" role="search" aria-label={t`Filter the audit log`}>
    <div class="field grow">
      <label for="actor">{t`Who`}</label>
      <input type="text" id="actor" name="actor" value={filter.actor ?? ""} list="actor-list" autocomplete="off" />
      <datalist id="actor-list">{actors.map((one) => <option value={one} />)}</datalist>
    </div>
    <div class="field">
      <label for="action">{t`Action`}</label>
      <select id="action" name="action">
        <option value="">{t`All`}</option>
        {recordedActions.map((one) => <option value={one} selected={one === filter.action}>{translated(one)}</option>)}
      </select>
    </div>
    <div class="field grow">
      <label for="subject">{t`Id`}</label>
      <input
        type="text"
        id="subject"
        name="subject"
        placeholder={t`Of a template, key…`}
        value={filter.subject ?? ""}
        autocomplete="off"
      />
    </div>
    <div class="field">
      <label for="since">{t`From`}</label>
      <input type="datetime-local" id="since" name="since" value={inField(filter.since, zone)} />
    </div>
    <div class="field">
      <label for="until">{t`Until`}</label>
      <input type="datetime-local" id="until" name="until" value={inField(filter.until, zone)} />
    </div>
    <div class="buttons">
      <button type="submit" class="button">{t`Filter`}</button>
      {!Object.values(filter).every((value) => value === undefined) && <a class="button" href={all}>{t`Show all`}</a>}
    </div>
  </form>
)

/** The head of the chain, to be kept elsewhere, and downloads. */
const Chain = ({ ends, path }: { readonly ends: ChainEnds; readonly path: string }) => (
  <Card title={t`Proof`}>
    <p class="small muted">
      {t`Each entry contains the hash of the entry before it, so that a removed or changed entry shows. Keep
        the latest hash elsewhere, and compare it with ${<code>parlance audit verify --head</code>}.`}
    </p>
    <p>
      <code>{ends.head.seq}:{ends.head.hash}</code>
    </p>
    <p class="buttons">
      <a class="button" href={`${path}/export?format=csv`} download>{t`Download as CSV`}</a>
      <a class="button" href={`${path}/export`} download>{t`Download as NDJSON`}</a>
      <a class="button" href={`${path}/export?log=refusals`} download>{t`Download refused requests`}</a>
    </p>
  </Card>
)

const list = Effect.fnUntraced(function* (visit: Visit, log: Log) {
  const { query } = visit
  const { back, lead, path, scope, subjectOf, title, zone } = log
  // The installation has no saved views.
  const views = scope === installation ? undefined : yield* viewsOf(visit, "audit")
  const audit = yield* Audit
  const cursor = entryId(query.get("cursor"))
  const filter = filterIn(query, zone)
  const { next, page: entries } = yield* pageOf(pageSize, (limit) => audit.list(scope, { ...filter, cursor, limit }))
  const total = yield* audit.count(scope, filter)
  const accounts = yield* (yield* Accounts).list
  const ends = yield* (yield* AuditChain).ends({ org: orgOf(scope), log: "changes" })
  const filtered = new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]]
    ),
  )
  const isFiltered = filtered.size > 0
  return view(
    { title, lead, back },
    views !== undefined && <ViewsBar query={String(filtered)} views={views} visit={visit} />,
    <Card kind="flush">
      {(isFiltered || cursor !== undefined || entries.length > shortLog) && (
        <Filter
          actors={[t`Admin token`, ...accounts.slice(0, offeredActors).map(({ email }) => email)]}
          all={views?.all ?? path}
          at={path}
          filter={filter}
          zone={zone}
        />
      )}
      {entries.length === 0
        ? isFiltered
          ? <Empty title={t`No matching changes`}>{t`Change or clear the filter.`}</Empty>
          : (
            <Empty title={t`No changes yet`}>
              {t`Changes are listed here with their author and time.`}
            </Empty>
          )
        : (
          <>
            <p class="list-count small muted">
              {total < countedEntries
                ? t`${counted(total, "change")}, newest first`
                : t`${count(total)} or more changes, newest first`}
            </p>
            <ChangeList
              caption={t`Changes, newest first`}
              entries={entries}
              pathOf={(id) => `${path}/${id}`}
              subjectOf={subjectOf}
              zone={zone}
            />
          </>
        )}
      <Pagination
        label={t`Pages of the audit log`}
        at={isFiltered ? `${path}?${filtered}` : path}
        cursor={cursor}
        next={next}
      />
    </Card>,
    ends.head.seq > 0 && <Chain ends={ends} path={path} />,
  )
})

const orgOf = (scope: AuditScope) => scope === installation ? undefined : scope

const download = ({ query }: Pick<Visit, "query">, org: string | undefined) =>
  AuditChain.use((chain) => {
    const log = auditLogs.find((name) => name === query.get("log"))
    const format = query.get("format") === "csv" ? "csv" : "ndjson"
    return auditDownload(chain, org, { format, log, cursor: undefined, limit: undefined })
  })

const one = Effect.fnUntraced(function* ({ params }: Visit, { path, scope, subjectOf, title, zone }: Log) {
  const id = entryId(params["entry"])
  const [entry] = id === undefined ? [] : yield* (yield* Audit).list(scope, { cursor: id + 1, limit: 1 })
  const found = entry?.id === id ? entry : undefined
  return entryView(found, {
    back: { href: path, label: title },
    subject: found === undefined ? "" : subjectOf(found),
    zone,
  })
})

/** The audit log of an organization, and for administrators the audit log of the installation. */
export const layer = pages(({ page, route }) => [
  route(
    "GET",
    "/console/o/:org/settings/audit/export",
    "exportAudit",
    (visit) => download(visit, visit.org.slug),
  ),
  route("GET", "/console/accounts/audit/export", "exportInstallationAudit", (visit) => download(visit, undefined)),
  page(
    "/console/o/:org/settings/audit",
    "listAudit",
    withStartView("audit", (visit) => Effect.flatMap(ofOrganization(visit), (log) => list(visit, log))),
  ),
  page(
    "/console/o/:org/settings/audit/:entry",
    "listAudit",
    (visit) => Effect.flatMap(ofOrganization(visit), (log) => one(visit, log)),
  ),
  page(
    "/console/accounts/audit",
    "listInstallationAudit",
    (visit) => Effect.flatMap(ofInstallation, (log) => list(visit, log)),
  ),
  page(
    "/console/accounts/audit/:entry",
    "listInstallationAudit",
    (visit) => Effect.flatMap(ofInstallation, (log) => one(visit, log)),
  ),
])
