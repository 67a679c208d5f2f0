import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, it } from "vitest"
import { notify } from "../../src/accounts/notifications/Notify.ts"
import type { Json } from "../api/harness.ts"
import { managed, password } from "../console/furnished.ts"
import { signInTo } from "../console/shop.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

type Started = Effect.Success<ReturnType<typeof startWith>>

describe("notifications in commands and in the console", () => {
  let started: Started
  aroundTests(startWith(), async (world) => {
    started = world
    const manage = managed(world.service)
    await manage("POST", "/organizations", { slug: "shop", name: "Shop" })
    for (const [email, role] of [["ada@example.com", "editor"], ["eve@example.com", "viewer"]] as const) {
      const { id } = await manage("POST", "/accounts", { email, name: email.slice(0, 3), password })
      await manage("PUT", `/organizations/shop/members/${id}`, { role })
    }
    await manage("POST", "/organizations/shop/templates", { id: "welcome", name: "Welcome", variants: [] })
  })

  const manage = (method: string, path: string, body?: unknown) => managed(started.service)(method, path, body)

  const run = (...args: ReadonlyArray<string>) =>
    runCommand([...args, "--org", "shop"], { PARLANCE_URL: started.service.url, ADMIN_TOKEN: adminToken })
  const command = (...args: ReadonlyArray<string>) => run("notification", ...args)
  const text = async (...args: ReadonlyArray<string>) => {
    const { code, output } = await command(...args)
    assert.strictEqual(code, 0, output)
    return output
  }
  const json = async (...args: ReadonlyArray<string>): Promise<Json> => JSON.parse(await text(...args, "--json"))

  const comment = (n: number) => ({
    kind: "comment.added" as const,
    data: {
      org: "shop",
      template_id: "welcome",
      copy_id: null,
      comment_id: `c-${n}`,
      by: "eve@example.com",
      text: `Comment ${n}`,
      added_at: "2026-05-04T09:30:00.000Z",
    },
    to: { role: "editor" as const },
  })

  it("are listed, read and mailed according to preferences", async () => {
    const of = ["--member", "ada@example.com"] as const
    assert.include(await text("list", ...of), "No notifications.")
    await started.run(Effect.flatMap(SqlClient.SqlClient, (sql) =>
      notify(sql, [
        comment(1),
        {
          kind: "review.requested",
          data: {
            org: "shop",
            template_id: "welcome",
            copy_id: null,
            review_id: "7",
            by: "eve@example.com",
            note: "Shorter",
            requested_at: "2026-05-04T09:30:00.000Z",
          },
          to: { role: "editor" },
        },
      ])))
    const { notifications: [review, added], ...rest } = await json("list", ...of)
    assert.deepStrictEqual(rest, { unread: 2, next_cursor: null, next: null })
    assert.deepInclude(review, {
      kind: "review.requested",
      title: "eve@example.com asks for a review of Welcome",
      path: "/console/o/shop/reviews/7",
      read_at: null,
    })
    assert.strictEqual(added.path, "/console/o/shop/templates/welcome/comments?at=c-1")
    assert.match(
      await text("list", ...of, "--kind", "comment.added"),
      /comment\.added +eve@example\.com commented in Welcome/,
    )
    assert.include(await text("list", "--member", "eve@example.com"), "No notifications.")
    assert.include((await command("list", "--member", "nobody@example.com")).output, "nobody@example.com")
    assert.notStrictEqual((await command("list", ...of, "--kind", "comments")).code, 0)

    assert.include(await text("read", ...of, String(review.id)), "Marked 1 as read. 1 are unread.")
    assert.deepStrictEqual((await json("list", ...of, "--unread")).notifications.map(({ id }: Json) => id), [added.id])
    assert.deepStrictEqual(await json("read", ...of), { read: 1, unread: 0 })

    const before = await json("preferences", ...of)
    assert.strictEqual(before.mail["winner.found"], "immediate")
    const after = await json("preferences", ...of, "--mail", "winner.found=digest", "--mail", "comment.added=off")
    assert.deepStrictEqual(after.mail, { ...before.mail, "winner.found": "digest", "comment.added": "off" })
    assert.match(await text("preferences", ...of), /winner\.found +digest[^]*No mail is sent: MAIL_URL is not set/)
    const wrong = await command("preferences", ...of, "--mail", "winner.found=often")
    assert.strictEqual(wrong.code, 1)
    assert.include(wrong.output, "the modes are immediate, digest, off")
  })

  it("have commands for the reports that a member gets on Mondays", async () => {
    const report = async (...args: ReadonlyArray<string>) =>
      (await run("report", ...args, "--member", "eve@example.com")).output
    assert.include(await report("list"), "No reports.")
    assert.match(await report("subscribe", "welcome", "mail"), /The next report is sent at \d{4}-\d\d-\d\dT/)
    assert.match(await report("list"), /welcome +mail/)
    assert.include(await report("send", "welcome", "mail"), "Not sent: This installation has no mail server")
    assert.include(await report("subscribe", "welcome", "slack"), "is required: the URL of the incoming webhook")
    const inside = await report("subscribe", "welcome", "slack", "--url", "https://2852039166/services/T0/B0/x")
    assert.match(inside, /169\.254\.169\.254 is a link-local address.*OUTBOUND_ALLOW/)
    assert.include(await report("subscribe", "welcome", "fax"), "There is no subscription")
    assert.include(await report("unsubscribe", "welcome", "mail"), "Unsubscribed.")
  })

  it("have pages of 25 in the console with filters and links to their subject", async () => {
    await started.run(
      Effect.flatMap(SqlClient.SqlClient, (sql) => notify(sql, Array.from({ length: 60 }, (_, n) => comment(n)))),
    )
    const ada = await signInTo(started.service, "ada@example.com")
    const path = "/console/o/shop/notifications"
    const nextOf = (page: string) => /href="([^"]+)" rel="next"/.exec(page)?.[1]?.replaceAll("&amp;", "&")
    const first = (await ada.get(path)).text
    assert.include(first, "62 notifications, newest first")
    assert.include(first, "1–25 of 62")
    assert.match(
      first,
      /href="\/console\/o\/shop\/notifications" aria-current="page"/,
      "the sidebar shows where one is",
    )
    const second = (await ada.get(nextOf(first)!)).text
    assert.include(second, "26–50 of 62")
    const third = (await ada.get(nextOf(second)!)).text
    assert.include(third, "51–62 of 62")
    assert.isUndefined(nextOf(third))
    assert.include(third, "asks for a review of Welcome")
    const unread = (await ada.get(`${path}?state=unread&kind=comment.added`)).text
    assert.include(unread, "1–25 of 60")
    assert.include(nextOf(unread), "state=unread")
    assert.include((await ada.get(`${path}?kind=winner.found`)).text, "No matching notifications")
    assert.include((await ada.get(`${path}/preferences`)).text, 'aria-current="page"')

    const api = await manage("GET", "/organizations/shop/notifications?member=ada%40example.com&limit=62")
    assert.isNull(api.next, "a full last page has no next one")
    const opened = await ada.get(
      `${path}/${api.notifications.find(({ kind }: Json) => kind === "review.requested").id}`,
    )
    assert.strictEqual(opened.headers.get("location"), "/console/o/shop/reviews/7")
  })
})
