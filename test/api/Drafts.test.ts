import { assert, it } from "@effect/vitest"
import { adminToken } from "../support/service.ts"
import { assertProblem, read, suiteOnService } from "./harness.ts"

const variant = { id: "warm", vars: { subject: "Hello", body: "Hi" } }

suiteOnService("Drafts and versions of variants", (bench) => {
  const manage = (method: string, path: string, body?: unknown) => bench.service.manage(method, path, body)

  /** An organization with a template of one variant; answers the path of the template. */
  const start = async (org: string) => {
    const { template } = await bench.organization(org)
    await template({ id: "welcome", name: "Welcome", variants: [variant] })
    return `/organizations/${org}/templates/welcome`
  }

  const changeFrom = async (path: string, base: string, body: unknown) =>
    read(
      await bench.service.request(`/console/api${path}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json", "if-match": `"${base}"` },
        body: JSON.stringify(body),
      }),
    )

  it("keep a text that cannot be saved yet, without serving it", async () => {
    const path = await start("drafted")
    const form = {
      id: "",
      name: "",
      active: true,
      variables: [{ name: "subject", format: "text", source: "Hello {{ nam" }],
      conditions: [{ attribute: "tier", op: "is", values: "" }],
      seasons: [],
      components: "no colon",
    }
    const { body: stored } = await manage("PUT", `${path}/draft?variant=warm`, { form })
    const { body: found } = await manage("GET", `${path}/draft?variant=warm`)
    assert.deepStrictEqual(found.form, form)
    assert.strictEqual(found.author, "Admin token")
    assert.isFalse(found.conflict)
    assert.isNotEmpty(found.faults)
    const { body: live } = await manage("GET", `${path}/variants/warm`)
    assert.strictEqual(live.vars.subject, "Hello")
    assert.strictEqual(found.base, live.updated_at)
    assert.strictEqual((await manage("POST", `${path}/draft/publish?variant=warm`)).status, 400)

    // Another window of the author is not overwritten.
    const second = await manage("PUT", `${path}/draft?variant=warm`, { form, replaces: stored.saved_at })
    assert.strictEqual(second.status, 200)
    const third = await manage("PUT", `${path}/draft?variant=warm`, { form, replaces: stored.saved_at })
    assert.strictEqual(third.status, 409)
    assert.strictEqual(third.body.type, "/problems/version-conflict")
    assert.strictEqual((await manage("PUT", `${path}/draft?variant=warm`, { form, replaces: null })).status, 409)

    assert.strictEqual((await manage("GET", `${path}/drafts`)).body.drafts.length, 1)
    assert.strictEqual((await manage("DELETE", `${path}/draft?variant=warm`)).status, 204)
    assert.strictEqual((await manage("GET", `${path}/draft?variant=warm`)).status, 404)
    assert.strictEqual((await manage("PUT", `${path}/draft?variant=cold`, { form })).status, 404)
    assert.strictEqual((await manage("PUT", `${path}/draft?variant=warm`, {})).status, 400)
  })

  it("become the variant, unless somebody else has saved it since", async () => {
    const path = await start("published")
    await manage("PUT", `${path}/draft?variant=warm`, { change: { vars: { subject: "Mine" } } })
    const { body: changed } = await manage("PATCH", `${path}/variants/warm`, { vars: { subject: "Theirs" } })
    const refused = await manage("POST", `${path}/draft/publish?variant=warm`)
    assert.strictEqual(refused.status, 409)
    assert.strictEqual(refused.body.current.vars.subject, "Theirs")
    const { body: draft } = await manage("GET", `${path}/draft?variant=warm`)
    assert.isTrue(draft.conflict)
    assert.deepStrictEqual(
      draft.changes.fields.map(({ after, before, field }: Record<string, unknown>) => [field, before, after]),
      [["/vars/subject", "Theirs", "Mine"]],
    )
    await manage("PUT", `${path}/draft?variant=warm`, { form: draft.form, base: changed.updated_at })
    const { body: saved, status } = await manage("POST", `${path}/draft/publish?variant=warm`)
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(saved.vars, { subject: "Mine" })
    assert.strictEqual((await manage("GET", `${path}/draft?variant=warm`)).status, 404)

    await manage("PUT", `${path}/draft`, { change: { name: "Cold!", vars: { subject: "Brr" } } })
    const { body: made } = await manage("POST", `${path}/draft/publish`)
    assert.strictEqual(made.id, "cold")
  })

  it("reject a change made from an older version", async () => {
    const path = await start("matched")
    const { body: first } = await manage("GET", `${path}/variants/warm`)
    const saved = await changeFrom(`${path}/variants/warm`, first.updated_at, { vars: { subject: "One" } })
    assert.strictEqual(saved.status, 200)
    const refused = await changeFrom(`${path}/variants/warm`, first.updated_at, { vars: { subject: "Two" } })
    assertProblem(refused, 409, "version-conflict")
    assert.strictEqual(refused.json.current.vars.subject, "One")
    assert.strictEqual((await changeFrom(`${path}/variants/warm`, "*", { vars: { subject: "Two" } })).status, 200)
  })

  it("keep earlier contents of a variant, which can be restored", async () => {
    const path = await start("versioned")
    await manage("PATCH", `${path}/variants/warm`, { vars: { subject: "Second" } })
    await manage("PATCH", `${path}/variants/warm`, { active: false })
    await manage("POST", "/organizations/versioned/templates/import", {
      templates: [{ id: "welcome", name: "Welcome", variants: [{ ...variant, vars: { subject: "Third" } }] }],
    })
    const { body: { versions } } = await manage("GET", `${path}/variants/warm/versions`)
    assert.strictEqual(versions.length, 3, "a switch is no version")
    assert.strictEqual(versions[0].author, "Admin token")
    const first = versions.at(-1).id
    const { body: shown } = await manage("GET", `${path}/variants/warm/versions/${first}`)
    assert.deepStrictEqual(shown.vars, variant.vars)
    assert.include(shown.changes.fields.map(({ field }: { field: string }) => field), "/vars/body")
    const { body: before } = await manage("GET", `${path}/variants/warm`)
    const { body: restored } = await manage("POST", `${path}/variants/warm/versions/${first}/restore`)
    assert.deepStrictEqual(restored.vars, variant.vars)
    assert.strictEqual(restored.active, before.active)
    assert.strictEqual((await manage("GET", `${path}/variants/warm/versions`)).body.versions.length, 4)
    assert.strictEqual((await manage("GET", `${path}/variants/warm/versions/0`)).status, 404)
    assert.strictEqual((await manage("POST", `${path}/variants/warm/versions/x/restore`)).status, 404)
    const { body: { changes } } = await manage("GET", `${path}/history`)
    assert.strictEqual(changes[0].action, "variant changed")
  })
})
