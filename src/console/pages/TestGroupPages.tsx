import { Effect } from "effect"
import { TestGroups } from "../../delivery/receivers/TestGroups.ts"
import type { Fault } from "../../domain/Errors.ts"
import { type TestGroup, TestGroupInput } from "../../domain/TestGroup.ts"
import { english, t } from "../../languages/Language.ts"
import { tellSubject } from "../../store/ChangeTrail.ts"
import { addressesIn, namingAddresses } from "../Addresses.ts"
import { copyName, counted } from "../Format.ts"
import { Card } from "../components/Card.tsx"
import { askFirst } from "../components/AskFirst.tsx"
import { Empty } from "../components/Empty.tsx"
import { Submit } from "../components/Form.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { MenuLink, RowMenu } from "../components/RowMenu.tsx"
import { Table } from "../components/Table.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import type { Fields, Visit } from "../Routes.tsx"

const at = ({ org }: Visit) => `/console/o/${org.slug}/settings/test-groups`

const groupForm = inputForm(TestGroupInput, {
  name: { label: english("Name"), hint: english("Such as “Design team”.") },
  emails: {
    label: english("Addresses"),
    as: "lines",
    read: (sent = "") => addressesIn(sent),
    hint: english(
      "One a line, up to 20. They need not be members of the organization. An organization has up to 20 groups.",
    ),
  },
})

const list = Effect.fnUntraced(function* (visit: Visit) {
  const all = yield* (yield* TestGroups).list(visit.org.slug)
  const mayChange = visit.can("putTestGroup")
  const create = mayChange ? <a class="button primary" href={`${at(visit)}/-/new`}>{t`Create test group`}</a> : null
  return view(
    {
      title: t`Test groups`,
      lead: t`People who get test messages, such as the design team. Editors choose a group when they send a test.`,
      actions: all.length === 0 ? undefined : create,
    },
    <Card kind="flush">
      {all.length === 0
        ? (
          <Empty title={t`No test groups yet`} action={create}>
            {mayChange
              ? t`Create one to send a test to several people at once.`
              : t`An admin of the organization can create one.`}
          </Empty>
        )
        : (
          <Table
            cards="labelled"
            caption={counted(all.length, "test group")}
            headings={[t`Name`, t`Addresses`, t`[Actions]`]}
            rows={all.map(({ emails, id, name }) => [
              <span dir="auto">{name}</span>,
              <>
                {emails.slice(0, 3).join(", ")}
                {emails.length > 3 && (
                  <>
                    {" "}
                    <span class="muted">{t`and ${emails.length - 3} more`}</span>
                  </>
                )}
              </>,
              {
                kind: "actions",
                content: mayChange
                  ? (
                    <RowMenu label={t`Actions for ${name}`}>
                      <MenuLink href={`${at(visit)}/${id}`}>{t`Edit`}</MenuLink>
                      <MenuLink href={`${at(visit)}/${id}#name`}>{t`Rename`}</MenuLink>
                      <MenuLink href={`${at(visit)}/-/new?from=${id}`}>{t`Duplicate`}</MenuLink>
                      <MenuLink href={`${at(visit)}/${id}/delete`} danger>{t`Delete`}</MenuLink>
                    </RowMenu>
                  )
                  : null,
              },
            ])}
          />
        )}
    </Card>,
  )
})

/** The form of a group. `group`: the one to change; undefined for a new one. */
const formOf = (
  visit: Visit,
  group: TestGroup | undefined,
  fields: Fields | undefined,
  faults: ReadonlyArray<Fault>,
) => {
  const title = group === undefined ? t`Create test group` : t`Edit ${group.name}`
  return view(
    { title, back: { href: at(visit), label: t`Test groups` } },
    <groupForm.Card
      action={`${at(visit)}/${group?.id ?? "-/new"}`}
      values={fields ?? (group === undefined ? undefined : { name: group.name, emails: group.emails.join("\n") })}
      faults={faults}
    >
      <div class="buttons">
        <Submit>{t`Save test group`}</Submit>
        <a class="button" href={at(visit)}>{t`Cancel`}</a>
      </div>
    </groupForm.Card>,
  )
}

const existing = ({ org, params: { group } }: Visit) =>
  group === undefined ? Effect.succeed(undefined) : TestGroups.use((groups) => groups.get(org.slug, group))

const edit = Effect.fnUntraced(function* (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) {
  const group = yield* existing(visit)
  const from = visit.query.get("from")
  if (group !== undefined || fields !== undefined || from === null) return formOf(visit, group, fields, faults)
  const { emails, name } = yield* (yield* TestGroups).get(visit.org.slug, from)
  return formOf(visit, group, { name: copyName(name), emails: emails.join("\n") }, faults)
})

const save = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const group = yield* existing(visit)
  const input = yield* groupForm.decode(fields).pipe(namingAddresses(addressesIn(fields["emails"] ?? "")))
  const { id } = yield* (yield* TestGroups).put(visit.org.slug, group?.id, input)
  yield* tellSubject(id)
  return { to: at(visit), done: "test-group-saved" }
})

const removePage = Effect.fnUntraced(function* (visit: Visit) {
  const { emails, name } = yield* (yield* TestGroups).get(visit.org.slug, visit.params["group"] ?? "")
  return askFirst({
    title: t`Delete ${name}`,
    question: t`Delete ${name}?`,
    back: { href: at(visit), label: t`Test groups` },
    button: t`Delete the test group`,
    text: (
      <p>
        {t`${
          counted(emails.length, "address", "addresses")
        } can no longer be chosen together. No messages are affected.`}
      </p>
    ),
  })
})

const remove = Effect.fnUntraced(function* (visit: Visit) {
  yield* (yield* TestGroups).remove(visit.org.slug, visit.params["group"] ?? "")
  return { to: at(visit), done: "test-group-deleted" }
})

/** Settings, Test groups. */
export const layer = pages(({ asks, form, page }) => {
  const path = "/console/o/:org/settings/test-groups" as const
  return [
    page(path, "listTestGroups", list),
    ...form(`${path}/-/new`, "putTestGroup", edit, save),
    ...form(`${path}/:group`, "putTestGroup", edit, save),
    ...asks(`${path}/:group/delete`, "deleteTestGroup", removePage, remove),
  ]
})
