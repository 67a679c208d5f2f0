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
      email: "new@example.com",
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
    const again = { email: "other@example.com", role: "viewer" }
    assert.match((await root.post("/console/o/shop/settings/members/invite", again)).text, /could not be sent/)
    assert.notMatch((await admin.post("/console/o/shop/settings/members/invite", again)).text, /could not be sent/)
    const members = (await admin.get("/console/o/shop/settings/members")).text
    assert.match(members, /name="email" value="other@example.com".*Invite again.*Withdraw/s)
    const forgotten = await shop.service.request("/console/forgot-password", {
      method: "POST",
      body: new URLSearchParams({ email: "viewer@example.com" }),
    })
    assert.include(await forgotten.text(), "a mail with a link will be sent")
  })
}, {
  PUBLIC_URL: "https://parlance.example",
  MAIL_URL: "smtp://127.0.0.1:1?tls=none",
  MAIL_FROM: "parlance@parlance.example",
})
