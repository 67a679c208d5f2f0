import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Memberships } from "../../src/accounts/Memberships.ts"
import { reportWords } from "../../src/console/pages/results/ReportWords.ts"
import type { ReportChannel } from "../../src/domain/ReportSubscription.ts"
import { reportDueAt } from "../../src/mailing/Digest.ts"
import { reportLetter, slackBody, teamsBody, type WeeklyReport } from "../../src/mailing/ReportForms.ts"
import { purposeOf } from "../../src/mailing/ReportSending.ts"
import { ServiceMail } from "../../src/mailing/ServiceMail.ts"
import { WeeklyReports } from "../../src/mailing/WeeklyReports.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { SecretBox } from "../../src/store/SecretBox.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { org } from "../intake/support.ts"
import { day, plant, settle } from "../learning/support.ts"
import { input, won } from "../results/Samples.ts"
import { report as modelReport } from "../../src/bandit/Report.ts"
import { prepare } from "../../src/results/Composition.ts"
import { KeptResults, leastDecisions } from "../../src/results/KeptResults.ts"
import { startSlack, startTeams } from "../support/platformServers/IncomingWebhooks.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import type { PlatformServer } from "../support/platformServers/PlatformServer.ts"
import { layerMailNodes, MailNodes, onEach, onFirst } from "./mailNodes.ts"
import { answerOf } from "../../src/results/Preferences.ts"

const token = { kind: "token" } as const

/** Wednesday, and 07:59 and 08:00 of the next Monday in Berlin. */
const wednesday = Date.parse("2026-06-03T12:00:00Z")
const early = Date.parse("2026-06-08T05:59:00Z")
const monday = Date.parse("2026-06-08T06:00:00Z")
const week = 7 * 86_400_000

