import { roleName } from "../Format.ts"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { may } from "../../accounts/Actor.ts"
import { InvalidInput } from "../../domain/Errors.ts"
import type { Fault } from "../../domain/Errors.ts"
import { OrganizationInput } from "../../domain/Organization.ts"
import { english, t } from "../../languages/Language.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { Form } from "../components/Form.tsx"
import { ErrorSummary } from "../components/Note.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { Table } from "../components/Table.tsx"
import { flashes } from "../Flash.ts"
import { zoneHint, zones } from "./SettingsCards.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { type Fields, lastOrganizationCookie, redirect, type Visit } from "../Routes.tsx"

const organizationForm = inputForm(OrganizationInput, {
  name: { label: english("Name") },
  slug: {
    label: english("Id"),
    hint: english(
      "Part of every API address. Lowercase letters, digits, hyphens and underscores. It cannot be changed later.",
    ),
  },
  time_zone: { label: english("Time zone"), initial: "UTC", hint: zoneHint, suggested: zones },
})

const list = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const mine = (yield* (yield* Organizations).list).filter(({ slug }) => may(visit.actor, slug, "viewer"))
  const mayCreate = visit.can("createOrganization")
  return view(
    { title: t`Organizations`, lead: t`Each organization has its own templates, keys, events and members.` },
    <ErrorSummary faults={faults} labels={organizationForm.labels} />,
    <Card kind="flush">
      {mine.length === 0
        ? (
          <Empty title={t`You belong to no organization yet`}>
            {mayCreate ? t`Create the first one below.` : t`Ask an admin of your organization to invite you.`}
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            caption={t`Your organizations`}
            headings={[t`Name`, t`Id`, t`Time zone`, t`Your role`]}
            rows={mine.map(({ name, slug, time_zone }) => [
              <a href={`/console/o/${slug}`}>{name}</a>,
              <code>{slug}</code>,
              time_zone,
              visit.session.account.administrator ? t`administrator` : roleName(visit.session.roles.get(slug)),
            ])}
          />
        )}
    </Card>,
    mayCreate && (
      <Card title={t`Create an organization`}>
        <Form submit={t`Create organization`} action="/console/organizations">
          <organizationForm.Fields values={fields} faults={faults} />
        </Form>
      </Card>
    ),
  )
})

const organizationsAction = Effect.fnUntraced(function* (_: Visit, fields: Fields) {
  const made = yield* (yield* Organizations).create(yield* organizationForm.decode(fields)).pipe(
    Effect.catchTag(
      "AlreadyExists",
      () => new InvalidInput({ faults: [{ pointer: "/slug", detail: t`is taken: choose another` }] }),
    ),
  )
  return { to: `/console/o/${made.slug}`, done: "organization-created" }
})

/** Choosing and creating organizations. */
export const layer = pages(({ action, page, signedIn }) => [
  // The organization visited last, one's only organization, or the list of them.
  HttpRouter.route(
    "GET",
    "/console",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const session = yield* signedIn(request)
      if (session === undefined) return redirect({ to: "/console/sign-in" })
      const mine = (yield* (yield* Organizations).list).filter(({ slug }) =>
        may({ kind: "session", session }, slug, "viewer")
      )
      const last = mine.find(({ slug }) => slug === request.cookies[lastOrganizationCookie])
      const [only] = mine
      const shown = last ?? (mine.length === 1 ? only : undefined)
      const done = new URLSearchParams(request.url.split("?")[1] ?? "").get("done") ?? ""
      return redirect({
        to: shown === undefined ? "/console/organizations" : `/console/o/${shown.slug}`,
        ...(Object.hasOwn(flashes, done) ? { done } : {}),
      })
    }),
  ),
  page("/console/organizations", "listOrganizations", list),
  action("/console/organizations", "createOrganization", organizationsAction, list),
])
