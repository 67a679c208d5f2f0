import { assert } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { it } from "vitest"
import { accessTable } from "../../src/api/AccessTable.ts"
import { editorPaths } from "../../src/console/pages/templates/EditorPage.tsx"
import { base, describeShop, variantForm } from "./shop.ts"

const one = "/console/o/:org/templates/:template"
const variant = `${one}/variants/:variant`

/**
 * What each form that writes templates sends: a change of served content, or with `harmless` one that needs no approval.
 * Forms of several buttons share a path.
 */
const samples: Readonly<
  Record<string, { readonly fields?: Readonly<Record<string, string>>; readonly harmless?: true }>
> = {
  "/console/o/:org/templates/-/${what}": { fields: { id: "welcome" } },
  "/console/o/:org/templates/-/switch": { fields: { active: "false", variants: "welcome\tb" } },
  "/console/o/:org/templates/-/import": {
    fields: {
      text: JSON.stringify({ templates: [{ id: "new", name: "N", variants: [{ id: "a", vars: { s: "x" } }] }] }),
    },
  },
  "/console/o/:org/templates/-/new": {
    fields: { name: "Empty", objective: "click", sticky_hours: "0" },
    harmless: true,
  },
  [`${one}/settings`]: { fields: { name: "Welcome", objective: "conversion", sticky_hours: "0" } },
  // Messages do not contain the name.
  [`${one}/rename`]: { fields: { name: "Renamed" }, harmless: true },
  [`${one}/duplicate`]: {},
  [`${one}/archive`]: {},
  [`${one}/restore`]: { fields: { archived: "false" }, harmless: true },
  [`${one}/delete`]: {},
  [`${one}/new-variant`]: { fields: variantForm({ id: "c", do: "activate" }) },
  [variant]: { fields: variantForm({ var_0_source: "Changed" }) },
  [`${variant}/state`]: { fields: { active: "false" } },
  [`${variant}/duplicate`]: { harmless: true },
  [`${variant}/delete`]: {},
  "${base}/:version/restore": {},
  "${path}/publish-draft": { fields: { author: "admin@example.com" } },
  "${path}/ship": { fields: { variant: "a" } },
  "${path}/stop": { fields: { variant: "b" } },
  "${path}/undo": { fields: { deactivate: "b" } },
}

const pages = fileURLToPath(new URL("../../src/console/pages", import.meta.url))

/**
 * The paths of the forms that write templates, as the sources of the pages have them. Snippets, images and suggestions
 * have tests of their own.
 */
