import { assert } from "@effect/vitest"
import { it } from "vitest"
import { password } from "./furnished.ts"
import { describeShop } from "./shop.ts"

describeShop("Links by mail, while the mail server refuses connections", (shop) => {
  it("are announced as mails that will be sent, with the last error for administrators only", async () => {
    await shop.manage("POST", "/accounts", { email: "root@example.com", name: "Root", administrator: true, password })
    const root = await shop.signIn("root@example.com")
    const admin = await shop.signIn("admin@example.com")
    const error = /Mails of Parlance could not be sent.*1 mail waits.*The error: .*ECONNREFUSED/s
    const invited = await admin.post("/console/o/shop/settings/members/invite", {
      emails: "new@example.com",
      role: "viewer",
    })
    assert.include(invited.text, "A mail with the link will be sent to new@example.com.")
    await shop.service.untilStored(
      "the mail was tried",
      ["service_mails"],
      async () => error.test((await root.get("/console/accounts")).text),
    )
    assert.match((await root.get("/console/o/shop")).text, error)
    assert.notMatch((await admin.get("/console/o/shop")).text, error)
    const again = { emails: "other@example.com", role: "viewer", again: "yes" }
    assert.match((await root.post("/console/o/shop/settings/members/invite", again)).text, /could not be sent/)
    assert.notMatch((await admin.post("/console/o/shop/settings/members/invite", again)).text, /could not be sent/)
    const members = (await admin.get("/console/o/shop/settings/members")).text
    assert.match(members, /name="emails" value="other@example.com".*Invite again.*Withdraw/s)
    const forgotten = await shop.service.request("/console/forgot-password", {
      method: "POST",
      body: new URLSearchParams({ email: "viewer@example.com" }),
    })
    assert.include(await forgotten.text(), "a mail with a link will be sent")
  })

  it("are made for several people at once, for all or nobody, without members and people with an invitation", async () => {
    const admin = await shop.signIn("admin@example.com")
    const invite = (emails: string) => admin.post("/console/o/shop/settings/members/invite", { emails, role: "editor" })
    const invited = async () =>
      (await shop.manage("GET", "/organizations/shop/invitations")).invitations.map(({ email }: { email: string }) =>
        email
      ).filter((email: string) => email.endsWith("@team.example")).sort()

    const faulty = await invite("one@team.example, two@@team.example\nthree")
    assert.strictEqual(faulty.status, 400)
    for (const fault of ["two@@team.example", "three"]) {
      assert.include(faulty.text, `&quot;${fault}&quot; must be an e-mail address, such as ann@example.com`)
    }
    assert.strictEqual((await invite(" , ")).status, 400)
    const many = Array.from({ length: 51 }, (_, index) => `p${index}@team.example`)
    assert.include((await invite(many.join(" "))).text, "must be at most 50")
    assert.deepStrictEqual(await invited(), [])

    const some = await invite('"One, Ann" <One@team.example>; two@team.example viewer@example.com')
    assert.include(some.text, "2 invitations are ready")
    assert.include(some.text, "A mail with the link will be sent to each person.")
    assert.strictEqual(some.text.match(/console\/invitation\?token=/g)?.length, 2)
    assert.match(some.text, /Not invited:.*viewer@example\.com is a member already\./)
    assert.deepStrictEqual(await invited(), ["one@team.example", "two@team.example"])

    const known = await invite("viewer@example.com one@TEAM.example")
    assert.strictEqual(known.status, 400)
    assert.include(known.text, "one@team.example has an open invitation.")
    assert.include(known.text, "viewer@example.com is a member already.")
    const members = (await admin.get("/console/o/shop/settings/members?sort=seen")).text
    assert.match(members, /Last seen.*\b20\d\d<\/td>/s)
  })

  it("say that a report will be sent, not that it has been", async () => {
    await shop.manage("POST", "/organizations/shop/templates", { id: "reported", name: "Reported" })
    const viewer = await shop.signIn("viewer@example.com")
    const path = "/console/o/shop/templates/reported/results/report"
    await viewer.post(`${path}/mail`, {})
    assert.include((await viewer.get(path)).text, "none yet")
    const sent = (await viewer.post(`${path}/mail/send`, {})).text
    assert.include(sent, "The report will be sent to viewer@example.com.")
    assert.notInclude(sent, "none yet")
  })
}, {
  PUBLIC_URL: "https://parlance.example",
  MAIL_URL: "smtp://127.0.0.1:1?tls=none",
  MAIL_FROM: "parlance@parlance.example",
})
