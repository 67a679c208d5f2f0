import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import {
  isNarrowed,
  type ListPage as ShownPart,
  type ListQuery,
  listQueryIn,
  type ListShape,
} from "../../domain/List.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { digestHour } from "../../mailing/Digest.ts"
import { NotificationMail } from "../../mailing/NotificationMail.ts"
import { NotificationTexts, type WordedNotification } from "../../mailing/NotificationTexts.ts"
import { kindWords, MailMode, type NotificationKind, notificationKinds } from "../../accounts/notifications/Kinds.ts"
import {
  keptDays,
  type MailPreferences,
  type NotificationFilter,
  Notifications,
} from "../../accounts/notifications/Notifications.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { SelectField } from "../components/Field.tsx"
import { Form, PostButton, Submit } from "../components/Form.tsx"
import { Note } from "../components/Note.tsx"
import { ListPage } from "../components/ListPage.tsx"
import { Time } from "../components/Time.tsx"
import { counted } from "../Format.ts"
import { pages } from "../Pages.ts"
import { view } from "../View.tsx"
import { alone, type Fields, problem, type Visit } from "../Routes.tsx"
import { queryOf, signedOutPages, Title } from "./SignedOut.tsx"

const pageSize = 25

const at = ({ org }: Visit) => `/console/o/${org.slug}/notifications`

/** How the list is filtered. The database filters and pages, because the list has no bound. */
const shape: ListShape<WordedNotification> = {
  idOf: ({ id }) => String(id),
  textsOf: ({ text, title }) => [title, text],
  filters: {
    kind: {
      label: english("Kind"),
      options: notificationKinds.map((kind) => [kind, kindWords[kind].label] as const),
      matches: ({ kind }, value) => kind === value,
    },
    state: {
      label: english("State"),
      options: [["unread", english("Unread")]],
      matches: ({ readAt }) => readAt === null,
    },
  },
  sorts: { time: { label: english("Time"), descending: true, valueOf: ({ createdAt }) => createdAt.getTime() } },
  sort: "time",
}

const filterOf = ({ filters }: ListQuery): NotificationFilter => ({
  kind: notificationKinds.find((kind) => kind === filters["kind"]),
  unread: filters["state"] === "unread",
})

const cursorOf = ({ cursor }: ListQuery): number | undefined =>
  cursor !== undefined && /^\d{1,15}$/.test(cursor.id) ? Number(cursor.id) : undefined

/** The page of the list that is listQuery for. */
const pageOf = Effect.fnUntraced(function* ({ org, session: { account } }: Visit, listQuery: ListQuery) {
  const notifications = yield* Notifications
  const texts = yield* NotificationTexts
  const filter = filterOf(listQuery)
  const cursor = cursorOf(listQuery)
  const found = yield* notifications.list(org.slug, account.id, { ...filter, cursor, limit: pageSize + 1 })
  const count = yield* notifications.count(org.slug, account.id, filter)
  const page: ShownPart<WordedNotification> = {
    rows: yield* texts.of(org.slug, found.slice(0, pageSize)),
    all: isNarrowed(listQuery) ? yield* notifications.count(org.slug, account.id, {}) : count,
    found: count,
    before: cursor === undefined ? 0 : yield* notifications.count(org.slug, account.id, filter, cursor),
    hasMore: found.length > pageSize,
  }
  return page
})

const list = Effect.fnUntraced(function* (visit: Visit) {
  const { org, query, session: { account } } = visit
  const path = at(visit)
  const listQuery = listQueryIn(shape, query)
  const page = yield* pageOf(visit, listQuery)
  const unread = yield* (yield* Notifications).unread(org.slug, account.id)
  return view(
    {
      title: t`Notifications`,
      lead: t`Winners, failures, reviews and comments that concern you. Kept for ${keptDays} days.`,
      actions: (
        <>
          {unread !== 0 && <PostButton to={`${path}/read`}>{t`Mark all as read`}</PostButton>}{" "}
          <a class="button" href={`${path}/preferences`}>{t`Mail preferences`}</a>
        </>
      ),
    },
    <ListPage
      list={{ shape, at: path, listQuery, page }}
      noun="notification"
      caption={t`${counted(page.found, "notification")}, newest first`}
      search={t`Change or clear the filter.`}
      empty={
        <Empty title={t`No notifications yet`}>
          {t`Notifications appear here when a template has a winner or needs attention.`}
        </Empty>
      }
      headings={() => [t`Notification`, t`Kind`, t`Time`, t`[Actions]`]}
      row={({ createdAt, id, kind, readAt, text, title }) => [
        <>
          <a href={`${path}/${id}`} dir="auto">{title}</a> {readAt === null && <Badge kind="accent">{t`unread`}</Badge>}
          <span class="sub" dir="auto">{text}</span>
        </>,
        translated(kindWords[kind].label),
        { kind: "nowrap", content: <Time at={createdAt.toISOString()} zone={org.time_zone} /> },
        {
          kind: "actions",
          content: readAt === null
            ? (
              <PostButton
                to={`${path}/read`}
                fields={{ id: String(id) }}
                kind="compact"
                label={t`Mark as read: ${title}`}
              >
                {t`Mark as read`}
              </PostButton>
            )
            : null,
        },
      ]}
    />,
  )
})