const formsThatWrite = (): ReadonlyArray<string> => {
  const writing = new Set(
    [...accessTable].flatMap(([name, { action, scope }]) =>
      action !== undefined && scope === "templates:write" &&
        !/Comment|Image|Proposal|SamplePerson|Snippet|Suggestion/.test(name)
        ? [name]
        : []
    ),
  )
  const found = globSync("**/*.tsx", { cwd: pages }).flatMap((file) => {
    const text = readFileSync(`${pages}/${file}`, "utf8")
    return [...text.matchAll(/(?:action|asks|form)\(\s*["`]([^"`]+)["`],\s*"(\w+)"/g)]
      .flatMap(([, path, endpoint]) => writing.has(endpoint!) ? [path!] : [])
  })
  // Both forms of the editor are made by one function.
  return [...found, ...editorPaths]
}

describeShop("Forms while approval is on", (shop) => {
  const welcome = (id: string) =>
    shop.manage("POST", "/organizations/shop/templates", {
      id,
      name: "Welcome",
      variants: [{ id: "a", name: "Warm", vars: { subject: "Hello {{ name }}" } }, {
        id: "b",
        vars: { subject: "Hi" },
      }],
    })

  /** Versions of a variant that has been changed since it was made, the latest first. */
  const versionsOf = async (id: string): Promise<ReadonlyArray<{ readonly id: number }>> => {
    const of = `/organizations/shop/templates/${id}/variants/a`
    await shop.manage("PATCH", of, { vars: { subject: "Changed" } })
    const { versions } = await shop.manage("GET", `${of}/versions`)
    assert.lengthOf(versions, 2)
    return versions
  }

  it("each have a sample in this test", () => {
    assert.sameMembers([...new Set(formsThatWrite())], Object.keys(samples))
  })

  for (const [path, { fields = {}, harmless = false }] of Object.entries(samples)) {
    const buttons = path.includes("${what}") ? ["deactivate", "archive"] : [""]
    for (const [number, what] of buttons.entries()) {
      it(`${harmless ? "do not change live messages by" : "propose a change by"} ${path.replace("${what}", what)}`, async () => {
        const id = `t-${Object.keys(samples).indexOf(path)}-${number}`
        await shop.manage("PATCH", "/organizations/shop", { template_approval: "editor" })
        await welcome(id)
        const versions = path.endsWith("/:version/restore") ? await versionsOf(id) : []
        const before = await shop.manage("GET", `/organizations/shop/templates/${id}`)
        const editor = await shop.signIn("admin@example.com")
        const ofVariant = `${base}/${id}/variants/a`
        if (path.endsWith("/publish-draft")) {
          const draft = variantForm({ var_0_source: "Changed", base: before.variants[0].updated_at })
          assert.isBelow((await editor.post(`${ofVariant}/save-draft`, draft)).status, 400)
        }
        const at = path.replace("${path}/publish-draft", `${variant}/publish-draft`).replace(
          "${path}",
          `${one}/results`,
        ).replace("${base}/:version", `${variant}/versions/${versions.at(-1)?.id}`)
          .replace("${what}", what).replace(":org", "shop")
          .replace(":template", id).replace(":variant", "a")
        const named = Object.fromEntries(
          Object.entries(fields).map((
            [name, value],
          ) => [name, /^(?:id|variants)$/.test(name) ? value.replace("welcome", id) : value]),
        )
        const { headers, status, text } = await editor.post(at, {
          ...named,
          base: before.variants[0].updated_at,
          over: before.variants[0].updated_at,
        })
        assert.strictEqual(status, 303, text)
        const location = headers.get("location") ?? ""
        if (harmless) return assert.notInclude(location, "/reviews")
        assert.match(location, /^\/console\/o\/shop\/reviews\/\d+\?done=change-proposed$/)
        assert.deepStrictEqual(await shop.manage("GET", `/organizations/shop/templates/${id}`), before)
        const page = await editor.get(location)
        assert.strictEqual(page.status, 200)
        assert.include(page.text, "You proposed this change. Somebody else has to approve it.")
        assert.notInclude(page.text, "Approve and make live")
      })
    }
  }

  it("show HTML as text on pages of proposals and comments", async () => {
    const script = `<script>document.title="owned"</script>`
    const { variants: [{ updated_at: updatedAt }] } = await welcome("hostile")
    const editor = await shop.signIn("editor@example.com")
    const proposed = await editor.post(
      `${base}/hostile/variants/a`,
      variantForm({ var_0_source: script, name: script, base: updatedAt }),
    )
    const review = proposed.headers.get("location")!.split("?")[0]!
    await editor.post(`${review}/note`, { note: script })
    const admin = await shop.signIn("admin@example.com")
    assert.notInclude((await admin.get(review)).text, script)
    await admin.post(`${review}/reject`, { comment: script })
    assert.notInclude((await admin.get(review)).text, script)
    await admin.post(`${base}/hostile/comments`, { text: `@editor ${script}` })
    const { text } = await admin.get(`${base}/hostile/comments`)
    assert.notInclude(text, script)
    assert.include(text, `<b class="mention">@editor</b>`)
    for (const path of [`${review}/approve`, `${review}/withdraw`, `${review}/update`]) {
      assert.strictEqual((await admin.post(path, { version: "1" })).status, 400, path)
    }
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${review}/approve`, { version: "1" })).status, 403)
    for (const none of ["0", "x", "999999", "%00"]) {
      assert.strictEqual((await viewer.get(`/console/o/shop/reviews/${none}`)).status, 404, none)
      assert.strictEqual((await viewer.get(`${base}/hostile/comments/${none}`)).status, 404, none)
    }
    const blank = await viewer.post(`${base}/hostile/comments`, { text: " " })
    assert.strictEqual(blank.status, 400)
    assert.include(blank.text, "must not be blank")
  })
})
