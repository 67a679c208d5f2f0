import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { it } from "vitest"
import { ServiceMail } from "../../src/mailing/ServiceMail.ts"
import { notify } from "../../src/accounts/notifications/Notify.ts"
import { mailSettings } from "../mailing/mailNodes.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { startWith } from "../support/servicesOf.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

const start = Effect.gen(function* () {
  const mail = yield* Effect.acquireRelease(
    Effect.promise(() => startSmtp()),
    ({ close }) => Effect.promise(close),
  )
  // Over plain HTTP, where a browser takes no cookie for https.
  const settings = { ...mailSettings(mail), PUBLIC_URL: "http://parlance.example" }
  return { mail, ...yield* startWith(settings) }
})

describeInBrowser("Notifications and service mail in a browser", start, (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  it("let a person choose a new password by mail, without revealing which addresses have an account", async () => {
    const { mail, run, service } = tried.started()
    const email = await administrator("forgetful@example.com")
    await inEveryLook(async (context, check) => {
      const page = await context.newPage()
      await page.goto(`${service.url}/console/sign-in`)
      await check(page, "sign-in-with-mail")
      await page.getByRole("link", { name: "Forgot password?" }).click()
      await check(page, "forgot-password")
    })
    const ask = async (address: string) => {
      const page = await (await tried.browser().newContext()).newPage()
      await page.goto(`${service.url}/console/forgot-password`)
      await page.getByLabel("E-mail address").fill(address)
      await submit(page, "Send link")
      return { page, text: (await page.locator("main").innerText()).replace(address, "ADDRESS") }
    }
    const before = mail.mails.length
    const unknown = await ask("nobody@example.com")
    const { page, text } = await ask(email)
    assert.strictEqual(text, unknown.text)
    await run(Effect.flatMap(ServiceMail, ({ drain }) => drain))
    assert.deepStrictEqual(mail.mails.slice(before).map(({ to }) => to[0]), [email])
    const [, token] = /password\?token=([\w-]{43})/.exec(read(mail.mails.at(-1)!.raw).parts[0]!.text)!
    await page.goto(`${service.url}/console/password?token=${token}`)
    await page.getByLabel("New password").or(page.getByLabel("Password")).first().fill("an entirely new password")
    await submit(page, /Save and sign in/)
    assert.include(page.url(), "/console")
    const again = await (await tried.browser().newContext()).newPage()
    await again.goto(`${service.url}/console/sign-in`)
    await again.getByLabel("E-mail address").fill(email)
    await again.getByLabel("Password").fill("an entirely new password")
    await submit(again, "Sign in")
    await again.waitForURL(({ pathname }) => pathname !== "/console/sign-in")
  })

  it("are counted by the bell, listed, filtered and read, and mailed as preferred", async () => {
    const { run, service } = tried.started()
    await manage("POST", "/organizations", { slug: "bell", name: "Bell" })
    const email = await administrator("bell@example.com")
    await run(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        notify(sql, [
          {
            kind: "winner.found",
            data: {
              org: "bell",
              template_id: "welcome",
              copy_id: "b",
              verdict: "winner",
              compared: ["a", "b"],
              found_at: "2026-05-04T09:30:00.000Z",
            },
            to: { role: "viewer" },
          },
          {
            kind: "connection.broken",
            data: {
              org: "bell",
              connection: "main",
              platform: "smtp",
              reason: "535 5.7.8 Bad credentials",
              since: "2026-05-04T09:30:00.000Z",
            },
            to: { role: "editor" },
          },
        ])),
    )
    const at = `${service.url}/console/o/bell`
    await inEveryLook(async (context, check) => {
      const page = await signIn(context, email)
      await page.goto(at)
      await page.locator("a.bell").click()
      await check(page, "notifications")
      await page.getByRole("link", { name: "Mail preferences" }).click()
      await check(page, "notification-preferences")
    })
    const page = await signIn(await tried.browser().newContext(), email)
    await page.goto(`${at}/notifications`)
    assert.match(await page.locator("a.bell").innerText(), /2/)
    await page.getByRole("link", { name: "b wins in welcome" }).click()
    assert.include(page.url(), "/console/o/bell/templates/welcome/results")
    await page.goto(`${at}/notifications?state=unread`)
    assert.match(await page.locator("a.bell").innerText(), /1/)
    assert.strictEqual(await page.getByRole("row").count(), 2)
    await submit(page, "Mark all as read")
    assert.notMatch(await page.locator("a.bell").innerText(), /\d/)
    await page.goto(`${at}/notifications/preferences`)
    await page.getByLabel("Winner found").selectOption("digest")
    await submit(page, "Save preferences")
    assert.strictEqual(await page.getByLabel("Winner found").inputValue(), "digest")
  })
})
