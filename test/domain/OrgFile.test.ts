import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { entriesOf, OrgFile, orgText, type StoredOrg } from "../../src/cli/OrgFile.ts"
import { planOf } from "../../src/cli/OrgPlan.ts"
import { parse } from "yaml"

const stored = (): StoredOrg => ({
  organization: {
    slug: "acme",
    name: "Acme",
    time_zone: "UTC",
    exploration_floor: 0.01,
    quiet_hours: null,
    created_at: "2026-11-01T00:00:00.000Z",
    updated_at: "2026-11-01T00:00:00.000Z",
  } as unknown as StoredOrg["organization"],
  sources: [
    { segment: "provider_a", platform: "braze", set_up: true, enabled: true, settings: { conversions: ["order"] } },
    { segment: "events", platform: "events", set_up: false, enabled: true, settings: {} },
  ] as unknown as StoredOrg["sources"],
  connections: [
    { name: "main", platform: "smtp", enabled: true, default: true, settings: { host: "a" }, secrets: ["password"] },
  ] as unknown as StoredOrg["connections"],
  keys: [
    { id: "k1", name: "shop", kind: "live", scopes: ["generate"], rate_limit: null, revoked_at: null },
    { id: "k0", name: "old", kind: "live", scopes: ["admin"], rate_limit: null, revoked_at: "2026-01-01" },
  ] as unknown as StoredOrg["keys"],
  endpoints: [
    { id: "e1", url: "https://a.example/hook", description: "", events: ["delivery.failed"], enabled: true },
  ] as unknown as StoredOrg["endpoints"],
  bucket: {
    endpoint: null,
    region: "eu-west-1",
    name: "acme-data",
    folder: "",
    access_key_id: "AKIA",
    is_active: true,
    attributes_folder: null,
    next_run_at: "2026-11-01T00:00:00.000Z",
  } as unknown as StoredOrg["bucket"],
  suggestions: {
    endpoint: "own",
    url: "https://model.example/v1",
    model: "m",
    has_key: true,
    tone: "Friendly",
    requests_today: 3,
  } as unknown as StoredOrg["suggestions"],
  groupRoles: [{ id: "g1", group: "crm", role: "editor", members: 2 }],
  views: [
    { id: "summer", list: "templates", name: "Summer", query: "tag=summer", shared: true, start: false },
    { id: "own", list: "templates", name: "Own", query: "tag=own", shared: false, start: false },
    { id: "ann", list: "deliveries", name: "Ann", query: "email=ann%40example.com", shared: true, start: false },
  ],
})

const file = () => parse(orgText(entriesOf(stored()), [], []))

