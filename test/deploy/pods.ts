import type { Balancer } from "../support/balancer.ts"
import { freePort, run, type Service, serviceAt } from "../support/service.ts"
import type { Manifest, Rendered } from "./manifests.ts"

// Runs the pods of a Deployment as processes: starts, probes, replaces and ends them as Kubernetes does.

/** A release of the service: its objects for a cluster, and the folder of its sources. */
export interface Release {
  readonly rendered: Rendered
  /** Default: this checkout. */
  readonly folder?: string | undefined
}

interface Pod {
  readonly release: Release
  readonly service: Service
  readonly pid: number
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  readonly output: () => string
  /** Unix milliseconds since which the pod is ready, or undefined. */
  readySince: number | undefined
  isEnding: boolean
}

/** A Deployment that is in progress or stable. */
export interface Deployment {
  /** Replaces the pods by pods of a release, in the order that `strategy` says. Resolves when the rollout is complete. */
  readonly roll: (release: Release) => Promise<void>
  /** A pod that serves. */
  readonly first: () => Service
  /** Ends all pods at once. */
  readonly close: () => Promise<void>
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

const podOf = ({ rendered }: Release): Manifest => rendered.objects.get("Deployment").spec.template.spec
const containerOf = (release: Release): Manifest => podOf(release).containers[0]

/** Sends one probe of a container. */
const passes = ({ httpGet, timeoutSeconds }: Manifest, { url }: Service): Promise<boolean> =>
  fetch(`${url}${httpGet.path}`, { signal: AbortSignal.timeout(timeoutSeconds * 1000) }).then(
    (response) => response.body?.cancel().then(() => response.ok) ?? false,
    () => false,
  )

/** The environment of a container: settings of the ConfigMap and values of the Secret. Fails for other sources. */
const environmentOf = (release: Release, secret: Readonly<Record<string, string>>): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const { configMapRef, secretRef } of containerOf(release).envFrom) {
    if (secretRef?.name === release.rendered.secret) Object.assign(found, secret)
    else if (configMapRef?.name === release.rendered.objects.get("ConfigMap").metadata.name) {
      Object.assign(found, release.rendered.objects.get("ConfigMap").data)
    } else throw new Error(`No such source: ${JSON.stringify(configMapRef ?? secretRef)}`)
  }
  return found
}

/**
 * Starts the pods of a release behind `balancer`. `secret` has the values of the Secret. `endpointSeconds` is the time
 * until balancers know that a pod ends.
 */
export const startDeployment = async (
  balancer: Balancer,
  secret: Readonly<Record<string, string>>,
  endpointSeconds: number,
  initial: Release,
): Promise<Deployment> => {
  const pods = new Set<Pod>()

  const launch = async (release: Release): Promise<Pod> => {
    const port = await freePort()
    const environment = { ...environmentOf(release, secret), PORT: String(port), HOST: "127.0.0.1" }
    const { child, ended, output } = run(["serve"], environment, { folder: release.folder })
    const service = serviceAt(`http://127.0.0.1:${port}`)
    const pod: Pod = { release, service, pid: child.pid!, ended, output, readySince: undefined, isEnding: false }
    pods.add(pod)
    return pod
  }

  /** Resolves when a pod has started. Then follows whether it is ready. */
  const probe = async (pod: Pod) => {
    const { ended, output, release, service } = pod
    const { lifecycle, livenessProbe, readinessProbe, startupProbe } = containerOf(release)
    if (lifecycle !== undefined) throw new Error("The hooks of containers are not run")
    let hasEnded = false
    void ended.then(() => hasEnded = true)
    for (let failures = 0; !await passes(startupProbe, service); failures++) {
      if (hasEnded || failures >= startupProbe.failureThreshold) throw new Error(`A pod did not start:\n${output()}`)
      await pause(startupProbe.periodSeconds)
    }
    // The balancer follows the endpoints alone: /healthz passes until the process ends.
    void (async () => {
      for (let failures = 0; !pod.isEnding && !hasEnded; await pause(readinessProbe.periodSeconds)) {
        failures = await passes(readinessProbe, service) ? 0 : failures + 1
        if (failures === 0 && pod.readySince === undefined && !pod.isEnding) {
          balancer.add(service.url, livenessProbe.httpGet.path)
          pod.readySince = Date.now()
        } else if (failures >= readinessProbe.failureThreshold && pod.readySince !== undefined) {
          pod.readySince = undefined
          await balancer.remove(service.url)
        }
      }
    })()
  }

  /** Ends a pod. Fails if Kubernetes would kill it, or if its process reports an error. */
  const end = async (pod: Pod) => {
    pod.isEnding = true
    process.kill(pod.pid, "SIGTERM")
    const informed = pause(endpointSeconds).then(() => balancer.remove(pod.service.url))
    const grace = podOf(pod.release).terminationGracePeriodSeconds
    const result = await Promise.race([pod.ended, pause(grace).then(() => undefined)])
    if (result === undefined) process.kill(pod.pid, "SIGKILL")
    await informed
    pods.delete(pod)
    if (result?.code !== 0) throw new Error(`A pod did not end within ${grace} s: ${JSON.stringify(result)}`)
  }

  const roll = async (release: Release) => {
    const { minReadySeconds = 0, replicas, strategy } = release.rendered.objects.get("Deployment").spec
    const { maxSurge, maxUnavailable } = strategy.rollingUpdate
    const isAvailable = ({ readySince }: Pod) =>
      readySince !== undefined && Date.now() - readySince >= minReadySeconds * 1000
    const running = () => [...pods].filter(({ isEnding }) => !isEnding)
    const failures: Array<unknown> = []
    const endings: Array<Promise<void>> = []
    for (;;) {
      if (failures.length > 0) throw failures[0]
      const current = running().filter((pod) => pod.release === release)
      const older = running().filter((pod) => pod.release !== release)
      if (older.length === 0 && current.length === replicas && current.every(isAvailable)) break
      // Pods that end do not count.
      if (current.length < replicas && running().length < replicas + maxSurge) {
        probe(await launch(release)).catch((error) => failures.push(error))
      }
      const spare = running().filter(isAvailable).length - (replicas - maxUnavailable)
      for (const pod of older.slice(0, Math.max(0, spare))) endings.push(end(pod))
      await pause(0.1)
    }
    await Promise.all(endings)
  }

  const close = async () => {
    const left = [...pods]
    for (const pod of left) {
      pod.isEnding = true
      process.kill(pod.pid, "SIGKILL")
    }
    await Promise.all(left.map(({ ended }) => ended))
  }

  try {
    await roll(initial)
  } catch (error) {
    await close()
    throw error
  }
  return { roll, first: () => [...pods][0]!.service, close }
}
