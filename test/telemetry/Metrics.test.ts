import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe } from "vitest"
import { makeTemplate } from "../process/support.ts"
import { makeOrganization, scopedProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

interface Documented {
  readonly type: string
  readonly labels: ReadonlyArray<string>
}

/** The documented description of each metric. */
const documented = new Map(
  read("docs/operations/metrics.md").split("\n").flatMap((line): Array<[string, Documented]> => {
    const [, name, type, , labels] = line.split("|").map((cell) => cell.trim())
    const match = /^`(parlance_\w+)`$/.exec(name ?? "")
    return match === null
      ? []
      : [[match[1]!, { type: type!, labels: [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!) }]]
  }),
)

/** Metrics that the source declares, with their types. */
const declared = (() => {
  const folder = new URL("../../src", import.meta.url).pathname
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file))
  return new Map(
    files.flatMap((file) =>
      [...readFileSync(join(folder, file), "utf8").matchAll(/Metric\.(\w+)\(\s*"([^"]+)"/g)].map((
        [, type, name],
      ): [string, string] => [name!, type!])
    ),
  )
})()

describe("Metrics", () => {
  it("are all in the documentation, which names no others", () => {
    assert.deepStrictEqual([...documented.keys()].sort(), [...declared.keys()].sort())
    for (const [name, { type }] of documented) assert.strictEqual(type, declared.get(name), name)
  })

  it.live("of a running service have the types and labels of the documentation", () =>
    Effect.scoped(Effect.gen(function* () {
      // Metrics are counted by process, and other tests share this one.
      const service = yield* scopedProcess(yield* temporaryEnvironment)
      yield* Effect.promise(async () => {
        const metrics = async () => await (await service.request("/metrics")).text()
        // An alert that something has stopped, or on a share, knows nothing of a counter that is not there.
        const fresh = await metrics()
        for (const [name, { labels, type }] of documented) {
          if (type === "counter" && labels.length === 0) assert.match(fresh, new RegExp(`^${name} 0$`, "m"))
        }
        assert.match(
          fresh,
          /^parlance_refused_total\{reason="bad_signature"\} 0$/m,
          "every reason shows from the start",
        )
        const key = await makeOrganization(service, "acme", ["generate", "events"])
        await makeTemplate(service, "acme", "offer")
        const { body } = await service.generate("acme", key, { template_id: "offer", fields: { name: "{{ name }}" } })
        await service.generate("acme", key, { template_id: "nothing" })
        const post = (path: string, body: unknown) =>
          service.request(path, {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: JSON.stringify(body),
          })
        await post("/api/webhook/events/acme", { event: "click", tracking_id: body.tracking_id })
        await post(`/nowhere/${key}`, {})
        await waitUntil("the click is learned from", async () => {
          const text = await metrics()
          return /^parlance_fits_total/m.test(text) && /^parlance_event_lag_seconds_count/m.test(text)
        })
        const text = await metrics()

        const types = new Map(
          [...text.matchAll(/^# TYPE (parlance_\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]),
        )
        for (const [name, type] of types) assert.strictEqual(documented.get(name)?.type, type, name)
        for (const [, series, labels = ""] of text.matchAll(/^(parlance_\w+?)(?:\{([^}]*)\})? \S+$/gm)) {
          const name = types.has(series!) ? series! : series!.replace(/_(bucket|sum|count|min|max)$/, "")
          const used = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!).filter((label) => label !== "le")
          assert.deepStrictEqual(used.sort(), [...documented.get(name)!.labels].sort(), `${series}{${labels}}`)
        }
        // Metrics that need no traffic exist. The age of the last backup needs a backup: test/cli/Backup.test.ts reads it.
        const quiet = /^parlance_(send_advice_total|replica_reads_total|replica_lag_seconds|backup_age_seconds)$/
        for (const name of documented.keys()) if (!quiet.test(name)) assert.isTrue(types.has(name), name)

        const value = (series: string) =>
          Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.split(" ")[1] ?? NaN)
        assert.isAtLeast(value('parlance_http_requests_total{route="generate",status="200"}'), 1)
        assert.isAtLeast(value('parlance_http_requests_total{route="generate",status="404"}'), 1)
        assert.isAtLeast(value('parlance_http_requests_total{route="other",status="404"}'), 1)
        assert.isAtLeast(value('parlance_http_request_seconds_bucket{route="webhook",status="2xx",le="+Inf"}'), 1)
        assert.isAtLeast(value('parlance_decisions_total{outcome="chosen"}'), 1)
        assert.isAtLeast(value('parlance_decisions_total{outcome="template_not_found"}'), 1)
      })
    })))
})
