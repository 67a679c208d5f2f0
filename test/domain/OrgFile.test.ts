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
})

const file = () => parse(orgText(entriesOf(stored()), [], []))

describe("The file of an organization", () => {
  it("has no secret, no revoked key and no source that is not set up", () => {
    const text = orgText(entriesOf(stored()), [], [])
    assert.notMatch(text, /password|k1|old|created_at|slug/)
    assert.deepStrictEqual(Object.keys(file().sources), ["braze"])
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
