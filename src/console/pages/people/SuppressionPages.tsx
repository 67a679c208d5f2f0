import { Clock, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { isStorable } from "../../../domain/Attributes.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { SuppressionInput } from "../../../api/suppressions/SuppressionsApi.ts"
import { exported } from "../../../api/suppressions/SuppressionsRoutes.ts"
import type { SuppressionEntry } from "../../../suppressions/Suppression.ts"
import { reasonWords, SuppressionReason } from "../../../domain/SuppressionReason.ts"
import { spreadsheetLine } from "../../../suppressions/SuppressionCsv.ts"
import { SuppressionImports } from "../../../suppressions/SuppressionImports.ts"
import { Suppressions } from "../../../suppressions/Suppressions.ts"
import { assets } from "../../Assets.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Form } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { inputForm } from "../../components/InputForm.tsx"
import { Pills } from "../../components/Pills.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"

const pageSize = 30

const entryForm = inputForm(SuppressionInput, {
  email: { label: english("E-mail address"), as: "email" },
  reason: {
    label: english("Reason"),
    as: "select",
    initial: "manual",
    options: SuppressionReason.literals.map((reason) => [reason, reasonWords[reason].name] as const),
  },
})

const example = "address,reason\nann@example.com,unsubscribe"

const pathOf = ({ org }: Visit) => `/console/o/${org.slug}/suppressions`

const Entries = ({ entries, visit }: { readonly visit: Visit; readonly entries: ReadonlyArray<SuppressionEntry> }) => (
  <Table
    cards="labelled"
    caption={t`Suppressed addresses`}
    headings={[t`Address`, t`Reason`, t`Since`, t`Source`, t`[Actions]`]}
    rows={entries.map(({ address, reason, source, suppressedAt }) => [
      address ?? <span class="muted">{t`erased person`}</span>,
      translated(reasonWords[reason].name),
      <Time at={suppressedAt.toISOString()} zone={visit.org.time_zone} />,
      source,
      {
        kind: "actions",
        content: address === null || !visit.can("removeSuppression")
          ? null
          : (
            <Form action={`${pathOf(visit)}/remove`} inline>
              <input type="hidden" name="email" value={address} />
              <input type="hidden" name="reason" value={reason} />
              <button type="submit" class="button compact danger" aria-label={t`Remove ${address}`}>{t`Remove`}</button>
            </Form>
          ),
      },
    ])}
  />
)

const found = Effect.fnUntraced(function* ({ org, query }: Visit) {
  const list = yield* Suppressions
  const address = (query.get("address") ?? "").trim()
  const reason = SuppressionReason.literals.find((one) => one === query.get("reason"))
  const cursorParameter = query.get("cursor") ?? ""
  const cursor = /^\d{1,15}$/.test(cursorParameter) ? Number(cursorParameter) : undefined
  if (address !== "") {
    const entries = yield* list.find(org.slug, address)
    return { address, reason: undefined, cursor: undefined, entries, next: null }
  }
  const { next, page } = yield* pageOf(pageSize, (limit) => list.list(org.slug, { reason, cursor, limit }))
  return { address, reason, cursor, entries: page, next }
})

const show = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const { address, cursor, entries, next, reason } = yield* found(visit)
  return view(
    {
      title: t`Suppressions`,
      lead: t`Addresses that get no messages. People who unsubscribe or complain and addresses that bounce are
        added automatically.`,
      actions: (
        <>
          <a class="button" href={`${pathOf(visit)}/export`} download>{t`Export CSV`}</a>
          {visit.can("importSuppressions") && <a class="button" href={`${pathOf(visit)}/import`}>{t`Import CSV`}</a>}
        </>
      ),
    },
    <ErrorSummary faults={faults} labels={entryForm.labels} />,
    <Card stacked>
      <form method="get" action={pathOf(visit)} class="lookup" role="search">
        <label for="find">{t`Is an address suppressed?`}</label>
        <div class="secret">
          <input
            type="search"
            id="find"
            name="address"
            value={address}
            autocomplete="off"
            spellcheck={false}
            maxLength={254}
          />
          <button type="submit" class="button primary">{t`Find`}</button>
        </div>
      </form>
      <Pills
        label={t`Reasons`}
        links={[
          { href: pathOf(visit), label: t`All`, isCurrent: reason === undefined && address === "" },
          ...SuppressionReason.literals.map((one) => ({
            href: `${pathOf(visit)}?reason=${one}`,
            label: translated(reasonWords[one].name),
            isCurrent: one === reason,
          })),
        ]}
      />
    </Card>,
    <Card kind="flush">
      {entries.length > 0
        ? <Entries visit={visit} entries={entries} />
        : address !== ""
        ? <Empty title={t`The address is not suppressed`}>{t`Messages to ${address} are sent.`}</Empty>
        : (
          <Empty title={t`No suppressed addresses`}>
            {t`Addresses are added as soon as platforms report unsubscribes, complaints or bounces.`}
          </Empty>
        )}
    </Card>,
    <Pagination
      label={t`Pages of the suppression list`}
      at={reason === undefined ? pathOf(visit) : `${pathOf(visit)}?reason=${reason}`}
      cursor={cursor}
      next={next}
    />,
    visit.can("addSuppression") && (
      <Card title={t`Add an address`} lead={t`Queued messages to the address are cancelled.`}>
        <Form submit={t`Add address`} action={pathOf(visit)}>
          <entryForm.Fields values={fields} faults={faults} />
        </Form>
      </Card>
    ),
  )
})

