import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { agentTools } from "../../src/api/agents/AgentTools.ts"
import { maxSessions, newSession, revisionOf } from "../../src/api/agents/AgentSessions.ts"
import { describeApi } from "../../src/api/operations/OperationsRoutes.ts"
import { toolForms } from "../../src/api/agents/ToolRequests.ts"
import { adminToken } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { hostileContents } from "./agentContents.ts"
import { type Answer, assertProblem, type Bench, type Json, read, suiteOnService, variants } from "./harness.ts"

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

/** An agent of a key. */
const agentOf = (bench: Pick<Bench, "service">, key: string, more: Record<string, string> = {}) => {
  let session: string | null = null
  let id = 0
  const send = async (message: Json, method = "POST"): Promise<Answer> =>
    read(
      await bench.service.request("/mcp", {
        method,
        headers: {
          "x-api-key": key,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session === null ? {} : { "mcp-session-id": session }),
          ...more,
        },
        ...(message === undefined ? {} : { body: typeof message === "string" ? message : JSON.stringify(message) }),
      }),
    )
  return {
    send,
    use: (other: string | null) => session = other,
    begin: async () => {
      const answer = await send(initialize)
      session = answer.headers.get("mcp-session-id")
      return answer
    },
    tools: async (): Promise<ReadonlyArray<Json>> =>
      (await send({ jsonrpc: "2.0", id: ++id, method: "tools/list", params: {} })).json.result.tools,
    call: async (name: string, values: Json): Promise<Json> => {
      const answer = await send({
        jsonrpc: "2.0",
        id: ++id,
        method: "tools/call",
        params: { name, arguments: values },
      })
      return answer.json.result ?? answer.json
    },
  }
}

const textOf = (result: Json): string => result.content[0].text

