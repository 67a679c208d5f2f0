import { assert, beforeAll, describe, it } from "vitest"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { docker, hasDocker } from "../process/dockerEngine.ts"
import { adminToken, freePort, makeOrganization, type Service, serviceAt, waitUntil } from "../support/service.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const id = `parlance-test-${randomUUID()}`
const image = id
const builder = `${id}-builder`
const stage = `${id}-stage`
const standIn = `${id}-balancer`

const available = hasDocker("the container image")

/** Runs `docker-compose`, or `docker compose` where that is the one there is, on a project of its own. */
const composeOf =
  (project: string, environment: Record<string, string>) => async (...args: ReadonlyArray<string>): Promise<string> => {
    const own = ["--project-name", project, "--file", join(root, "docker-compose.yml"), ...args]
    const env = { ...process.env, ...environment }
    const run = (command: string, args: ReadonlyArray<string>) =>
      promisify(execFile)(command, [...args], { cwd: root, env })
    const plugin = await docker("compose", "version").then(() => true, () => false)
    return (await (plugin ? run("docker", ["compose", ...own]) : run("docker-compose", own))).stdout.trim()
  }

/** The command line within a container, as the compose file documents its use. */
const commandLine = (container: string, ...args: ReadonlyArray<string>) =>
  docker("exec", container, "parlance", ...args)

/** Processor time of a health check in ms, the mean of 100. */
const healthCheckMillis = async (container: string): Promise<number> => {
  const script = "TIMEFORMAT='%U %S'; { time for i in {1..100}; do healthcheck || exit 1; done; } 2>&1"
  const seconds = (await docker("exec", container, "bash", "-c", script)).split(" ").map(Number)
  return (seconds[0]! + seconds[1]!) * 1000 / 100
}

