import { Array, Effect, Result, Schema } from "effect"
import { Email, type Invitation, type Member, normalizeEmail, Role } from "../../accounts/Account.ts"
import { nameOf } from "../../accounts/Actor.ts"
import { AccountNotFound } from "../../accounts/AccountErrors.ts"
import { invitationPath, Invitations, validDays } from "../../accounts/Invitations.ts"
import { GroupRoles } from "../../accounts/GroupRoles.ts"
import { Memberships } from "../../accounts/Memberships.ts"
import { OpenId } from "../../accounts/OpenId.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { OrganizationChanges } from "../../accounts/OrganizationChanges.ts"
import { type Fault, InvalidInput } from "../../domain/Errors.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { MemberBody } from "../../api/accounts/AccountsApi.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { CopyField } from "../components/SecretOnce.tsx"
import { askFirst } from "../components/AskFirst.tsx"
import { Empty } from "../components/Empty.tsx"
import { PostButton } from "../components/Form.tsx"
import { ErrorSummary, Note } from "../components/Note.tsx"
import { listIn, ListPage, narrowedCaption } from "../components/ListPage.tsx"
import { inputForm } from "../components/InputForm.tsx"
import { MenuLink, MenuPost, RowMenu } from "../components/RowMenu.tsx"
import { type SortHeading, Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { addressesIn, namingAddresses } from "../Addresses.ts"
import { count, counted, date, roleName, roleWords } from "../Format.ts"
import { type ListShape, queryOf } from "../../domain/List.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { linkNotes } from "./MailNotes.tsx"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { ViewsBar, viewsOf, withStartView } from "./ViewPages.tsx"
import type { Fields, Visit } from "../Routes.tsx"

const roles: ReadonlyArray<readonly [Role, string, string]> = [
  ["viewer", english("Viewer"), english("Sees everything except the audit log. Cannot change anything.")],
  [
    "editor",
    english("Editor"),
    english("Viewer who also edits templates and variants, retries or cancels deliveries, and replays payloads."),
  ],
  [
    "admin",
    english("Admin"),
    english("Editor who also manages keys, members, sources, connections, settings and erasure."),
  ],
]

/** The field for a role. */
export const roleField = { label: english("Role"), as: "radio", options: roles } as const

/** Largest number of people that a form invites. */
const maxInvited = 50

const invitationForm = inputForm(
  Schema.Struct({
    emails: Schema.Array(Email).check(
      Schema.isMinLength(1, { message: "is required" }),
      Schema.isMaxLength(maxInvited, { message: `must be at most ${maxInvited}` }),
    ),
    role: Role,
  }),
  {
    emails: {
      label: english("E-mail addresses"),
      as: "lines",
      rows: 3,
      read: (sent = "") => addressesIn(sent),
      hint: english(
        "Up to 50, with spaces, commas or line breaks between them. Addresses with names from a mail program work too.",
      ),
    },
    role: { ...roleField, initial: "viewer" },
  },
)

const memberForm = inputForm(MemberBody, { role: roleField })

const at = ({ org }: Visit) => `/console/o/${org.slug}/settings/members`

/** Whether members need a second factor, and for admins the form to change that. */
const requirement = ({ can, org }: Visit, faults: ReadonlyArray<Fault>) => (
  <>
    <ErrorSummary faults={faults} />
    <Card
      title={t`Second factor`}
      lead={org.require_second_factor
        ? t`Required. Members who sign in with a password enter a code of an authenticator app as well. Members
          without an authenticator app set one up when they next sign in.`
        : t`Optional. Members can sign in with a password alone.`}
      actions={can("updateOrganization")
        ? (
          <PostButton
            to={`/console/o/${org.slug}/settings/members/second-factor`}
            fields={{ require: org.require_second_factor ? "no" : "yes" }}
          >
            {org.require_second_factor ? t`Make it optional` : t`Require a second factor`}
          </PostButton>
        )
        : undefined}
    />
  </>
)

/** Roles by groups of the identity provider. Absent without a provider. */
const groupsCard = Effect.fnUntraced(function* (visit: Visit) {
  const groups = yield* (yield* GroupRoles).list(visit.org.slug)
  if (groups.length === 0 && (yield* OpenId).label === undefined) return null
  return (
    <Card
      title={t`Groups`}
      lead={groups.length === 0
        ? t`Groups of the identity provider can assign roles here. None does.`
        : t`${
          counted(groups.length, "group of the identity provider gives", "groups of the identity provider give")
        } a role here.`}
      actions={<a class="button" href={`${at(visit)}/groups`}>{t`Groups`}</a>}
    />
  )
})

const pageSize = 20

const shape: ListShape<Member> = {
  idOf: ({ account_id }) => account_id,
  textsOf: ({ email, name }) => [name, email],
  filters: {
    role: {
      label: english("Role"),
      options: roles.map(([role]) => [role, roleWords[role]]),
      matches: (member, role) => member.role === role,
    },
    second_factor: {
      label: english("Second factor"),
      options: [["on", "on"], ["off", "off"]],
      matches: ({ second_factor }, one) => second_factor === (one === "on"),
    },
  },
  sorts: {
    name: { label: english("Name"), descending: false, valueOf: ({ name }) => name },
    role: { label: english("Role"), descending: false, valueOf: ({ role }) => role },
    since: { label: english("Since"), descending: true, valueOf: ({ since }) => Date.parse(since) },
    seen: {
      label: english("Last seen"),
      descending: true,
      valueOf: ({ last_seen_on }) => last_seen_on === null ? null : Date.parse(last_seen_on),
    },
  },
  sort: "name",
}

/** Open invitations that the page of the members shows. */
const firstInvitations = 5

const invitationShape: ListShape<Invitation> = {
  idOf: ({ id }) => id,
  textsOf: ({ email, invited_by }) => [email, invited_by],
  filters: {
    role: {
      label: english("Role"),
      options: roles.map(([role]) => [role, roleWords[role]]),
      matches: (invitation, role) => invitation.role === role,
    },
  },
  sorts: {
    email: { label: english("E-mail address"), descending: false, valueOf: ({ email }) => email },
    role: { label: english("Role"), descending: false, valueOf: ({ role }) => role },
    until: {
      label: english("Link works until"),
      descending: true,
      valueOf: ({ expires_at }) => Date.parse(expires_at),
    },
  },
  sort: "until",
}

const invitationHeadings = (sorted: (name: string) => SortHeading | string) => [
  sorted("email"),
  sorted("role"),
  t`Invited by`,
  sorted("until"),
  t`[Actions]`,
]

const invitationRow = (visit: Visit) => (one: Invitation) => [
  one.email,
  <Badge kind={one.role === "admin" ? "accent" : "plain"}>{roleName(one.role)}</Badge>,
  one.invited_by,
  { kind: "nowrap" as const, content: <Time at={one.expires_at} zone={visit.org.time_zone} /> },
  {
    kind: "actions" as const,
    content: visit.can("revokeInvitation")
      ? (
        <RowMenu label={t`Actions for ${one.email}`}>
          {visit.can("createInvitation") && (
            <MenuPost to={`${at(visit)}/invite`} fields={{ emails: one.email, role: one.role, again: "yes" }}>
              {t`Invite again`}
            </MenuPost>
          )}
          <MenuPost to={`${at(visit)}/invitations/${one.id}/withdraw`}>{t`Withdraw`}</MenuPost>
        </RowMenu>
      )
      : null,
  },
]

/** All open invitations. */
const invitations = Effect.fnUntraced(function* (visit: Visit) {
  const open = yield* (yield* Invitations).list(visit.org.slug)
  const list = listIn(invitationShape, open, { at: `${at(visit)}/invitations`, query: visit.query, size: pageSize })
  return view(
    { title: t`Open invitations`, back: { href: at(visit), label: t`Members` } },
    <ListPage
      list={list}
      noun="invitation"
      caption={narrowedCaption(list, "invitation", counted(list.page.found, "invitation"))}
      placeholder={t`E-mail address`}
      search={t`All people you invited may have joined.`}
      headings={invitationHeadings}
      row={invitationRow(visit)}
    />,
  )
})

const list = Effect.fnUntraced(function* (visit: Visit, _: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { can, org, session } = visit
  const members = yield* (yield* Memberships).list(org.slug)
  const open = yield* (yield* Invitations).list(org.slug)
  const shown = listIn(shape, members, { at: at(visit), query: visit.query, size: pageSize })
  const invite = can("createInvitation")
    ? <a class="button primary" href={`${at(visit)}/invite`}>{t`Invite people`}</a>
    : null
  const isOther = (id: string) => id !== session.account.id
  return view(
    {
      title: t`Members`,
      lead: t`Members of this organization and their roles. Administrators of the installation have access without
        being listed.`,
      actions: members.length === 0 ? undefined : invite,
    },
    <ViewsBar query={queryOf(shape, shown.listQuery)} views={yield* viewsOf(visit, "members")} visit={visit} />,
    <ListPage
      list={shown}
      noun="member"
      caption={narrowedCaption(shown, "member", t`Members`)}
      placeholder={t`Name or e-mail address`}
      first={3}
      empty={
        <Empty title={t`No members yet`} action={invite}>
          {t`Invite people to this organization. Each person gets ${
            (yield* MailQueue).isOn ? t`a mail with a link` : t`a link`
          }.`}
        </Empty>
      }
      headings={(
        sorted,
      ) => [sorted("name"), sorted("role"), t`Second factor`, sorted("since"), sorted("seen"), t`[Actions]`]}
      row={(member) => [
        <>
          <bdi>{member.name}</bdi>
          {!isOther(member.account_id) && t` (you)`}
          <span class="sub">{member.email}</span>
        </>,
        <>
          <Badge kind={member.role === "admin" ? "accent" : "plain"}>{roleName(member.role)}</Badge>
          {member.from_group !== null && (
            <span class="sub">
              {t`from the group ${<bdi>{member.from_group}</bdi>}`}
            </span>
          )}
        </>,
        member.second_factor ? <Badge kind="good">{t`on`}</Badge> : <Badge>{t`off`}</Badge>,
        { kind: "nowrap", content: <Time at={member.since} zone={org.time_zone} /> },
        { kind: "nowrap", content: member.last_seen_on === null ? "–" : date(new Date(member.last_seen_on), "UTC") },
        {
          kind: "actions",
          content: isOther(member.account_id) && can("putMember")
            ? (
              <RowMenu label={t`Actions for ${member.name}`}>
                <MenuLink href={`${at(visit)}/${member.account_id}`}>{t`Change role`}</MenuLink>
                <MenuLink href={`${at(visit)}/${member.account_id}/remove`} danger>{t`Remove`}</MenuLink>
              </RowMenu>
            )
            : null,
        },
      ]}
    />,
    requirement(visit, faults),
    yield* groupsCard(visit),
    open.length !== 0 && (
      <Card kind="flush">
        <Table
          cards="labelled"
          caption={t`Open invitations`}
          headings={invitationHeadings((name) => translated(invitationShape.sorts[name]!.label))}
          rows={open.slice(0, firstInvitations).map(invitationRow(visit))}
        />
        {open.length > firstInvitations && (
          <p class="notes small">
            <a href={`${at(visit)}/invitations`}>{t`All ${count(open.length)} open invitations`}</a>
          </p>
        )}
      </Card>
    ),
  )
})

const invite = (visit: Visit, fields?: Fields, faults: ReadonlyArray<Fault> = []) =>
  Effect.succeed(view(
    { title: t`Invite people`, back: { href: at(visit), label: t`Members` } },
    <invitationForm.Card
      submit={t`Create invitation`}
      action={`${at(visit)}/invite`}
      values={fields}
      faults={faults}
    />,
  ))

const member = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const found = (yield* (yield* Memberships).list(org.slug)).find(({ account_id }) => account_id === params["account"])
  return found ?? (yield* new AccountNotFound({ id: (params["account"] ?? "").slice(0, 100) }))
})