describe("Monday reports", () => {
  layer(layerMailNodes, { excludeTestServices: true })((it) => {
    const at = <A, E, R>(now: number, effect: Effect.Effect<A, E, R>) =>
      Effect.andThen(TestClock.setTime(now), effect).pipe(Effect.provide(TestClock.layer()))

    /** Runs the jobs of both nodes at once. */
    const runAt = (now: number) =>
      Effect.andThen(
        at(now, onEach(Effect.flatMap(WeeklyReports, ({ run }) => run))),
        onEach(Effect.flatMap(ServiceMail, ({ drain }) => drain)),
      )

    const server = (start: Promise<PlatformServer>) =>
      Effect.acquireRelease(Effect.promise(() => start), ({ close }) => Effect.promise(() => close()))

    const furnish = (slug: string, channels: Partial<Record<ReportChannel, string | undefined>>) =>
      at(
        wednesday,
        onFirst(Effect.gen(function* () {
          yield* (yield* Organizations).create({ slug: org(slug), name: "The shop", time_zone: "Europe/Berlin" })
          const email = `ann@${slug}.example`
          const { id } = yield* (yield* Accounts).create({ email, name: "Ann" })
          yield* (yield* Memberships).put(org(slug), id, "viewer", token)
          yield* (yield* Templates).create(org(slug), { id: "cart" as never, name: "Cart reminder" })
          const key = (channel: ReportChannel) => ({ org: org(slug), template: "cart", account: id, channel })
          for (const [channel, url] of Object.entries(channels)) {
            yield* (yield* WeeklyReports).subscribe(key(channel as ReportChannel), url)
          }
          return { email, id, key }
        })),
      )

    const mailsTo = (email: string) =>
      Effect.map(
        MailNodes,
        ({ server }) => server.mails.filter(({ to }) => to[0] === email).map(({ raw }) => read(raw)),
      )

    const stateOf = (slug: string, id: string) =>
      onFirst(Effect.map(Effect.flatMap(WeeklyReports, ({ list }) => list(org(slug), id)), ([one]) => one))

    it.effect("arrive once a week over two nodes, by mail, in Slack and in Teams", () =>
      Effect.gen(function* () {
        const slack = yield* server(startSlack())
        const teams = yield* server(startTeams())
        const { email, id, key } = yield* furnish("weekly", {
          mail: undefined,
          slack: `${slack.url}/services/T0/B0/secret`,
          teams: `${teams.url}/workflows/1?sig=secret`,
        })
        yield* runAt(early)
        assert.lengthOf([...yield* mailsTo(email), ...slack.requests, ...teams.requests], 0)
        for (const now of [monday, monday + 60_000, monday + 3 * 86_400_000]) yield* runAt(now)
        const [mail, ...more] = yield* mailsTo(email)
        assert.deepStrictEqual([more.length, slack.requests.length, teams.requests.length], [0, 1, 1])
        assert.strictEqual(mail!.headers.get("subject"), "Cart reminder · Monday report · The shop")
        const page = "https://parlance.example/base/console/o/weekly/templates/cart/results"
        assert.include(mail!.parts[0]!.text, "No variant is active")
        assert.include(mail!.parts[0]!.text, page)
        assert.include(slack.requests[0]!.text, `<${page}|Open the results>`)
        assert.include(teams.requests[0]!.text, `"url":"${page}"`)
        yield* runAt(monday + week)
        assert.lengthOf(yield* mailsTo(email), 2)
        assert.deepStrictEqual([slack.requests.length, teams.requests.length], [2, 2])

        const stored = yield* onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql<{ url: string | null }>`SELECT r.url FROM report_subscriptions r WHERE r.account_id = ${id}`))
        assert.isFalse(stored.some(({ url }) =>
          url?.includes("secret") === true
        ))
        const link = new URL(/^<(.*)>$/.exec(mail!.headers.get("list-unsubscribe")!)![1]!)
        yield* onFirst(Effect.gen(function* () {
          const reports = yield* WeeklyReports
          assert.isUndefined(yield* reports.keyOf(`${link.searchParams.get("token")}x`))
          const named = (yield* reports.keyOf(link.searchParams.get("token")!))!
          assert.deepStrictEqual(named, key("mail"))
          yield* reports.unsubscribe(named)
          assert.strictEqual((yield* Effect.flip(reports.unsubscribe(named)))._tag, "ReportNotFound")
        }))
        yield* runAt(monday + 2 * week)
        assert.lengthOf(yield* mailsTo(email), 2)
      }).pipe(Effect.scoped))

    it.effect("have the newest results and the sends of seven days, however old the last view of the page is", () =>
      Effect.gen(function* () {
        const { email, key } = yield* furnish("newest", { mail: undefined })
        const send = (decisions: number, days: number) =>
          onFirst(Effect.gen(function* () {
            yield* plant("newest", {
              template: "cart",
              copy: "warm",
              decisions,
              ago: days * day,
              outcomes: { click: 9 },
            })
            yield* settle("newest", "cart")
          }))
        yield* onFirst(Effect.flatMap(
          Templates,
          ({ createVariant }) => createVariant(org("newest"), "cart", { id: "warm" as never, vars: {} }),
        ))
        yield* send(leastDecisions, 20)
        yield* at(
          Date.now() - day,
          onFirst(Effect.gen(function* () {
            const template = yield* (yield* Templates).outline(org("newest"), "cart")
            const { found } = yield* (yield* KeptResults).of(org("newest"), template, {})
            assert.strictEqual(found.decisions, leastDecisions)
          })),
        )
        yield* send(300, 2)
        assert.isUndefined(yield* onFirst(Effect.flatMap(WeeklyReports, ({ send }) => send(key("mail")))))
        yield* onEach(Effect.flatMap(ServiceMail, ({ drain }) => drain))
        const [mail] = yield* mailsTo(email)
        assert.match(mail!.parts[0]!.text, /Last 7 days: 300 sends \(since \d+ \w+ \d{4}, \d\d:00\)/)
        assert.include(mail!.parts[0]!.text, "2,300 sends")
        const { failure, sent_at } = (yield* onFirst(
          Effect.flatMap(WeeklyReports, ({ list }) => list(org("newest"), key("mail").account)),
        ))[0]!
        assert.isNull(failure)
        assert.isAtMost(Math.abs(Date.now() - Date.parse(sent_at!)), 60_000, "the last report is this one")
      }))

    it.effect("are repeated after a failure of the server, and left out after a refusal", () =>
      Effect.gen(function* () {
        const slack = yield* server(startSlack({ faults: [{ status: 503, body: "busy" }] }))
        const retried = yield* furnish("retried", { slack: `${slack.url}/services/T0/B0/secret` })
        yield* runAt(monday)
        assert.strictEqual((yield* stateOf("retried", retried.id))!.failure, "It answered 503: busy")
        yield* runAt(monday + 600_000)
        assert.lengthOf(slack.requests, 2)
        const sent = (yield* stateOf("retried", retried.id))!
        assert.isNull(sent.failure)
        assert.strictEqual(sent.due_at, new Date(monday + week).toISOString())

        const gone = yield* server(startSlack({ fault: () => ({ status: 404, body: "no_service" }) }))
        const refused = yield* furnish("refused", { slack: `${gone.url}/services/T0/B0/secret` })
        yield* runAt(monday)
        yield* runAt(monday + 86_400_000)
        assert.lengthOf(gone.requests, 1)
        assert.match((yield* stateOf("refused", refused.id))!.failure!, /^It answered 404: .*no_service/)

        const inside = yield* furnish("inside", { teams: "http://127.0.0.1/workflows" })
        yield* onFirst(Effect.gen(function* () {
          const key = inside.key("teams")
          const url = yield* (yield* SecretBox).seal(purposeOf(key), Redacted.make("http://10.0.0.1/workflows"))
          yield* (yield* SqlClient.SqlClient)`
            UPDATE report_subscriptions r SET url = ${url} WHERE r.account_id = ${key.account}`
        }))
        yield* runAt(monday)
        assert.match((yield* stateOf("inside", inside.id))!.failure!, /OUTBOUND_ALLOW/)
      }).pipe(Effect.scoped))

    it.effect("are not sent to former members or of archived templates, and keep to one week after a change of zone", () =>
      Effect.gen(function* () {
        const gone = yield* furnish("former", { mail: undefined })
        yield* onFirst(Effect.flatMap(Memberships, ({ remove }) => remove(org("former"), gone.id, token)))
        const put = yield* furnish("archived", { mail: undefined })
        yield* onFirst(Effect.flatMap(Templates, ({ update }) => update(org("archived"), "cart", { archived: true })))
        const moved = yield* furnish("moved", { mail: undefined })
        yield* onFirst(
          Effect.flatMap(Organizations, ({ update }) => update(org("moved"), { time_zone: "America/New_York" })),
        )
        for (const now of [monday, monday + 6 * 3_600_000]) yield* runAt(now)
        assert.lengthOf([...yield* mailsTo(gone.email), ...yield* mailsTo(put.email)], 0)
        assert.isUndefined(yield* stateOf("former", gone.id))
        assert.isDefined(yield* stateOf("archived", put.id))
        assert.lengthOf(yield* mailsTo(moved.email), 1)
      }))

    it.effect("are not sent to forbidden addresses", () =>
      Effect.gen(function* () {
        const { id, key } = yield* furnish("forbidden", {})
        yield* onFirst(Effect.gen(function* () {
          const { subscribe } = yield* WeeklyReports
          const forbidden = ["https://10.0.0.1/", "https://0xa9fea9fe/", "https://[::1]/", "http://[2606:4700::1]/"]
          for (const channel of ["slack", "teams"] as const) {
            for (const url of forbidden) {
              const refusal = yield* Effect.flip(subscribe(key(channel), url))
              if (refusal._tag !== "InvalidInput") return assert.fail(refusal._tag)
              assert.strictEqual(refusal.faults[0]!.pointer, "/url")
              assert.match(refusal.faults[0]!.detail, /^must be an allowed address: .*OUTBOUND_ALLOW/)
            }
          }
        }))
        assert.isUndefined(yield* stateOf("forbidden", id))
      }))

    it.effect("require a URL for Slack and Teams only, and a template", () =>
      Effect.gen(function* () {
        const { key } = yield* furnish("faulty", {})
        yield* onFirst(Effect.gen(function* () {
          const { subscribe } = yield* WeeklyReports
          assert.strictEqual((yield* Effect.flip(subscribe(key("slack"), undefined)))._tag, "InvalidInput")
          assert.strictEqual((yield* Effect.flip(subscribe(key("mail"), "https://a.example")))._tag, "InvalidInput")
          const unknown = { ...key("mail"), template: "none" }
          assert.strictEqual((yield* Effect.flip(subscribe(unknown, undefined)))._tag, "TemplateNotFound")
        }))
      }))
  })
})