/** If packages are downloaded through a proxy with its own certificate authority, the build has to trust that. */
const buildArguments = async (): Promise<ReadonlyArray<string>> => {
  const authority = process.env.DENO_CERT ?? process.env.NODE_EXTRA_CA_CERTS
  if (authority === undefined) return []
  const base = /^ARG BUILD_IMAGE=(\S+)$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8"))![1]
  const folder = mkdtempSync(join(tmpdir(), "parlance-builder-"))
  try {
    cpSync(authority, join(folder, "ca.pem"), { dereference: true })
    writeFileSync(join(folder, "Dockerfile"), `FROM ${base}\nCOPY ca.pem /ca.pem\nENV DENO_CERT=/ca.pem\n`)
    await docker("build", "--tag", builder, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return ["--build-arg", `BUILD_IMAGE=${builder}`]
}

/** The balancer's image of the compose file, or where no registry has it the same program of Debian's in its place. */
const findBalancer = async (): Promise<string> => {
  const named = /\$\{BALANCER_IMAGE:-([^}]+)\}/.exec(readFileSync(join(root, "docker-compose.yml"), "utf8"))![1]!
  const pulled = await docker("pull", named).then(() => true, () => false)
  if (pulled) return named
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
    await docker("build", "--tag", standIn, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return standIn
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
const ownedBy = async (project: string) =>
  (await Promise.all(
    [["ps", "--all"], ["volume", "ls"], ["network", "ls"]].map((list) =>
      docker(...list, "--quiet", "--filter", `label=com.docker.compose.project=${project}`)
    ),
  )).join("")

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
    await docker("build", ...given, "--target", "build", "--tag", stage, root)
    await docker("build", ...given, "--tag", image, root)
    return async () => {
      for (const tag of [image, stage, builder, standIn]) await docker("rmi", "--force", tag).catch(() => {})
    }
  }, 240_000)

  it("contains no development dependencies and starts with the permissions that it needs", async () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const files = await docker(
      "run",
      "--rm",
      "--network",
      "none",
      "--entrypoint",
      "sh",
      image,
      "-c",
      "ls node_modules/.deno; find /deno-dir -type d -path '*npm*'; ls -A /app",
    )
    const packed = (name: string) => files.includes(`${name.replace("/", "+")}@`)
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
      const output = await docker("run", "--rm", "--entrypoint", "sh", image, "-c", script, "sh", ...args)
      return output.split(" ")
    }
    for (const args of [["serve"], ["--log-level", "debug", "serve"]]) {
      const flags = await flagsOf(...args)
      assert.isTrue(flags.includes("--allow-write=/data"), flags.join(" "))
      assert.deepStrictEqual(flags.filter((flag) => /^(-A|--allow-(all|ffi|sys|write|run|read))$/.test(flag)), [])
    }
    assert.include(await flagsOf("template", "list"), "--allow-all")
    assert.strictEqual(await docker("inspect", "--format", "{{json .Config.Entrypoint}}", image), '["parlance"]')
    const [size, base] = await Promise.all(
      [image, "denoland/deno:2.9.6"].map((name) =>
        docker("image", "inspect", "--format", "{{.Size}}", name).then(Number)
      ),
    )
    console.info(
      `Image: ${Math.round(size! / 1e6)} MB, of which ${Math.round((size! - base!) / 1e6)} MB are not Deno's`,
    )
    // With 170 MB of Debian and Deno it stays below 350 MB.
    assert.isAtMost((size! - base!) / 1e6, 130)
  })

  it("does not start without DATABASE_URL or STORE=embedded, and names the remedy", async () => {
    const output = (error: { readonly stdout: string }) => error.stdout
    const started = await docker("run", "--rm", image).then(() => "it started", output)
    assert.match(started, /STORE: is external.*Set DATABASE_URL.*STORE=embedded/)
    const both = await docker("run", "--rm", "--env", "STORE=embedded", "--env", "DATABASE_URL=postgres://db", image)
      .then(() => "it started", output)
    assert.match(both, /STORE: is embedded.*DATABASE_URL/)
  })

  it("runs as a non-root user on a read-only root file system, and exits with 0 when stopped", async () => {
    const port = await freePort()
    const service = serviceAt(`http://127.0.0.1:${port}`)
    try {
      await docker(
        "run",
        "--detach",
        "--name",
        id,
        "--read-only",
        "--tmpfs",
        "/tmp",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--volume",
        `${id}:/data`,
        "--publish",
        `127.0.0.1:${port}:8080`,
        "--env",
        "STORE=embedded",
        image,
      )
      await waitUntil(
        "the container is healthy",
        async () => await docker("inspect", "--format", "{{.State.Health.Status}}", id) === "healthy",
        60,
      )
      assert.notStrictEqual(await docker("exec", id, "id", "-u"), "0")
      assert.isAtMost(await healthCheckMillis(id), 5)
      for (const port of ["1", "8081"]) {
        const failed = await docker("exec", "--env", `PORT=${port}`, id, "healthcheck").then(
          () => 0,
          ({ code }) => code,
        )
        assert.strictEqual(failed, 1, "a check without an answer")
      }
      const key = await setUp(service, id)
      const chosen = await assertAnswers(service, key, "first")

      await docker("stop", "--time", "20", id)
      assert.strictEqual(await docker("inspect", "--format", "{{.State.ExitCode}}", id), "0")
      assert.notMatch(await docker("logs", id), /Read-only file system|NotCapable|"level":"ERROR"/)

      await docker("start", id)
      await waitUntil("it answers again", healthy(service))
      assert.strictEqual(await assertAnswers(service, key, "first"), chosen, "the volume keeps decisions")
    } finally {
      await docker("rm", "--force", "--volumes", id).catch(() => {})
      await docker("volume", "rm", "--force", id).catch(() => {})
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
      const compose = composeOf(project, environment)
      try {
        await compose("up", "--detach", "--no-build")
        await waitUntil("the service of the compose file answers", healthy(service), 120)
        const container = await compose("ps", "--quiet", "parlance")
        assert.notStrictEqual(await docker("exec", container, "id", "-u"), "0")
        assert.lengthOf((await compose("ps", "--quiet")).split("\n"), 3, "one node, Postgres and HAProxy")
        const key = await setUp(service, container)
        const chosen = await assertAnswers(service, key, "first")

        await compose("restart")
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
        await compose("down", "--volumes", "--timeout", "0")
      }
      assert.strictEqual(await ownedBy(project), "", "`down -v` removed containers, volumes and networks")
    },
    300_000,
  )

  it.concurrent("does not start from the compose file with the default password, and names the remedy", async () => {
    const project = `${id}-refused`
    const compose = composeOf(project, {
      PARLANCE_IMAGE: image,
      BALANCER_IMAGE: await balancerImage(),
      PARLANCE_BIND: `127.0.0.1:${await freePort()}`,
    })
    try {
      await compose("up", "--detach", "--no-build", "--no-deps", "parlance")
      let logs = ""
      await waitUntil("the service says why", async () => {
        logs = await compose("logs", "parlance")
        return logs.includes("PARLANCE_DEMO=1")
      }, 120)
      assert.include(logs, "POSTGRES_PASSWORD")
    } finally {
      await compose("down", "--volumes", "--timeout", "0")
    }
    assert.strictEqual(await ownedBy(project), "", "`down -v` removed containers, volumes and networks")
  }, 300_000)

  it.concurrent(
    "runs three nodes and a load balancer from the profile, and answers with a single node",
    async () => {
      const project = `${id}-cluster`
      const port = await freePort()
      const service = serviceAt(`http://127.0.0.1:${port}`)
      const compose = composeOf(project, {
        PARLANCE_IMAGE: image,
        PARLANCE_BIND: `127.0.0.1:${port}`,
        BALANCER_IMAGE: await balancerImage(),
        ADMIN_TOKEN: adminToken,
        PUBLIC_URL: service.url,
        POSTGRES_PASSWORD: randomUUID(),
      })
      const cluster = (...args: ReadonlyArray<string>) => compose("--profile", "cluster", ...args)
      try {
        await cluster("up", "--detach", "--no-build")
        await waitUntil("the balancer answers", healthy(service), 120)
        const runners = () =>
          service.request("/readyz").then(async (response) => (await response.json()).cluster?.runners ?? 0, () => 0)
        // Send more requests than there are nodes. Every answering node knows the others.
        await waitUntil("three nodes know each other", async () => {
          const seen = await Promise.all(Array.from({ length: 9 }, runners))
          return seen.every((count) => count === 3)
        }, 120)
        const first = await cluster("ps", "--quiet", "parlance")
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
        const stopping = cluster("stop", "parlance-2")
        let stopped = false
        void stopping.then(() => stopped = true, () => stopped = true)
        for (let i = 0; !stopped; i++) await assertAnswers(service, key, `stopping-${i}`)
        await stopping
        const second = await docker("ps", "--all", "--quiet", "--filter", `name=${project}.parlance-2`)
        assert.strictEqual(await docker("inspect", "--format", "{{.State.ExitCode}}", second), "0")
        await docker("kill", first)
        assert.strictEqual(await assertAnswers(service, key, "first"), chosen)
      } finally {
        await cluster("down", "--volumes", "--timeout", "0")
      }
      assert.strictEqual(await ownedBy(project), "", "`down -v` removed containers, volumes and networks")
    },
    300_000,
  )
})
