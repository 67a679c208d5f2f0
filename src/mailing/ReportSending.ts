import { Context, Effect, Redacted } from "effect"
import { Accounts } from "../accounts/Accounts.ts"
import { Signatures } from "../accounts/Signatures.ts"
import { excerpt } from "../delivery/connections/Answers.ts"
import * as OutboundHttp from "../delivery/OutboundHttp.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { ReportChannel } from "../domain/ReportSubscription.ts"
import * as Json from "../json/Json.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { KeptResults, type PageResults } from "../results/KeptResults.ts"
import { SecretBox } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { Templates } from "../templates/Templates.ts"
import { reportLetter, type ReportWords, slackBody, teamsBody, type WeeklyReport } from "./ReportForms.ts"

const purpose = "report mail"

/** Input of a report in addition to the results of all days. */
export interface ReportFacts {
  /** Time of the report. Unit: Unix milliseconds. */
  readonly now: number
  readonly runnerUpFloor: number
  /** The results of the last seven days. */
  readonly week: PageResults
  /** The organization's time zone. */
  readonly zone: string
}

/** Puts the results of a template in words. The console provides it, so that a report says what the results page says. */
export class ReportWriter extends Context.Service<ReportWriter, {
  readonly wordsOf: (results: PageResults, about: ReportFacts) => ReportWords
}>()("parlance/mailing/ReportWriter") {}

/** The key of a subscription. */
export interface ReportKey {
  readonly org: OrgSlug
  readonly template: string
  readonly account: string
  readonly channel: ReportChannel
}

/** Whether a report arrived, or why not. `retry`: a later attempt may succeed. */
type Outcome = { readonly failure: null } | { readonly failure: string; readonly retry: boolean }

/** The purpose that binds an encrypted URL to its subscription. */
export const purposeOf = ({ account, channel, org, template }: ReportKey) =>
  `report ${JSON.stringify([org, template, account, channel])}`

/** URLs of incoming webhooks that receive reports. */
export const sealedReports: SealedColumn = {
  table: "report_subscriptions",
  column: "url",
  type: "text",
  key: ["org_slug", "template_id", "account_id", "channel"],
  purposeOf: ([org, template, account, channel]) =>
    purposeOf({ org: org as OrgSlug, template: template!, account: account!, channel: channel as ReportChannel }),
}

/** Makes reports, queues their mails and posts them to incoming webhooks. The connections close with the scope. */
export const makeSending = Effect.gen(function* () {
  const accounts = yield* Accounts
  const box = yield* SecretBox
  const http = yield* OutboundHttp.make
  const mail = yield* MailQueue
  const organizations = yield* Organizations
  const kept = yield* KeptResults
  const signatures = yield* Signatures
  const templates = yield* Templates
  const { wordsOf } = yield* ReportWriter

  /** Makes the report. Undefined for a template that is archived or was just deleted. */
  const reportOf = Effect.fnUntraced(
    function* (key: ReportKey, now: number) {
      const template = yield* templates.outline(key.org, key.template)
      if (template.archived_at !== null) return undefined
      const org = yield* organizations.get(key.org)
      const results = `/console/o/${key.org}/templates/${encodeURIComponent(key.template)}/results`
      // Pages may show the results of their last view, which can be weeks old. A report is read without a newer view.
      const all = yield* kept.newest(key.org, template, {})
      const week = yield* kept.newest(key.org, template, { lookbackDays: 7, offsetDays: 0 })
      const report: WeeklyReport = {
        ...wordsOf(all, { now, runnerUpFloor: template.runner_up_floor, week, zone: org.time_zone }),
        org: org.name,
        template: template.name,
        results: mail.urlOf(results),
        settings: mail.urlOf(`${results}/report`),
      }
      return report
    },
    Effect.catchTags({
      TemplateNotFound: () => Effect.succeed(undefined),
      OrganizationNotFound: () => Effect.succeed(undefined),
    }),
  )

  /** Queues the mail of a report. */
  const queue = Effect.fnUntraced(function* (key: ReportKey, report: WeeklyReport) {
    const account = yield* Effect.orElseSucceed(accounts.get(key.account), () => undefined)
    if (account === undefined) return
    const token = yield* signatures.sign(purpose, JSON.stringify([key.org, key.template, key.account]))
    const unsubscribe = mail.urlOf(`/console/report-mail?token=${encodeURIComponent(token)}`)
    yield* mail.queue("report", account.email, reportLetter(report, unsubscribe))
  })

  /** Posts a report to an incoming webhook. Every status from 200 to 299 is success: Slack answers 200, Teams 202. */
  const post = (key: ReportKey, sealed: string, report: WeeklyReport): Effect.Effect<Outcome> =>
    Effect.gen(function* () {
      const url = Redacted.value(yield* box.open(purposeOf(key), sealed))
      const { body, status } = yield* http.request({
        method: "POST",
        url: new URL(url),
        headers: { "content-type": "application/json" },
        body: JSON.stringify(key.channel === "slack" ? slackBody(report) : teamsBody(report)),
      })
      if (status >= 200 && status <= 299) return { failure: null }
      return { failure: `It answered ${status}: ${excerpt(body, [url])}`, retry: status === 429 || status >= 500 }
    }).pipe(
      Effect.catchTags({
        NoAnswer: ({ detail, sent }) => Effect.succeed({ failure: detail, retry: !sent }),
        SecretUnreadable: ({ message }) => Effect.succeed({ failure: message, retry: false }),
        SecretFileFaulty: ({ message }) => Effect.succeed({ failure: message, retry: false }),
      }),
    )

  /** Returns the subscription of a link in a mail. Undefined for a link that this service did not make. */
  const keyOf = (token: string): Effect.Effect<ReportKey | undefined> =>
    Effect.map(signatures.open(purpose, token), (text) => {
      if (text === undefined) return undefined
      const [org, template, account] = Json.parseStored(text) as [OrgSlug, string, string]
      return { org, template, account, channel: "mail" }
    })

  return { keyOf, post, queue, reportOf }
})