describe("a report", () => {
  it("is due on the next Monday at eight in the zone, also across clock changes", () => {
    const due = (at: string, zone: string) => new Date(reportDueAt(Date.parse(at), zone)).toISOString()
    assert.strictEqual(due("2026-06-08T05:59:59Z", "Europe/Berlin"), "2026-06-08T06:00:00.000Z")
    assert.strictEqual(due("2026-06-08T06:00:00Z", "Europe/Berlin"), "2026-06-15T06:00:00.000Z")
    assert.strictEqual(due("2026-10-24T12:00:00Z", "Europe/Berlin"), "2026-10-26T07:00:00.000Z")
    assert.strictEqual(due("2026-06-08T02:00:00Z", "Pacific/Auckland"), "2026-06-14T20:00:00.000Z")
  })

  const { compose, request } = prepare(input({ verdict: won("a") }))
  const divided = compose(modelReport(request))
  // Without segments that prefer another variant.
  const alike = { ...divided, segments: [] }
  const wordsOf = (found: object) => {
    const results = { found, over: { points: [] } } as never
    return reportWords(results, { now: monday, runnerUpFloor: 0, week: results, zone: "Europe/Berlin" })
  }
  const report: WeeklyReport = {
    ...wordsOf({ ...alike, answer: answerOf(alike, undefined) }),
    org: "The <shop>",
    template: "Cart & more",
    results: "https://parlance.example/results",
    settings: "https://parlance.example/report",
  }

  it("has the headline, the lifts, the week and the rates of the results page", () => {
    assert.match(report.headline, / wins$/)
    assert.strictEqual(report.advice, "Ship it")
    assert.include(report.figures.map(({ label }) => label), "Last 7 days")
    assert.match(report.rates[0]!.value, /^click rate \d/)
    assert.match(report.rates[0]!.detail, / to .* sends$/)
    assert.match(
      report.rules,
      /^Rates and lifts describe \d+ \w+ 2026 to 21 Nov 2026\. Ranges are 95\u00a0% intervals; they held the true value in /,
    )
    const forms = [slackBody(report), teamsBody(report), reportLetter(report, "https://parlance.example/off").text]
    for (const form of forms) assert.include(JSON.stringify(form), "Rates and lifts describe")
  })

  it("says that different people prefer different variants, without their attributes", () => {
    const words = wordsOf(divided)
    assert.strictEqual(words.headline, "Different people prefer different variants")
    assert.strictEqual(words.advice, "Keep personalizing")
    assert.notInclude(JSON.stringify(words), "plan is")
  })

  it("escapes names for Slack, and holds the facts of the card", () => {
    const { blocks } = slackBody(report)
    assert.strictEqual(blocks[0]!.text.text, "Cart & more · Monday report · The <shop>")
    const named = slackBody({ ...report, rates: [{ label: "<!here> & co", value: "4 %", detail: "" }] })
    assert.strictEqual(named.blocks[3]!.text.text, "*&lt;!here&gt; &amp; co*: 4 %")
    const [card] = teamsBody(report).attachments
    assert.deepStrictEqual(card!.content.actions.map(({ url }) => url), [report.results, report.settings])
    const letter = reportLetter(report, "https://parlance.example/off")
    assert.strictEqual(letter.unsubscribe, "https://parlance.example/off")
    assert.include(letter.html, "The &lt;shop&gt;")
  })
})