const importForm = (visit: Visit, { text = "" }: Fields = {}, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed(view(
    {
      title: t`Import suppressions`,
      back: { href: pathOf(visit), label: t`Suppressions` },
      lead: t`Either all rows are imported or none. The header must have a column address or email; reason, source
        and suppressed_at are optional.`,
    },
    faults.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={t`Nothing was imported: correct these lines`}
          headings={[t`Line`, t`Fault`]}
          rows={faults.slice(0, 100).map(({ detail, pointer }) => [pointer.replace("/line/", ""), detail])}
        />
      </Card>
    ),
    <Card>
      <Form submit={t`Import`} action={`${pathOf(visit)}/import`}>
        <div class="field" data-upload hidden>
          <label for="file">{t`A file from this computer`}</label>
          <input type="file" id="file" accept=".csv,.txt" data-into="text" />
        </div>
        <div class="field">
          <label for="text">{t`Content of the file`}</label>
          <p class="hint" id="text-hint">
            {t`Up to 20,000 rows and about 500 kB. ${(
              <code>parlance suppression import</code>
            )} takes files of any size.`}
          </p>
          <textarea
            id="text"
            name="text"
            class="mono source"
            rows={14}
            spellcheck={false}
            placeholder={example}
            aria-describedby="text-hint"
            {...(faults.length === 0 ? {} : { "aria-invalid": "true" as const })}
          >
            {text}
          </textarea>
        </div>
      </Form>
    </Card>,
    <script type="module" src={assets.templates}></script>,
  ))

const suppressionsAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { email, reason = "manual" } = yield* entryForm.decode(fields)
  const at = yield* Clock.currentTimeMillis
  yield* Effect.orDie(
    (yield* Suppressions).add([{ org: visit.org.slug, address: email, reason, source: "console", at }]),
  )
  return { to: pathOf(visit), done: "suppression-added" }
})

const removeAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { email: address = "", reason: named } = fields
  const reason = SuppressionReason.literals.find((one) => one === named)
  if (reason === undefined || !isStorable(address)) {
    return yield* new InvalidInput({ faults: [{ pointer: "/reason", detail: t`is not one of the reasons` }] })
  }
  yield* (yield* Suppressions).remove(visit.org.slug, address, reason)
  return { to: pathOf(visit), done: "suppression-removed" }
})

/** The addresses that nothing is sent to. */
export const layer = pages(({ action, form, page, route }) => [
  page("/console/o/:org/suppressions", "listSuppressions", show),
  action("/console/o/:org/suppressions", "addSuppression", suppressionsAction, show),
  action("/console/o/:org/suppressions/remove", "removeSuppression", removeAction),
  ...form(
    "/console/o/:org/suppressions/import",
    "importSuppressions",
    importForm,
    Effect.fnUntraced(function* (visit, { text = "" }) {
      yield* (yield* SuppressionImports).importCsv(visit.org.slug, text)
      return { to: pathOf(visit), done: "suppressions-imported" }
    }),
  ),
  route(
    "GET",
    "/console/o/:org/suppressions/export",
    "exportSuppressions",
    ({ org }) =>
      Suppressions.useSync((list) =>
        HttpServerResponse.stream(exported(list, org.slug, spreadsheetLine), {
          contentType: "text/csv; charset=utf-8",
          headers: {
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "content-disposition": `attachment; filename="${org.slug}-suppressions.csv"`,
          },
        })
      ),
  ),
])
