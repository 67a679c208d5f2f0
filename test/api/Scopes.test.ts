import { assert, it } from "@effect/vitest"
import { managementScopeNames, scopeNames } from "../../src/domain/ApiKey.ts"
import { adminToken } from "../support/service.ts"
import { type Answer, assertProblem, type Json, read, suiteOnService } from "./harness.ts"

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** Names of the security schemes, without scopes. */
  readonly schemes: ReadonlySet<string>
  /** Scopes of which an API key needs one, as the document states them. */
  readonly scopes: ReadonlyArray<string>
}

/** The scope that each group of operations needs; other operations are in none. */
const needed: Readonly<Record<string, ReadonlyArray<string>>> = {
  "templates:read": ["listTemplates", "getTemplate", "getVariant", "preview", "findTemplates", "templateHistory"],
  "templates:write": [
    "createTemplate",
    "importTemplates",
    "importCopy",
    "importStrings",
    "changeTemplates",
    "updateTemplate",
    "deleteTemplate",
    "updateVariant",
  ],
  "results:read": [
    "templateResults",
    "templateSeries",
    "templateSendTimes",
    "listDecisions",
    "listResultShares",
    "exportResults",
  ],
  "deliveries:read": ["listDeliveries", "getDelivery", "deliverySummary", "listSuppressions", "exportSuppressions"],
  "deliveries:write": ["cancelDelivery", "retryDelivery", "retryDeliveries", "cancelDeliveries", "addSuppression"],
  "events:read": ["listEvents", "recentEvents", "findStory", "listInbox", "dryRun"],
  admin: ["updateOrganization", "createKey", "listKeys", "putConnection", "putSource", "erasePerson", "putMember"],
  generate: ["generate", "generateByQuery", "batchGenerate", "delay"],
  deliver: ["deliver", "listOwnDeliveries", "getOwnDelivery", "cancelOwnDelivery"],
  events: ["receiveEvents"],
}