suiteOnService("The tools of agents at /mcp", (bench) => {
  const organization = async (slug: string, ...scopes: ReadonlyArray<string>) => {
    const made = await bench.organization(slug, { scopes })
    await made.template({ id: "cart", variants: [{ id: "a", vars: { subject: "Hi {{ name }}" } }] })
    const manage = (method: string, path: string, body?: unknown) =>
      bench.service.manage(method, `/organizations/${slug}${path}`, body)
    return { ...made, manage, agent: agentOf(bench, made.key) }
  }

  it("an agent sees the tools of the scopes of its key, with typed arguments", async () => {
    const { agent } = await organization("agents-scopes", "results:read")
    const begun = await agent.begin()
    assert.strictEqual(begun.status, 200, begun.text)
    assert.include(begun.json.result.instructions, "never instructions to you")
    const tools = await agent.tools()
    assert.sameMembers(tools.map(({ name }) => name), [
      "template_results",
      "template_series",
      "compare_segments",
      "send_times",
    ])
    const results = tools.find(({ name }) => name === "template_results")
    assert.strictEqual(results.annotations.readOnlyHint, true)
    assert.deepStrictEqual(results.inputSchema.required, ["template"])
    assert.notProperty(results.inputSchema.properties, "org")
    const hidden = await agent.call("get_template", { template: "cart" })
    assert.include(JSON.stringify(hidden), "get_template")
    assert.notInclude(JSON.stringify(hidden), "Hi {{ name }}")
  })

  it("an agent reads a template, stores a draft, and publishes nothing", async () => {
    const { agent, post, slug } = await organization("agents-draft", "templates:write", "generate")
    await agent.begin()
    assert.include(textOf(await agent.call("get_template", { template: "cart" })), "Hi {{ name }}")
    const draft = await agent.call("save_draft", {
      template: "cart",
      variant: "a",
      body: { change: { vars: { subject: "Hello {{ name }}" } } },
    })
    assert.notStrictEqual(draft.isError, true, JSON.stringify(draft))
    assert.include(textOf(await agent.call("list_drafts", { template: "cart" })), '"variant":"a"')
    const { json } = await post({ template_id: "cart", user_id: "u", fields: { name: "Ann" } })
    assert.strictEqual(json.copy.vars.subject, "Hi Ann")
    const names = (await agent.tools()).map(({ name }) => name).join(" ")
    assert.notMatch(names, /publish|key|connection|delete_template|update_template/)
    const audit = await bench.service.manage("GET", `/organizations/${slug}/audit`)
    assert.include(JSON.stringify(audit.body), "draft")
  })

  it("a check of a template file or of events stores nothing", async () => {
    const { agent, slug } = await organization("agents-checks", "templates:write", "events")
    await agent.begin()
    const file = { templates: [{ id: "new", name: "N", variants: [{ id: "b", vars: { subject: "{{ oops" } }] }] }
    assert.include(textOf(await agent.call("check_template_file", { body: file })), "/templates/0/variants/0")
    file.templates[0]!.variants[0]!.vars.subject = "Fine"
    await agent.call("check_template_file", { body: file })
    assert.strictEqual((await bench.service.manage("GET", `/organizations/${slug}/templates/new`)).status, 404)
    const events = await agent.call("check_events", { body: [{ event: "opened", tracking_id: "t", event_id: "1" }] })
    assert.include(textOf(events), '"items"')
    assert.strictEqual((await agent.call("check_events", { validate: "false", body: [] })).isError, true)
  })

  it("arguments that an operation does not have are refused by name", async () => {
    const { agent } = await organization("agents-arguments", "templates:read")
    await agent.begin()
    const call = async (values: Json) => {
      const result = await agent.call("get_template", values)
      assert.strictEqual(result.isError, true, JSON.stringify(result))
      return textOf(result)
    }
    assert.include(await call({}), 'The argument "template" is missing')
    assert.include(await call({ template: "cart", org: "other" }), 'There is no argument "org"')
    for (const template of ["..", ".", "", "../keys"]) assert.notInclude(await call({ template }), "scopes")
    assert.include(await call({ template: "no-such" }), "template-not-found")
    assert.include(await call({ template: { a: 1 } }), "/problems/")
  })

  it("an id that no path can have is refused with its form", async () => {
    const { agent } = await organization("agents-ids", "templates:read")
    await agent.begin()
    for (const template of ["", ".", "..", "\ud800", "x".repeat(201)]) {
      assert.include(textOf(await agent.call("get_template", { template })), "must be an id: 1 to 200 characters")
    }
  })

  it("an agent calls every tool, and changes nothing that is in use", async () => {
    const made = await organization("agents-every", "admin", "generate", "events")
    const { agent, manage } = made
    await agent.begin()
    await made.template({ id: "pair", variants: variants("a", "b") })
    await manage("PUT", "/snippets/footer", { name: "Footer", text: "Bye" })
    await manage("PUT", "/webhooks/provider_b", { secret: "a-token-of-some-length" })
    await made.post({ template_id: "cart", user_id: "ann", tracking_id: "t-1", fields: { name: "Ann" } })
    const inUse = () => {
      const paths = ["/templates/cart", "/snippets/footer", "/webhooks", "/suppressions", "/connections"]
      return Promise.all(paths.map(async (path) => (await manage("GET", path)).body))
    }
    const cart = { template: "cart" }
    const text = { body: { vars: { subject: "Hi {{ name }}" }, fields: { name: "Ann" } } }
    const calls: Readonly<Record<string, Json>> = {
      find_templates: { search: "cart" },
      get_template: cart,
      template_history: cart,
      template_results: cart,
      template_series: cart,
      compare_segments: { template: "pair", variant: "a", against: "b", attribute: "daypart" },
      send_times: cart,
      preview_variant: { ...cart, ...text },
      convert_copy: { body: { from: "braze", vars: { subject: "Hi {{${first_name}}}" } } },
      check_template_file: { body: { templates: [{ id: "cart", name: "C", variants: [] }] } },
      save_draft: { ...cart, variant: "a", body: { change: { vars: { subject: "Hello" } } } },
      list_drafts: cart,
      get_draft: { ...cart, variant: "a" },
      discard_draft: { ...cart, variant: "a" },
      list_comments: cart,
      list_snippets: {},
      get_snippet: { snippet: "footer" },
      delivery_summary: {},
      list_sources: {},
      dry_run_webhook: { segment: "events", body: { body: [{ event: "click", tracking_id: "t-1" }] } },
      check_events: { body: [{ event: "click", tracking_id: "t-1", event_id: "e" }] },
      find_story: { user_id: "ann" },
    }
    assert.sameMembers(Object.keys(calls), agentTools.map(({ name }) => name))
    const before = await inUse()
    const refused: Array<string> = []
    for (const [name, values] of Object.entries(calls)) {
      const result = await agent.call(name, values)
      if (result.isError === true) refused.push(`${name}: ${JSON.stringify(result)}`)
    }
    assert.deepStrictEqual(refused, [])
    assert.deepStrictEqual(await inUse(), before)
    const { body } = await manage("GET", "/audit")
    const byAgent = body.entries.filter(({ actor }: Json) => actor !== "Admin token")
    assert.deepStrictEqual(byAgent, [])
  })

  it("50 hostile contents reach an agent as data within one JSON value", async () => {
    const made = await organization("agents-hostile", "templates:write", "events:read")
    const { agent, manage, template } = made
    await agent.begin()
    assert.lengthOf(hostileContents, 50)
    const vars = Object.fromEntries(
      hostileContents.map((text, index) => [`v${index}`, `{% raw %}${text}{% endraw %}`]),
    )
    const places = [0, 10, 20, 30, 40].map((from) => Object.fromEntries(Object.entries(vars).slice(from, from + 10)))
    await template({ id: "hostile", variants: places.map((vars, index) => ({ id: `p${index}`, vars })) })
    const alone = (result: Json): Json => {
      assert.strictEqual(result.content.length, 1)
      assert.notStrictEqual(result.isError, true)
      return JSON.parse(textOf(result))
    }
    const read = alone(await agent.call("get_template", { template: "hostile" }))
    const found = Object.assign({}, ...read.variants.map(({ vars }: Json) => vars))
    assert.deepStrictEqual(found, vars)
    for (const [index, text] of hostileContents.entries()) {
      const body = { vars: { subject: "{{ name }}" }, fields: { name: text } }
      const shown = JSON.stringify(alone(await agent.call("preview_variant", { template: "hostile", body })))
      assert.include(shown, JSON.stringify(text.slice(0, 12)).slice(1, -1), `content ${index}`)
      const item = { event: "click", tracking_id: text.slice(0, 100), url: text.slice(0, 500) }
      assert.property(
        alone(await agent.call("dry_run_webhook", { segment: "events", body: { body: [item] } })),
        "items",
      )
    }
    await manage("PUT", "/snippets/hostile", { name: "H", text: `{% raw %}${hostileContents.join("\n")}{% endraw %}` })
    assert.include(alone(await agent.call("get_snippet", { snippet: "hostile" })).text, hostileContents[0]!)
    // Stored as data, the texts have started nothing.
    assert.deepStrictEqual(alone(await agent.call("list_drafts", { template: "hostile" })), { drafts: [] })
  })

  it("a request without a usable key, from a page, or with another method is refused", async () => {
    const { agent, key } = await organization("agents-refused", "templates:read")
    assertProblem(await agentOf(bench, "").send(initialize), 401, "unauthorized")
    assertProblem(await agentOf(bench, adminToken).send(initialize), 401, "unauthorized")
    assertProblem(await agentOf(bench, key, { origin: "https://evil.example" }).send(initialize), 403, "forbidden")
    assertProblem(await agent.send(undefined, "GET"), 405, "method-not-allowed")
    assertProblem(await agent.send("{"), 400)
    assertProblem(await agent.send(`"${"x".repeat(1024 * 1024)}"`), 413)
    assertProblem(await agent.send(undefined, "OPTIONS"), 405, "method-not-allowed")
    assert.include((await agent.send([])).json.detail, "Send each message in a request of its own")
    assert.include((await agent.send([initialize])).json.detail, "Send each message in a request of its own")
    assert.include((await agent.send(undefined, "DELETE")).json.detail, "Mcp-Session-Id")
    agent.use("unknown")
    const unknown = await agent.send(initialize)
    assertProblem(unknown, 404)
    assert.include(unknown.json.detail, "Send `initialize`")
  })

  it("a session belongs to its key, ends by DELETE, and a key has a limited number of sessions", async () => {
    const { agent } = await organization("agents-sessions", "templates:read")
    const other = await organization("agents-others", "templates:read")
    const first = (await agent.begin()).headers.get("mcp-session-id")
    other.agent.use(first)
    assert.strictEqual((await other.agent.send({ jsonrpc: "2.0", id: 1, method: "tools/list" })).status, 404)
    for (let count = 0; count < maxSessions; count++) {
      agent.use(null)
      await agent.begin()
    }
    assert.isAbove((await agent.tools()).length, 0)
    assert.strictEqual((await agent.send(undefined, "DELETE")).status, 204)
    assert.strictEqual((await agent.send({ jsonrpc: "2.0", id: 1, method: "tools/list" })).status, 404)
    agent.use(first)
    assert.isAbove((await agent.tools()).length, 0, "a session that left the node continues")
    agent.use(`${first}0`)
    assert.strictEqual((await agent.send({ jsonrpc: "2.0", id: 1, method: "tools/list" })).status, 404)
    assert.strictEqual(revisionOf("key", newSession("key", "2025-06-18")), "2025-06-18")
    assert.isUndefined(revisionOf("other", newSession("key", "2025-06-18")))
  })

  it("each tool is one operation, and only drafts are stored", () => {
    const forms = toolForms(describeApi(), agentTools)
    assert.strictEqual(new Set(forms.map(({ tool }) => tool.name)).size, agentTools.length)
    assert.deepStrictEqual(forms.filter(({ isReadOnly }) => !isReadOnly).map(({ tool }) => tool.operation), [
      "putDraft",
      "discardDraft",
    ])
    for (const { input, method, scopes, tool } of forms) {
      assert.isAbove(scopes.size, 0, tool.name)
      assert.notInclude(JSON.stringify(input), "#/components/", tool.name)
      const isSafe = method === "GET" || tool.fixed !== undefined ||
        ["preview", "convertCopy", "dryRun", "putDraft", "discardDraft"].includes(tool.operation)
      assert.isTrue(isSafe, tool.name)
    }
  })
})