describe("The file of an organization", () => {
  it("has no secret, no revoked key, no view that names a person and no source that is not set up", () => {
    const text = orgText(entriesOf(stored()), [], [])
    assert.notMatch(text, /password|k1|name: old|created_at|slug|has_key|requests_today|next_run_at|members|start/)
    assert.deepStrictEqual(Object.keys(file().sources), ["braze"])
    assert.deepStrictEqual(file().views, { summer: { list: "templates", name: "Summer", query: "tag=summer" } })
    assert.deepStrictEqual(file().group_roles, { crm: "editor" })
  })

  it("plans nothing for the organization that it was exported from", () => {
    assert.deepStrictEqual(planOf(file(), stored()), { steps: [], notes: [] })
  })

  it("plans each changed part with its fields, and leaves what the file does not name", () => {
    const changed = file()
    changed.organization = { quiet_hours: { from: "21:00", to: "08:00" } }
    changed.connections.main.settings.host = "b"
    delete changed.sources
    const { notes, steps } = planOf(changed, stored())
    assert.deepStrictEqual(notes, [])
    assert.deepStrictEqual(steps.map(({ what }) => what), ["Organization", "Connection main"])
    assert.deepStrictEqual(steps[0]!.changes.fields.map(({ field }) => field), ["/quiet_hours"])
    assert.deepStrictEqual(steps[1]!.changes.fields[0]!.after, { host: "b" })
  })

  it("names the secrets and keys that a person must set", () => {
    const changed = file()
    changed.connections.second = { platform: "resend", enabled: true, default: false, settings: {} }
    changed.keys = [
      { name: "shop", kind: "live", scopes: ["generate", "events"], rate_limit: { requests: 5, per: "second" } },
      { name: "new", kind: "test", scopes: ["generate"], rate_limit: null },
    ]
    const { notes, steps } = planOf(changed, stored())
    assert.deepStrictEqual(steps.map(({ request }) => request.kind), ["key"])
    assert.include(notes[0], "parlance connection set second --platform resend --settings '{}' --secrets-stdin")
    assert.include(notes[1], "Key shop: its kind or scopes differ")
    assert.include(notes[2], "parlance key create new --kind test --scope generate")
  })

  it("creates roles of groups and views, and changes endpoints, buckets and suggestions that have their secrets", () => {
    const changed = file()
    changed.group_roles = { crm: "admin", "$(id)": "viewer" }
    changed.views.active = { list: "templates", name: "Active", query: "state=active" }
    changed.endpoints[0].enabled = false
    changed.bucket = { region: "eu-west-1", name: "acme-data", access_key_id: "AKIA", folder: "parlance" }
    changed.suggestions.tone = "Short"
    const { notes, steps } = planOf(changed, stored())
    assert.deepStrictEqual(notes, [])
    assert.deepStrictEqual(
      steps.map(({ changes, request }) => [request.kind, ...changes.fields.map(({ field }) => field)]),
      [
        ["endpoint", "/enabled"],
        ["bucket", "/folder"],
        ["suggestions", "/tone"],
        ["group role", "/role"],
        ["group role", "/role"],
        ["view", "/list", "/name", "/query"],
      ],
    )
  })

  it("names the commands for endpoints, buckets and models that need a secret", () => {
    const changed = file()
    const { bucket, ...rest } = { ...stored(), endpoints: [], bucket: null }
    const setup = { ...rest.suggestions, url: null, model: null, has_key: false }
    const { notes, steps } = planOf(changed, { ...rest, bucket, suggestions: setup })
    assert.deepStrictEqual(steps.map(({ request }) => request.kind), ["suggestions"])
    assert.include(notes[0], "`parlance webhook-endpoint create https://a.example/hook --event delivery.failed`")
    assert.include(
      notes[1],
      "`parlance bucket set --name acme-data --region eu-west-1 --access-key-id AKIA --secret-stdin`",
    )
    assert.include(notes[2], "`parlance org suggestions set --key-stdin`")

    changed.suggestions.url = "https://model.example/v1?…"
    const hidden = planOf({ suggestions: changed.suggestions }, { ...stored(), suggestions: setup })
    assert.deepStrictEqual(hidden.steps, [])
    assert.include(hidden.notes[0], "set the whole URL")
    const twice = { ...stored(), endpoints: [...stored().endpoints, ...stored().endpoints] }
    assert.include(planOf(file(), twice).notes[0], "2 endpoints have this URL")
  })

  it("knows a source by either name, and refuses entries for one thing twice", () => {
    const decode = (value: unknown) => Schema.decodeUnknownResult(OrgFile)(value)
    const { braze } = file().sources
    const sources = { provider_a: { ...braze, enabled: false } }
    assert.deepStrictEqual(planOf({ sources }, stored()).steps.map(({ what }) => what), ["Source provider_a"])
    const key = { name: "shop", kind: "live", scopes: ["generate"], rate_limit: null }
    const connection = { platform: "smpt", enabled: true, default: false, settings: {} }
    for (
      const refused of [
        { sources: { braze, provider_a: braze } },
        { keys: [key, key] },
        { connections: { main: connection } },
      ]
    ) assert.isTrue(Result.isFailure(decode(refused)), JSON.stringify(refused))
    assert.isTrue(Result.isSuccess(decode({ sources, keys: [key] })))
  })

  it("refuses what `org apply` could not make equal, and says how to mend it", () => {
    const decode = Schema.decodeUnknownResult(OrgFile, { errors: "all", onExcessProperty: "error" })
    const faultOf = (value: unknown) => String(Result.getFailure(decode(value)))
    const connection = { platform: "sink", enabled: true, default: true, settings: {} }
    assert.include(
      faultOf({ connections: { a: connection, b: { ...connection, default: false }, c: connection } }),
      "has several defaults: a, c",
    )
    const view = { list: "deliveries", name: "Ann", query: "q=ann%40example.com" }
    assert.include(faultOf({ views: { ann: view } }), "has an e-mail address in the query of ann")
    const source = { enabled: true, settings: {} }
    assert.include(faultOf({ sources: { gmail: source } }), "has no source gmail. The sources are provider_a (braze)")
  })

  it("creates a connection and a view whose names every object has", () => {
    const connections = { constructor: { platform: "sink", enabled: true, default: false, settings: {} } } as const
    const views = { constructor: { list: "templates", name: "V", query: "q=a" } } as const
    const { notes, steps } = planOf({ connections, views }, stored())
    assert.deepStrictEqual(steps.map(({ what }) => what), ["View constructor"])
    assert.include(notes[0], "parlance connection set constructor --platform sink")
    assert.include(notes[0], "Leave out --secrets-stdin if it has no secrets")
  })

  it("changes no platform of a connection", () => {
    const changed = file()
    changed.connections.main.platform = "resend"
    const { notes, steps } = planOf(changed, stored())
    assert.deepStrictEqual(steps, [])
    assert.include(notes[0], "Connection main: its platform is smtp and cannot change")
  })

  it("quotes names and settings in the commands that it prints", () => {
    const changed = file()
    changed.connections["it's $(id)"] = { platform: "webhook", enabled: true, default: false, settings: { a: "it's" } }
    changed.keys = [{ name: "$(id)", kind: "live", scopes: ["generate"], rate_limit: null }]
    const { notes } = planOf(changed, stored())
    assert.include(notes[0], `set 'it'\\''s $(id)' --platform webhook --settings '{"a":"it'\\''s"}' --secrets-stdin`)
    assert.include(notes[1], "parlance key create '$(id)' --scope generate")
  })

  it("refuses unknown members of every part", () => {
    const decode = Schema.decodeUnknownResult(OrgFile, { errors: "all", onExcessProperty: "error" })
    const template = { id: "a", name: "A", variants: [{ id: "v", name: "V", vars: { subject: "Hi" } }] }
    const snippet = { id: "s", name: "S", format: "text", text: "Hi" }
    const source = { enabled: true, settings: {} }
    assert.isTrue(
      Result.isSuccess(
        decode({ templates: [template], snippets: [snippet], sources: { braze: source, events: source } }),
      ),
    )
    for (
      const wrong of [
        { templates: [{ ...template, wrong: 1 }] },
        { templates: [{ ...template, variants: [{ ...template.variants[0], wrong: 1 }] }] },
        { snippets: [{ ...snippet, wrong: 1 }] },
        { sources: { wrong: source } },
        { organization: { wrong: 1 } },
      ]
    ) assert.include(String(Result.getFailure(decode(wrong))), "wrong")
  })
})
