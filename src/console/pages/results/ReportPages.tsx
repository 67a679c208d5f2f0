import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { ReportBody } from "../../../api/notifications/NotificationsApi.ts"
import { type Fault, InvalidInput } from "../../../domain/Errors.ts"
import { ReportChannel } from "../../../domain/ReportSubscription.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { MailQueue } from "../../../mail/MailQueue.ts"
import { WeeklyReports } from "../../../mailing/WeeklyReports.ts"
import { Templates } from "../../../templates/Templates.ts"
import { Card } from "../../components/Card.tsx"
import { Form, PostButton, Submit } from "../../components/Form.tsx"
import { inputForm } from "../../components/InputForm.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import { ifFilled, text } from "../../FormReaders.ts"
import { pages } from "../../Pages.ts"
import { alone, type Fields, problem, type Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { queryOf, signedOutPages, Title } from "../SignedOut.tsx"
import { templatePath } from "../templates/Paths.ts"

// The reports of a template that the visitor gets on Mondays.

const channels: { readonly [channel in ReportChannel]: { readonly title: string; readonly hint: string } } = {
  mail: { title: english("E-mail"), hint: english("To the address of your account.") },
  slack: { title: "Slack", hint: english("URL of an incoming webhook: https://hooks.slack.com/services/…") },
  teams: {
    title: "Microsoft Teams",
    hint: english("URL of a workflow with the trigger “When a Teams webhook request is received”."),
  },
}

const forms = (channel: ReportChannel) =>
  inputForm(ReportBody, {
    ...(channel === "mail" ? {} : {
      [`url_${channel}`]: {
        label: t`Webhook URL`,
        at: ["url"],
        as: "password" as const,
        read: ifFilled(text),
        hint: channels[channel].hint,
      },
    }),
  })

const keyOf = ({ org, params, session }: Visit, channel: ReportChannel) => ({
  org: org.slug,
  template: params["template"] ?? "",
  account: session.account.id,
  channel,
})

const show = Effect.fnUntraced(function* (
  visit: Visit,
  { at, faults = [], result }: {
    /** The channel of a form with faults. */
    readonly at?: ReportChannel
    readonly faults?: ReadonlyArray<Fault>
    readonly result?: { readonly channel: ReportChannel; readonly failure: string | undefined }
  } = {},
) {
  const { org } = visit
  const template = yield* (yield* Templates).outline(org.slug, visit.params["template"] ?? "")
  const mine = yield* (yield* WeeklyReports).list(org.slug, visit.session.account.id, template.id)
  const path = `${templatePath(org.slug, template.id)}/results/report`
  return view(
    {
      title: t`${template.name} · Monday report`,
      back: { href: templatePath(org.slug, template.id), label: template.name },
      lead: t`The verdict, the rates and the gain, each Monday at 08:00 (${org.time_zone}). Only you get what you
        subscribe to here.`,
    },
    template.archived_at !== null && (
      <Note kind="warn">{t`This template is archived: no report is sent until it is restored.`}</Note>
    ),
    result !== undefined && (
      <Note kind={result.failure === undefined ? "good" : "bad"} live>
        {result.failure !== undefined
          ? t`The report was not sent. ${result.failure}.`
          : result.channel === "mail"
          ? t`The report will be sent to ${visit.session.account.email}.`
          : t`The report has been sent.`}
      </Note>
    ),
    <ErrorSummary faults={faults} labels={at === undefined ? {} : forms(at).labels} />,
    ...ReportChannel.literals.map((channel) => {
      const subscribed = mine.find((one) => one.channel === channel)
      const form = forms(channel)
      const title = translated(channels[channel].title)
      return (
        <Card stacked title={title} {...(channel === "mail" ? { lead: translated(channels.mail.hint) } : {})}>
          {subscribed?.failure != null && (
            <Note kind="bad">{t`The last report was not sent. ${subscribed.failure}.`}</Note>
          )}
          {subscribed === undefined
            ? (
              <Form action={`${path}/${channel}`} submit={t`Subscribe by ${title}`}>
                <form.Fields values={undefined} faults={channel === at ? faults : []} />
              </Form>
            )
            : (
              <>
                <p>
                  {t`Next report: ${<Time at={subscribed.due_at} zone={org.time_zone} />}. Last report: ${(
                    <Time at={subscribed.sent_at} zone={org.time_zone} none={t`none yet`} />
                  )}.`}
                </p>
                <div class="buttons">
                  <PostButton to={`${path}/${channel}/send`} label={t`Send now by ${title}`}>
                    {t`Send now`}
                  </PostButton>
                  <PostButton
                    to={`${path}/${channel}/end`}
                    kind="danger"
                    label={t`Unsubscribe from ${title}`}
                  >
                    {t`Unsubscribe`}
                  </PostButton>
                </div>
              </>
            )}
        </Card>
      )
    }),
    !(yield* MailQueue).isOn && <Note kind="warn">{t`No mail is sent: this installation has no mail server.`}</Note>,
  )
})

const back = ({ org, params }: Visit, done: string) => ({
  to: `${templatePath(org.slug, params["template"] ?? "")}/results/report`,
  done,
})

const subscribe = (channel: ReportChannel) =>
  Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const form = forms(channel)
    const placed = ({ faults }: InvalidInput) =>
      new InvalidInput({
        faults: faults.map(({ detail }) => ({ pointer: `/url_${channel}`, detail: detail.replace(/^URL: /, "") })),
      })
    const { url } = yield* Effect.mapError(form.decode(fields), placed)
    yield* (yield* WeeklyReports).subscribe(keyOf(visit, channel), url).pipe(
      Effect.catchTag("InvalidInput", (error) => placed(error)),
    )
    return back(visit, "report-subscribed")
  })

