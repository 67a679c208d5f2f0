/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Accounts } from "../../accounts/Accounts.ts"
import { Audit, type AuditEntry, type AuditScope, installation } from "../../accounts/Audit.ts"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { Pagination } from "../components/Pagination.tsx"
import { Console, type Visit } from "../Routes.tsx"
import { ChangeList } from "./history/ChangeList.tsx"
import { entryId, entryView } from "./history/EntryView.tsx"

const pageSize = 40

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

/** Services of these pages. */
interface Services {
  readonly accounts: Accounts["Service"]
  readonly audit: Audit["Service"]
}

/** Accounts are named by their ids in some paths; people know them by their addresses. */
const addressed = (services: Services) =>
  Effect.map(services.accounts.list, (all) => {
    const emails = new Map(all.map(({ email, id }) => [id, email]))
    return ({ subject }: AuditEntry): string => emails.get(subject) ?? subject
  })

const ofOrganization = (services: Services, { org }: Visit) =>
  Effect.map(addressed(services), (subjectOf): Log => ({
    scope: org.slug,
    path: `/console/o/${org.slug}/settings/audit`,
    title: "Audit log",
    lead: "Changes made in the console, the API and the command line, and refused API keys. Secrets are never " +
      "recorded.",
    zone: org.time_zone,
    subjectOf,
  }))

const ofInstallation = (services: Services) =>
  Effect.map(addressed(services), (subjectOf): Log => ({
    scope: installation,
    path: "/console/accounts/audit",
    title: "Audit log of the installation",
    lead:
      "Actions outside organizations: sign-ins, refused requests, accounts, password links, ended sessions, and created " +
      "organizations. Times are UTC.",
    back: { href: "/console/accounts", label: "All accounts" },
    zone: "UTC",
    subjectOf,
  }))

const list = Effect.fnUntraced(
  function* (services: Services, { query }: Visit, { back, lead, path, scope, subjectOf, title, zone }: Log) {
    const cursor = entryId(query.get("cursor"))
    const found = yield* services.audit.list(scope, { cursor, limit: pageSize + 1 })
    const entries = found.slice(0, pageSize)
    return {
      title,
      body: (
        <>
          <PageHead title={title} lead={lead} {...(back === undefined ? {} : { back })} />
          <Card kind="flush">
            {entries.length === 0
              ? (
                <Empty title="No changes yet">
                  Changes are listed here with their author and time.
                </Empty>
              )
              : (
                <ChangeList
                  caption="Changes, newest first"
                  entries={entries}
                  pathOf={(id) => `${path}/${id}`}
                  subjectOf={subjectOf}
                  zone={zone}
                />
              )}
            <Pagination
              label="Pages of the audit log"
              first={cursor === undefined ? undefined : path}
              next={found.length > entries.length ? `${path}?cursor=${entries.at(-1)!.id}` : undefined}
            />
          </Card>
        </>
      ),
    }
  },
)

const one = Effect.fnUntraced(
  function* (services: Services, { params }: Visit, { path, scope, subjectOf, title, zone }: Log) {
    const id = entryId(params["entry"])
    const [entry] = id === undefined ? [] : yield* services.audit.list(scope, { cursor: id + 1, limit: 1 })
    const found = entry?.id === id ? entry : undefined
    return entryView(found, {
      back: { href: path, label: title },
      subject: found === undefined ? "" : subjectOf(found),
      zone,
    })
  },
)

/** Settings, Audit log; and for administrators that of the installation. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { page } = yield* Console
  const services: Services = {
    accounts: yield* Accounts,
    audit: yield* Audit,
  }

  yield* router.addAll([
    page(
      "/console/o/:org/settings/audit",
      "listAudit",
      (visit) => Effect.flatMap(ofOrganization(services, visit), (log) => list(services, visit, log)),
    ),
    page(
      "/console/o/:org/settings/audit/:entry",
      "listAudit",
      (visit) => Effect.flatMap(ofOrganization(services, visit), (log) => one(services, visit, log)),
    ),
    page(
      "/console/accounts/audit",
      "listInstallationAudit",
      (visit) => Effect.flatMap(ofInstallation(services), (log) => list(services, visit, log)),
    ),
    page(
      "/console/accounts/audit/:entry",
      "listInstallationAudit",
      (visit) => Effect.flatMap(ofInstallation(services), (log) => one(services, visit, log)),
    ),
  ])
}))
