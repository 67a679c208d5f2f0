import { Effect } from "effect"
import type { GroupRole } from "../../accounts/Account.ts"
import { GroupRoleInput } from "../../accounts/Account.ts"
import { GroupRoleNotFound } from "../../accounts/AccountErrors.ts"
import { GroupRoles } from "../../accounts/GroupRoles.ts"
import { OpenId } from "../../accounts/OpenId.ts"
import type { Fault } from "../../domain/Errors.ts"
import { english, t } from "../../languages/Language.ts"
import { askFirst } from "../components/AskFirst.tsx"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Form } from "../components/Form.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { Table } from "../components/Table.tsx"
import { count, counted, roleName } from "../Format.ts"
import { pages } from "../Pages.ts"
import type { Fields, Visit } from "../Routes.tsx"
import { view } from "../View.tsx"
import { roleField } from "./MemberPages.tsx"

const members = ({ org }: Visit) => `/console/o/${org.slug}/settings/members`
const at = (visit: Visit) => `${members(visit)}/groups`

const groupForm = inputForm(GroupRoleInput, {
  group: {
    label: english("Group"),
    hint: english("As the identity provider sends it, such as crm-editors. Entra ID sends object ids."),
  },
  role: { ...roleField, initial: "viewer" },
})

const row = (visit: Visit) => (one: GroupRole) => [
  <bdi>{one.group}</bdi>,
  <Badge kind={one.role === "admin" ? "accent" : "plain"}>{roleName(one.role)}</Badge>,
  count(one.members),
  {
    kind: "actions" as const,
    content: visit.can("deleteGroupRole")
      ? (
        <a class="button compact danger" href={`${at(visit)}/${one.id}/remove`} aria-label={t`Remove ${one.group}`}>
          {t`Remove`}
        </a>
      )
      : null,
  },
]

const list = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const all = yield* (yield* GroupRoles).list(visit.org.slug)
  const { label } = yield* OpenId
  return view(
    {
      title: t`Groups`,
      lead: t`Members of these groups get a role here when they sign in through the identity provider, and lose it
        when they leave the group. The highest role counts. Members whom a person added stay as they are.`,
      back: { href: members(visit), label: t`Members` },
    },
    <ErrorSummary faults={faults} labels={groupForm.labels} />,
    label === undefined && (
      <Note kind="warn">{t`No identity provider is set up here, so groups have no effect. Set OIDC_ISSUER.`}</Note>
    ),
    all.length > 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={counted(all.length, "group")}
          headings={[t`Group`, t`Role`, t`Members`, t`[Actions]`]}
          rows={all.map(row(visit))}
        />
      </Card>
    ),
    visit.can("putGroupRole") && (
      <Card title={t`Assign a role to a group`}>
        <Form submit={t`Save`} action={at(visit)}>
          <groupForm.Fields values={fields} faults={faults} />
        </Form>
      </Card>
    ),
  )
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  yield* (yield* GroupRoles).put(visit.org.slug, yield* groupForm.decode(fields))
  return { to: at(visit), done: "group-saved" }
})

const groupRole = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const id = params["group"] ?? ""
  const found = (yield* (yield* GroupRoles).list(org.slug)).find((one) => one.id === id)
  return found ?? (yield* new GroupRoleNotFound({ id: id.slice(0, 100) }))
})

const removePage = (visit: Visit) =>
  Effect.map(groupRole(visit), ({ group, members }) =>
    askFirst({
      title: t`Remove a group`,
      question: t`Remove the group ${group}?`,
      back: { href: at(visit), label: t`Groups` },
      button: t`Remove the group`,
      text: (
        <p>
          {t`${
            counted(members, "member from this group loses", "members from this group lose")
          } access to ${visit.org.name}
            at once. The only admin of the organization stays.`}
        </p>
      ),
    }))

/** Settings, Members, Groups: roles by groups of the identity provider. */
export const layer = pages(({ action, asks, page }) => [
  page("/console/o/:org/settings/members/groups", "listGroupRoles", (visit) => list(visit)),
  action("/console/o/:org/settings/members/groups", "putGroupRole", save, list),
  ...asks(
    "/console/o/:org/settings/members/groups/:group/remove",
    "deleteGroupRole",
    removePage,
    Effect.fnUntraced(function* (visit) {
      yield* (yield* GroupRoles).remove(visit.org.slug, (yield* groupRole(visit)).id)
      return { to: at(visit), done: "group-removed" }
    }),
  ),
])
