import { assert, describe, it } from "vitest"
import { readdirSync, readFileSync } from "node:fs"
import { parse } from "yaml"
import { describeApi } from "../../src/api/operations/OperationsRoutes.ts"

const document = describeApi()

const root = new URL("../../", import.meta.url)
const textOf = (path: string) => readFileSync(new URL(path, root), "utf8")
const folder = "deploy/kubernetes"

// deno-lint-ignore no-explicit-any -- what a test reads of a manifest it also asserts
type Manifest = any

const files = readdirSync(new URL(folder, root)).filter((file) => file.endsWith(".yaml"))
const manifests = new Map<string, Manifest>(
  files.map((file) => [file, parse(textOf(`${folder}/${file}`), { strict: true, uniqueKeys: true })]),
)
const deployment = manifests.get("deployment.yaml")
const pod = deployment.spec.template.spec
const container = pod.containers[0]
const podLabels = deployment.spec.template.metadata.labels

const settings = new Map(
  textOf(`${folder}/settings.env`).split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const),
)

/** Names of all settings, of which each is read from a `Config` of `src/Settings.ts` by its name. */
const knownSettings = new Set(textOf("src/Settings.ts").match(/"[A-Z][A-Z_]+"/g)!.map((quoted) => quoted.slice(1, -1)))

const seconds = (text: string | undefined): number => Number(/^(\d+) seconds$/.exec(text ?? "")![1])

describe("The Kubernetes manifests", () => {
  it("name the files there are, and the version of this release", () => {
    const { images, resources, configMapGenerator } = manifests.get("kustomization.yaml")
    const examples = files.filter((file) => file.includes(".example."))
    assert.sameMembers([...resources, "kustomization.yaml", ...examples], files)
    assert.deepStrictEqual(images.map(({ name, newTag }: Manifest) => [name, newTag]), [
      [container.image, JSON.parse(textOf("package.json")).version],
    ])
    assert.deepStrictEqual(configMapGenerator[0].envs, ["settings.env"])
    for (const [file, manifest] of manifests) {
      if (file === "kustomization.yaml") continue
      assert.match(manifest.apiVersion, /^((apps|policy|autoscaling|networking\.k8s\.io)\/)?v[12]$/, file)
      assert.strictEqual(manifest.metadata.name, "parlance", file)
    }
  })

  it("select the pods that the deployment makes", () => {
    const selectors = [
      deployment.spec.selector.matchLabels,
      manifests.get("service.yaml").spec.selector,
      manifests.get("disruption-budget.yaml").spec.selector.matchLabels,
      ...pod.topologySpreadConstraints.map(({ labelSelector }: Manifest) => labelSelector.matchLabels),
    ]
    for (const selector of selectors) assert.deepStrictEqual(selector, podLabels)
    assert.deepInclude(manifests.get("autoscaler.example.yaml").spec.scaleTargetRef, {
      apiVersion: deployment.apiVersion,
      kind: deployment.kind,
      name: deployment.metadata.name,
    })
  })

  it("give nodes settings that the service knows, none twice, and secrets from the secret alone", () => {
    const secret = manifests.get("secret.example.yaml")
    assert.isUndefined(container.env)
    const names = [...settings.keys(), ...Object.keys(secret.stringData)]
    assert.deepStrictEqual(names.filter((name) => !knownSettings.has(name)), [])
    assert.strictEqual(new Set(names).size, names.length)
    assert.sameMembers(Object.keys(secret.stringData), ["DATABASE_URL", "ADMIN_TOKEN", "SECRET_KEY"])
    assert.deepStrictEqual(container.envFrom, [
      { configMapRef: { name: manifests.get("kustomization.yaml").configMapGenerator[0].name } },
      { secretRef: { name: secret.metadata.name } },
    ])
  })

  it("have one port, that of HTTP, which every manifest names alike", () => {
    const ports = new Map<string, number>(
      container.ports.map(({ containerPort, name }: Manifest) => [name, containerPort]),
    )
    assert.strictEqual(ports.get("http"), Number(/ PORT=(\d+)/.exec(textOf("Dockerfile"))![1]))
    assert.deepStrictEqual([...ports.keys()], ["http"])

    const service = manifests.get("service.yaml")
    assert.deepStrictEqual(service.spec.ports.map(({ targetPort }: Manifest) => targetPort), ["http"])
    for (
      const { path, port } of [container.startupProbe, container.readinessProbe, container.livenessProbe].map(
        ({ httpGet }: Manifest) => httpGet,
      )
    ) {
      assert.isTrue(ports.has(port), port)
      assert.property(document.paths, path.split("?")[0])
    }
    assert.strictEqual(container.readinessProbe.httpGet.path, "/readyz?accept=memory")
    assert.strictEqual(container.livenessProbe.httpGet.path, "/healthz")

    const paths: ReadonlyArray<Manifest> = manifests.get("ingress.example.yaml").spec.rules[0].http.paths
    for (const { backend } of paths) {
      assert.deepStrictEqual(backend.service, {
        name: service.metadata.name,
        port: { name: service.spec.ports[0].name },
      })
    }
    const prefixes = paths.map(({ path }) => path as string)
    const reachable = (path: string) => prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
    assert.sameMembers(Object.keys(document.paths).filter((path) => !reachable(path)), [
      "/healthz",
      "/readyz",
      "/metrics",
    ])
  })

  it("take a node out before it ends, and never one before another has come", () => {
    assert.deepStrictEqual(deployment.spec.strategy, {
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    })
    assert.isAtLeast(deployment.spec.replicas, 3)
    assert.strictEqual(manifests.get("disruption-budget.yaml").spec.maxUnavailable, 1)
    const { failureThreshold, periodSeconds, timeoutSeconds } = container.readinessProbe
    assert.isAtLeast(seconds(settings.get("SHUTDOWN_DELAY")), failureThreshold * periodSeconds + timeoutSeconds)
    assert.isAbove(
      pod.terminationGracePeriodSeconds,
      seconds(settings.get("SHUTDOWN_DELAY")) + seconds(settings.get("SHUTDOWN_TIMEOUT")),
    )
  })

  it("let a node do no more than it has to", () => {
    assert.deepInclude(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true })
    assert.deepStrictEqual(container.securityContext.capabilities, { drop: ["ALL"] })
    assert.deepInclude(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    assert.isAbove(pod.securityContext.runAsUser, 0)
    assert.isFalse(pod.automountServiceAccountToken)
    assert.hasAllKeys(container.resources.requests, ["cpu", "memory"])
    assert.property(container.resources.limits, "memory")
    assert.deepStrictEqual(
      container.volumeMounts.map(({ name }: Manifest) => name),
      pod.volumes.map(({ name }: Manifest) => name),
    )
  })
})
