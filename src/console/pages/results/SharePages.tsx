/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { SessionCookie } from "../../../accounts/SessionCookie.ts"
import { lookedUp } from "../../../api/server/Requests.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { defaultShareDays, ResultShareInput, shareDays } from "../../../domain/ResultShare.ts"
import { ResultShares, sharePath } from "../../../results/ResultShares.ts"
import { Templates } from "../../../templates/Templates.ts"
import { counted } from "../../Format.ts"
import { Card } from "../../components/Card.tsx"
import { SelectField } from "../../components/Field.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { PageHead } from "../../components/PageHead.tsx"
import { Table } from "../../components/Table.tsx"
import { Time } from "../../components/Time.tsx"
import { Console, decoded, type Fields, type View, type Visit } from "../../Routes.tsx"

// Read-only links to the results of a template: made, listed and revoked here. SharedPages.tsx has the page that they open.

interface Services {
  readonly cookie: SessionCookie["Service"]
  readonly shares: ResultShares["Service"]
  readonly templates: Templates["Service"]
}

const decodeInput = decoder(ResultShareInput)

const labels = { expires_in_days: "Expires after" }

const pathOf = (org: string, template: string) =>
  `/console/o/${org}/templates/${encodeURIComponent(template)}/results/share`

/** The new link, which is shown this once. */
const NewLink = ({ expiresAt, link, zone }: {
  readonly link: string
  readonly expiresAt: string
  readonly zone: string
}) => (
  <Card title="Your link">
    <div class="stack">
      <Note kind="warn">Copy the link now: it is shown this once.</Note>
      <div class="field">
        <label for="new-link">Link to the results</label>
        <div class="secret">
          <input
            type="text"
            id="new-link"
            readonly
            value={link}
            spellcheck={false}
            aria-describedby="new-link-hint"
            data-select
          />
          <button type="button" class="button primary" data-copy="new-link" hidden>Copy</button>
        </div>
        <p class="hint" id="new-link-hint">
          It works without signing in until <Time at={expiresAt} zone={zone} />, and shows the results as they are then.
          {" "}
          <span role="status" id="new-link-status"></span>
        </p>
      </div>
    </div>
  </Card>
)

const show = Effect.fnUntraced(function* (
  services: Services,
  visit: Visit,
  { fields, faults = [], made }: {
    readonly fields?: Fields
    readonly faults?: ReadonlyArray<Fault>
    readonly made?: { readonly link: string; readonly expiresAt: string }
  } = {},
) {
  const { org, session } = visit
  const template = yield* services.templates.get(org.slug, lookedUp(visit.params["template"] ?? ""))
  const shares = yield* services.shares.list(org.slug, template.id)
  const path = pathOf(org.slug, template.id)
  const mayRevoke = visit.can("revokeResultShare")
  const title = `${template.name} · Share results`
  const view: View = {
    title,
    body: (
      <>
        <PageHead
          title={title}
          back={{ href: `/console/o/${org.slug}/templates/${encodeURIComponent(template.id)}`, label: template.name }}
          lead="Whoever has a link sees the verdict, the variants and the charts over time without signing in. The page has no segments and no people, and nothing can be changed there."
        />
        <ErrorSummary faults={faults} labels={labels} />
        {made === undefined ? null : <NewLink {...made} zone={org.time_zone} />}
        {visit.can("createResultShare")
          ? (
            <Card title={made === undefined ? "New link" : "Another link"}>
              <Form submit="Create link" action={path} csrf={session.csrfToken}>
                <SelectField
                  name="expires_in_days"
                  label={labels.expires_in_days}
                  options={shareDays.map((days) => [String(days), counted(days, "day")] as const)}
                  value={fields?.["expires_in_days"] ?? String(defaultShareDays)}
                  faults={faults}
                />
              </Form>
            </Card>
          )
          : null}
        {shares.length === 0 ? null : (
          <Card kind="flush">
            <Table
              cards="labelled"
              caption="Links that work"
              headings={["Created by", "Created", "Expires", ...(mayRevoke ? ["[Actions]"] : [])]}
              rows={shares.map((share) => [
                <bdi key={share.id}>{share.created_by}</bdi>,
                { kind: "nowrap", content: <Time at={share.created_at} zone={org.time_zone} /> },
                { kind: "nowrap", content: <Time at={share.expires_at} zone={org.time_zone} /> },
                ...(mayRevoke
                  ? [{
                    kind: "actions" as const,
                    content: (
                      <Form action={`${path}/${share.id}/revoke`} csrf={session.csrfToken} inline>
                        <Submit kind="compact danger" label={`Revoke the link of ${share.created_at}`}>Revoke</Submit>
                      </Form>
                    ),
                  }]
                  : []),
              ])}
            />
          </Card>
        )}
      </>
    ),
  }
  return view
})

const createAction = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const days = fields["expires_in_days"]
  const input = yield* decoded(decodeInput(days === undefined ? {} : { expires_in_days: Number(days) }))
  const { token, expires_at: expiresAt } = yield* services.shares.create(
    visit.org.slug,
    visit.params["template"] ?? "",
    input,
    visit.actor,
  )
  const link = `${services.cookie.originOf(visit.request)}${sharePath(token)}`
  return yield* show(services, visit, { made: { link, expiresAt } })
})

/** The pages of the links to the results of a template. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    cookie: yield* SessionCookie,
    shares: yield* ResultShares,
    templates: yield* Templates,
  }
  const path = "/console/o/:org/templates/:template/results/share" as const
  yield* router.addAll([
    page(path, "listResultShares", (visit) => show(services, visit)),
    action(
      path,
      "createResultShare",
      (visit, fields) => createAction(services, visit, fields),
      (visit, fields, faults) => show(services, visit, { fields, faults }),
    ),
    action(
      `${path}/:share/revoke`,
      "revokeResultShare",
      ({ org, params }) =>
        Effect.as(services.shares.revoke(org.slug, params["template"] ?? "", params["share"] ?? ""), {
          to: pathOf(org.slug, params["template"] ?? ""),
          done: "share-revoked",
        }),
    ),
  ])
}))
