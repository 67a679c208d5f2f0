import { Effect } from "effect"
import { Templates } from "../../../templates/Templates.ts"
import { difference } from "../../../domain/Difference.ts"
import { type Fault, InvalidInput, VariantNotFound, VersionNotFound } from "../../../domain/Errors.ts"
import { fieldsOfVariant } from "../../../templates/TemplateFields.ts"
import { keptVersions, restoredBy, VariantVersions } from "../../../templates/VariantVersions.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { t } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { PostButton } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { counted, dateTime } from "../../Format.ts"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { entryId } from "../history/EntryView.tsx"
import { editorFields, here, idOf, opened, timeOf } from "./EditorPage.tsx"

const versionsPerPage = 30

/** The template and variant of a path. Fails with `VariantNotFound`. */
const openedVariant = Effect.fnUntraced(function* (visit: Visit) {
  const { of, stored } = yield* opened(visit)
  return { of, stored: stored ?? (yield* new VariantNotFound({ id: idOf(visit, "variant") })) }
})

const listPage = Effect.fnUntraced(function* (visit: Visit) {
  const { of, stored } = yield* openedVariant(visit)
  const path = here(visit)
  const before = entryId(visit.query.get("cursor"))
  const versions = yield* VariantVersions
  const { next, page: shown } = yield* pageOf(
    versionsPerPage,
    (limit) => versions.list(visit.org.slug, of.id, stored.id, { before, limit }),
    // A proposed variant has no versions yet.
  ).pipe(Effect.catchTag("VariantNotFound", () => Effect.succeed({ next: null, page: [] })))
  return view(
    {
      title: t`${stored.name} · Versions`,
      back: { href: path, label: stored.name },
      lead: t`The content after each change, the latest ${counted(keptVersions, "version")}.`,
    },
    <Card kind="flush">
      {shown.length === 0
        ? <Empty title={t`No versions yet`}>{t`A version is kept of each change of the content.`}</Empty>
        : (
          <Table
            cards="labelled"
            caption={t`Versions, newest first`}
            headings={[t`Version`, t`Name`, t`Saved by`]}
            rows={shown.map(({ author, id, name, saved_at: savedAt }) => [
              <a href={`${path}/versions/${id}`}>
                {t`Version of ${<Time at={savedAt} zone={visit.org.time_zone} />}`}
              </a>,
              <span dir="auto">{name}</span>,
              author ?? <span class="muted">{t`before versions were kept`}</span>,
            ])}
          />
        )}
      <Pagination
        label={t`Pages of the versions`}
        at={`${path}/versions`}
        cursor={before}
        next={next}
      />
    </Card>,
  )
})

/** The version of a path. Fails with `VariantNotFound` or `VersionNotFound`. */
const openedVersion = Effect.fnUntraced(function* (visit: Visit) {
  const { of, stored } = yield* openedVariant(visit)
  const text = visit.params["version"] ?? ""
  const version = /^\d{1,15}$/.test(text)
    ? yield* (yield* VariantVersions).get(visit.org.slug, of.id, stored.id, Number(text))
    : yield* new VersionNotFound({ id: text.slice(0, 100) })
  return { of, stored, version }
})

const versionPage = Effect.fnUntraced(function* (visit: Visit, faults: ReadonlyArray<Fault> = []) {
  const { stored, version } = yield* openedVersion(visit)
  const path = here(visit)
  const changes = difference(fieldsOfVariant(stored), fieldsOfVariant({ ...stored, ...restoredBy(version) }))
  const isSame = changes.fields.length === 0 && changes.omitted === 0
  const title = t`${stored.name} · Version of ${dateTime(new Date(version.saved_at), visit.org.time_zone)}`
  return view(
    {
      title,
      back: { href: `${path}/versions`, label: t`${stored.name} · Versions` },
      ...(version.author === null ? {} : { lead: t`Saved by ${version.author}.` }),
    },
    <ErrorSummary faults={faults} />,
    <Card
      stacked
      title={isSame ? t`Restoring it changes nothing` : t`Restoring it makes these changes`}
      lead={isSame
        ? t`The variant has this content.`
        : stored.active
        ? t`From the variant as it is now. It stays active.`
        : t`From the variant as it is now. It stays inactive.`}
    >
      {!isSame && <DifferenceView changes={changes} />}
      <div class="buttons">
        {!isSame && visit.can("restoreVersion") && (
          <PostButton
            to={`${path}/versions/${version.id}/restore`}
            fields={{ over: stored.updated_at }}
            kind="primary"
          >
            {t`Restore this version`}
          </PostButton>
        )}
        <a class="button" href={path}>{visit.can("updateVariant") ? t`Edit the variant` : t`Open the variant`}</a>
      </div>
    </Card>,
  )
})

const restore = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { of, stored, version } = yield* openedVersion(visit)
  yield* (yield* Templates).updateVariant(
    visit.org.slug,
    of.id,
    stored.id,
    restoredBy(version),
    timeOf(editorFields(fields).over),
  ).pipe(Effect.catchTag("VariantChanged", () =>
    new InvalidInput({
      faults: [{
        pointer: "",
        detail: t`Somebody has saved the variant meanwhile. The changes below now start from their version`,
      }],
    })))
  return { to: here(visit), done: "version-restored" }
})

/** Versions of a variant: a list, each compared to the variant as it is, and restored. */
export const layer = pages(({ action, page }) => {
  const base = "/console/o/:org/templates/:template/variants/:variant/versions" as const
  return [
    page(base, "listVersions", listPage),
    page(`${base}/:version`, "getVersion", versionPage),
    action(`${base}/:version/restore`, "restoreVersion", restore, (visit, _, faults) => versionPage(visit, faults)),
  ]
})