const change = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { account_id, email, from_group: group, name, role } = yield* member(visit)
  return view(
    {
      document: t`Change a role`,
      title: t`The role of ${name}`,
      lead: email,
      back: { href: at(visit), label: t`Members` },
    },
    group !== null && (
      <Note kind="warn">
        {t`The role comes from the group ${<bdi>{group}</bdi>}. A role that you save here stays, even if ${name} leaves
          the group.`}
      </Note>
    ),
    <memberForm.Card
      submit={t`Save the role`}
      action={`${at(visit)}/${account_id}`}
      values={{ role, ...fields }}
      faults={faults}
    />,
  )
})

const secondFactorAction = Effect.fnUntraced(function* (visit: Visit, { require }: Fields) {
  const isRequired = require === "yes"
  yield* (yield* OrganizationChanges).change(visit.org.slug, { require_second_factor: isRequired }, visit.actor)
  return { to: at(visit), done: isRequired ? "second-factor-required" : "second-factor-optional" }
})

/** Splits addresses into those to invite and the reasons why the others get no invitation. `again` renews invitations. */
const toInvite = Effect.fnUntraced(function* ({ org }: Visit, emails: ReadonlyArray<string>, again: boolean) {
  const members = new Set((yield* (yield* Memberships).list(org.slug)).map(({ email }) => email))
  const open = new Set(again ? [] : (yield* (yield* Invitations).list(org.slug)).map(({ email }) => email))
  return Array.partition(
    emails.map(normalizeEmail),
    (email) =>
      members.has(email)
        ? Result.fail(t`${email} is a member already.`)
        : open.has(email)
        ? Result.fail(t`${email} has an open invitation. To renew it, choose “Invite again” in the list of members.`)
        : Result.succeed(email),
  )
})

const inviteAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { emails, role } = yield* invitationForm.decode(fields).pipe(
    namingAddresses(addressesIn(fields["emails"] ?? "")),
  )
  const [invited, refused] = yield* toInvite(visit, emails, fields["again"] === "yes")
  if (invited.length === 0) {
    return yield* new InvalidInput({ faults: refused.map((detail) => ({ pointer: "/emails", detail })) })
  }
  const made = yield* (yield* Invitations).createAll(visit.org.slug, {
    emails: invited,
    role,
    invitedBy: nameOf(visit.actor),
  })
  const origin = (yield* SessionCookie).originOf(visit.request)
  return view(
    {
      document: t`The invitation`,
      title: made.length === 1
        ? t`The invitation is ready`
        : counted(made.length, "invitation is ready", "invitations are ready"),
      back: { href: at(visit), label: t`Members` },
    },
    refused.length > 0 && (
      <Note kind="warn">
        {t`Not invited:`}
        <ul>{refused.map((reason) => <li>{reason}</li>)}</ul>
      </Note>
    ),
    yield* linkNotes(visit, made.map(({ email }) => email)),
    <Card>
      <div class="stack">
        {made.map(({ email, token }, index) => (
          <CopyField
            id={`new-link-${index + 1}`}
            label={t`Link for ${email}`}
            value={`${origin}${invitationPath(token)}`}
            hint={t`It works once, within ${validDays} days, and assigns the role ${roleName(role)}.`}
          />
        ))}
      </div>
    </Card>,
  )
})

const memberAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { role } = yield* memberForm.decode(fields)
  yield* (yield* Memberships).put(visit.org.slug, (yield* member(visit)).account_id, role, visit.actor)
  return { to: at(visit), done: "member-changed" }
})

const removePage = (visit: Visit) =>
  Effect.map(member(visit), ({ email, from_group: group, name }) =>
    askFirst({
      title: t`Remove a member`,
      question: t`Remove ${name}?`,
      back: { href: at(visit), label: t`Members` },
      button: t`Remove the member`,
      text: (
        <p>
          {t`${email} loses access to ${visit.org.name} at once.`} {group === null
            ? t`To come back, the person needs a new invitation.`
            : t`The next sign-in makes the person a member again, unless they have left the group ${group}.`}
        </p>
      ),
    }))

/** Settings, Members: who works here and as what, and who has been invited. */
export const layer = pages(({ action, asks, form, page }) => [
  page("/console/o/:org/settings/members", "listMembers", withStartView("members", (visit) => list(visit))),
  action("/console/o/:org/settings/members/second-factor", "updateOrganization", secondFactorAction, list),
  page("/console/o/:org/settings/members/invitations", "listInvitations", invitations),
  ...form("/console/o/:org/settings/members/invite", "createInvitation", invite, inviteAction),
  action(
    "/console/o/:org/settings/members/invitations/:invitation/withdraw",
    "revokeInvitation",
    Effect.fnUntraced(function* (visit) {
      yield* (yield* Invitations).revoke(visit.org.slug, visit.params["invitation"] ?? "")
      return { to: at(visit), done: "invitation-withdrawn" }
    }),
  ),
  ...form("/console/o/:org/settings/members/:account", "putMember", change, memberAction),
  ...asks(
    "/console/o/:org/settings/members/:account/remove",
    "removeMember",
    removePage,
    Effect.fnUntraced(function* (visit) {
      yield* (yield* Memberships).remove(visit.org.slug, (yield* member(visit)).account_id, visit.actor)
      return { to: at(visit), done: "member-removed" }
    }),
  ),
])
