import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { Memberships } from "../../src/accounts/Memberships.ts"
import { digestDueAt } from "../../src/mailing/Digest.ts"
import { NotificationMail } from "../../src/mailing/NotificationMail.ts"
import { ServiceMail } from "../../src/mailing/ServiceMail.ts"
import type { NewNotification } from "../../src/accounts/notifications/Kinds.ts"
import { Notifications } from "../../src/accounts/notifications/Notifications.ts"
import { notify } from "../../src/accounts/notifications/Notify.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { org } from "../intake/support.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import { layerMailNodes, MailNodes, onEach, onFirst } from "./mailNodes.ts"

const token = { kind: "token" } as const

describe("notifications by mail", () => {
  layer(layerMailNodes, { excludeTestServices: true })((it) => {
    /** Runs the jobs of both nodes at a time. */
    const runAt = (now: number) =>
      Effect.andThen(
        onEach(Effect.flatMap(NotificationMail, ({ queue }) => queue)).pipe(
          (job) => Effect.andThen(TestClock.setTime(now), job),
          Effect.provide(TestClock.layer()),
        ),
        onEach(Effect.flatMap(ServiceMail, ({ drain }) => drain)),
      )

    const furnish = (slug: string) =>
      onFirst(Effect.gen(function* () {
        yield* (yield* Organizations).create({ slug: org(slug), name: "The shop", time_zone: "Europe/Berlin" })
        const email = `ann@${slug}.example`
        const { id } = yield* (yield* Accounts).create({ email, name: "Ann" })
        yield* (yield* Memberships).put(org(slug), id, "editor", token)
        return { email, id, slug: org(slug) }
      }))

    const winner = (slug: string, copy: string): NewNotification => ({
      kind: "winner.found",
      data: {
        org: slug,
        template_id: "welcome",
        copy_id: copy,
        verdict: "winner",
        compared: ["a", "b"],
        found_at: "2026-05-04T09:30:00.000Z",
      },
      to: { role: "viewer" },
    })

    const tellAt = (now: number, ...notifications: ReadonlyArray<NewNotification>) =>
      onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(notify(sql, notifications)))).pipe(
        (told) => Effect.andThen(TestClock.setTime(now), told),
        Effect.provide(TestClock.layer()),
      )

    const mailsTo = (email: string) =>
      Effect.map(
        MailNodes,
        ({ server }) => server.mails.filter(({ to }) => to[0] === email).map(({ raw }) => read(raw)),
      )

    it.effect("arrive at once and only once over two nodes, with a link that turns them off", () =>
      Effect.gen(function* () {
        const { email, id, slug } = yield* furnish("at-once")
        const now = Date.now()
        yield* tellAt(now, winner(slug, "a"), winner(slug, "b"))
        yield* runAt(now)
        yield* runAt(now)
        const [mail, ...more] = yield* mailsTo(email)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(mail!.headers.get("subject"), "2 notifications · The shop")
        assert.strictEqual(mail!.headers.get("auto-submitted"), "auto-generated")
        const [text] = mail!.parts.map(({ text }) => text)
        assert.include(text, "b wins in welcome")
        assert.include(text, "https://parlance.example/base/console/o/at-once/templates/welcome/results")
        assert.include(text, "https://parlance.example/base/console/o/at-once/notifications/preferences")
        const url = new URL(/^<(.*)>$/.exec(mail!.headers.get("list-unsubscribe")!)![1]!)
        assert.strictEqual(mail!.headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
        assert.strictEqual(url.origin + url.pathname, "https://parlance.example/base/console/notification-mail")
        yield* onFirst(Effect.gen(function* () {
          const mails = yield* NotificationMail
          assert.isUndefined(yield* mails.personOf(`${url.searchParams.get("token")}x`))
          const person = yield* mails.personOf(url.searchParams.get("token")!)
          assert.deepStrictEqual(person, { org: "at-once", account: id })
          yield* mails.turnOff(person!)
        }))
        yield* tellAt(now, winner(slug, "a"))
        yield* runAt(now)
        assert.lengthOf(yield* mailsTo(email), 1)
      }))

    it.effect("arrive in one digest at eight in the zone of the organization, without those already read", () =>
      Effect.gen(function* () {
        const { email, id, slug } = yield* furnish("digest")
        yield* onFirst(Effect.flatMap(Notifications, ({ prefer }) => prefer(slug, id, { "winner.found": "digest" })))
        // In Berlin 11:00 and 20:00 of 4 June, and 07:59 and 08:00 of 5 June.
        yield* tellAt(Date.parse("2026-06-04T09:00:00Z"), winner(slug, "a"), winner(slug, "b"))
        yield* tellAt(Date.parse("2026-06-04T18:00:00Z"), winner(slug, "c"))
        yield* onFirst(Effect.gen(function* () {
          const notifications = yield* Notifications
          const found = yield* notifications.list(slug, id, { limit: 10 })
          yield* notifications.read(slug, id, [found.at(-1)!.id])
        }))
        yield* runAt(Date.parse("2026-06-05T05:59:00Z"))
        assert.lengthOf(yield* mailsTo(email), 0)
        yield* runAt(Date.parse("2026-06-05T06:00:00Z"))
        yield* runAt(Date.parse("2026-06-05T06:01:00Z"))
        const [mail, ...more] = yield* mailsTo(email)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(mail!.headers.get("subject"), "2 notifications of the last day · The shop")
        assert.notInclude(mail!.parts[0]!.text, "a wins")
      }))

    it.effect("are not mailed to former members, or after two days", () =>
      Effect.gen(function* () {
        const now = Date.now()
        const gone = yield* furnish("gone")
        yield* tellAt(now, winner(gone.slug, "a"))
        yield* onFirst(Effect.flatMap(Memberships, ({ remove }) => remove(gone.slug, gone.id, token)))
        const late = yield* furnish("late")
        yield* tellAt(now - 49 * 3_600_000, winner(late.slug, "a"))
        yield* runAt(now)
        assert.lengthOf([...yield* mailsTo(gone.email), ...yield* mailsTo(late.email)], 0)
      }))
  })
})

describe("a digest", () => {
  it("is due at the next eight o'clock in the zone, also across clock changes", () => {
    const due = (at: string, zone: string) => new Date(digestDueAt(Date.parse(at), zone)).toISOString()
    assert.strictEqual(due("2026-06-04T05:59:59Z", "Europe/Berlin"), "2026-06-04T06:00:00.000Z")
    assert.strictEqual(due("2026-06-04T06:00:00Z", "Europe/Berlin"), "2026-06-05T06:00:00.000Z")
    assert.strictEqual(due("2026-10-24T12:00:00Z", "Europe/Berlin"), "2026-10-25T07:00:00.000Z")
    assert.strictEqual(due("2026-06-04T05:59:59Z", "America/New_York"), "2026-06-04T12:00:00.000Z")
  })
})
