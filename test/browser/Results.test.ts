import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { managed, password } from "../console/furnished.ts"
import { decide, receive } from "../intake/support.ts"
import { day, hour, makeTemplate, plant, settle, startServer } from "../learning/support.ts"
import { type BrowserContext, printed, screenshot } from "../support/browser.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

const segment = (daypart: string) => encodeContext([["daypart", daypart], ["weekend", "weekday"]])
const path = "/console/o/shop/templates/t/results"
const many = "/console/o/many/templates/t/results"

/** Messages of people who look at them at eight in the evening in Berlin, sent at hours all over the day. */
const plantEvenings = Effect.fnUntraced(function* (slug: string, template: string, copies: ReadonlyArray<string>) {
  const events: Array<object> = []
  const hourOf = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", hour: "numeric" })
  for (let n = 0; n < 160; n++) {
    const at = Math.floor(Date.now() / day) * day - (5 + n % 40) * day + (n * 5 % 24) * hour
    const id = `evening/${n}`
    yield* decide(slug, id, { template, copy: copies[n % copies.length]!, user: `u${n % 20}`, at })
    const opened = at + ((20 - Number(hourOf.format(at)) + 24) % 24) * hour
    events.push({ event: "sent", tracking_id: id, occurred_at: new Date(at).toISOString(), event_id: `s${id}` })
    if (n % 3 > 0) {
      events.push({ event: "open", tracking_id: id, occurred_at: new Date(opened).toISOString(), event_id: `o${id}` })
    }
  }
  yield* receive(slug, events)
})

/** Decisions of many variants over ten days. */
const plantMany = Effect.fnUntraced(function* (slug: string, copies: ReadonlyArray<string>) {
  for (const ago of [2, 4, 6, 8, 10]) {
    for (const [n, copy] of copies.entries()) {
      for (const daypart of ["morning", "evening"]) {
        const outcomes = { click: 2 + n % 5, open: 10 }
        yield* plant(slug, { copy, decisions: 25, outcomes, segment: segment(daypart), ago: ago * day })
      }
    }
  }
  yield* settle(slug)
})

const start = Effect.gen(function* () {
  const running = yield* startServer(yield* temporaryEnvironment)
  const manage = managed(running.service)
  yield* Effect.promise(async () => {
    await manage("POST", "/accounts", { email: "ada@example.com", name: "Ada", administrator: true, password })
    await manage("POST", "/organizations", { slug: "shop", name: "Harbour Books", time_zone: "Europe/Berlin" })
    await manage("POST", "/organizations", { slug: "bare", name: "Bare" })
    await running.run(makeTemplate("shop", "t", ["warm", "short", "playful"]))
    await running.run(Effect.gen(function* () {
      for (const days of [5, 4, 3, 2]) {
        const more = 20 * (6 - days)
        for (const daypart of ["morning", "evening"]) {
          const at = { segment: segment(daypart), ago: days * day }
          const n = 40 + more
          yield* plant("shop", {
            ...at,
            copy: "warm",
            decisions: n,
            outcomes: { click: Math.round(n / 5), open: n / 2 },
          })
          yield* plant("shop", { ...at, copy: "short", decisions: 40, outcomes: { click: 3, open: 15 } })
          yield* plant("shop", { ...at, copy: "playful", decisions: 30, outcomes: { click: 2 } })
        }
      }
      yield* settle("shop")
    }))
    await manage("POST", "/organizations", { slug: "evening", name: "Evening", time_zone: "Europe/Berlin" })
    await running.run(makeTemplate("evening", "t", ["warm", "short"]))
    await running.run(Effect.andThen(plantEvenings("evening", "t", ["warm", "short"]), settle("evening")))
    await manage("PATCH", "/organizations/evening", {
      quiet_hours: { from: "21:30", to: "07:00" },
      allowed_days: ["mon", "tue", "wed", "thu", "fri", "sat"],
    })
    await manage("POST", "/organizations", { slug: "many", name: "Many" })
    const copies = Array.from({ length: 40 }, (_, n) => `variant-${n}`)
    await running.run(Effect.andThen(makeTemplate("many", "t", copies), plantMany("many", copies)))
    await manage("POST", "/organizations", { slug: "still", name: "Still" })
    await running.run(makeTemplate("still", "t", ["a"]))
  })
  return running
}).pipe(Effect.orDie)

