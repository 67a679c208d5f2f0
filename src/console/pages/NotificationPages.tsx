// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { MailQueue } from "../../mail/MailQueue.ts"
import { digestHour } from "../../mailing/Digest.ts"
import { NotificationMail } from "../../mailing/NotificationMail.ts"
import { NotificationTexts } from "../../mailing/NotificationTexts.ts"
import { kindWords, MailMode, type NotificationKind, notificationKinds } from "../../notifications/Kinds.ts"
import {
  keptDays,
  type MailPreferences,
  type NotificationFilter,
  Notifications,
} from "../../notifications/Notifications.ts"
import { Badge } from "../components/Badge.tsx"
import { Card } from "../components/Card.tsx"
import { Empty } from "../components/Empty.tsx"
import { SelectField } from "../components/Field.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { Note } from "../components/Note.tsx"
import { PageHead } from "../components/PageHead.tsx"
import { Pagination } from "../components/Pagination.tsx"
import { Table } from "../components/Table.tsx"
import { Time } from "../components/Time.tsx"
import { counted } from "../Format.ts"
import { alone, Console, type Fields, problem, type Visit } from "../Routes.tsx"
import { queryOf, signedOutPages, Title } from "./SignedOut.tsx"

const pageSize = 25

/** Services of these pages. */
interface Services {
  readonly mail: MailQueue["Service"]
  readonly notifications: Notifications["Service"]
  readonly texts: NotificationTexts["Service"]
}

const at = ({ org }: Visit) => `/console/o/${org.slug}/notifications`

const cursorIn = (query: URLSearchParams): number | undefined => {
  const text = query.get("cursor") ?? ""
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

const filterIn = (query: URLSearchParams): NotificationFilter => ({
  kind: notificationKinds.find((kind) => kind === query.get("kind")),
  unread: query.get("state") === "unread",
})

const Filter = ({ filter: { kind, unread }, path }: { readonly path: string; readonly filter: NotificationFilter }) => (
  <form method="get" action={path} class="list-form" role="search" aria-label="Filter notifications">
    <div class="field">
      <label for="kind">Kind</label>
      <select id="kind" name="kind">
        <option value="">All</option>
        {notificationKinds.map((one) => <option value={one} selected={one === kind}>{kindWords[one].label}</option>)}
      </select>
    </div>
    <div class="field">
      <label for="state">State</label>
      <select id="state" name="state">
        <option value="">All</option>
        <option value="unread" selected={unread === true}>Unread</option>
      </select>
    </div>
    <div class="buttons">
      <button type="submit" class="button">Filter</button>
      {kind === undefined && unread !== true ? null : <a class="button" href={path}>Show all</a>}
    </div>
  </form>
)

const list = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { org, query, session: { account, csrfToken } } = visit
  const path = at(visit)
  const cursor = cursorIn(query)
  const filter = filterIn(query)
  const found = yield* services.notifications.list(org.slug, account.id, { ...filter, cursor, limit: pageSize + 1 })
  const shown = yield* services.texts.of(org.slug, found.slice(0, pageSize))
  const total = yield* services.notifications.count(org.slug, account.id, filter)
  const unread = yield* services.notifications.unread(org.slug, account.id)
  const isFiltered = filter.kind !== undefined || filter.unread === true
  const here = (more: Readonly<Record<string, string>>) => {
    const next = new URLSearchParams({
      ...(filter.kind === undefined ? {} : { kind: filter.kind }),
      ...(filter.unread === true ? { state: "unread" } : {}),
      ...more,
    })
    return next.size === 0 ? path : `${path}?${next}`
  }
  return {
    title: "Notifications",
    body: (
      <>
        <PageHead
          title="Notifications"
          lead={`Winners, failures, reviews and comments that concern you. Kept for ${keptDays} days.`}
          actions={
            <>
              {unread === 0 ? null : (
                <Form action={`${path}/read`} csrf={csrfToken} inline>
                  <Submit kind="plain">Mark all as read</Submit>
                </Form>
              )} <a class="button" href={`${path}/preferences`}>Mail preferences</a>
            </>
          }
        />
        <Card kind="flush">
          <Filter path={path} filter={filter} />
          {shown.length === 0
            ? (
              <Empty title={isFiltered ? "No matching notifications" : "No notifications yet"}>
                {isFiltered
                  ? "Change or clear the filter."
                  : "You are told here when a template has a winner, or something needs attention."}
              </Empty>
            )
            : (
              <>
                <p class="list-count small muted">{counted(total, "notification")}, newest first</p>
                <Table
                  caption="Notifications, newest first"
                  headings={["Notification", "Kind", "Time", "[Actions]"]}
                  rows={shown.map(({ createdAt, id, kind, readAt, text, title }) => [
                    <>
                      <a href={`${path}/${id}`} dir="auto">{title}</a>{" "}
                      {readAt === null ? <Badge kind="accent">unread</Badge> : null}
                      <span class="sub" dir="auto">{text}</span>
                    </>,
                    kindWords[kind].label,
                    { kind: "nowrap", content: <Time at={createdAt.toISOString()} zone={org.time_zone} /> },
                    {
                      kind: "actions",
                      content: readAt === null
                        ? (
                          <Form action={`${path}/read`} csrf={csrfToken} inline>
                            <input type="hidden" name="id" value={String(id)} />
                            <Submit kind="compact" label={`Mark as read: ${title}`}>Mark as read</Submit>
                          </Form>
                        )
                        : null,
                    },
                  ])}
                />
              </>
            )}
          <Pagination
            label="Pages of notifications"
            first={cursor === undefined ? undefined : here({})}
            next={found.length > shown.length ? here({ cursor: String(shown.at(-1)!.id) }) : undefined}
          />
        </Card>
      </>
    ),
  }
})

