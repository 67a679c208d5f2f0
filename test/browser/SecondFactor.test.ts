import { assert } from "@effect/vitest"
import { Secret, TOTP } from "otpauth"
import { it } from "vitest"
import { password } from "../console/furnished.ts"
import { startWith } from "../support/servicesOf.ts"
import type { Page } from "../support/browser.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

/** The code of so many steps of 30 seconds from now. */
const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })

/** Reads the QR code on a page as dark modules by row, from the drawing and not from its source text. */
const modulesOf = (page: Page) =>
  page.locator("svg.qr-code").evaluate((svg) => {
    const size = Number(svg.getAttribute("viewBox")!.split(" ")[2])
    const dark = (svg.querySelector("path")!.getAttribute("d")!.match(/M/g) ?? []).length
    const { height, width } = svg.getBoundingClientRect()
    return { size, dark, isSquare: Math.abs(height - width) < 1, width }
  })

describeInBrowser("The second factor in a browser", startWith(), (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  it("is set up with a QR code, asked for at sign-in, and turned off, on pages without faults", async () => {
    await manage("POST", "/organizations", { slug: "harbour", name: "Harbour Books" })
    await inEveryLook(async (context, check) => {
      const email = await administrator("second@example.com")
      const page = await signIn(context, email)
      await page.goto(`${tried.service().url}/console/account/second-factor?required=harbour`)
      await check(page, "second-factor/start")
      await page.getByLabel("Current password").fill("not the password")
      await submit(page, "Continue")
      assert.include(await page.getByRole("alert").innerText(), "is not the password")
      await page.getByLabel("Current password").fill(password)
      await submit(page, "Continue")
      await check(page, "second-factor/set-up")
      const { dark, isSquare, size, width } = await modulesOf(page)
      assert.isTrue(isSquare && width >= 150, `${width}`)
      assert.isTrue(size >= 37 && dark > size * size / 5, `${dark} dark modules of ${size}`)
      const secret = (await page.getByLabel(/Enter this key/).inputValue()).replaceAll(" ", "")
      await page.getByLabel("Code", { exact: true }).fill("000 000")
      await submit(page, "Turn on")
      assert.include(await page.getByRole("alert").innerText(), "wrong or has been used")
      await page.getByLabel("Code", { exact: true }).fill(codeOf(secret))
      await submit(page, "Turn on")
      await check(page, "second-factor/recovery-codes")
      const codes = (await page.locator("#recovery-codes").innerText()).split("\n")
      assert.strictEqual(codes.length, 10)
      await page.getByRole("link", { name: "I have saved the codes" }).click()
      await page.getByText("On. You enter a code from your authenticator app").waitFor()
      await check(page, "second-factor/account")
      for (const name of ["", "/disable", "/recovery-codes"]) {
        await page.goto(`${tried.service().url}/console/account/second-factor${name}`)
        await check(page, `second-factor/manage${name}`)
      }
      await context.clearCookies()

      const again = await signIn(context, email)
      assert.match(again.url(), /\/console\/sign-in\/code$/)
      await check(again, "second-factor/code")
      await again.getByLabel("Code", { exact: true }).fill("123456")
      await submit(again, "Sign in")
      await again.getByRole("alert").waitFor()
      await check(again, "second-factor/wrong-code")
      await again.getByLabel("Code", { exact: true }).fill(codes[0]!)
      await submit(again, "Sign in")
      await again.getByText("You signed in with a recovery code").waitFor()
      await again.goto(`${tried.service().url}/console/accounts`)
      await check(again, "second-factor/accounts")

      await context.clearCookies()
      const other = await signIn(context, await administrator("helper@example.com"))
      await other.goto(`${tried.service().url}/console/accounts?q=${encodeURIComponent(email)}`)
      await other.getByRole("link", { name: `Reset second factor of ${email}` }).click()
      await check(other, "second-factor/reset")
      await submit(other, "Reset the second factor")
      await other.getByText("The second factor has been removed.").waitFor()
      assert.strictEqual(await other.getByRole("link", { name: `Reset second factor of ${email}` }).count(), 0)
    })
  })

  it("is required of members by a switch on their page", async () => {
    await manage("POST", "/organizations", { slug: "pier", name: "Pier Books" })
    const context = await tried.browser().newContext()
    const email = await administrator("switch@example.com")
    const page = await signIn(context, email)
    const members = `${tried.service().url}/console/o/pier/settings/members`
    await page.goto(members)
    await submit(page, "Require a second factor")
    assert.include(await page.getByRole("alert").innerText(), "needs a second factor of your own first")
    await page.goto(`${tried.service().url}/console/account/second-factor`)
    await page.getByLabel("Current password").fill(password)
    await submit(page, "Continue")
    const secret = (await page.getByLabel(/Enter this key/).inputValue()).replaceAll(" ", "")
    await page.getByLabel("Code", { exact: true }).fill(codeOf(secret))
    await submit(page, "Turn on")
    await page.goto(members)
    await submit(page, "Require a second factor")
    await page.getByText("Members who sign in with a password now need a second factor.").waitFor()
    await context.close()

    await inEveryLook(async (context, check) => {
      const page = await signIn(context, await administrator("member@example.com"))
      await page.goto(members)
      assert.match(page.url(), /second-factor\?required=pier&next=/)
      await page.getByText("requires a second factor from everyone").waitFor()
      await page.getByLabel("Current password").fill(password)
      await submit(page, "Continue")
      const key = (await page.getByLabel(/Enter this key/).inputValue()).replaceAll(" ", "")
      await page.getByLabel("Code", { exact: true }).fill(codeOf(key))
      await submit(page, "Turn on")
      await page.getByRole("link", { name: "I have saved the codes" }).click()
      assert.strictEqual(page.url(), members, "back to where the person was going")
      await check(page, "second-factor/members")
    })
  })

  it("is a passkey, which also signs in alone", async () => {
    const origin = tried.service().url.replace("127.0.0.1", "localhost")
    await inEveryLook(async (context, check) => {
      const email = await administrator("passkey@example.com")
      const page = await context.newPage()
      const device = await context.newCDPSession(page)
      await device.send("WebAuthn.enable")
      const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
        options: {
          protocol: "ctap2",
          transport: "internal",
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      const enter = async (next: string) => {
        await context.clearCookies()
        await page.goto(`${origin}/console/sign-in?next=${next}`)
      }
      const withPassword = async () => {
        await page.getByLabel("E-mail address").fill(email)
        await page.getByLabel("Password").fill(password)
        await submit(page, "Sign in")
      }
      await enter("/console/account/passkeys")
      await check(page, "passkeys/sign-in")
      await withPassword()
      await check(page, "passkeys/none")
      await page.getByLabel("Name").fill("Laptop <ב>")
      await page.getByLabel("Current password").fill(password)
      await submit(page, "Continue")
      await check(page, "passkeys/create")
      await submit(page, "Create passkey")
      const codes = (await page.locator("#recovery-codes").innerText()).split("\n")
      assert.strictEqual(codes.length, 10)
      await page.goto(`${origin}/console/account/passkeys`)
      await page.getByText("Laptop <ב>").waitFor()
      await check(page, "passkeys/list")
      await page.getByLabel("Current password").fill(password)
      await submit(page, "Continue")
      await submit(page, "Create passkey")
      await page.getByText("This device has a passkey of your account already.").waitFor()

      await enter("/console/account")
      await submit(page, "Sign in with a passkey")
      await page.getByText("1 passkey can sign you in.").waitFor()
      await check(page, "passkeys/account")

      await enter("/console/account/passkeys")
      await withPassword()
      await page.getByRole("heading", { name: "Use your passkey" }).waitFor()
      await check(page, "passkeys/code")
      await device.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false })
      await submit(page, "Use your passkey")
      await page.getByText("The browser ended the request, or you cancelled it.").waitFor()
      await device.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true })
      await submit(page, "Use your passkey")
      await page.getByRole("link", { name: "Rename Laptop <ב>" }).click()
      await page.getByLabel("Name").fill("Phone")
      await submit(page, "Save name")
      await page.getByRole("link", { name: "Remove Phone" }).click()
      await check(page, "passkeys/remove")
      await page.getByLabel("Current password").fill(password)
      await submit(page, "Remove the passkey")
      await page.getByText("The passkey has been removed.").waitFor()

      await enter("/console/account")
      await submit(page, "Sign in with a passkey")
      await page.getByRole("alert").getByText("No account here has this passkey").waitFor()
      await check(page, "passkeys/refused")
    })
    const context = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(`${origin}/console/sign-in`)
    assert.isFalse(await page.getByText("Sign in with a passkey").isVisible(), "without scripts")
    await context.close()
  })
})
