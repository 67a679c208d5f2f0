import { Effect } from "effect"
import type { AuditEntry } from "../../../accounts/Audit.ts"
import { ChangeHistory } from "../../../accounts/ChangeHistory.ts"
import type { TemplateOutline } from "../../../templates/TemplateContent.ts"
import { Templates } from "../../../templates/Templates.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { t } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import { ChangeList } from "../history/ChangeList.tsx"
import { entryId, entryView } from "../history/EntryView.tsx"
import { templatePath } from "./Paths.ts"

const changesPerPage = 25

/** The name of the variant that an entry of a template's history is about; empty for the template itself. */
export const variantOf = (template: Pick<TemplateOutline, "id" | "variants">) => {
  const names = new Map<string, string>(template.variants.map(({ id, name }) => [id, name]))
  return ({ subject }: AuditEntry): string => {
    const id = subject.slice(template.id.length + " / ".length)
    return names.get(id) ?? id
  }
}

const get = ({ org, params }: Visit) =>
  Templates.use((templates) => templates.outline(org.slug, params["template"] ?? ""))

const changes = Effect.fnUntraced(function* (visit: Visit) {
  const { org, query } = visit
  const template = yield* get(visit)
  const here = templatePath(org.slug, template.id)
  const cursor = entryId(query.get("cursor"))
  const history = yield* ChangeHistory
  const { next, page: shown } = yield* pageOf(
    changesPerPage,
    (limit) => history.ofTemplate(org.slug, template.id, { cursor, limit }),
  )
  return view(
    {
      title: t`${template.name} · Changes`,
      back: { href: here, label: template.name },
      lead: t`Changes to the template and its variants in the console, the API and the command line, with the
        values before and after.`,
    },
    <Card kind="flush">
      {shown.length === 0
        ? <Empty title={t`No changes yet`}>{t`Changes are listed here with their author and time.`}</Empty>
        : (
          <ChangeList
            caption={t`Changes, newest first`}
            entries={shown}
            pathOf={(id) => `${here}/history/${id}`}
            subjectOf={variantOf(template)}
            zone={org.time_zone}
          />
        )}
      <Pagination
        label={t`Pages of the changes`}
        at={`${here}/history`}
        cursor={cursor}
        next={next}
      />
    </Card>,
  )
})

const one = Effect.fnUntraced(function* (visit: Visit) {
  const { org, params } = visit
  const template = yield* get(visit)
  const id = entryId(params["entry"])
  const [entry] = id === undefined
    ? []
    : yield* (yield* ChangeHistory).ofTemplate(org.slug, template.id, { cursor: id + 1, limit: 1 })
  const found = entry?.id === id ? entry : undefined
  return entryView(found, {
    back: { href: `${templatePath(org.slug, template.id)}/history`, label: t`${template.name} · Changes` },
    subject: found === undefined ? "" : variantOf(template)(found) || template.name,
    zone: org.time_zone,
  })
})

/** Changes of a template by field, with author and time. */
export const layer = pages(({ page }) => [
  page("/console/o/:org/templates/:template/history", "templateHistory", changes),
  page("/console/o/:org/templates/:template/history/:entry", "templateHistory", one),
])
