import { assert } from "@effect/vitest"
import { it } from "vitest"
import type { Json } from "../api/harness.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken } from "../support/service.ts"
import { base, describeShop, variantForm } from "./shop.ts"

describeShop("Filters of the audit log", (shop) => {
  const log = "/console/o/shop/settings/audit"

  const asked = (query: Readonly<Record<string, string>>, path = "/organizations/shop/audit") =>
    shop.manage("GET", `${path}?${new URLSearchParams(query)}`)

  const entries = async (query: Readonly<Record<string, string>>, path?: string): Promise<ReadonlyArray<string>> => {
    const all: Array<string> = []
    let before: number | null = null
    do {
      const page: Json = await asked(
        { limit: "2", ...query, ...(before === null ? {} : { before: `${before}` }) },
        path,
      )
      all.push(...page.entries.map(({ actor, subject }: Json) => `${actor}: ${subject}`))
      before = page.next
    } while (before !== null)
    return all
  }

  it("return the same entries in the API, on the page and in the command", async () => {
    const begin = new Date()
    const variants = [{ id: "a", vars: { subject: "a" } }]
    for (const id of ["first", "second"]) {
      await shop.manage("POST", "/organizations/shop/templates", { id, name: id, variants })
    }
    const editor = await shop.signIn("editor@example.com")
    for (const source of ["one", "two", "three"]) {
      const path = `${base}/first/variants/a`
      const [, opened = ""] = /name="base" value="([^"]+)"/.exec((await editor.get(path)).text)!
      assert.strictEqual((await editor.post(path, variantForm({ var_0_source: source, base: opened }))).status, 303)
    }
    const { entries: [newest] } = await asked({ limit: "1" })
    const until: string = newest.at
    await shop.manage("PATCH", "/organizations/shop/templates/second", { name: "Renamed" })

    const byEditor = Array.from({ length: 3 }, () => "editor@example.com: first / a")
    assert.deepStrictEqual(await entries({ actor: "editor@example.com" }), byEditor)
    assert.deepStrictEqual(await entries({ action: "variant changed" }), byEditor)
    assert.deepStrictEqual(await entries({ subject: "second" }), ["Admin token: second", "Admin token: second"])
    assert.deepStrictEqual(await entries({ subject: "second", action: "template created" }), ["Admin token: second"])
    assert.deepStrictEqual(await entries({ subject: "second", since: until }), ["Admin token: second"])
    assert.lengthOf(await entries({ since: begin.toISOString() }), 6)
    const early = await entries({ since: begin.toISOString(), until })
    assert.deepStrictEqual(early, [...byEditor.slice(1), "Admin token: second", "Admin token: first"])
    assert.deepStrictEqual(await entries({ until: "2001-01-01" }), [])
    assert.deepStrictEqual(await entries({ actor: "nobody's" }), [])

    const environment = { PARLANCE_URL: shop.service.url, ADMIN_TOKEN: adminToken }
    const parlance = async (...args: ReadonlyArray<string>) => {
      const { code, output } = await runCommand(["audit", "list", ...args], environment)
      assert.strictEqual(code, 0, output)
      return output
    }
    const filters = ["--actor", "editor@example.com", "--action", "variant changed", "--subject", "first"]
    const listed = await parlance("--org", "shop", ...filters, "--until", until, "--json")
    assert.deepStrictEqual(JSON.parse(listed).map(({ subject }: Json) => subject), ["first / a", "first / a"])
    assert.include(await parlance("--org", "shop", "--since", "2100-01-01"), "No matching entries")

    const admin = await shop.signIn("admin@example.com")
    const page = await admin.get(`${log}?${new URLSearchParams({ actor: "editor@example.com", until })}`)
    assert.include(page.text, "2 changes, newest first")
    // Fields of forms are in the zone of the organization, to the minute.
    const later = new Date(begin.getTime() + 86_400_000)
    const inBerlin = later.toLocaleString("sv", { timeZone: "Europe/Berlin" }).slice(0, 16).replace(" ", "T")
    const found = await admin.get(`${log}?${new URLSearchParams({ action: "variant changed", until: inBerlin })}`)
    assert.include(found.text, "3 changes, newest first")
    assert.include(found.text, `name="until" value="${inBerlin}"`)
    const none = await admin.get(`${log}?${new URLSearchParams({ since: inBerlin })}`)
    assert.include(none.text, "No matching changes")
    assert.include(
      (await admin.get(`${log}?since=soon`)).text,
      "newest first",
      "a text that is no time filters nothing",
    )
  })

  it("page through entries without gaps", async () => {
    const all = await entries({ limit: "200" })
    assert.deepStrictEqual(await entries({ limit: "1" }), all)
    assert.deepStrictEqual(await entries({ limit: `${all.length}` }), all)
    assert.isNull((await asked({ limit: `${all.length}` })).next, "a full last page has no next one")
  })

  it("accept every action of the log, including refusals and sign-ins", async () => {
    const accounts = await entries({ action: "account created" }, "/audit")
    assert.include(accounts, "Admin token: viewer@example.com")
    assert.deepStrictEqual(await entries({ action: "API key refused" }), [])
    const refused = await shop.service.manage(
      "GET",
      "/organizations/shop/audit?action=variants+changed&since=yesterday&until=2026-13-01&limit=0",
    )
    assert.strictEqual(refused.status, 400)
    assert.deepStrictEqual(refused.body.errors.map(({ pointer }: Json) => pointer), [
      "action",
      "since",
      "until",
      "limit",
    ])
  })
})
