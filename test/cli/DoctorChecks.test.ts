import { assert, describe, it } from "vitest"
import type { AuditEntry } from "../../src/accounts/Audit.ts"
import type { WebhookSource } from "../../src/api/webhooks/WebhooksApi.ts"
import {
  clockDiagnosis,
  connectionDiagnoses,
  placeholderDiagnoses,
  recordDiagnosis,
  refusedBySource,
  replicaDiagnosis,
  schemaDiagnosis,
  sourceDiagnoses,
  trackingIdDiagnoses,
} from "../../src/cli/DoctorChecks.ts"
import { ReplicaNotRead } from "../../src/store/ReplicaNotRead.ts"

const source: WebhookSource = {
  segment: "provider_a",
  platform: "braze",
  path: "/api/webhook/provider_a/acme",
  set_up: true,
  enabled: true,
  settings: {},
  secrets: [{ accepted_until: null }],
  last_received_at: "2026-05-11T09:00:00.000Z",
  bodies: 4,
  events: 9,
  duplicates: 0,
  ignored: 0,
  not_understood: 0,
  pending: 0,
  lag_seconds: 0,
}

const statuses = (all: ReadonlyArray<{ readonly status: string }>) => all.map(({ status }) => status)

describe("conclusions of the doctor", () => {
  it("allow a clock difference of 2 seconds, and warn up to one minute", () => {
    assert.deepStrictEqual(
      statuses([0, 1_999, -2_000, 59_999, -60_000].map((one) => clockDiagnosis("the database", one))),
      [
        "ok",
        "ok",
        "warning",
        "warning",
        "fault",
      ],
    )
    assert.include(clockDiagnosis("the service", -90_000).detail, "90 s behind")
  })

  it("warn about a replica that cannot be read, with the reason", () => {
    assert.deepInclude(replicaDiagnosis("replica:5432/parlance", 12.4), {
      check: "replica",
      status: "ok",
      detail: "The replica at replica:5432/parlance shows a commit after 12 ms.",
    })
    const behind = new ReplicaNotRead({ outcome: "behind", reason: "it is more than 1s behind" })
    assert.deepInclude(replicaDiagnosis("replica:5432/parlance", behind), {
      status: "warning",
      detail: "The primary answers in place of the replica at replica:5432/parlance: it is more than 1s behind.",
    })
  })

  it("warn about templates whose callers used one tracking id for several people", () => {
    const [found, ...others] = trackingIdDiagnoses("acme", [
      { id: "welcome", repeated_tracking_ids: 39 },
      { id: "offer", repeated_tracking_ids: 0 },
    ])
    assert.deepInclude(found, { check: "template", subject: "acme / welcome", status: "warning" })
    assert.match(found!.detail, /^39 requests of the last 24 hours repeated a tracking id for another person/)
    assert.include(found!.remedy, "a tracking id of its own")
    assert.deepStrictEqual(others, [])
  })

  it("warn about templates whose callers left placeholders in their requests", () => {
    const [found, ...others] = placeholderDiagnoses("acme", [
      { id: "offer", unfilled_requests: 0 },
      { id: "welcome", unfilled_requests: 7 },
    ])
    assert.deepInclude(found, { check: "template", subject: "acme / welcome", status: "warning" })
    assert.match(found!.detail, /^7 requests of the last 24 hours had a placeholder that nobody filled in/)
    assert.include(found!.remedy, "fill the value in")
    assert.deepStrictEqual(others, [])
  })

  it("compare the schema version with the release", () => {
    const judge = (latest: number) => schemaDiagnosis("db:5432", { known: 200, latest })
    assert.deepStrictEqual(statuses([judge(200), judge(198), judge(204)]), ["ok", "warning", "warning"])
    assert.include(judge(198).remedy, "parlance migrate")
  })

  it("count refused webhooks of each source since a time", () => {
    const entry = (at: string, subject: string, count: number, action = "webhook refused"): AuditEntry => ({
      id: 1,
      at,
      actor: "",
      action,
      subject,
      details: { count },
      changes: null,
    })
    const refused = refusedBySource([
      entry("2026-05-11T09:00:00.000Z", "provider_a", 3),
      entry("2026-05-11T08:00:00.000Z", "provider_a", 2),
      entry("2026-05-11T08:00:00.000Z", "provider_a", 9, "API key refused"),
      entry("2026-05-10T08:00:00.000Z", "provider_b", 7),
    ], Date.parse("2026-05-10T09:00:00.000Z"))
    assert.deepStrictEqual([...refused], [["provider_a", 5]])
  })

  it("report a source that is silent, unreadable, late or refused", () => {
    assert.deepStrictEqual(statuses(sourceDiagnoses("acme", source, 0)), ["ok"])
    assert.deepStrictEqual(statuses(sourceDiagnoses("acme", { ...source, enabled: false }, 9)), [])
    assert.deepStrictEqual(statuses(sourceDiagnoses("acme", { ...source, last_received_at: null }, 0)), ["warning"])
    const [before, ...rest] = sourceDiagnoses("acme", { ...source, bodies: 0, events: 0 }, 0)
    assert.deepInclude(before, { status: "warning", detail: "Nothing was received since 2026-05-11T09:00:00.000Z." })
    assert.deepStrictEqual(rest, [])
    assert.deepStrictEqual(
      statuses(sourceDiagnoses("acme", { ...source, platform: "events", set_up: false, bodies: 0 }, 0)),
      ["warning"],
      "custom events that used to come",
    )
    const custom = { ...source, platform: "events", set_up: false, last_received_at: null }
    assert.deepStrictEqual(statuses(sourceDiagnoses("acme", custom, 0)), [])
    const ill = sourceDiagnoses("acme", { ...source, lag_seconds: 61, pending: 4, not_understood: 2 }, 5)
    assert.deepStrictEqual(statuses(ill), ["warning", "fault", "warning"])
    assert.strictEqual(sourceDiagnoses("acme", { ...source, last_received_at: null }, 5)[0]!.status, "fault")
    assert.isTrue(ill.every(({ remedy }) => remedy !== null))
  })

  it("report the trouble of a connection in addition to its test", () => {
    const well = { enabled: true, name: "main", paused: false, trouble: null }
    const passed = { ok: true, detail: "Signed in.", warnings: [] }
    assert.deepStrictEqual(statuses(connectionDiagnoses("acme", well, passed)), ["ok"])
    assert.deepStrictEqual(statuses(connectionDiagnoses("acme", { ...well, enabled: false }, passed)), [])
    assert.deepStrictEqual(statuses(connectionDiagnoses("acme", { ...well, paused: true }, passed)), ["ok", "warning"])
    const trouble = { state: "refusing", reason: "550 no", since: "2026-05-11T09:00:00.000Z", until: null } as const
    const ill = connectionDiagnoses("acme", { ...well, trouble }, { ok: false, detail: "535 no", warnings: ["a / b"] })
    assert.deepStrictEqual(statuses(ill), ["fault", "fault", "warning"])
    assert.include(ill[1]!.remedy, "connection resume main")
  })

  it("show the DNS record to publish", () => {
    const record = { name: "_dmarc.shop.example", type: "TXT", value: "v=DMARC1; p=none" } as const
    const missing = recordDiagnosis("acme", "main", { check: "dmarc", status: "missing", detail: "None.", record })
    assert.deepInclude(missing, { status: "fault", subject: "acme / main / dmarc" })
    assert.include(missing.remedy, '_dmarc.shop.example TXT "v=DMARC1; p=none"')
    assert.strictEqual(
      recordDiagnosis("acme", "main", { check: "spf", status: "unknown", detail: "", record: null }).status,
      "warning",
    )
  })
})
