import { assert } from "@effect/vitest"
import { it } from "vitest"
import { base, describeShop } from "./shop.ts"

describeShop("Settings in the console", (shop) => {
  it("can be changed in two windows without undoing each other", async () => {
    const editor = await shop.signIn("editor@example.com")
    const admin = await shop.signIn("admin@example.com")
    await shop.manage("POST", "/organizations/shop/templates", { id: "two", name: "Two", tags: ["old"] })
    const openedIn = (text: string) => /name="_opened" value="([^"]+)"/.exec(text)![1]!.replaceAll("&quot;", '"')
    const path = `${base}/two/settings`
    const opened = openedIn((await editor.get(path)).text)
    const shown = JSON.parse(opened)
    await editor.post(path, { ...shown, _opened: opened, tags: "new" })
    const refused = await editor.post(path, { ...shown, _opened: opened, name: "Renamed", sticky_hours: "x" })
    assert.strictEqual(refused.status, 400)
    assert.strictEqual(openedIn(refused.text), opened)
    await editor.post(path, { ...shown, _opened: opened, name: "Renamed" })
    const { name, tags } = await shop.manage("GET", "/organizations/shop/templates/two")
    assert.deepStrictEqual([name, tags], ["Renamed", ["new"]])

    const settings = "/console/o/shop/settings"
    const before = openedIn((await admin.get(settings)).text)
    await shop.manage("PATCH", "/organizations/shop", { holdout: { share: 0.1, content: "even" } })
    await admin.post(settings, { ...JSON.parse(before), _opened: before, name: "Shop of two" })
    const after = await shop.manage("GET", "/organizations/shop")
    assert.deepStrictEqual([after.name, after.holdout.share], ["Shop of two", 0.1])
    await shop.manage("PATCH", "/organizations/shop", { name: "Shop", holdout: { share: 0, content: "even" } })
  })

  it("have boxes, lines and addresses that two windows can change", async () => {
    const admin = await shop.signIn("admin@example.com")
    const settings = "/console/o/shop/settings"
    const url = "https://links.shop.example"
    const events = ["trial", "upgrade"]
    await shop.manage("PATCH", "/organizations/shop", {
      tracking: { opens: true, clicks: true, url: null },
      conversion_events: events,
    })
    const page = (await admin.get(settings)).text
    const _opened = /name="_opened" value="([^"]+)"/.exec(page)![1]!.replaceAll("&quot;", '"')
    const shown = { ...JSON.parse(_opened), _opened, conversion_events: events.join("\r\n") }
    const week = shown.allowed_days.split("\n")
    const without = (...days: ReadonlyArray<string>) => week.filter((day: string) => !days.includes(day))
    const boxes = { tracking: "clicks", allowed_days: without("sun").join("\n") }
    await admin.post(settings, { ...shown, ...boxes, tracking_url: url, conversion_events: "upgrade\r\ndemo" })
    await admin.post(settings, {
      ...shown,
      tracking: "opens",
      allowed_days: without("sat").join("\n"),
      conversion_events: [...events, "renewal"].join("\r\n"),
    })
    const { allowed_days, conversion_events, tracking } = await shop.manage("GET", "/organizations/shop")
    assert.deepStrictEqual(tracking, { opens: false, clicks: false, url })
    assert.deepStrictEqual(allowed_days, without("sat", "sun"))
    assert.deepStrictEqual(conversion_events, ["upgrade", "demo", "renewal"])
    await shop.manage("PATCH", "/organizations/shop", {
      tracking: { opens: false, clicks: false, url: null },
      allowed_days: null,
      conversion_events: [],
    })
  })
})
