import { Effect } from "effect"
import { DeliveryNotFound } from "../../../domain/Errors.ts"
import { eventKinds } from "../../../domain/EventKinds.ts"
import type { ListShape } from "../../../domain/List.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { isSandbox, liveOf, sandboxOf } from "../../../domain/Sandbox.ts"
import { Organizations } from "../../../organizations/Organizations.ts"
import { magicAddresses, magicDomain } from "../../../delivery/sandbox/Magic.ts"
import { keptDays, keptMessages, SinkMessages, type SinkSummary } from "../../../delivery/sandbox/SinkMessages.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { PostButton } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { listIn, ListPage } from "../../components/ListPage.tsx"
import { Time } from "../../components/Time.tsx"
import { isolatedMessage, refused } from "../../RawRoutes.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import type { Visit } from "../../Routes.tsx"
import { TemplateIndex } from "../../../templates/TemplateIndex.ts"
import { namesFor, templateName, variantName } from "../delivery/DeliveryTable.tsx"
import { templatePath } from "../templates/Paths.ts"

const pathOf = (org: OrgSlug) => `/console/o/${org}/sandbox`

const KindBadge = ({ isTest }: Pick<SinkSummary, "isTest">) =>
  isTest ? <Badge kind="accent">{t`test`}</Badge> : <Badge>{t`live`}</Badge>

const MagicCard = () => (
  <Card
    title={t`Magic addresses`}
    lead={t`Test recipients that react immediately. Add + and any word to get more of them, such as
      opened+ann@sandbox.test.`}
  >
    <dl class="found">
      {Object.entries(magicAddresses).map(([name, events]) => (
        <div>
          <dt>
            <code>{name}@{magicDomain}</code>
          </dt>
          <dd>{events.map((event) => translated(eventKinds[event].words.one)).join(", ")}</dd>
        </div>
      ))}
    </dl>
  </Card>
)

const pageSize = 25

const shape: ListShape<SinkSummary> = {
  idOf: ({ id }) => id,
  textsOf: ({ copyId, email, subject, templateId }) => [subject ?? "", email, templateId, copyId],
  filters: {
    kind: {
      label: english("Kind"),
      options: [["test", english("test")], ["live", english("live")]],
      matches: ({ isTest }, kind) => isTest === (kind === "test"),
    },
  },
  sorts: {
    subject: { label: english("Subject"), descending: false, valueOf: ({ subject }) => subject },
    to: { label: english("To"), descending: false, valueOf: ({ email }) => email },
    received: { label: english("Received"), descending: true, valueOf: ({ receivedAt }) => receivedAt.getTime() },
  },
  sort: "received",
}

const list = Effect.fnUntraced(function* (visit: Visit) {
  const { can, org } = visit
  const messages = yield* (yield* SinkMessages).list(org.slug)
  const hasSandbox = yield* (yield* Organizations).get(sandboxOf(org.slug)).pipe(
    Effect.as(true),
    Effect.catchTag("OrganizationNotFound", () => Effect.succeed(false)),
  )
  const shown = listIn(shape, messages, { at: pathOf(org.slug), query: visit.query, size: pageSize })
  const names = yield* namesFor(yield* TemplateIndex, org, shown.page.rows)
  const inSandbox = `/console/o/${sandboxOf(org.slug)}`
  return view(
    {
      title: t`Sandbox`,
      lead: t`Messages that were not sent: from test keys, and through a sink connection. The latest ${keptMessages} of
        each are kept for ${keptDays} days.`,
      actions: messages.length > 0 && can("clearSinkMessages")
        ? <PostButton to={`${pathOf(org.slug)}/clear`} kind="danger">{t`Remove all messages`}</PostButton>
        : undefined,
    },
    !isSandbox(org.slug) && hasSandbox && (
      <Note>
        {t`Activity of test keys is kept apart: ${<a href={`${inSandbox}/people`}>{t`people and messages`}</a>}, ${(
          <a href={`${inSandbox}/deliveries`}>{t`deliveries`}</a>
        )}, ${<a href={`${inSandbox}/suppressions`}>{t`suppressions`}</a>} and ${(
          <a href={`${inSandbox}/sources/events/inbox?all=true`}>{t`received events`}</a>
        )} of
          the sandbox.`}
      </Note>
    ),
    <ListPage
      list={shown}
      noun="message"
      caption={t`Messages, newest first`}
      placeholder={t`Subject, address or template`}
      search={t`Change or clear the search and the filter.`}
      empty={
        <Empty title={t`No messages yet`}>
          {t`Deliver a message with a test key (Settings, API Keys), or through a connection of the platform
            Sink.`}
        </Empty>
      }
      headings={(sorted) => [sorted("subject"), sorted("to"), t`Kind`, t`Template and variant`, sorted("received")]}
      row={(message) => [
        <>
          <a href={`${pathOf(org.slug)}/${message.id}`}>{message.subject ?? t`(no e-mail)`}</a>
          {message.fault !== null && <span class="sub clamp">{message.fault}</span>}
        </>,
        message.email,
        <KindBadge isTest={message.isTest} />,
        <>
          <bdi>{templateName(names, message)}</bdi>
          <span class="sub" dir="auto">{variantName(names, message)}</span>
        </>,
        { kind: "nowrap", content: <Time at={message.receivedAt.toISOString()} zone={org.time_zone} /> },
      ]}
    />,
    <MagicCard />,
  )
})

