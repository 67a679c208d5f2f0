import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { afterAll, afterEach, beforeAll, describe } from "vitest"
import { managed, password } from "../console/furnished.ts"
import {
  type Browser,
  type BrowserContext,
  faultsByAxe,
  hasBrowser,
  launch,
  looks,
  type Page,
  screenshot,
} from "../support/browser.ts"
import type { LocalService } from "../support/service.ts"

/** The resources of tests in a browser. */
export interface Tried<S> {
  /** The resources that the tests of a file share. */
  readonly started: () => S
  readonly browser: () => Browser
  readonly service: () => LocalService
  /** A management request that succeeds. */
  readonly manage: ReturnType<typeof managed>
  /** An administrator with the password of the tests; answers the e-mail address. */
  readonly administrator: (email: string) => Promise<string>
  /** A page after signing in. With a wrong password, the page of the refusal. */
  readonly signIn: (context: BrowserContext, email: string, word?: string) => Promise<Page>
  /** Presses a button of the page's content. */
  readonly submit: (page: Page, name: string | RegExp) => Promise<void>
  /**
   * Runs in a context of its own. `check` shows a page on a light desktop and a dark phone, and keeps pictures outside CI.
   * Fails in the end if axe found a fault, or a page was wider than the screen.
   */
  readonly inEveryLook: (
    run: (context: BrowserContext, check: (page: Page, name: string) => Promise<void>) => Promise<void>,
  ) => Promise<void>
}

/** Visible once the script of a page has put its editors in the places of the text fields. */
export const editorsOf = (page: Page) => page.locator("#editor-keys")

/** Ends the transitions that a change of the color scheme began, in a page. */
const endTransitions = () => {
  for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish()
}

/**
 * Tests with a service in this process and a Chromium, both started once and there until the last of them. A test fails if a
 * script fails in a page that it opens.
 */
export const describeInBrowser = <S extends { readonly service: LocalService }>(
  name: string,
  start: Effect.Effect<S, never, Scope.Scope>,
  tests: (tried: Tried<S>) => void,
): void =>
  void describe.runIf(hasBrowser)(name, () => {
    let scope: Scope.Closeable
    let started: S
    let browser: Browser
    const scriptErrors: Array<string> = []
    const service = () => started.service

    beforeAll(async () => {
      scope = await Effect.runPromise(Scope.make())
      started = await Effect.runPromise(Scope.provide(start, scope))
      browser = await launch()
      const newContext = browser.newContext.bind(browser)
      browser.newContext = async (options) => {
        const context = await newContext(options)
        context.on("weberror", (error) => scriptErrors.push(`${error.page()?.url()}: ${error.error().stack}`))
        return context
      }
    }, 180_000)
    afterEach(() => assert.deepStrictEqual(scriptErrors.splice(0), [], "a script failed in a page"))
    afterAll(async () => {
      await browser?.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    })

    const manage: Tried<S>["manage"] = (method, path, body) => managed(service())(method, path, body)

    const submit: Tried<S>["submit"] = (page, name) =>
      page.locator("main").first()
        .getByRole("button", { name, ...(typeof name === "string" ? { exact: true } : {}) }).click()

    tests({
      started: () => started,
      browser: () => browser,
      service,
      manage,
      submit,
      administrator: async (email) => {
        await manage("POST", "/accounts", { email, name: "Ada Lovelace", administrator: true, password })
        return email
      },
      signIn: async (context, email, word = password) => {
        const page = await context.newPage()
        await page.goto(`${service().url}/console/sign-in`)
        await page.getByLabel("E-mail address").fill(email)
        await page.getByLabel("Password").fill(word)
        await submit(page, "Sign in")
        if (word === password) await page.waitForURL(({ pathname }) => pathname !== "/console/sign-in")
        else await page.getByRole("alert").waitFor()
        return page
      },
      inEveryLook: async (run) => {
        const found: Array<string> = []
        const [desktop] = looks
        const context = await browser.newContext({ viewport: desktop, colorScheme: desktop.colorScheme })
        await run(context, async (page, name) => {
          // The desktop comes last, and stays for what the test does next.
          for (const { colorScheme, height, name: look, width } of looks.toReversed()) {
            await page.setViewportSize({ width, height })
            await page.emulateMedia({ colorScheme })
            await page.evaluate(endTransitions)
            await screenshot(page, `${name}-${look}`)
            found.push(...(await faultsByAxe(page)).map((fault) => `${name} ${look} ${fault}`))
            const overflow = await page.evaluate(() => {
              const { clientWidth, scrollWidth } = document.documentElement
              return scrollWidth - clientWidth
            })
            if (overflow > 0) found.push(`${name} ${look} is wider than the screen`)
          }
        })
        await context.close()
        assert.deepStrictEqual(found, [])
      },
    })
  })
