import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sectionOf, shortTitle, templateTabs, trailOf } from "../../src/console/Trail.ts"
import { inLanguageOf } from "../../src/languages/Language.ts"

const base = "/console/o/acme"

describe("the breadcrumbs of a console page", () => {
  it("begin with the section of the sidebar", () => {
    assert.strictEqual(sectionOf(`${base}/settings/keys/new`)?.label, "API Keys")
    assert.strictEqual(sectionOf(`${base}/settings`)?.label, "General")
    assert.strictEqual(sectionOf(`${base}/sources/events/inbox`)?.label, "Webhook sources")
    assert.strictEqual(sectionOf("/console/o/acme~test/sources/events/inbox")?.label, "Received events")
    assert.isUndefined(sectionOf("/console/account"))
    assert.strictEqual(sectionOf(base)?.label, "Overview")
    assert.strictEqual(sectionOf(`${base}/views/late`, `${base}/deliveries?state=failed`)?.label, "Deliveries")
    assert.isUndefined(sectionOf(`${base}/views/late/delete`, `${base}/views/late`))
  })

  it("name each parent page once", () => {
    assert.deepStrictEqual(trailOf(`${base}/templates`, undefined), [])
    assert.deepStrictEqual(trailOf(base, undefined), [])
    const templates = { href: `${base}/templates`, label: "Templates" }
    assert.deepStrictEqual(trailOf(`${base}/templates/welcome`, templates), [templates])
    const welcome = { href: `${base}/templates/welcome`, label: "Welcome" }
    assert.deepStrictEqual(trailOf(`${base}/templates/welcome/results`, welcome), [templates, welcome])
    const failed = { href: `${base}/deliveries?state=failed`, label: "Deliveries" }
    assert.deepStrictEqual(trailOf(`${base}/deliveries/-/retry`, failed), [failed])
    const accounts = { href: "/console/accounts", label: "All accounts" }
    assert.deepStrictEqual(trailOf("/console/accounts/a/remove", accounts), [accounts])
  })

  it("do not repeat the parent page in the title", () => {
    const back = { href: "/", label: "Welcome" }
    assert.strictEqual(shortTitle("Welcome · Results", back), "Results")
    assert.strictEqual(shortTitle("Welcome", back), "Welcome")
    assert.strictEqual(shortTitle("Results", undefined), "Results")
  })
})

describe("the tabs of a template", () => {
  const current = (path: string) => templateTabs(`${base}${path}`, true).filter(({ isCurrent }) => isCurrent)

  it("include every page of the template", () => {
    const tabs = {
      "": "Content",
      "/variants/a": "Content",
      "/new-variant": "Content",
      "/audience": "Audience",
      "/results": "Results",
      "/send-times": "Results",
      "/history/12": "History",
      "/settings": "Settings",
      "/archive": "Settings",
      "/delete": "Settings",
    }
    for (const [path, label] of Object.entries(tabs)) {
      assert.deepStrictEqual(current(`/templates/welcome${path}`).map((tab) => tab.label), [label], path)
    }
    assert.strictEqual(current("/templates/a%20b/results")[0]?.href, `${base}/templates/a%20b/results`)
  })

  it("appear on no other page, and offer the settings to editors only", () => {
    for (const path of ["/templates", "/templates/-/new", "/templates/-/import", "/people", ""]) {
      assert.deepStrictEqual(templateTabs(`${base}${path}`, true), [], path)
    }
    const labels = templateTabs(`${base}/templates/t`, false).map(({ label }) => label)
    assert.deepStrictEqual(labels, ["Content", "Audience", "Results", "Comments", "History"])
  })
})

describe("the way to a page in German", () => {
  it.effect("marks the tab of the page, and names its section", () =>
    Effect.sync(() => {
      const tabs = templateTabs(`${base}/templates/welcome/results`, true)
      assert.deepStrictEqual(tabs.filter(({ isCurrent }) => isCurrent).map(({ label }) => label), ["Ergebnisse"])
      assert.strictEqual(sectionOf(`${base}/templates/welcome`)?.label, "Vorlagen")
    }).pipe(inLanguageOf("de")))
})
