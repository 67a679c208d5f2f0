import { assert } from "@effect/vitest"
import { Duration, Effect, Layer, Logger } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import process from "node:process"
import { describe, it } from "vitest"
import { inTime, NotPreviewed, PagePatience } from "../../src/console/pages/templates/PreviewInTime.tsx"
import { base, describeShop, variantForm } from "./shop.ts"

/** The number of the process that checks Liquid, a child of this one. */
const checkingProcess = (): number => {
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, "utf8").replace(/^.*\) /s, "").split(" ")[1])
      const command = readFileSync(`/proc/${entry}/cmdline`, "utf8")
      if (parent === process.pid && command.includes("check.process.ts")) return Number(entry)
    } catch {
      // The process ended meanwhile.
    }
  }
  throw new Error("No process checks Liquid")
}

describe("A preview with a defect", () => {
  it("fails alone, without the rest of its page", async () => {
    const shown = await Effect.runPromise(inTime(Effect.die(new Error("a bug"))).pipe(Effect.provide(Logger.layer([]))))
    assert.instanceOf(shown, NotPreviewed)
    assert.strictEqual(shown.reason, "It failed: see the service's log.")
  })
})

describeShop(
  "A preview whose process hangs",
  (shop) => {
    it("is replaced by a note with a link, on pages that show everything else", async () => {
      const editor = await shop.signIn("editor@example.com")
      await shop.manage("POST", "/organizations/shop/templates", { id: "cart", name: "Cart reminder" })
      const form = variantForm({
        id: "warm",
        components: "image: shoe",
        var_1_name: "body",
        var_1_format: "html",
        var_1_source: "<p>Hi {{ name }}</p>",
      })
      await editor.post(`${base}/cart/new-variant`, form)
      const preview = `${base}/cart/variants/warm/preview?fields=%7B%22name%22%3A%22Ann%22%7D&attrs=%7B%7D&at=`
      // Each start of the process takes its time, and goes on when a page no longer waits for it.
      await editor.get(preview)
      assert.include((await editor.get(preview)).text, "Hello Ann")

      process.kill(checkingProcess(), "SIGSTOP")
      const page = await editor.get(`${base}/cart`)
      assert.strictEqual(page.status, 200)
      assert.match(
        page.text,
        /The preview could not be made\..*<a href="\/console\/o\/shop\/templates\/cart\?page=1">Try again/s,
      )
      assert.include(page.text, "no preview")
      for (const shown of ["Cart reminder", "Sending and tracking", "warm", "1 variant", "everyone"]) {
        assert.include(page.text, shown)
      }
      // The hanging process was killed, so that later pages have their preview.
      await editor.get(preview)
      const again = await editor.get(`${base}/cart`)
      assert.strictEqual(again.status, 200)
      assert.notInclude(again.text, "could not be made")
      assert.include(again.text, "Hello")

      process.kill(checkingProcess(), "SIGSTOP")
      const frame = await editor.get(preview)
      assert.strictEqual(frame.status, 200)
      assert.match(frame.text, /The preview could not be made\..*<a href="[^"]*\/warm\/preview\?[^"]*">Try again/s)
      assert.include(frame.text, "Who matches")
      assert.include(frame.text, "Saved variants for this person")

      await editor.get(preview)
      process.kill(checkingProcess(), "SIGSTOP")
      const message = await editor.get(`${base}/cart/variants/warm/message?name=body&fields=%7B%7D`)
      assert.strictEqual(message.status, 200)
      assert.match(message.text, /Not rendered: It took longer than 2 seconds.*Try again/)

      await editor.get(preview)
      process.kill(checkingProcess(), "SIGSTOP")
      const posted = await editor.post(`${base}/cart/preview`, form)
      assert.strictEqual(posted.status, 200)
      assert.match(posted.text, /The preview could not be made\..*Preview it again/s)
    })
  },
  {},
  Layer.succeed(PagePatience, Duration.seconds(2)),
)
