// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Audit } from "../../accounts/Audit.ts"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { Pagination } from "../components/Pagination.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { Console } from "../Routes.tsx"

const pageSize = 50

const textOf = (details: Readonly<Record<string, unknown>>): string => {
  const text = Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ")
  return text.length > 400 ? `${text.slice(0, 400)}…` : text
}

/** Settings, Audit log. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { page } = yield* Console
  const audit = yield* Audit

  yield* router.addAll([
    page("/console/o/:org/settings/audit", "listAudit", ({ org, query }) =>
      Effect.gen(function* () {
        const given = Number(query.get("before") ?? "")
        const before = Number.isSafeInteger(given) && given > 0 ? given : undefined
        const entries = yield* audit.list(org.slug, { before, limit: pageSize })
        const here = `/console/o/${org.slug}/settings/audit`
        return {
          title: "Audit log",
          body: (
            <>
              <PageHead
                title="Audit log"
                lead="Who changed what, in the console, by the API and on the command line. Secrets are never part of it."
              />
              <Card kind="flush">
                {entries.length === 0
                  ? (
                    <Empty title="Nothing has been changed yet">
                      Every change from now on is listed here, with who made it and when.
                    </Empty>
                  )
                  : (
                    <Table
                      caption="Changes, newest first"
                      headings={["What", "Who", "When", "Details"]}
                      rows={entries.map(({ action, actor, at, details, subject }) => [
                        <>
                          {action}
                          <span class="sub">{subject}</span>
                        </>,
                        actor,
                        { kind: "nowrap", content: <Time at={at} zone={org.time_zone} /> },
                        <span class="details">{textOf(details)}</span>,
                      ])}
                    />
                  )}
                <Pagination
                  label="Pages of the audit log"
                  first={before === undefined ? undefined : here}
                  next={entries.length < pageSize ? undefined : `${here}?before=${entries.at(-1)!.id}`}
                />
              </Card>
            </>
          ),
        }
      })),
  ])
}))