suiteOnService("Scopes of API keys", (bench) => {
  const call = async (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answer> =>
    read(
      await bench.service.request(path, {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  const operations = async (): Promise<ReadonlyArray<Operation>> => {
    const { json } = await call("GET", "/openapi.json", {})
    return Object.entries<Json>(json.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(([method, { operationId, security }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path,
        schemes: new Set<string>(security.flatMap((one: Json) => Object.keys(one))),
        scopes: [...new Set<string>(security.flatMap((one: Json) => one.ApiKeyHeader ?? []))],
      }))
    )
  }

  const keyWith = async (org: string, scopes: ReadonlyArray<string>): Promise<string> => {
    const { body, status } = await bench.service.manage("POST", `/organizations/${org}/keys`, { name: "k", scopes })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return body.key
  }

  /**
   * Requests an operation on records that do not exist, with a body that no operation takes, so that nothing changes.
   */
  const attempt = ({ method, path }: Operation, org: string, key: string) => {
    const url = path.replace("{org}", org).replace("{segment}", "provider_a").replace(/\{\w+\}/g, "none")
    return call(method, url, { "x-api-key": key }, method === "GET" || method === "DELETE" ? undefined : [])
  }

  it("opens every operation with each of its scopes, and refuses it without them and for another organization", async () => {
    const [own, other] = [await bench.organization("scopes-own"), await bench.organization("scopes-other")]
    const only = new Map<string, string>()
    for (const scope of scopeNames) only.set(scope, await keyWith(own.slug, [scope]))
    const foreign = await keyWith(other.slug, scopeNames)
    const lacking = new Map<string, Promise<string>>()
    const without = (scopes: ReadonlyArray<string>) => {
      const held = scopeNames.filter((scope) => !scopes.includes(scope))
      const known = lacking.get(held.join()) ?? keyWith(own.slug, held)
      lacking.set(held.join(), known)
      return known
    }
    const guarded = (await operations()).filter(({ schemes }) => schemes.size > 0)
    assert.isAbove(guarded.length, 90)
    for (const operation of guarded) {
      const { id, path, scopes } = operation
      for (const scope of scopes) {
        const answer = await attempt(operation, own.slug, only.get(scope)!)
        assert.notInclude([401, 403, 500], answer.status, `${id} with ${scope}: ${answer.text}`)
      }
      const refused = await attempt(operation, own.slug, await without(scopes))
      assertProblem(refused, 403, "forbidden", id)
      const [held = "", asked = ""] = refused.json.detail.split(";")
      for (const scope of scopeNames) {
        assert.strictEqual(
          held.split(/[ ,]+/).includes(scope),
          !scopes.includes(scope),
          `${id}: ${refused.json.detail}`,
        )
      }
      assert.include(asked, scopes[0] ?? "no scope opens this request", id)
      if (!path.includes("{org}")) continue
      const [elsewhere, nowhere] = [
        await attempt(operation, own.slug, foreign),
        await attempt(operation, "scopes-none", foreign),
      ]
      assertProblem(elsewhere, 403, "forbidden", id)
      assert.strictEqual(elsewhere.text.replaceAll(own.slug, "X"), nowhere.text.replaceAll("scopes-none", "X"), id)
    }
  })

  it("states the scheme and the scopes of every operation", async () => {
    const all = await operations()
    for (const [scope, ids] of Object.entries(needed)) {
      for (const id of ids) {
        const { scopes } = all.find((one) => one.id === id)!
        const writing = scope.replace(/:read$/, ":write")
        const publishing = writing.replace(/:write$/, ":publish")
        const expected = (managementScopeNames as ReadonlyArray<string>).includes(scope)
          ? scopeNames.filter((one) => [scope, writing, publishing, "admin"].includes(one))
          : [scope]
        assert.sameMembers([...scopes], [...expected], id)
      }
    }
    const management = all.filter(({ path }) => path.startsWith("/console/api/"))
    for (const { id, schemes } of management) assert.includeMembers([...schemes], ["AdminToken", "ConsoleSession"], id)
    const closed = management.filter(({ scopes }) => scopes.length === 0).map(({ id }) => id)
    assert.includeMembers(closed, [
      "createOrganization",
      "setOrganizationQuota",
      "listAccounts",
      "listInstallationAudit",
    ])
    assert.deepStrictEqual(
      management.filter(({ path, scopes }) => path.includes("{org}") && scopes.length === 0).map(({ id }) => id),
      ["setOrganizationQuota"],
      "every operation on an organization has a scope, except for its quota",
    )
  })

  it("accepts a management key in either header, limited to its own organization", async () => {
    const org = await bench.organization("scopes-headers")
    const key = await keyWith(org.slug, ["templates:read"])
    const path = `/console/api/organizations/${org.slug}/templates`
    for (
      const headers of [{ "x-api-key": key }, { authorization: `Bearer ${key}` }, { authorization: `bearer ${key}` }]
    ) {
      assert.strictEqual((await call("GET", path, headers)).status, 200)
      const { json } = await call("GET", "/console/api/organizations", headers)
      assert.deepStrictEqual(json.organizations.map(({ slug }: Json) => slug), [org.slug])
    }
    const other = await keyWith(org.slug, ["admin"])
    assertProblem(await call("GET", path, { "x-api-key": key, authorization: `Bearer ${other}` }), 401, "unauthorized")
    const both = await call("GET", path, { "x-api-key": "wrong", authorization: `Bearer ${adminToken}` })
    assert.strictEqual(both.status, 200, "the admin token comes first")
    assertProblem(await call("GET", path, { "x-api-key": `${key}x` }), 401, "unauthorized")
    const wrong = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`
    const refused = await call("GET", path, { authorization: `Bearer ${wrong}` })
    assertProblem(refused, 401, "unauthorized")
    assert.include(refused.json.detail, "API key is unknown")
    for (
      const [text, detail] of [[key.slice(0, -1), "66 characters in place of 67"], [`${key.slice(0, -1)}!`, "no key"]]
    ) {
      const incomplete = await call("GET", path, { authorization: `Bearer ${text}` })
      assertProblem(incomplete, 401, "unauthorized")
      assert.include(incomplete.json.detail, detail)
    }
  })

  it("is refused by all calls without the word Bearer, with the expected form", async () => {
    const org = await bench.organization("scopes-bare")
    const paths = [`/api/generate/${org.slug}?template_id=t`, `/console/api/organizations/${org.slug}/templates`]
    for (const path of paths) {
      for (const authorization of [org.key, `Token ${org.key}`, `Basic ${btoa(`${org.key}:`)}`]) {
        const refused = await call("GET", path, { authorization })
        assertProblem(refused, 401, "unauthorized", path)
        assert.match(refused.json.detail, /write `Authorization: Bearer`.*X-Api-Key/, path)
        assert.notInclude(refused.text, org.key)
      }
    }
    const { status } = await call("GET", paths[0]!, { authorization: `bearer ${org.key}` })
    assert.strictEqual(status, 404, "the key is taken, and there is no such template")
  })

  it("stops working when revoked, is rate limited, and is named in the audit log", async () => {
    const org = await bench.organization("scopes-life")
    const { body: key } = await bench.service.manage("POST", `/organizations/${org.slug}/keys`, {
      name: "ci",
      scopes: ["templates:write"],
      rate_limit: { requests: 3, per: "minute" },
    })
    const at = `/console/api/organizations/${org.slug}`
    const made = await call("POST", `${at}/templates`, { "x-api-key": key.key }, { id: "by-key", name: "By key" })
    assert.strictEqual(made.status, 201, made.text)
    assert.match(made.headers.get("ratelimit-policy") ?? "", /q=3;w=60/)
    const { body: log } = await bench.service.manage("GET", `/organizations/${org.slug}/audit`)
    const entry = log.entries.find(({ action }: Json) => action === "template created")
    assert.deepInclude(entry, { actor: `API key ${key.id}`, subject: "by-key" })
    for (const status of [200, 200, 429]) {
      assert.strictEqual((await call("GET", `${at}/templates`, { "x-api-key": key.key })).status, status)
    }
    assert.strictEqual((await bench.service.manage("DELETE", `/organizations/${org.slug}/keys/${key.id}`)).status, 204)
    const ended = await call("GET", `${at}/templates`, { "x-api-key": key.key })
    assertProblem(ended, 401, "unauthorized")
    assert.include(ended.json.detail, "revoked")
  })

  it("rejects management scopes for a test key, and a second factor set by a key", async () => {
    const org = await bench.organization("scopes-refused")
    const path = `/organizations/${org.slug}/keys`
    const test = { name: "t", kind: "test", scopes: ["generate", "templates:write", "admin"] }
    const { body, status } = await bench.service.manage("POST", path, test)
    assert.strictEqual(status, 400)
    assert.deepStrictEqual(body.errors.map(({ pointer }: Json) => pointer), ["/scopes"])
    assert.include(body.errors[0].detail, "templates:write, admin")
    const admin = await keyWith(org.slug, ["admin"])
    const at = `/console/api/organizations/${org.slug}`
    const required = await call("PATCH", at, { "x-api-key": admin }, { require_second_factor: true })
    assertProblem(required, 400, "invalid-request")
    assert.strictEqual((await call("PATCH", at, { "x-api-key": admin }, { name: "Renamed" })).status, 200)
    const e = await call("PUT", `${at}/webhooks/sfmc`, { "x-api-key": admin }, { enabled: true })
    assertProblem(e, 403, "forbidden")
    const sandbox = `/console/api/organizations/${org.slug}~test`
    const reading = await keyWith(org.slug, ["deliveries:read", "templates:read"])
    assertProblem(await call("GET", `${sandbox}/templates`, { "x-api-key": reading }), 403, "forbidden")
    await bench.service.manage("POST", path, { name: "t", kind: "test" })
    assert.strictEqual((await call("GET", `${sandbox}/deliveries`, { "x-api-key": reading })).status, 200)
  })
})