const existing = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
  return (yield* (yield* SinkMessages).get(org, id)) ?? (yield* new DeliveryNotFound({ id: id.slice(0, 100) }))
})

const show = Effect.fnUntraced(function* (visit: Visit) {
  const { org, params } = visit
  const message = yield* existing(org.slug, params["message"] ?? "")
  const names = yield* namesFor(yield* TemplateIndex, org, [message])
  const of = message.isTest ? sandboxOf(org.slug) : liveOf(org.slug)
  const title = message.subject ?? t`A message that cannot become an e-mail`
  return view(
    { title, back: { href: pathOf(org.slug), label: t`Sandbox` } },
    message.fault !== null && (
      <Note kind="bad">{t`${message.fault}. An SMTP connection would not send it. Its variables are below.`}</Note>
    ),
    <Card>
      <dl class="found">
        {([
          [t`From`, message.sender],
          [t`To`, message.email],
          [t`Kind`, <KindBadge isTest={message.isTest} />],
          [t`Received`, <Time at={message.receivedAt.toISOString()} zone={org.time_zone} />],
          [
            t`Template and variant`,
            <>
              <a href={templatePath(liveOf(org.slug), message.templateId)}>{templateName(names, message)}</a>,{" "}
              <bdi>{variantName(names, message)}</bdi>
            </>,
          ],
          [t`Delivery`, <a href={`/console/o/${of}/deliveries/${message.id}`}>{message.id}</a>],
        ] as const).map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>,
    message.html !== null && (
      <Card
        title={t`HTML`}
        lead={t`Remote images are not loaded, so that viewing a message does not count as an open.`}
      >
        <iframe
          class="message-frame"
          sandbox=""
          title={t`HTML of the message`}
          src={`${pathOf(org.slug)}/${message.id}/html`}
        />
      </Card>
    ),
    message.plain !== null && (
      <Card title={t`Plain text`}>
        <p class="message-text">{message.plain}</p>
      </Card>
    ),
    message.links.length !== 0 && (
      <Card title={t`Links`} lead={t`Opening a tracked link counts as a click by the recipient.`}>
        <ul class="message-links">
          {message.links.map((link) => (
            <li>
              <a href={link} rel="noopener noreferrer" target="_blank">{link}</a>
            </li>
          ))}
        </ul>
      </Card>
    ),
    message.headers.length !== 0 && (
      <Card title={t`Headers`}>
        <dl class="found">
          {message.headers.map(({ name, value }) => (
            <div>
              <dt>
                <code>{name}</code>
              </dt>
              <dd class="message-text">{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
    ),
    message.fault !== null && (
      <Card title={t`Variables`}>
        <dl class="found">
          {Object.entries(message.vars).map(([name, value]) => (
            <div>
              <dt>
                <code>{name}</code>
              </dt>
              <dd class="message-text">{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
    ),
  )
})

/** Sandbox: messages that were taken and not sent. */
export const layer = pages(({ action, page, route }) => [
  page("/console/o/:org/sandbox", "listSinkMessages", list),
  page("/console/o/:org/sandbox/:message", "getSinkMessage", show),
  route("GET", "/console/o/:org/sandbox/:message/html", "getSinkMessage", ({ org, params, request }) =>
    Effect.map(
      existing(org.slug, params["message"] ?? ""),
      ({ html }) => html === null ? refused(request, 404, t`The message has no HTML.`) : isolatedMessage(html),
    )),
  action(
    "/console/o/:org/sandbox/clear",
    "clearSinkMessages",
    (visit) =>
      Effect.as(SinkMessages.use((sink) => sink.clear(visit.org.slug)), {
        to: pathOf(visit.org.slug),
        done: "sandbox-cleared",
      }),
  ),
])
