import { assert, it } from "@effect/vitest"
import { messagesIn, refusalOf, relay } from "../../src/cli/McpCommand.ts"
import { suiteOnService } from "../api/harness.ts"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

suiteOnService("The command mcp", (bench) => {
  it("passes messages on, and begins a session again that the service has forgotten", async () => {
    const { key } = await bench.organization("mcp-relay", { scopes: ["templates:read"] })
    const sessions = new Set<string>()
    const pass = relay((path, init) => {
      const session = new Headers(init.headers).get("mcp-session-id")
      if (session !== null) sessions.add(session)
      return bench.service.request(path, init)
    }, key)
    const send = async (message: object) => (await pass(JSON.stringify(message))).map((line) => JSON.parse(line))
    const [begun] = await send(initialize)
    assert.strictEqual(begun.result.serverInfo.name, "parlance")
    assert.deepStrictEqual(await send({ jsonrpc: "2.0", method: "notifications/initialized" }), [])
    const [tools] = await send({ jsonrpc: "2.0", id: 2, method: "tools/list", params: {} })
    assert.include(tools.result.tools.map(({ name }: { name: string }) => name), "get_template")
    for (const session of sessions) {
      await bench.service.request("/mcp", {
        method: "DELETE",
        headers: { "x-api-key": key, "mcp-session-id": session },
      })
    }
    const [again] = await send({ jsonrpc: "2.0", id: 3, method: "tools/list", params: {} })
    assert.strictEqual(again.id, 3)
    assert.strictEqual(again.result.tools.length, tools.result.tools.length)
    assert.strictEqual(sessions.size, 2)
  })

  it("answers a refusal with the reason of the service, and a line without JSON with an error", async () => {
    const pass = relay((path, init) => bench.service.request(path, init), "plk_wrong")
    const [refused] = await pass(JSON.stringify(initialize))
    assert.deepStrictEqual(JSON.parse(refused!), {
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32000, message: "The API key is unknown" },
    })
    assert.deepStrictEqual(await pass('{"jsonrpc":"2.0","method":"notifications/initialized"}'), [])
    for (const line of ["{", "[]", '"text"', "1"]) assert.include((await pass(line))[0], "-32700")
  })

  it("sends a message that follows `initialize` at once in the session that begins", async () => {
    const { key } = await bench.organization("mcp-order", { scopes: ["templates:read"] })
    const pass = relay((path, init) => bench.service.request(path, init), key)
    const [, , tools] = await Promise.all([
      pass(JSON.stringify(initialize)),
      pass('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
      pass('{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}'),
    ])
    assert.include(tools[0], "get_template")
  })

  it("repeats members of messages of revision 2026-07-28 in headers, because they belong to no session", async () => {
    const { key } = await bench.organization("mcp-stateless", { scopes: ["templates:read"] })
    const pass = relay((path, init) => bench.service.request(path, init), key)
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    }
    const send = async (method: string, params: object) =>
      JSON.parse((await pass(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } })))[0]!)
    assert.include((await send("server/discover", {})).result.supportedVersions, "2026-07-28")
    const { tools } = (await send("tools/list", {})).result
    assert.include(tools.map(({ name }: { name: string }) => name), "find_templates")
    const found = await send("tools/call", { name: "find_templates", arguments: {} })
    assert.deepStrictEqual(JSON.parse(found.result.content[0].text).templates, [])
    for (const name of ["wärmer", "=?base64?x?=", " "]) {
      const { error } = await send("tools/call", { name, arguments: {} })
      assert.include(error.message, `Tool '${name}' not found`)
    }
    // A client that knows both begins a session after it.
    assert.include((await pass(JSON.stringify(initialize)))[0], '"protocolVersion":"2025-11-25"')
    assert.include((await pass('{"jsonrpc":"2.0","id":2,"method":"ping"}'))[0], '"result":{}')
  })

  it("answers a request with an error if the service is unreachable or another server answers", async () => {
    const down = relay(
      () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })),
      "plk_a",
    )
    assert.include((await down(JSON.stringify(initialize)))[0], "did not answer: ECONNREFUSED. Check that it runs")
    assert.deepStrictEqual(await down('{"jsonrpc":"2.0","method":"notifications/initialized"}'), [])
    assert.include((await down('{"jsonrpc":"2.0","id":"b","method":"ping"}'))[0], '"id":"b"')
    const page = new Response("<html>", { headers: { "content-type": "text/html" } })
    const other = relay(() => Promise.resolve(page), "plk_a")
    assert.include((await other(JSON.stringify(initialize)))[0], "The service answered 200")
  })

  it("reads the messages of JSON and of server-sent events", () => {
    assert.deepStrictEqual(messagesIn("application/json", '{"id":1}\n'), ['{"id":1}'])
    assert.deepStrictEqual(messagesIn("application/json", ""), [])
    const events = 'event: message\r\ndata: {"id":1}\r\n\r\n: keepalive\n\ndata: {"id":\ndata: 2}\n\n'
    assert.deepStrictEqual(messagesIn("text/event-stream; charset=utf-8", events), ['{"id":1}', '{"id":\n2}'])
  })

  it("keeps a fault that is a message of the protocol", () => {
    const fault = '{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"no"}}'
    assert.deepStrictEqual(refusalOf({ id: 7 }, 400, fault), [fault])
    assert.include(refusalOf({ id: 7 }, 502, "<html>")[0], "The service answered 502")
  })
})