/** Marks a notification as read and leads to the page about it. */
const open = Effect.fnUntraced(function* ({ org, params, session: { account } }: Visit) {
  const notifications = yield* Notifications
  const id = Number(/^\d{1,15}$/.exec(params["notification"] ?? "")?.[0] ?? 0)
  const [found] = yield* notifications.list(org.slug, account.id, { cursor: id + 1, limit: 1 })
  if (found?.id !== id) {
    return problem(404, t`Notification not found`, t`It is older than 90 days, or belongs to another person.`)
  }
  yield* notifications.read(org.slug, account.id, [id])
  const [worded] = yield* (yield* NotificationTexts).of(org.slug, [found])
  return { to: worded!.path }
})

const readAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const id = /^\d{1,15}$/.exec(fields["id"] ?? "")?.[0]
  yield* (yield* Notifications).read(
    visit.org.slug,
    visit.session.account.id,
    id === undefined ? undefined : [Number(id)],
  )
  return { to: at(visit), done: "notifications-read" }
})

const modeWords: { readonly [mode in MailMode]: string } = {
  immediate: english("Immediately"),
  digest: english("In a daily digest"),
  off: english("Not by mail"),
}

/** The names of fields may not have a dot: they are ids of elements too. */
const fieldOf = (kind: NotificationKind) => kind.replace(".", "-")

const preferences = Effect.fnUntraced(function* (visit: Visit) {
  const { org, session: { account } } = visit
  const chosen = yield* (yield* Notifications).preferences(org.slug, account.id)
  return view(
    {
      title: t`Mail preferences`,
      lead: t`The notifications of ${org.name} that are sent to ${account.email}.`,
      back: { href: at(visit), label: t`Notifications` },
    },
    !(yield* MailQueue).isOn && (
      <Note kind="warn">
        {t`No mail is sent: this installation has no mail server. Notifications are listed in the console.`}
      </Note>
    ),
    <Card>
      <Form submit={t`Save preferences`} action={`${at(visit)}/preferences`}>
        <p class="hint">
          {t`The digest is sent at ${
            String(digestHour).padStart(2, "0")
          }:00 (${org.time_zone}), with what you have not read.`}
        </p>
        {notificationKinds.map((kind) => (
          <SelectField
            name={fieldOf(kind)}
            label={translated(kindWords[kind].label)}
            hint={translated(kindWords[kind].hint)}
            value={chosen[kind]}
            options={MailMode.literals.map((mode) => [mode, translated(modeWords[mode])])}
          />
        ))}
      </Form>
    </Card>,
  )
})

const preferencesAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const chosen: { -readonly [kind in NotificationKind]?: MailMode } = {}
  for (const kind of notificationKinds) {
    const mode = MailMode.literals.find((one) => one === fields[fieldOf(kind)])
    if (mode !== undefined) chosen[kind] = mode
  }
  yield* (yield* Notifications).prefer(visit.org.slug, visit.session.account.id, chosen as Partial<MailPreferences>)
  return { to: `${at(visit)}/preferences`, done: "preferences-saved" }
})

/** The page of the link in a mail, for people who may not be signed in. */
const mailRoutes = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter) {
  const { get } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const mails = yield* NotificationMail
  const path = "/console/notification-mail"
  const dead = problem(404, t`This link does not work`, t`Sign in and open the mail preferences under Notifications.`)

  yield* get(path, (request) =>
    Effect.map(mails.personOf(queryOf(request).get("token") ?? ""), (person) =>
      alone(
        request,
        person === undefined ? dead : {
          title: t`Notifications by mail`,
          body: (
            <Card>
              <Title lead={t`Mail of the organization ${person.org}.`}>{t`Notifications by mail`}</Title>
              <div class="stack">
                <form method="post" action={`${path}?${queryOf(request)}`}>
                  <Submit wide>{t`Turn off all mail`}</Submit>
                </form>
                <a class="button wide" href={`/console/o/${person.org}/notifications/preferences`}>
                  {t`Choose which notifications you get`}
                </a>
              </div>
            </Card>
          ),
        },
      )))

  // Mail programs post here without a session or a page of ours (RFC 8058): the signed link is the permission.
  yield* router.add("POST", path, (request) =>
    Effect.gen(function* () {
      const person = yield* mails.personOf(queryOf(request).get("token") ?? "")
      if (person === undefined) return alone(request, dead)
      yield* mails.turnOff(person)
      return alone(request, {
        title: t`No more mail`,
        body: (
          <Card>
            <Title>{t`No more mail`}</Title>
            <div class="stack">
              <p>{t`You get no more notifications of ${person.org} by mail. They are still listed in the console.`}</p>
              <a class="button wide" href={`/console/o/${person.org}/notifications/preferences`}>
                {t`Mail preferences`}
              </a>
            </div>
          </Card>
        ),
      })
    }))
})

/** Notifications of the person who is signed in, and their preferences. */
export const layer = Layer.merge(
  HttpRouter.use(mailRoutes),
  pages(({ action, page }) => [
    page("/console/o/:org/notifications", "listNotifications", list),
    action("/console/o/:org/notifications/read", "readNotifications", readAction),
    page("/console/o/:org/notifications/preferences", "getNotificationPreferences", preferences),
    action("/console/o/:org/notifications/preferences", "updateNotificationPreferences", preferencesAction),
    page("/console/o/:org/notifications/:notification", "listNotifications", open),
  ]),
)