describeInBrowser("Results in a browser", start, (tried) => {
  const open = (context: BrowserContext) => tried.signIn(context, "ada@example.com")

  it("refreshes as events arrive, until it is paused", async () => {
    const context = await tried.browser().newContext()
    const page = await open(context)
    const refused: Array<string> = []
    page.on("console", (message) => message.type() === "error" && refused.push(message.text()))
    await page.goto(`${tried.service().url}${path}`)
    await page.getByText(/\d sends since .* Rates describe/).waitFor()
    const before = await page.locator("[data-live=window]").innerText()
    await page.locator("#share details summary").click()
    await tried.started().run(Effect.gen(function* () {
      yield* plant("shop", {
        copy: "warm",
        decisions: 37,
        outcomes: { click: 9 },
        segment: segment("morning"),
        ago: 1000,
      })
      yield* settle("shop")
    }))
    await page.waitForFunction(
      (text) => (document.querySelector("[data-live=window]") as HTMLElement).innerText !== text,
      before,
      { timeout: 30_000 },
    )
    assert.isTrue(await page.locator("#share details").evaluate((one: HTMLDetailsElement) => one.open), "stays open")
    await page.getByRole("button", { name: "Pause" }).click()
    await page.getByText("Paused").waitFor()
    const at = await page.evaluate(() => document.documentElement.dataset["renewed"])
    await page.reload()
    await page.getByText("Paused").waitFor()
    assert.isUndefined(await page.evaluate(() => document.documentElement.dataset["renewed"]), `was ${at}`)
    await page.getByRole("button", { name: "Update live" }).click()
    await page.waitForFunction(() => document.documentElement.dataset["renewed"] !== undefined)
    assert.deepStrictEqual(refused, [], "the policy of the page refused nothing")
    await context.close()
  }, 120_000)

  it("reads the values of charts with the keyboard, and keeps the pictures without scripts", async () => {
    const context = await tried.browser().newContext()
    const page = await open(context)
    const refused: Array<string> = []
    page.on("console", (message) => message.type() === "error" && refused.push(message.text()))
    await page.goto(`${tried.service().url}${path}`)
    const chart = page.locator("#rate .interactive")
    await chart.locator("canvas").waitFor()
    const values = page.locator("#rate .chart-values")
    const last = await values.innerText()
    assert.match(last, /warm \d+\.\d+\u00a0% \(\d/)
    assert.isFalse(await page.locator("#rate .plot").isVisible())
    await chart.focus()
    await page.keyboard.press("Home")
    const first = await values.innerText()
    assert.notStrictEqual(first, last)
    await page.keyboard.press("End")
    assert.strictEqual(await values.innerText(), last)
    assert.deepStrictEqual(refused, [], "the policy of the page refused nothing")
    await context.close()
    const plain = await tried.browser().newContext({ javaScriptEnabled: false })
    const without = await open(plain)
    await without.goto(`${tried.service().url}${path}`)
    assert.isTrue(await without.locator("#rate .plot").isVisible())
    await plain.close()
  }, 120_000)

  it("links results to the hours of the week, which mark the best hour and cross out quiet hours", async () => {
    const context = await tried.browser().newContext()
    const page = await open(context)
    await page.goto(`${tried.service().url}/console/o/evening/templates/t/results`)
    await page.locator(".fold > summary").filter({ hasText: "Send times" }).click()
    await page.getByRole("link", { name: "Hours of the week" }).click()
    await page.getByRole("heading", { name: "t · Send times" }).waitFor()
    assert.match(await page.locator("#week .headline").innerText(), /(19|20):00 is the best hour to send/)
    await page.locator("#week details summary").click()
    const row = (hour: number) => page.locator("#week tbody tr").nth(hour).innerText()
    assert.match(await row(3), /^3:00(\s+\([\d.]+\)){7}$/, "in brackets all week")
    assert.match(await row(12), /^12:00(\s+[\d.]+){6}\s+\([\d.]+\)$/, "on Sundays nothing is sent")
    assert.strictEqual(await page.locator("#week .cells .off.partly").count(), 6)
    assert.strictEqual(await page.locator("#week .cells .marked").count(), 1)
    await page.getByRole("link", { name: "Quiet hours and days" }).click()
    await page.getByLabel("Quiet from").waitFor()
    await context.close()
  })

  it("shows the winner one click from the templates, and shares it in two more", async () => {
    const context = await tried.browser().newContext()
    const page = await open(context)
    await page.goto(`${tried.service().url}/console/o/shop/templates`)
    await page.getByRole("link", { name: /results of t$/ }).click()
    const first = page.getByRole("region", { name: "Who wins" })
    assert.match(await first.innerText(), /warm (leads|wins)[\s\S]*runner-up\s+\+\d/)
    await page.getByRole("link", { name: "Share" }).click()
    await tried.submit(page, "Create link")
    const field = page.getByLabel("Link to the results")
    const link = await field.inputValue()
    assert.isTrue(await field.evaluate((one: HTMLInputElement) => one.selectionEnd === one.value.length), "selected")
    await context.close()
    const reader = await tried.browser().newContext()
    const seen = await reader.newPage()
    const refused: Array<string> = []
    seen.on("console", (message) => message.type() === "error" && refused.push(message.text()))
    await seen.goto(link)
    assert.match(await seen.getByRole("region", { name: "Who wins" }).innerText(), /warm (leads|wins)/)
    await seen.locator("#rate .interactive canvas").waitFor()
    assert.strictEqual(await seen.getByRole("link", { name: /Templates|Overview|Sign/ }).count(), 0)
    assert.deepStrictEqual(refused, [], "the policy of the page refused nothing")
    await reader.close()
  })

  it("is at most three screens high with 40 variants, with parts that open", async () => {
    const context = await tried.browser().newContext({ viewport: { width: 1440, height: 900 } })
    const page = await open(context)
    await page.goto(`${tried.service().url}${many}`)
    await page.locator("#rate .interactive canvas").waitFor()
    await screenshot(page, "results-many-1440")
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollHeight), 2_700)
    for (const [part, id] of [["More over time", "gain"], ["Segments", "segments"], ["When people engage", "hours"]]) {
      assert.isFalse(await page.locator(`#${id}`).isVisible())
      await page.locator(".fold > summary").filter({ hasText: part! }).click()
      assert.isTrue(await page.locator(`#${id}`).isVisible())
    }
    const chart = page.locator("#gain .interactive canvas").first()
    await chart.waitFor()
    assert.isAbove((await chart.boundingBox())!.width, 300)
    await context.close()
  })

  it("prints without navigation, with the pictures of every part", async () => {
    const context = await tried.browser().newContext({ colorScheme: "dark" })
    const page = await open(context)
    for (const [name, where] of [["results-print", path], ["results-print-many", many]] as const) {
      await page.goto(`${tried.service().url}${where}`)
      await page.locator("#rate .interactive canvas").waitFor()
      await printed(page, name)
    }
    await page.emulateMedia({ media: "print" })
    for (
      const gone of [
        ".side",
        ".top-bar",
        ".tabs",
        ".choosing",
        "#rate .interactive",
        "form[method=get]",
        ".pills",
        "a.button",
      ]
    ) {
      assert.strictEqual(await page.locator(gone).filter({ visible: true }).count(), 0, gone)
    }
    for (const there of ["h1", "#rate .plot", "#share .plot", "#best .plot", "#gain .plot", "#segments", "#hours"]) {
      assert.isTrue(await page.locator(there).isVisible(), there)
    }
    await context.close()
  })

  it("does not refresh by itself for readers who prefer reduced motion", async () => {
    const context = await tried.browser().newContext({ reducedMotion: "reduce" })
    const page = await open(context)
    await page.goto(`${tried.service().url}${path}`)
    await page.getByText("Paused").waitFor()
    await context.close()
  })

  it("works without scripts and by keyboard", async () => {
    const context = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await open(context)
    await page.goto(`${tried.service().url}/console/o/shop`)
    await page.getByRole("link", { name: "t · Results" }).click()
    await page.getByRole("heading", { name: "t · Results" }).waitFor()
    assert.isTrue(await page.locator("#live-switch").isHidden())
    await page.locator("#rate details summary").focus()
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Click rate over time" }).waitFor()
    await page.getByText("Other window or segment").click()
    await page.getByLabel("Segment", { exact: true }).selectOption({ label: "time of day is evening" })
    await page.getByLabel("Days", { exact: true }).fill("30")
    await page.getByRole("button", { name: "Show" }).click()
    assert.match(page.url(), /lookback_days=30&offset_days=&segment=daypart%3Devening/)
    await page.getByText("where time of day is evening").waitFor()
    await page.getByLabel("Days", { exact: true }).fill("0")
    await page.keyboard.press("Enter")
    assert.match(await page.getByRole("alert").innerText(), /Days:?\s+must be a number of days from 1 to 365/)
    await context.close()
  })

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    const { path: shared } = await tried.manage("POST", "/organizations/shop/templates/t/result-shares", {})
    await tried.inEveryLook(async (context, check) => {
      const page = await open(context)
      for (
        const [name, where] of [
          ["results", path],
          ["results-many", many],
          ["results-explore", `${many}/explore`],
          ["results-share", `${path}/share`],
          ["results-shared", shared],
          ["results-shared-expired", "/console/shared-results?token=expired"],
          ["results-wrong", `${path}?lookback_days=0`],
          ["send-times", "/console/o/evening/templates/t/send-times"],
          ["send-times-empty", "/console/o/still/templates/t/send-times"],
          ["overview", "/console/o/shop"],
          ["overview-empty", "/console/o/bare"],
        ] as const
      ) {
        await page.goto(`${tried.service().url}${where}`)
        if (name === "send-times") await page.locator("#week").waitFor()
        for (const details of await page.locator("main details").all()) {
          await details.evaluate((one: HTMLDetailsElement, open) => one.open = open, name === "results-wrong")
        }
        await check(page, name)
      }
    })
  }, 300_000)
})
