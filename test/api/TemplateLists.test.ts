import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { priorModel } from "../../src/bandit/Model.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { RequestNotices } from "../../src/decide/RequestNotices.ts"
import { RenderingCounts } from "../../src/decide/RenderingCounts.ts"
import { Models } from "../../src/learning/Models.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken, type Service } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

type Started = Effect.Success<ReturnType<typeof startWith>>

describe("tags, owners, winners and failing variants of templates", () => {
  let started: Started
  let service: Service
  aroundTests(startWith(), (world) => {
    started = world
    service = world.service
  })

  const manage = async (method: string, path: string, body?: unknown) => {
    const answer = await service.manage(method, path, body)
    assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
    return answer.body
  }

  const member = async (org: string, email: string, name: string) => {
    const { id } = await manage("POST", "/accounts", { email, name })
    await manage("PUT", `/organizations/${org}/members/${id}`, { role: "editor" })
    return id as string
  }

  const variants = ["a", "b"].map((id) => ({ id, name: `Variant ${id}`, vars: { subject: id } }))

  /** An organization with five templates. */
  const organization = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: slug })
    await manage("POST", `/organizations/${slug}/templates/import`, {
      templates: ["cart", "news", "offer", "receipt", "welcome"].map((id) => ({ id, name: `The ${id}`, variants })),
    })
    return `/organizations/${slug}`
  }

  const found = async (org: string, query: Readonly<Record<string, string>>): Promise<ReadonlyArray<string>> => {
    const { templates } = await manage("GET", `${org}/template-index?${new URLSearchParams(query)}`)
    return templates.map(({ id }: { id: string }) => id)
  }

  it("are changed for several templates at once, and used as filters", async () => {
    const org = await organization("tagged")
    await member("tagged", "ada@tagged.example", "Ada")
    const batch = (body: object) => service.manage("POST", `${org}/templates/batch`, body)
    assert.deepStrictEqual((await batch({ ids: ["cart", "offer", "gone"], add_tags: ["sales", "חגים 🎂"] })).body, {
      changed: 2,
    })
    assert.deepStrictEqual(
      (await batch({ ids: ["offer"], remove_tags: ["sales"], owner: "ADA@tagged.example" })).body,
      {
        changed: 1,
      },
    )
    assert.deepStrictEqual((await batch({ ids: ["offer"], remove_tags: ["sales"] })).body, { changed: 0 })
    assert.deepStrictEqual(await found(org, { tag: "חגים 🎂" }), ["cart", "offer"])
    assert.deepStrictEqual(await found(org, { tag: "sales" }), ["cart"])
    assert.deepStrictEqual(await found(org, { tag: "none of them" }), [])
    assert.deepStrictEqual(await found(org, { owner: "ada@tagged.example" }), ["offer"])
    assert.deepStrictEqual(await found(org, { owner: "none", sort: "name", order: "desc" }), [
      "welcome",
      "receipt",
      "news",
      "cart",
    ])
    const first = await manage("GET", `${org}/template-index?sort=tag&limit=2`)
    assert.deepStrictEqual(first.templates.map(({ tags }: { tags: unknown }) => tags), [["sales", "חגים 🎂"], [
      "חגים 🎂",
    ]])
    const rest = await found(org, { sort: "tag", after: first.next })
    assert.deepStrictEqual(rest, ["news", "receipt", "welcome"])

    const { entries } = await manage("GET", `${org}/audit?limit=3`)
    assert.deepStrictEqual(
      entries.map(({ action, changes, subject }: {
        action: string
        subject: string
        changes: { fields: ReadonlyArray<{ field: string }> }
      }) => [action, subject, ...changes.fields.map(({ field }) => field)]),
      [
        ["template changed", "offer", "/tags", "/owner"],
        ["template changed", "offer", "/tags"],
        ["template changed", "cart", "/tags"],
      ],
    )
    const history = await manage("GET", `${org}/templates/cart/history`)
    assert.strictEqual(history.changes.length, 2)
  })

  it("are rejected with every fault", async () => {
    const org = await organization("refused")
    const refused = async (path: string, method: string, body: object) => {
      const answer = await service.manage(method, `${org}${path}`, body)
      assert.strictEqual(answer.status, 400, JSON.stringify(answer.body))
      return answer.body.errors.map(({ detail, pointer }: { detail: string; pointer: string }) =>
        `${pointer} ${detail}`
      )
        .join("\n")
    }
    assert.match(
      await refused("/templates/cart", "PATCH", { tags: ["a", "a", "b,c", " d"], owner: "nobody" }),
      /^\/tags\/2 .*comma[^]*\/tags\/3 [^]*\/owner must be the e-mail address of a member/,
    )
    assert.include(await refused("/templates/cart", "PATCH", { tags: ["a", "a"] }), "/tags/1 is there twice")
    const stranger = 'must be the e-mail address of a member. "eve@x.example" is not a member of this organization'
    assert.strictEqual(await refused("/templates/cart", "PATCH", { owner: "eve@x.example" }), `/owner ${stranger}`)
    assert.strictEqual(
      await refused("/templates", "POST", { id: "new", name: "New", owner: "Eve@x.example" }),
      `/owner ${stranger}`,
    )
    assert.strictEqual(
      await refused("/templates/batch", "POST", { ids: ["cart"], owner: "eve@x.example" }),
      `/owner ${stranger}`,
    )
    const imported = { id: "cart", name: "The cart" }
    assert.strictEqual(
      await refused("/templates/import", "POST", {
        templates: [{ ...imported, id: "news" }, { ...imported, owner: "eve@x.example" }],
      }),
      `/templates/1/owner ${stranger}`,
    )
    const many = Array.from({ length: 12 }, (_, n) => `tag ${n}`)
    await manage("POST", `${org}/templates/batch`, { ids: ["cart"], add_tags: many })
    assert.match(
      await refused("/templates/batch", "POST", { ids: ["cart", "news"], add_tags: many.map((tag) => `other ${tag}`) }),
      /^\/add_tags would give "The cart" more than 20 tags/,
    )
    assert.deepStrictEqual(await found(org, { tag: "other tag 1" }), [], "nothing of it was stored")
    const bad = await service.manage("GET", `${org}/template-index?state=odd&winner=x&failing=y&sort=z&after=~`)
    assert.deepStrictEqual(bad.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
      "after",
      "failing",
      "sort",
      "state",
      "winner",
    ])
  })

  it("stay in files, and keep an owner who has left until somebody else takes over", async () => {
    const org = await organization("left")
    const id = await member("left", "ada@left.example", "Ada")
    const file = [{ id: "cart", name: "The cart", tags: ["sales"], owner: "ada@left.example", variants }]
    await manage("POST", `${org}/templates/import`, { templates: file })
    const without = await manage("POST", `${org}/templates/import`, {
      templates: [{ id: "cart", name: "The cart", variants }],
    })
    assert.deepStrictEqual(without.unchanged, ["cart"], "a file without tags and owner keeps them")
    await manage("DELETE", `${org}/members/${id}`)
    assert.deepStrictEqual(await found(org, { owner: "left" }), ["cart"])
    const { templates } = await manage("GET", `${org}/template-index?tag=sales`)
    assert.deepStrictEqual(templates[0].owner, { email: "ada@left.example", name: null })
    assert.deepStrictEqual((await manage("POST", `${org}/templates/import`, { templates: file })).unchanged, ["cart"])
    await manage("PATCH", `${org}/templates/cart`, { name: "Still without an owner of the organization" })
    await manage("POST", `${org}/templates/import`, {
      templates: [{ id: "cart", name: "The cart", tags: [], owner: null, variants }],
    })
    assert.deepStrictEqual(await found(org, { owner: "left" }), [])
    assert.deepStrictEqual(await found(org, { tag: "sales" }), [])
  })

  it("list winners among the active variants, and variants that cannot be rendered", async () => {
    const org = await organization("won")
    const model = {
      ...priorModel({
        version: "news:1",
        now: Date.now(),
        window: { mode: "adaptive", halfLifeDays: 120 },
        scheme: { keys: [], builtIns: [] },
        organization: defaultPriors,
      }),
      verdict: {
        verdict: "winner" as const,
        winner: "b",
        contenders: ["a", "b"],
        since: Date.UTC(2026, 10, 1),
        evidenceFrom: null,
        lookedAt: Date.now(),
        objective: "click",
      },
    }
    await started.run(Effect.gen(function* () {
      const models = yield* Models
      for (const template of ["news", "offer"]) models.adopt({ org: "won", template, version: 1, model })
      const renderings = yield* RenderingCounts
      for (let n = 0; n < 20; n++) {
        renderings.count("won", "receipt", {
          _tag: "NotRendered",
          error: { copyId: "a", faults: [{ variable: "subject" }] },
        } as never)
      }
      yield* renderings.flush
      const notices = yield* RequestNotices
      for (let n = 0; n < 3; n++) notices.count("repeated", "won", "cart", ["user_id", "attrs.tier"])
      notices.count("unfilled", "won", "news", ["attrs.tier"])
      yield* notices.flush
    }))
    // A winner that is paused has not won among the variants in use.
    await manage("PATCH", `${org}/templates/offer/variants/b`, { active: false })
    assert.deepStrictEqual(await found(org, { winner: "found" }), ["news"])
    assert.deepStrictEqual(await found(org, { winner: "none" }), ["cart", "offer", "receipt", "welcome"])
    assert.deepStrictEqual(await found(org, { failing: "variants" }), ["receipt"])
    assert.deepStrictEqual(await found(org, { failing: "tracking-ids" }), ["cart"])
    assert.deepStrictEqual(await found(org, { failing: "placeholders" }), ["news"])
    assert.deepStrictEqual((await found(org, { sort: "winner" }))[0], "news")
    assert.deepStrictEqual((await found(org, { sort: "failing" }))[0], "receipt")
    const { templates } = await manage("GET", `${org}/template-index?search=NEWS`)
    assert.deepInclude(templates[0], {
      winner: { copy_id: "b", since: "2026-11-01T00:00:00.000Z" },
      failing: [],
      failed_deliveries: 0,
      repeated_tracking_ids: 0,
      unfilled_requests: 1,
      state: "active",
    })
  })

  it("are changed and found on the command line", async () => {
    const org = await organization("line")
    await member("line", "ada@line.example", "Ada")
    const call = async (...args: ReadonlyArray<string>) => {
      const settings = { PARLANCE_URL: service.url, ADMIN_TOKEN: adminToken, DATA_DIR: "/nonexistent" }
      const { code, output } = await runCommand([...args, "--org", "line"], settings)
      assert.strictEqual(code, 0, output)
      return output
    }
    assert.include(
      await call("template", "change", "cart", "news", "--add-tag", "sales", "--owner", "ada@line.example"),
      "Changed templates: 2",
    )
    assert.include(await call("template", "change", "news", "--state", "paused"), "Changed templates: 1")
    assert.match(
      await call("template", "find", "--tag", "sales", "--state", "inactive", "--owner", "ada@line.example"),
      /\nnews +The news +inactive +2 +0 +none +sales +ada@line\.example /,
    )
    await call("template", "update", "cart", "--tag", "spring", "--owner", "")
    assert.deepInclude(await manage("GET", `${org}/templates/cart`), { tags: ["spring"], owner: null })
    assert.include(await call("template", "export"), "tags: [ spring ]")
  })
})
