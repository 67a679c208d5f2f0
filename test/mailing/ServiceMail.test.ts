import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { ForgottenPasswords } from "../../src/accounts/ForgottenPasswords.ts"
import { Invitations } from "../../src/accounts/Invitations.ts"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { SignIn } from "../../src/accounts/SignIn.ts"
import { MailQueue } from "../../src/mail/MailQueue.ts"
import { outcomeOf, ServiceMail } from "../../src/mailing/ServiceMail.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { org } from "../intake/support.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import { layerMailNodes, MailNodes, onEach, onFirst } from "./mailNodes.ts"

const client = { userAgent: "test", address: "192.0.2.1", deviceCookie: undefined }

/** The server under test, without the mails of tests before. */
const fresh = Effect.map(MailNodes, ({ server }) => {
  const before = server.mails.length
  return {
    ...server,
    mails: () => server.mails.slice(before),
    of: (recipient: string) => server.mails.slice(before).filter(({ to }) => to[0] === recipient),
  }
})

const drain = onEach(Effect.flatMap(ServiceMail, ({ drain }) => drain))
const rows = onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT m.* FROM service_mails m ORDER BY m.id`))

describe("mail of the service", () => {
  layer(layerMailNodes, { excludeTestServices: true })((it) => {
    it.effect("delivers an invitation once over two nodes, and stores its token only encrypted", () =>
      Effect.gen(function* () {
        const server = yield* fresh
        const invitation = yield* onFirst(Effect.gen(function* () {
          yield* (yield* Organizations).create({ slug: org("shop"), name: "Shop" })
          return yield* (yield* Invitations).create(org("shop"), {
            email: "Ann@example.com",
            role: "editor",
            invitedBy: "ben@example.com",
          })
        }))
        assert.notInclude(JSON.stringify(yield* rows), invitation.token)
        yield* drain
        const [mail, ...more] = server.mails()
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual([mail!.from, mail!.to], ["parlance@parlance.example", ["ann@example.com"]])
        const { headers, parts } = read(mail!.raw)
        const [text, html] = parts.map(({ text }) => text)
        const url = `https://parlance.example/base/console/invitation?token=${invitation.token}`
        assert.include(text, url)
        assert.include(html, `href="${url}"`)
        assert.include(text, "ben@example.com invites you to the organization shop on Parlance, with the role editor.")
        assert.strictEqual(headers.get("auto-submitted"), "auto-generated")
        assert.strictEqual(headers.get("from"), "Parlance <parlance@parlance.example>")
        assert.match(headers.get("message-id")!, /^<[-0-9a-f]{36}@parlance\.example>$/)
        assert.closeTo(Date.parse(headers.get("date")!), Date.now(), 86_400_000)
        assert.isUndefined(headers.get("list-unsubscribe"))
        assert.deepStrictEqual(yield* rows, [], "nothing is kept of a mail that was sent")
      }))

    it.effect("delivers links of administrators, except from a transaction that was rolled back", () =>
      Effect.gen(function* () {
        const server = yield* fresh
        const token = yield* onFirst(Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { id } = yield* (yield* Accounts).create({ email: "cid@example.com", name: "Cid" })
          const links = yield* OneTimeLinks
          yield* Effect.flip(sql.withTransaction(Effect.andThen(links.create("password", id), Effect.fail("over"))))
          return yield* links.create("password", id)
        }))
        yield* drain
        const [mail, ...more] = server.mails()
        assert.deepStrictEqual(more, [])
        assert.include(read(mail!.raw).parts[0]!.text, `/base/console/password?token=${token}`)
      }))

    it.effect("is retried with the same Message-ID after a failure, whose reason is shown", () =>
      Effect.gen(function* () {
        const server = yield* fresh
        server.faults.push({ at: "recipient", reply: "451 4.7.1 Try again later" })
        yield* onFirst(Effect.gen(function* () {
          yield* (yield* Invitations).create(org("shop"), { email: "dan@example.com", role: "viewer", invitedBy: "x" })
        }))
        const [before] = yield* rows
        yield* drain
        const reason = "The SMTP server answered 451 4.7.1 Try again later"
        const [waiting] = yield* rows
        assert.deepStrictEqual(
          { ...waiting, dueAt: 0 },
          { ...before, dueAt: 0, attempts: 1, reason },
        )
        assert.deepInclude(yield* onFirst(Effect.flatMap(MailQueue, ({ backlog }) => backlog)), {
          pending: 1,
          reason,
        })
        yield* drain
        assert.lengthOf(server.mails(), 0, "it waits for its time")
        yield* onFirst(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE service_mails SET due_at = now()`))
        yield* drain
        assert.strictEqual(
          read(server.mails()[0]!.raw).headers.get("message-id"),
          `<${before!["id"]}@parlance.example>`,
        )
      }))

    it.effect("is claimed by one node while a slow server has it", () =>
      Effect.gen(function* () {
        const { sql, queue } = yield* onFirst(Effect.all({ sql: SqlClient.SqlClient, queue: MailQueue }))
        yield* onFirst(Effect.gen(function* () {
          yield* (yield* Invitations).create(org("shop"), { email: "kim@example.com", role: "viewer", invitedBy: "x" })
        }))
        const id = (yield* queue.take(1))[0]!.id
        yield* sql`UPDATE service_mails SET due_at = now()`
        yield* queue.keep(id)
        assert.deepStrictEqual(yield* queue.take(1), [])
        yield* queue.sent(id)
      }))

    it.effect("fails if the address is refused, and then stores no address", () =>
      Effect.gen(function* () {
        const server = yield* fresh
        server.faults.push({ at: "recipient", reply: "550 5.1.1 No such user" })
        yield* onFirst(Effect.gen(function* () {
          yield* (yield* Invitations).create(org("shop"), { email: "eve@example.com", role: "viewer", invitedBy: "x" })
        }))
        yield* drain
        const [failed] = yield* rows
        assert.deepInclude(failed, { state: "failed", recipient: "", content: null, attempts: 1 })
        assert.deepInclude(yield* onFirst(Effect.flatMap(MailQueue, ({ backlog }) => backlog)), {
          pending: 0,
          failed: 1,
        })
        yield* onFirst(Effect.flatMap(MailQueue, ({ prune }) => prune))
        assert.lengthOf(yield* rows, 1)
        yield* onFirst(Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`UPDATE service_mails SET created_at = now() - interval '8 days'`,
        ))
        yield* onFirst(Effect.flatMap(MailQueue, ({ prune }) => prune))
        assert.deepStrictEqual(yield* rows, [])
      }))

    it.effect("is written for a forgotten password when it is sent, and only to an address with an account", () =>
      Effect.gen(function* () {
        const server = yield* fresh
        const { id } = yield* onFirst(
          Effect.flatMap(
            Accounts,
            ({ create }) => create({ email: "fay@example.com", name: "Fay", password: "several unrelated words" }),
          ),
        )
        const request = (email: string) =>
          onFirst(Effect.flatMap(ForgottenPasswords, ({ request }) => request(email, client)))
        yield* request("Fay@Example.com ")
        yield* request("nobody@example.com")
        const queued = yield* rows
        assert.deepStrictEqual(
          new Set(queued.map((row) => JSON.stringify({ ...row, id: 0, recipient: "", createdAt: 0, dueAt: 0 }))).size,
          1,
          "the rows differ in the address alone",
        )
        yield* drain
        assert.deepStrictEqual(yield* rows, [])
        const [mail, ...more] = server.mails()
        assert.deepStrictEqual(more, [])
        const token = /password\?token=([\w-]{43})/.exec(read(mail!.raw).parts[0]!.text)![1]!
        yield* onFirst(Effect.gen(function* () {
          yield* (yield* SignIn).withLink(token, "other unrelated words", client)
          const accounts = yield* Accounts
          assert.strictEqual(yield* accounts.passwordOrigin(id), "own")
          assert.isDefined(yield* accounts.verify("fay@example.com", "other unrelated words"))
          assert.strictEqual(
            (yield* Effect.flip((yield* SignIn).withLink(token, "third unrelated words", client)))._tag,
            "LinkSpent",
          )
        }))
      }))

    it.effect("is limited for each address, whether or not it has an account", () =>
      Effect.gen(function* () {
        const tagsOf = (email: string) =>
          onFirst(Effect.flatMap(ForgottenPasswords, ({ request }) =>
            Effect.forEach([1, 2, 3, 4, 5, 6], (n) =>
              Effect.match(request(email, { ...client, address: `203.0.113.${n}` }), {
                onFailure: ({ _tag }) =>
                  _tag,
                onSuccess: () =>
                  "taken",
              }))))
        const taken = Array.from({ length: 5 }, () =>
          "taken")
        assert.deepStrictEqual(yield* tagsOf("unknown@example.com"), [...taken, "TooManyAttempts"])
        yield* onFirst(Effect.flatMap(Accounts, ({ create }) => create({ email: "gus@example.com", name: "Gus" })))
        assert.deepStrictEqual(yield* tagsOf("gus@example.com"), [...taken, "TooManyAttempts"])
      }))
  })
})

describe("an attempt to send a mail of the service", () => {
  const retry = {
    _tag: "retry",
    scope: "connection",
    reason: "No answer",
    uncertain: false,
    deferred: false,
    wait: undefined,
  } as const
  const hour = 3_600_000

  it("is repeated for a day with growing pauses", () => {
    const delays = [0, 1, 2, 9].map((attempts) => {
      const outcome = outcomeOf(retry, { attempts, ageMillis: 1000 }, 0.5)
      return outcome._tag === "retried" ? outcome.delayMillis : undefined
    })
    assert.deepStrictEqual(delays, [...delays].sort((a, b) => a! - b!))
    assert.isAtMost(delays.at(-1)!, 1.5 * hour)
    assert.deepInclude(outcomeOf(retry, { attempts: 20, ageMillis: 23.9 * hour }, 0.5), { _tag: "retried" })
    assert.deepStrictEqual(outcomeOf(retry, { attempts: 20, ageMillis: 24 * hour }, 0.5), {
      _tag: "failed",
      reason: "No answer",
    })
  })

  it("is final if the server refuses the message, but not if it refuses the login", () => {
    assert.strictEqual(outcomeOf({ _tag: "refused", reason: "550" }, { attempts: 0, ageMillis: 0 }, 0)._tag, "failed")
    assert.strictEqual(outcomeOf({ _tag: "broken", reason: "535" }, { attempts: 0, ageMillis: 0 }, 0)._tag, "retried")
  })
})
