import { Ajv } from "ajv"
import { assert, describe, it } from "vitest"
import { parse } from "yaml"
import { hasPreviousRelease } from "../support/previousRelease.ts"
import { chart, chartFiles, chartValues, type Manifest, previousChart, textOf } from "./manifests.ts"

/** Values that an operator has kept since the previous release. */
const kept = {
  image: { repository: "registry.example.com/words" },
  settings: { PUBLIC_URL: "https://words.example.com", ACCESS_LOG: "1" },
  ingress: { enabled: true, host: "words.example.com" },
  autoscaling: { enabled: true },
}

describe.runIf(hasPreviousRelease())("helm upgrade from the chart of the previous release", () => {
  const before = () => chart(kept, "words", previousChart())
  const after = () => chart(kept, "words")

  it("keeps every object under its name, and every member that Kubernetes does not change", () => {
    const old = before().objects
    const current = after().objects
    for (const [kind, { apiVersion, metadata }] of old) {
      assert.deepInclude(current.get(kind), { apiVersion }, kind)
      assert.strictEqual(current.get(kind).metadata.name, metadata.name, kind)
    }
    const selectors = ({ objects }: ReturnType<typeof chart>) => [
      objects.get("Deployment").spec.selector,
      objects.get("Service").spec.selector,
      objects.get("PodDisruptionBudget").spec.selector,
      objects.get("HorizontalPodAutoscaler").spec.scaleTargetRef,
      objects.get("Service").spec.ports,
    ]
    assert.deepStrictEqual(selectors(after()), selectors(before()))
  })

  it("needs no other secret and no job: the nodes migrate", () => {
    const secretsIn = ({ objects, secret }: ReturnType<typeof chart>) => [
      secret,
      objects.get("Deployment").spec.template.spec.containers[0].envFrom,
      objects.get("Ingress").spec.tls,
    ]
    assert.deepStrictEqual(secretsIn(after()), secretsIn(before()))
    const rendered = [...chartFiles(kept, "words").values()].join("\n")
    assert.notMatch(rendered, /^kind: (Job|CronJob|StatefulSet)$/m)
    assert.notInclude(rendered, "helm.sh/hook")
    const { initContainers } = after().objects.get("Deployment").spec.template.spec
    assert.isUndefined(initContainers)
  })

  it("accepts the values of the previous release, and keeps its defaults", () => {
    const validate = new Ajv({ allErrors: true }).compile(
      JSON.parse(textOf("deploy/helm/parlance/values.schema.json")),
    )
    const old = parse(previousChart().text("values.yaml"))
    validate(chartValues(old))
    assert.deepStrictEqual(validate.errors ?? [], [])
    const defaults = chartValues()
    const isKept = (value: Manifest, now: Manifest): boolean =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.entries(value).every(([name, member]) => isKept(member, now?.[name]))
        : JSON.stringify(value) === JSON.stringify(now)
    assert.deepStrictEqual(Object.keys(old).filter((name) => !isKept(old[name], defaults[name])), [])
  })
})
