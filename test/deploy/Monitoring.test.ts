import { assert, describe, it } from "vitest"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import { reasons } from "../../src/accounts/SecurityTally.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const textOf = (path: string) => readFileSync(`${root}${path}`, "utf8")

// deno-lint-ignore no-explicit-any -- what a test reads of these files it also asserts
type Json = any

const dashboard: Json = JSON.parse(textOf("deploy/grafana/dashboard.json"))
const { groups }: Json = parse(textOf("deploy/prometheus/alerts.yml"), { strict: true, uniqueKeys: true })
const prometheus: Json = parse(textOf("deploy/prometheus/prometheus.yml"), { strict: true, uniqueKeys: true })
const rules: ReadonlyArray<Json> = groups.flatMap(({ rules }: Json) => rules)
const charts: ReadonlyArray<Json> = dashboard.panels.filter(({ type }: Json) => type !== "row")

const expressions: ReadonlyArray<string> = [
  ...charts.flatMap(({ targets }) => targets.map(({ expr }: Json) => expr)),
  ...rules.map(({ expr }) => expr),
  ...dashboard.templating.list.flatMap(({ definition }: Json) => definition === undefined ? [] : [definition]),
]

/** Metrics of the service, by their type. */
const exposed = new Map(
  globSync(`${root}src/**/*.{ts,tsx}`).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/Metric\.(counter|gauge|histogram)\("(parlance_\w+)"/g)]
      .map(([, type, name]) => [name!, type!] as const)
  ),
)

const anchorOf = (heading: string) => heading.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")

describe("the dashboard and the alerts", () => {
  it("name metrics that the service exposes, and use each as its type allows", () => {
    const used = expressions.flatMap((text) => text.match(/parlance_\w+/g) ?? [])
    const plain = (name: string) => name.replace(/_(bucket|sum|count)$/, "")
    assert.deepStrictEqual([...new Set(used)].filter((name) => !exposed.has(name) && !exposed.has(plain(name))), [])
    for (
      const text of [
        ...charts.flatMap(({ targets }) => targets.map(({ expr }: Json) => expr)),
        ...rules.map(({ expr }) => expr),
      ]
    ) {
      for (const [, before, name] of text.matchAll(/(rate\()?(parlance_\w+)/g)) {
        const type = exposed.get(name!) ?? exposed.get(plain(name!))
        assert.strictEqual(before !== undefined, type !== "gauge", `${name} in ${text}`)
      }
    }
  })

  it("link to an existing section of the runbook", () => {
    const anchors = [...textOf("docs/operations/runbook.md").matchAll(/^## (.+)$/gm)].map(([, text]) => anchorOf(text!))
    const linked = rules.map(({ annotations }) => annotations.runbook_url.split("#"))
    assert.deepStrictEqual(new Set(linked.map(([page]) => page)), new Set(["docs/operations/runbook.md"]))
    assert.sameMembers([...new Set(linked.map(([, anchor]) => anchor))], anchors)
    assert.strictEqual(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    for (const { alert, annotations, for: lasting, labels } of rules) {
      assert.match(lasting, /^\d+[smh]$/, alert)
      assert.include(["warning", "critical"], labels.severity, alert)
      assert.isNotEmpty(annotations.summary, alert)
    }
  })

  it("have a documented rule for every reason of a refusal", () => {
    const texts = rules.map(({ expr }) => expr).join("\n")
    const documented = textOf("docs/operations/metrics.md")
    for (const reason of reasons) {
      assert.include(texts, `parlance_refused_total{job="parlance", reason="${reason}"}`)
      assert.include(documented, `\`${reason}\``)
    }
  })

  it("select the nodes by their scrape job", () => {
    assert.deepStrictEqual(prometheus.rule_files, ["alerts.yml"])
    const [{ job_name: job, static_configs: [{ targets }] }] = prometheus.scrape_configs
    for (const { alert, expr } of rules) {
      const names = expr.match(/(parlance_\w+|\bup)\{[^}]*/g) ?? []
      assert.isNotEmpty(names, alert)
      for (const name of names) assert.include(name, `job="${job}"`, alert)
    }
    const { services } = parse(textOf("docker-compose.yml"), { merge: true })
    const nodes = Object.keys(services).filter((name) => services[name].environment?.DATABASE_URL !== undefined)
    assert.deepStrictEqual(targets, nodes.map((name) => `${name}:8080`))
    const balanced = [...textOf("deploy/haproxy/haproxy.cfg").matchAll(/^ {2}server \S+ (\S+)$/gm)].map(([, to]) => to)
    assert.deepStrictEqual(balanced, targets)
  })

  it("lay panels out side by side, each with a name, a unit and a sentence", () => {
    const ids = dashboard.panels.map(({ id }: Json) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
    const taken = new Set<string>()
    for (const { description, fieldConfig, gridPos: { h, w, x, y }, title } of charts) {
      assert.match(description, /\.$/, title)
      assert.isNotEmpty(fieldConfig.defaults.unit, title)
      assert.isAtMost(x + w, 24, title)
      for (let i = x; i < x + w; i++) {
        for (let j = y; j < y + h; j++) {
          assert.isFalse(taken.has(`${i} ${j}`), `${title} covers another`)
          taken.add(`${i} ${j}`)
        }
      }
    }
  })
})