const end = (channel: ReportChannel) =>
  Effect.fnUntraced(function* (visit: Visit) {
    yield* (yield* WeeklyReports).unsubscribe(keyOf(visit, channel))
    return back(visit, "report-ended")
  })

const send = (channel: ReportChannel) =>
  Effect.fnUntraced(function* (visit: Visit) {
    const failure = yield* (yield* WeeklyReports).send(keyOf(visit, channel))
    return yield* show(visit, { result: { channel, failure } })
  })

/** The page of the link in a mail, for people who may not be signed in. */
const mailRoutes = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter) {
  const { get } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const reports = yield* WeeklyReports
  const path = "/console/report-mail"
  const dead = () => problem(404, t`This link does not work`, t`Sign in and open the Monday report of the template.`)
  const named = (template: string) => t`You get no more reports of ${template} by mail.`

  yield* get(path, (request) =>
    Effect.map(reports.keyOf(queryOf(request).get("token") ?? ""), (key) =>
      alone(
        request,
        key === undefined ? dead() : {
          title: t`Monday report`,
          body: (
            <Card>
              <Title lead={t`Reports of ${key.template}, of the organization ${key.org}.`}>{t`Monday report`}</Title>
              <form method="post" action={`${path}?${queryOf(request)}`}>
                <Submit wide>{t`Unsubscribe`}</Submit>
              </form>
            </Card>
          ),
        },
      )))

  // Mail programs post here without a session or a page of ours (RFC 8058): the signed link is the permission.
  yield* router.add("POST", path, (request) =>
    Effect.gen(function* () {
      const key = yield* reports.keyOf(queryOf(request).get("token") ?? "")
      if (key === undefined) return alone(request, dead())
      yield* Effect.ignore(reports.unsubscribe(key))
      return alone(request, {
        title: t`Unsubscribed`,
        body: (
          <Card>
            <Title lead={named(key.template)}>{t`Unsubscribed`}</Title>
          </Card>
        ),
      })
    }))
})

/** The page of Monday reports, and the page that a link in a mail opens. */
export const layer = Layer.merge(
  HttpRouter.use(mailRoutes),
  pages(({ action, page }) => {
    const path = "/console/o/:org/templates/:template/results/report" as const
    return [
      page(path, "listReports", (visit) => show(visit)),
      ...ReportChannel.literals.flatMap((channel) => [
        action(
          `${path}/${channel}`,
          "putReport",
          subscribe(channel),
          (visit, _, faults) => show(visit, { at: channel, faults }),
        ),
        action(`${path}/${channel}/end`, "deleteReport", end(channel)),
        action(`${path}/${channel}/send`, "sendReport", send(channel)),
      ]),
    ]
  }),
)
