import { Ajv } from "ajv"
import { assert, describe, it } from "vitest"
import { readdirSync } from "node:fs"
import { parse } from "yaml"
import { describeApi } from "../../src/api/operations/OperationsRoutes.ts"
import {
  chart,
  chartFiles,
  chartValues,
  kustomization,
  type Manifest,
  type Rendered,
  textOf,
  yamlOf,
} from "./manifests.ts"

const document = describeApi()

/** Names of all settings, of which each is read from a `Config` of these files by its name. */
const knownSettings = new Set(
  ["Settings", "MailServer"].flatMap((name) => textOf(`src/settings/${name}.ts`).match(/"[A-Z][A-Z_]+"/g)!)
    .map((quoted) => quoted.slice(1, -1)),
)

const seconds = (text: string | undefined): number => Number(/^(\d+) seconds$/.exec(text ?? "")![1])

const optional = { ingress: { enabled: true }, autoscaling: { enabled: true } }

const variants: ReadonlyArray<readonly [string, string, Rendered]> = [
  ["The manifests of kustomize", "parlance", kustomization()],
  ["The chart", "words", chart(optional, "words")],
]

describe.each(variants)("%s", (_, name, { objects, secret }) => {
  const object = (kind: string): Manifest => objects.get(kind) ?? assert.fail(`No ${kind}`)
  const deployment = object("Deployment")
  const pod = deployment.spec.template.spec
  const container = pod.containers[0]
  const podLabels = deployment.spec.template.metadata.labels
  const settings = new Map<string, string>(Object.entries(object("ConfigMap").data))

  it("have one name and stable API versions of Kubernetes", () => {
    for (const [kind, { apiVersion, metadata }] of objects) {
      assert.match(apiVersion, /^((apps|policy|autoscaling|networking\.k8s\.io)\/)?v[12]$/, kind)
      assert.strictEqual(metadata.name, name, kind)
    }
  })

  it("run the image of this release", () => {
    assert.strictEqual(
      container.image,
      `registry.example.com/parlance:${JSON.parse(textOf("package.json")).version}`,
    )
  })

  it("select the pods of the deployment", () => {
    const selectors = [
      deployment.spec.selector.matchLabels,
      object("Service").spec.selector,
      object("PodDisruptionBudget").spec.selector.matchLabels,
      ...pod.topologySpreadConstraints.map(({ labelSelector }: Manifest) => labelSelector.matchLabels),
    ]
    for (const selector of selectors) assert.deepStrictEqual(selector, podLabels)
    assert.deepInclude(object("HorizontalPodAutoscaler").spec.scaleTargetRef, {
      apiVersion: deployment.apiVersion,
      kind: deployment.kind,
      name: deployment.metadata.name,
    })
  })

  it("pass only known settings, each once, and take secrets only from the secret", () => {
    const { stringData } = yamlOf("deploy/kubernetes/secret.example.yaml")
    assert.isUndefined(container.env)
    const names = [...settings.keys(), ...Object.keys(stringData)]
    assert.deepStrictEqual(names.filter((name) => !knownSettings.has(name)), [])
    assert.strictEqual(new Set(names).size, names.length)
    assert.sameMembers(Object.keys(stringData), ["DATABASE_URL", "ADMIN_TOKEN", "SECRET_KEY"])
    assert.deepStrictEqual(container.envFrom, [
      { configMapRef: { name: object("ConfigMap").metadata.name } },
      { secretRef: { name: secret } },
    ])
  })

  it("expose only the HTTP port, under the same name in every manifest", () => {
    const ports = new Map<string, number>(
      container.ports.map(({ containerPort, name }: Manifest) => [name, containerPort]),
    )
    assert.strictEqual(ports.get("http"), Number(/ PORT=(\d+)/.exec(textOf("Dockerfile"))![1]))
    assert.deepStrictEqual([...ports.keys()], ["http"])

    const service = object("Service")
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

    const paths: ReadonlyArray<Manifest> = object("Ingress").spec.rules[0].http.paths
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

  it("remove a node from service before it stops, and start its successor first", () => {
    assert.deepStrictEqual(deployment.spec.strategy, {
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    })
    const least = deployment.spec.replicas ?? object("HorizontalPodAutoscaler").spec.minReplicas
    assert.isAtLeast(least, 3)
    assert.strictEqual(object("PodDisruptionBudget").spec.maxUnavailable, 1)
    const { failureThreshold, periodSeconds, timeoutSeconds } = container.readinessProbe
    assert.isAtLeast(seconds(settings.get("SHUTDOWN_DELAY")), failureThreshold * periodSeconds + timeoutSeconds)
    assert.isAbove(
      pod.terminationGracePeriodSeconds,
      seconds(settings.get("SHUTDOWN_DELAY")) + seconds(settings.get("SHUTDOWN_TIMEOUT")),
    )
  })

  it("let a node wait for table locks longer than its migration tries to get them", () => {
    const { failureThreshold, periodSeconds } = container.startupProbe
    // 60 attempts of 2 seconds, with pauses.
    assert.isAbove(failureThreshold * periodSeconds, 150)
  })

  it("grant a node the least privileges", () => {
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

it("the kustomization lists all files of its folder", () => {
  const files = readdirSync(new URL("../../deploy/kubernetes", import.meta.url)).filter((file) =>
    file.endsWith(".yaml")
  )
  const { configMapGenerator, resources } = yamlOf("deploy/kubernetes/kustomization.yaml")
  const examples = files.filter((file) => file.includes(".example."))
  assert.sameMembers([...resources, "kustomization.yaml", ...examples], files)
  assert.deepStrictEqual(configMapGenerator[0].envs, ["settings.env"])
})

describe("the chart", () => {
  const validate = new Ajv({ allErrors: true }).compile(JSON.parse(textOf("deploy/helm/parlance/values.schema.json")))

  /** Objects of the chart by kind, and the second Service. */
  const rendered = (values: Manifest) => {
    const bounces = chartFiles(values).get("bounces.yaml")!
    return { bounces: parse(bounces), objects: chart(values).objects }
  }

  /** Places of the values that the schema refuses. */
  const refused = (values: Manifest) => {
    validate(chartValues(values))
    return [...new Set((validate.errors ?? []).map(({ instancePath }) => instancePath))].sort()
  }

  /**
   * The parts in which chart and kustomization differ by design: labels, the digest of settings, and defaults of
   * Kubernetes.
   */
  const comparable = (object: Manifest): Manifest =>
    JSON.parse(
      JSON.stringify({ ...object, metadata: object.metadata.name }, (name, value) => {
        if (name === "labels" || name === "matchLabels" || name === "selector") return undefined
        if (name === "imagePullPolicy") return undefined
        return name === "template" ? { ...value, metadata: undefined } : value
      }),
    )

  it("creates the same objects as the kustomization", () => {
    const { replicas: _, ...base } = comparable(kustomization().objects.get("Deployment")).spec
    const { replicas: __, ...own } = comparable(chart().objects.get("Deployment")).spec
    assert.deepStrictEqual(own, base)
    const rendered = chart(optional).objects
    for (const [kind, object] of kustomization().objects) {
      if (kind === "Deployment") continue
      const expected = comparable(object)
      if (kind === "Service") expected.spec.type = "ClusterIP"
      assert.deepStrictEqual(comparable(rendered.get(kind)), expected)
    }
    assert.sameMembers([...rendered.keys()], [...kustomization().objects.keys()])
  })

  it("makes Ingress and autoscaler on demand, and leaves the number of nodes to the autoscaler", () => {
    assert.sameMembers([...chart().objects.keys()], ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service"])
    assert.strictEqual(chart({ replicas: 5 }).objects.get("Deployment").spec.replicas, 5)
    assert.notProperty(chart(optional).objects.get("Deployment").spec, "replicas")
  })

  it("restarts the nodes when a setting changes", () => {
    const digest = (values: Manifest) =>
      chart(values).objects.get("Deployment").spec.template.metadata.annotations["checksum/settings"]
    assert.match(digest({}), /^[0-9a-f]{64}$/)
    assert.strictEqual(digest({}), digest({ replicas: 9 }))
    assert.notStrictEqual(digest({}), digest({ settings: { ACCESS_LOG: "1" } }))
  })

  it("applies every value", () => {
    const values = {
      image: { tag: "1.2.3", pullPolicy: "Always", pullSecrets: ["registry"] },
      existingSecret: "mine",
      settings: { PUBLIC_URL: 'https://words.example.com/"quoted"' },
      podAnnotations: { "example.com/team": "words" },
      nodeSelector: { disk: "fast" },
      tolerations: [{ key: "words", operator: "Exists" }],
      service: { type: "LoadBalancer", port: 8000, annotations: { a: "b" } },
      ingress: { enabled: true, tlsSecret: "", annotations: { c: "d" }, className: "own", host: "words.example.com" },
      resources: { requests: { cpu: "1" } },
    }
    assert.deepStrictEqual(refused(values), [])
    const { objects } = chart(values)
    const { metadata, spec } = objects.get("Deployment").spec.template
    assert.strictEqual(metadata.annotations["example.com/team"], "words")
    assert.deepInclude(spec, {
      nodeSelector: { disk: "fast" },
      tolerations: values.tolerations,
      imagePullSecrets: [{ name: "registry" }],
    })
    assert.deepInclude(spec.containers[0], {
      image: "registry.example.com/parlance:1.2.3",
      imagePullPolicy: "Always",
      resources: { requests: { cpu: "1", memory: "512Mi" }, limits: { memory: "1Gi" } },
    })
    assert.strictEqual(spec.containers[0].envFrom[1].secretRef.name, "mine")
    assert.strictEqual(objects.get("ConfigMap").data.PUBLIC_URL, values.settings.PUBLIC_URL)
    assert.deepInclude(objects.get("Service").spec, { type: "LoadBalancer" })
    assert.deepStrictEqual(objects.get("Service").metadata.annotations, { a: "b" })
    const ingress = objects.get("Ingress")
    assert.deepInclude(ingress.metadata.annotations, {
      c: "d",
      "nginx.ingress.kubernetes.io/limit-connections": "1000",
    })
    assert.notProperty(ingress.spec, "tls")
    assert.strictEqual(ingress.spec.rules[0].host, "words.example.com")
    assert.include(chartFiles(values).get("NOTES.txt"), '"mine"')
  })

  it("receives bounces at a port of its own", () => {
    const values = { bounces: { enabled: true, port: 2526, service: { annotations: { a: "b" } } } }
    assert.deepStrictEqual(refused(values), [])
    const { bounces, objects } = rendered(values)
    assert.deepStrictEqual(bounces.spec, {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      selector: objects.get("Service").spec.selector,
      ports: [{ name: "smtp", port: 25, targetPort: "smtp" }],
    })
    assert.deepStrictEqual(bounces.metadata.annotations, { a: "b" })
    assert.strictEqual(objects.get("ConfigMap").data.BOUNCE_LISTEN, "0.0.0.0:2526")
    const { ports } = objects.get("Deployment").spec.template.spec.containers[0]
    assert.deepStrictEqual(ports, [{ name: "http", containerPort: 8080 }, { name: "smtp", containerPort: 2526 }])
    const inside = rendered({ bounces: { enabled: true, service: { type: "ClusterIP" } } }).bounces
    assert.notProperty(inside.spec, "externalTrafficPolicy")
  })

  it("adds environment, files, placement and a service account", () => {
    const values = {
      env: [{ name: "MAIL_URL", valueFrom: { secretKeyRef: { name: "mail", key: "url" } } }],
      envFrom: [{ secretRef: { name: "more" } }],
      extraVolumes: [{ name: "ca", secret: { secretName: "ca" } }],
      extraVolumeMounts: [{ name: "ca", mountPath: "/run/secrets/ca", readOnly: true }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 2 }],
      podLabels: { team: "words" },
      serviceAccount: { create: true, annotations: { role: "arn" } },
    }
    assert.deepStrictEqual(refused(values), [])
    const { objects } = chart(values, "words")
    const { metadata, spec } = objects.get("Deployment").spec.template
    const [container] = spec.containers
    assert.deepStrictEqual(container.env, values.env)
    assert.deepStrictEqual(container.envFrom.slice(2), values.envFrom)
    assert.deepStrictEqual(container.volumeMounts.slice(1), values.extraVolumeMounts)
    assert.deepStrictEqual(spec.volumes.slice(1), values.extraVolumes)
    assert.deepInclude(spec, {
      affinity: values.affinity,
      topologySpreadConstraints: values.topologySpreadConstraints,
      serviceAccountName: "words",
      automountServiceAccountToken: false,
    })
    assert.deepInclude(metadata.labels, { team: "words", "app.kubernetes.io/instance": "words" })
    assert.notProperty(objects.get("Deployment").spec.selector.matchLabels, "team")
    assert.deepInclude(objects.get("ServiceAccount").metadata, { name: "words", annotations: { role: "arn" } })
    const existing = chart({ serviceAccount: { name: "mine" } }).objects
    assert.strictEqual(existing.get("Deployment").spec.template.spec.serviceAccountName, "mine")
    assert.isFalse(existing.has("ServiceAccount"))
  })

  it("tells Prometheus where the metrics are, and limits connections", () => {
    const peers = [{ namespaceSelector: { matchLabels: { name: "ingress" } } }]
    const egress = [{ ports: [{ port: 5432 }] }]
    const values = {
      bounces: { enabled: true },
      serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
      networkPolicy: { enabled: true, from: peers, egress },
    }
    assert.deepStrictEqual(refused(values), [])
    const { objects } = rendered(values)
    const monitor = objects.get("ServiceMonitor")
    const service = objects.get("Service")
    assert.strictEqual(monitor.metadata.labels.release, "prometheus")
    assert.deepStrictEqual(monitor.spec, {
      selector: { matchLabels: service.spec.selector },
      endpoints: [{ port: service.spec.ports[0].name, path: "/metrics", interval: "30s" }],
    })
    assert.deepInclude(service.metadata.labels, monitor.spec.selector.matchLabels)
    assert.deepStrictEqual(objects.get("NetworkPolicy").spec, {
      podSelector: { matchLabels: service.spec.selector },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ ports: [{ port: "http" }], from: peers }, { ports: [{ port: "smtp" }] }],
      egress,
    })
    const open = chart({ networkPolicy: { enabled: true } }).objects.get("NetworkPolicy").spec
    assert.deepStrictEqual([open.policyTypes, open.ingress], [["Ingress"], [{ ports: [{ port: "http" }] }]])
  })

  it("serves several hosts, certificates and all paths", () => {
    const rulesOf = (values: Manifest) => {
      assert.deepStrictEqual(refused({ ingress: values }), [])
      return chart({ ingress: { enabled: true, ...values } }).objects.get("Ingress").spec
    }
    const hosts = ["words.example.com", "links.example.com"]
    const { rules, tls } = rulesOf({ hosts, paths: ["/"] })
    assert.deepStrictEqual(rules.map(({ host }: Manifest) => host), hosts)
    assert.deepStrictEqual(tls, [{ hosts, secretName: "parlance-tls" }])
    for (const { http } of rules) assert.deepStrictEqual(http.paths.map(({ path }: Manifest) => path), ["/"])
    const own = [{ hosts: [hosts[0]], secretName: "one" }]
    assert.deepStrictEqual(rulesOf({ hosts, tls: own }).tls, own)
    assert.include(
      rulesOf({ hosts }).rules[1].http.paths.map(({ path }: Manifest) => path),
      "/.well-known/security.txt",
    )
    assert.deepStrictEqual(refused({ ingress: { hosts: ["a/b"], paths: ["api"] } }), [
      "/ingress/hosts/0",
      "/ingress/paths/0",
    ])
  })

  it("has a schema that accepts its defaults, and rejects wrong names, types and secrets among the settings", () => {
    assert.deepStrictEqual(refused({}), [])
    assert.deepStrictEqual(refused({ replica: 3 }), [""])
    assert.deepStrictEqual(refused({ replicas: "3", image: { name: "x" } }), ["/image", "/replicas"])
    assert.deepStrictEqual(refused({ settings: { DATABASE_POOL_SIZE: 10 } }), ["/settings/DATABASE_POOL_SIZE"])
    assert.deepStrictEqual(refused({ ingress: { host: "https://words.example.com" } }), ["/ingress/host"])
    for (const name of ["DATABASE_URL", "ADMIN_TOKEN", "SECRET_KEY", "PORT", "log_level"]) {
      assert.deepStrictEqual(refused({ settings: { [name]: "x" } }), ["/settings"])
    }
  })

  it("explains each value in its README", () => {
    const table = textOf("deploy/helm/parlance/README.md")
    const values = chartValues()
    for (const [name, value] of Object.entries(values)) {
      assert.include(table, `\`${name}`)
      if (["settings", "resources"].includes(name) || value === null || typeof value !== "object") continue
      for (const member of Object.keys(value)) assert.include(table, `.${member}`)
    }
  })
})