/** Marks a notification as read and leads to the page about it. */
const open = Effect.fnUntraced(function* (services: Services, { org, params, session: { account } }: Visit) {
  const id = Number(/^\d{1,15}$/.exec(params["notification"] ?? "")?.[0] ?? 0)
  const [found] = yield* services.notifications.list(org.slug, account.id, { cursor: id + 1, limit: 1 })
  if (found?.id !== id) {
    return problem(404, "Notification not found", "It is older than 90 days, or belongs to another person.")
  }
  yield* services.notifications.read(org.slug, account.id, [id])
  const [worded] = yield* services.texts.of(org.slug, [found])
  return { to: worded!.path }
})

const readAction = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const id = /^\d{1,15}$/.exec(fields["id"] ?? "")?.[0]
  yield* services.notifications.read(
    visit.org.slug,
    visit.session.account.id,
    id === undefined ? undefined : [Number(id)],
  )
  return { to: at(visit), done: "notifications-read" }
})

const modeWords: { readonly [mode in MailMode]: string } = {
  immediate: "Immediately",
  digest: "In a daily digest",
  off: "Not by mail",
}

/** The names of fields may not have a dot: they are ids of elements too. */
const fieldOf = (kind: NotificationKind) => kind.replace(".", "-")

const preferences = Effect.fnUntraced(function* (services: Services, visit: Visit) {
  const { org, session: { account, csrfToken } } = visit
  const chosen = yield* services.notifications.preferences(org.slug, account.id)
  return {
    title: "Mail preferences",
    body: (
      <>
        <PageHead
          title="Mail preferences"
          lead={`The notifications of ${org.name} that are sent to ${account.email}.`}
          back={{ href: at(visit), label: "Notifications" }}
        />
        {services.mail.isOn ? null : (
          <Note kind="warn">
            No mail is sent: this installation has no mail server. Notifications are listed in the console.
          </Note>
        )}
        <Card>
          <Form action={`${at(visit)}/preferences`} csrf={csrfToken}>
            <p class="hint">
              The digest is sent at{" "}
              {String(digestHour).padStart(2, "0")}:00 ({org.time_zone}), with what you have not read.
            </p>
            {notificationKinds.map((kind) => (
              <SelectField
                name={fieldOf(kind)}
                label={kindWords[kind].label}
                hint={kindWords[kind].hint}
                value={chosen[kind]}
                options={MailMode.literals.map((mode) => [mode, modeWords[mode]])}
              />
            ))}
            <div>
              <Submit>Save preferences</Submit>
            </div>
          </Form>
        </Card>
      </>
    ),
  }
})

const preferencesAction = Effect.fnUntraced(function* (services: Services, visit: Visit, fields: Fields) {
  const chosen: { -readonly [kind in NotificationKind]?: MailMode } = {}
  for (const kind of notificationKinds) {
    const mode = MailMode.literals.find((one) => one === fields[fieldOf(kind)])
    if (mode !== undefined) chosen[kind] = mode
  }
  yield* services.notifications.prefer(visit.org.slug, visit.session.account.id, chosen as Partial<MailPreferences>)
  return { to: `${at(visit)}/preferences`, done: "preferences-saved" }
})

/** The page of the link in a mail, for people who may not be signed in. */
const mailRoutes = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter) {
  const { get } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const mails = yield* NotificationMail
  const path = "/console/notification-mail"
  const dead = problem(404, "This link does not work", "Sign in and open the mail preferences under Notifications.")

  yield* get(path, (request) =>
    Effect.map(mails.personOf(queryOf(request).get("token") ?? ""), (person) =>
      alone(
        request,
        person === undefined ? dead : {
          title: "Notifications by mail",
          body: (
            <Card>
              <Title lead={`Mail of the organization ${person.org}.`}>Notifications by mail</Title>
              <div class="stack">
                <form method="post" action={`${path}?${queryOf(request)}`}>
                  <Submit wide>Turn off all mail</Submit>
                </form>
                <a class="button wide" href={`/console/o/${person.org}/notifications/preferences`}>
                  Choose which notifications you get
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
        title: "No more mail",
        body: (
          <Card>
            <Title>No more mail</Title>
            <div class="stack">
              <p>You get no more notifications of {person.org} by mail. They are still listed in the console.</p>
              <a class="button wide" href={`/console/o/${person.org}/notifications/preferences`}>Mail preferences</a>
            </div>
          </Card>
        ),
      })
    }))
})

/** Notifications of the person who is signed in, and their preferences. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { action, page } = yield* Console
  const services: Services = {
    mail: yield* MailQueue,
    notifications: yield* Notifications,
    texts: yield* NotificationTexts,
  }
  yield* mailRoutes(router)
  yield* router.addAll([
    page("/console/o/:org/notifications", "listNotifications", (visit) => list(services, visit)),
    action(
      "/console/o/:org/notifications/read",
      "readNotifications",
      (visit, fields) => readAction(services, visit, fields),
    ),
    page(
      "/console/o/:org/notifications/preferences",
      "getNotificationPreferences",
      (visit) => preferences(services, visit),
    ),
    action(
      "/console/o/:org/notifications/preferences",
      "updateNotificationPreferences",
      (visit, fields) => preferencesAction(services, visit, fields),
    ),
    page("/console/o/:org/notifications/:notification", "listNotifications", (visit) => open(services, visit)),
  ])
}))
