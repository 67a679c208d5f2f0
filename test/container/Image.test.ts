import { assert, beforeAll, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { DockerComposeEnvironment, GenericContainer, Wait } from "testcontainers"
import { dockerode, hasDocker, hasImage, inContainer, runOnce } from "../support/containers.ts"
import { adminToken, freePort, makeOrganization, type Service, serviceAt, waitUntil } from "../support/service.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const id = `parlance-test-${randomUUID()}`
const image = id
const builder = `${id}-builder`
const stage = `${id}-stage`
const standIn = `${id}-balancer`

const available = await hasDocker("the container image")

/** Builds a Dockerfile and names its image. */
const build = (folder: string, tag: string, args: Record<string, string> = {}, target?: string) => {
  const builder = GenericContainer.fromDockerfile(folder).withBuildArgs(args)
  return (target === undefined ? builder : builder.withTarget(target)).build(tag, { deleteOnExit: false })
}

/** The project of the compose file, with Compose as a program of its own if Docker has no plugin for it. */
const composeOf = (project: string, environment: Record<string, string>) =>
  new DockerComposeEnvironment(root, "docker-compose.yml").withProjectName(project).withEnvironment(environment)
    // Tests wait for the service by its address: a node may be unhealthy while it starts on a busy machine.
    .withDefaultWaitStrategy(Wait.forSuccessfulCommand("true"))
    .withClientOptions({
      commandOptions: ["--no-build"],
      ...(hasComposePlugin ? {} : { executable: { standalone: true } }),
    })

const hasComposePlugin = spawnSync("docker", ["compose", "version"]).status === 0

/** The ids of the containers of a compose project, or of one service in it. */
const containersOf = async (project: string, service?: string): Promise<ReadonlyArray<string>> => {
  const label = [`com.docker.compose.project=${project}`]
  if (service !== undefined) label.push(`com.docker.compose.service=${service}`)
  return (await (await dockerode()).listContainers({ all: true, filters: { label } })).map(({ Id }) => Id)
}

/** The command line within a container, as the compose file documents its use. */
const commandLine = (container: string, ...args: ReadonlyArray<string>) => inContainer(container, ["parlance", ...args])

/** Processor time of a health check in ms, the mean of 100. */
const healthCheckMillis = async (container: string): Promise<number> => {
  const script = "TIMEFORMAT='%U %S'; { time for i in {1..100}; do healthcheck || exit 1; done; } 2>&1"
  const seconds = (await inContainer(container, ["bash", "-c", script])).split(" ").map(Number)
  return (seconds[0]! + seconds[1]!) * 1000 / 100
}

/** If packages are downloaded through a proxy with its own certificate authority, the build has to trust that. */
const buildArguments = async (): Promise<Record<string, string>> => {
  const authority = process.env.DENO_CERT ?? process.env.NODE_EXTRA_CA_CERTS
  if (authority === undefined) return {}
  const base = /^ARG BUILD_IMAGE=(\S+)$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8"))![1]
  const folder = mkdtempSync(join(tmpdir(), "parlance-builder-"))
  try {
    cpSync(authority, join(folder, "ca.pem"), { dereference: true })
    writeFileSync(join(folder, "Dockerfile"), `FROM ${base}\nCOPY ca.pem /ca.pem\nENV DENO_CERT=/ca.pem\n`)
    await build(folder, builder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { BUILD_IMAGE: builder }
}

/** The balancer's image of the compose file, or where no registry has it the same program of Debian's in its place. */
const findBalancer = async (): Promise<string> => {
  const named = /\$\{BALANCER_IMAGE:-([^}]+)\}/.exec(readFileSync(join(root, "docker-compose.yml"), "utf8"))![1]!
  if (await hasImage(named)) return named
  console.warn(`Image: ${named} cannot be pulled, Debian's HAProxy stands in for it`)
  const folder = mkdtempSync(join(tmpdir(), "parlance-balancer-"))
  try {
    writeFileSync(
      join(folder, "Dockerfile"),
      `FROM debian:bookworm-slim
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends haproxy
USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
`,
    )
    await build(folder, standIn)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return standIn
}

/** A container with a root file system that cannot be written. */
class HardenedContainer extends GenericContainer {
  constructor(image: string) {
    super(image)
    this.hostConfig.ReadonlyRootfs = true
  }
}

let foundBalancer: Promise<string> | undefined
const balancerImage = () => foundBalancer ??= findBalancer()

/** Makes an organization with a key and the sample template on the command line, and asks for its words over HTTP. */
const setUp = async (service: Service, container: string) => {
  await commandLine(container, "org", "create", "acme", "--name", "Acme")
  await commandLine(container, "--org", "acme", "template", "import", "examples/demo.yaml")
  const output = await commandLine(container, "--org", "acme", "key", "create", "test", "--json")
  const key: string = JSON.parse(output).key
  // On Postgres the command works while the service runs, which reads the key within 5 seconds.
  await waitUntil(
    "the service knows the key",
    async () => (await service.generate("acme", key, { template_id: "welcome", tracking_id: "warm" })).status === 200,
  )
  return key
}

const assertAnswers = async (service: Service, key: string, trackingId: string) => {
  const { body, status } = await service.generate("acme", key, {
    template_id: "welcome",
    tracking_id: trackingId,
    fields: { name: "Ann" },
  })
  assert.strictEqual(status, 200)
  assert.include(Object.values(body.copy.vars).join(" "), "Ann")
  return body.copy.id as string
}

/** The remaining resources of a compose project. */
const ownedBy = async (project: string): Promise<ReadonlyArray<string>> => {
  const filters = { label: [`com.docker.compose.project=${project}`] }
  const docker = await dockerode()
  const { Volumes } = await docker.listVolumes({ filters })
  const networks = await docker.listNetworks({ filters })
  return [...await containersOf(project), ...Volumes.map(({ Name }) => Name), ...networks.map(({ Name }) => Name)]
}

const healthy = (service: Service) => () =>
  service.request("/healthz").then(
    async (response) => {
      await response.body?.cancel()
      return response.ok
    },
    () => false,
  )

describe.runIf(available)("The container image", () => {
  beforeAll(async () => {
    const given = await buildArguments()
    // The first stage gets a name too, so that it can be removed.
    await build(root, stage, given, "build")
    await build(root, image, given)
    return async () => {
      const docker = await dockerode()
      for (const tag of [image, stage, builder, standIn]) {
        await docker.getImage(tag).remove({ force: true }).catch(() => {})
      }
    }
  })

  it("contains no development dependencies and starts with the permissions that it needs", async () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const { output: files } = await runOnce(
      image,
      ["-c", "cat bundle/LICENSES.txt; ls node_modules/.deno; find /deno-dir -type d -path '*npm*'; ls -A /app"],
      { Entrypoint: ["sh"], HostConfig: { NetworkMode: "none" } },
    )
    // The bundle begins the licence of each of its packages with its name and version. Other packages are folders.
    const packed = (name: string) =>
      new RegExp(`^${name} \\d`, "m").test(files) || files.includes(`${name.replace("/", "+")}@`)
    for (const name of Object.keys(dependencies)) assert.isTrue(packed(name), `${name} is missing`)
    for (const name of Object.keys(devDependencies)) {
      // Packages of the service depend on these themselves.
      if (!name.startsWith("@types/")) assert.isFalse(packed(name), `${name} is in the image`)
    }
    assert.notMatch(files, /^(test|bench)$/m)
    assert.match(files, /^docs$/m)

    // A Deno in place of the real one prints the flags that the image starts it with.
    const flagsOf = async (...args: ReadonlyArray<string>) => {
      const script =
        'mkdir /tmp/bin && cd /tmp/bin && printf "#!/bin/sh\necho \\"\\$@\\"\n" > deno && chmod +x deno && ' +
        'PATH=/tmp/bin:$PATH && exec parlance "$@"'
      const { output } = await runOnce(image, ["-c", script, "sh", ...args], { Entrypoint: ["sh"] })
      return output.trim().split(" ")
    }
    for (const args of [["serve"], ["--log-level", "debug", "serve"]]) {
      const flags = await flagsOf(...args)
      assert.isTrue(flags.includes("--allow-write=/data"), flags.join(" "))
      assert.deepStrictEqual(flags.filter((flag) => /^(-A|--allow-(all|ffi|sys|write|run|read))$/.test(flag)), [])
    }
    assert.include(await flagsOf("template", "list"), "--allow-all")
    const docker = await dockerode()
    const [built, deno] = [
      await docker.getImage(image).inspect(),
      await docker.getImage("denoland/deno:2.9.6").inspect(),
    ]
    assert.deepStrictEqual(built.Config.Entrypoint, ["parlance"])
    const [size, base] = [built.Size, deno.Size]
    console.info(
      `Image: ${Math.round(size / 1e6)} MB, of which ${Math.round((size - base) / 1e6)} MB are not Deno's`,
    )
    // With 170 MB of Debian and Deno it stays below 250 MB.
    assert.isAtMost((size - base) / 1e6, 80)
  })

  it("does not start without DATABASE_URL or STORE=embedded, and names the remedy", async () => {
    const none = await runOnce(image, [])
    assert.match(none.output, /STORE: is external.*Set DATABASE_URL.*STORE=embedded/)
    const both = await runOnce(image, [], { Env: ["STORE=embedded", "DATABASE_URL=postgres://db"] })
    assert.match(both.output, /STORE: is embedded.*DATABASE_URL/)
    assert.notInclude([none.status, both.status], 0)
  })

  it("runs as a non-root user on a read-only root file system, and exits with 0 when stopped", async () => {
    const port = await freePort()
    const service = serviceAt(`http://127.0.0.1:${port}`)
    const container = await new HardenedContainer(image).withName(id).withTmpFs({ "/tmp": "" })
      .withDroppedCapabilities("ALL").withSecurityOpt("no-new-privileges")
      .withBindMounts([{ source: id, target: "/data" }]).withExposedPorts({ container: 8080, host: port })
      .withEnvironment({ STORE: "embedded" }).withWaitStrategy(Wait.forHealthCheck()).start()
    const docker = await dockerode()
    const handle = docker.getContainer(container.getId())
    try {
      assert.notStrictEqual(await inContainer(id, ["id", "-u"]), "0")
      assert.isAtMost(await healthCheckMillis(id), 5)
      for (const port of ["1", "8081"]) {
        const { exitCode } = await container.exec(["healthcheck"], { env: { PORT: port } })
        assert.strictEqual(exitCode, 1, "a check without an answer")
      }
      const key = await setUp(service, id)
      const chosen = await assertAnswers(service, key, "first")

      await handle.stop({ t: 20 })
      assert.strictEqual((await handle.inspect()).State.ExitCode, 0)
      const logs = (await handle.logs({ stdout: true, stderr: true })).toString()
      assert.notMatch(logs, /Read-only file system|NotCapable|"level":"ERROR"/)

      await handle.start()
      await waitUntil("it answers again", healthy(service))
      assert.strictEqual(await assertAnswers(service, key, "first"), chosen, "the volume keeps decisions")
    } finally {
      await container.stop({ remove: true, removeVolumes: true, timeout: 0 })
      await docker.getVolume(id).remove()
    }
  }, 120_000)

  // These mostly wait for containers that start and stop.
  it.concurrent(
    "serves from the compose file on Postgres, keeps its data over a restart, and removes everything with it",
    async () => {
      const project = `${id}-single`
      const port = await freePort()
      const service = serviceAt(`http://127.0.0.1:${port}`)
      const environment = {
        PARLANCE_IMAGE: image,
        BALANCER_IMAGE: await balancerImage(),
        PARLANCE_BIND: `127.0.0.1:${port}`,
        PUBLIC_URL: service.url,
        // Clients wait for the restart in any case.
        SHUTDOWN_DELAY: "1 second",
        PARLANCE_DEMO: "1",
      }
      const compose = await composeOf(project, environment).up()
      try {
        await waitUntil("the service of the compose file answers", healthy(service), 120)
        const [container] = await containersOf(project, "parlance")
        assert.notStrictEqual(await inContainer(container!, ["id", "-u"]), "0")
        const all = await containersOf(project)
        assert.lengthOf(all, 3, "one node, Postgres and HAProxy")
        const key = await setUp(service, container!)
        const chosen = await assertAnswers(service, key, "first")

        const docker = await dockerode()
        await Promise.all(all.map((one) => docker.getContainer(one).restart({ t: 10 })))
        await waitUntil("it answers after the restart", async () =>
          (await service.request("/readyz").then(
            async (response) => {
              await response.body?.cancel()
              return response.status
            },
            () => 0,
          )) === 200, 120)
        assert.strictEqual(await assertAnswers(service, key, "first"), chosen)
      } finally {
        await compose.down({ removeVolumes: true, timeout: 0 })
      }
      assert.deepStrictEqual(await ownedBy(project), [], "`down -v` removed containers, volumes and networks")
    },
    300_000,
  )

  it.concurrent("does not start from the compose file with the default password, and names the remedy", async () => {
    const project = `${id}-refused`
    const compose = await composeOf(project, {
      PARLANCE_IMAGE: image,
      BALANCER_IMAGE: await balancerImage(),
      PARLANCE_BIND: `127.0.0.1:${await freePort()}`,
    }).withClientOptions({ commandOptions: ["--no-build", "--no-deps"] })
      .withDefaultWaitStrategy(Wait.forLogMessage("PARLANCE_DEMO=1")).up(["parlance"])
    try {
      const [container] = await containersOf(project, "parlance")
      const handle = (await dockerode()).getContainer(container!)
      const logs = (await handle.logs({ stdout: true, stderr: true })).toString()
      assert.include(logs, "POSTGRES_PASSWORD")
    } finally {
      await compose.down({ removeVolumes: true, timeout: 0 })
    }
    assert.deepStrictEqual(await ownedBy(project), [], "`down -v` removed containers, volumes and networks")
  }, 300_000)

  it.concurrent(
    "runs three nodes and a load balancer from the profile, and answers with a single node",
    async () => {
      const project = `${id}-cluster`
      const port = await freePort()
      const service = serviceAt(`http://127.0.0.1:${port}`)
      const cluster = await composeOf(project, {
        PARLANCE_IMAGE: image,
        PARLANCE_BIND: `127.0.0.1:${port}`,
        BALANCER_IMAGE: await balancerImage(),
        ADMIN_TOKEN: adminToken,
        PUBLIC_URL: service.url,
        POSTGRES_PASSWORD: randomUUID(),
      }).withProfiles("cluster").up()
      try {
        await waitUntil("the balancer answers", healthy(service), 120)
        const runners = () =>
          service.request("/readyz").then(async (response) => (await response.json()).cluster?.runners ?? 0, () => 0)
        // Send more requests than there are nodes. Every answering node knows the others.
        await waitUntil("three nodes know each other", async () => {
          const seen = await Promise.all(Array.from({ length: 9 }, runners))
          return seen.every((count) => count === 3)
        }, 120)
        const docker = await dockerode()
        const handleOf = async (name: string) => docker.getContainer((await containersOf(project, name))[0]!)
        const key = await makeOrganization(service, "acme")
        await service.manage("POST", "/organizations/acme/templates", {
          id: "welcome",
          name: "Welcome",
          variants: [{ id: "warm", vars: { subject: "Hello {{ name }}" } }],
        })
        await waitUntil("every node knows the key", async () => {
          const answers = await Promise.all(
            Array.from(
              { length: 9 },
              (_, i) => service.generate("acme", key, { template_id: "welcome", tracking_id: `warm-${i}` }),
            ),
          )
          return answers.every(({ status }) => status === 200)
        })
        const chosen = await assertAnswers(service, key, "first")

        // One node shuts down in order, which clients do not notice. The next is killed.
        const second = await handleOf("parlance-2")
        const stopping = second.stop({ t: 60 })
        let stopped = false
        void stopping.then(() => stopped = true, () => stopped = true)
        for (let i = 0; !stopped; i++) await assertAnswers(service, key, `stopping-${i}`)
        await stopping
        assert.strictEqual((await second.inspect()).State.ExitCode, 0)
        await (await handleOf("parlance")).kill()
        assert.strictEqual(await assertAnswers(service, key, "first"), chosen)
      } finally {
        await cluster.down({ removeVolumes: true, timeout: 0 })
      }
      assert.deepStrictEqual(await ownedBy(project), [], "`down -v` removed containers, volumes and networks")
    },
    300_000,
  )
})
