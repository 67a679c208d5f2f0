import { Effect } from "effect"
import { SessionCookie } from "../../../accounts/SessionCookie.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { defaultShareDays, ResultShareInput, shareDays } from "../../../domain/ResultShare.ts"
import { t } from "../../../languages/Language.ts"
import { ResultShares, sharePath } from "../../../results/ResultShares.ts"
import { Templates } from "../../../templates/Templates.ts"
import { counted } from "../../Format.ts"
import { CopyField } from "../../components/SecretOnce.tsx"
import { Card } from "../../components/Card.tsx"
import { Form, PostButton } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { ifSent, number } from "../../FormReaders.ts"
import { inputForm } from "../../components/InputForm.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Fields, Visit } from "../../Routes.tsx"

// Read-only links to the results of a template: made, listed and revoked here. SharedPages.tsx has the page that they open.

const shareForm = () =>
  inputForm(ResultShareInput, {
    expires_in_days: {
      label: t`Expires after`,
      as: "select",
      initial: String(defaultShareDays),
      options: shareDays.map((days) => [String(days), counted(days, "day")] as const),
      read: ifSent(number),
    },
  })

const pathOf = (org: string, template: string) =>
  `/console/o/${org}/templates/${encodeURIComponent(template)}/results/share`

/** The new link, which is shown this once. */
const NewLink = ({ expiresAt, link, zone }: {
  readonly link: string
  readonly expiresAt: string
  readonly zone: string
}) => (
  <Card stacked title={t`Your link`}>
    <Note kind="warn">{t`Copy the link now: it is shown this once.`}</Note>
    <CopyField
      id="new-link"
      label={t`Link to the results`}
      value={link}
      hint={
        <>
          {t`It works without signing in until ${(
            <Time
              at={expiresAt}
              zone={zone}
            />
          )}, and shows the results as they are then.`}
        </>
      }
      selected
    />
  </Card>
)

const show = Effect.fnUntraced(function* (
  visit: Visit,
  { fields, faults = [], made }: {
    readonly fields?: Fields
    readonly faults?: ReadonlyArray<Fault>
    readonly made?: { readonly link: string; readonly expiresAt: string }
  } = {},
) {
  const { org } = visit
  const template = yield* (yield* Templates).outline(org.slug, visit.params["template"] ?? "")
  const shares = yield* (yield* ResultShares).list(org.slug, template.id)
  const path = pathOf(org.slug, template.id)
  const mayRevoke = visit.can("revokeResultShare")
  const form = shareForm()
  const title = t`${template.name} · Share results`
  return view(
    {
      title,
      back: { href: `/console/o/${org.slug}/templates/${encodeURIComponent(template.id)}`, label: template.name },
      lead: t`Whoever has a link sees the verdict, the variants and the charts over time without signing in. The
        page has no segments and no people, and nothing can be changed there.`,
    },
    <ErrorSummary faults={faults} labels={form.labels} />,
    made !== undefined && <NewLink {...made} zone={org.time_zone} />,
    visit.can("createResultShare") && (
      <Card title={made === undefined ? t`New link` : t`Another link`}>
        <Form submit={t`Create link`} action={path}>
          <form.Fields values={fields} faults={faults} />
        </Form>
      </Card>
    ),
    shares.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={t`Links that work`}
          headings={[t`Created by`, t`Created`, t`Expires`, ...(mayRevoke ? [t`[Actions]`] : [])]}
          rows={shares.map((share) => [
            <bdi key={share.id}>{share.created_by}</bdi>,
            { kind: "nowrap", content: <Time at={share.created_at} zone={org.time_zone} /> },
            { kind: "nowrap", content: <Time at={share.expires_at} zone={org.time_zone} /> },
            ...(mayRevoke
              ? [{
                kind: "actions" as const,
                content: (
                  <PostButton
                    to={`${path}/${share.id}/revoke`}
                    kind="compact danger"
                    label={t`Revoke the link of ${share.created_at}`}
                  >
                    {t`Revoke`}
                  </PostButton>
                ),
              }]
              : []),
          ])}
        />
      </Card>
    ),
  )
})

const createAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { token, expires_at: expiresAt } = yield* (yield* ResultShares).create(
    visit.org.slug,
    visit.params["template"] ?? "",
    yield* shareForm().decode(fields),
    visit.actor,
  )
  const link = `${(yield* SessionCookie).originOf(visit.request)}${sharePath(token)}`
  return yield* show(visit, { made: { link, expiresAt } })
})

/** The pages of the links to the results of a template. */
export const layer = pages(({ action, page }) => {
  const path = "/console/o/:org/templates/:template/results/share" as const
  return [
    page(path, "listResultShares", show),
    action(path, "createResultShare", createAction, (visit, fields, faults) => show(visit, { fields, faults })),
    action(
      `${path}/:share/revoke`,
      "revokeResultShare",
      ({ org, params }) =>
        Effect.as(
          ResultShares.use((shares) => shares.revoke(org.slug, params["template"] ?? "", params["share"] ?? "")),
          { to: pathOf(org.slug, params["template"] ?? ""), done: "share-revoked" },
        ),
    ),
  ]
})