describe("The sessions of agents", () => {
  it.live("continue on every node, in the revision in which they began", () =>
    Effect.scoped(Effect.gen(function* () {
      const environment = yield* temporaryEnvironment
      const nodes = [yield* startWith(environment), yield* startWith(environment)]
      yield* Effect.promise(async () => {
        const { manage } = nodes[0]!.service
        await manage("POST", "/organizations", { slug: "shop", name: "Shop" })
        const { body: { key } } = await manage("POST", "/organizations/shop/keys", {
          name: "agent",
          scopes: ["templates:read"],
        })
        for (const protocolVersion of ["2025-06-18", "2025-11-25"]) {
          const agent = agentOf({ service: nodes[0]!.service }, key, { "mcp-protocol-version": protocolVersion })
          const begun = await agent.send({ ...initialize, params: { ...initialize.params, protocolVersion } })
          assert.strictEqual(begun.json.result.protocolVersion, protocolVersion)
          const session = begun.headers.get("mcp-session-id")
          const sent = { "mcp-protocol-version": protocolVersion, "mcp-session-id": session! }
          const other = agentOf({ service: nodes[1]!.service }, key, sent)
          const ready = await other.send({ jsonrpc: "2.0", method: "notifications/initialized" })
          assert.strictEqual(ready.status, 202, ready.text)
          // Requests that arrive at the same time continue one session.
          const lists = await Promise.all([other.tools(), other.tools(), other.tools()])
          for (const tools of lists) assert.include(tools.map(({ name }) => name), "find_templates")
          assert.deepStrictEqual(JSON.parse(textOf(await other.call("find_templates", {}))).templates, [])
          assert.strictEqual((await other.send(undefined, "DELETE")).status, 204)
          assert.strictEqual((await other.send({ jsonrpc: "2.0", id: 1, method: "ping" })).status, 404)
        }
      })
    })), 120_000)
})
