import { PostgreSqlContainer, type StartedPostgreSqlContainer } from "@testcontainers/postgresql"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import process from "node:process"
import { PassThrough } from "node:stream"
import {
  type ContainerRuntimeClient,
  getContainerRuntimeClient,
  ImageName,
  type StartedTestContainer,
  Wait,
} from "testcontainers"
import { freePort } from "./service.ts"

// The scopes of tests remove containers, so the library's own remover, a container of another image, is not needed.
process.env.TESTCONTAINERS_RYUK_DISABLED ??= "true"

/** Whether a Docker engine answers. Prints that `tests` are skipped if none does. */
export const hasDocker = async (tests: string): Promise<boolean> => {
  try {
    await getContainerRuntimeClient()
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error)
    console.warn(`Skipped: ${tests} (no Docker engine answers: ${reason})`)
    return false
  }
}

/** The client of the engine. */
const engine = async () => (await getContainerRuntimeClient()).container

/** The engine, for what the library's containers do not offer, such as images, volumes and networks. */
export const dockerode = async () => (await engine()).dockerode

/** The engine's handle of a container, with which tests kill, pause and stop it. */
export const handleOf = async (container: StartedTestContainer) => (await engine()).getById(container.getId())

/** Runs a program in a container. Returns its output. Rejects with all output if the program fails. */
export const inContainer = async (
  id: string,
  command: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const client = await engine()
  const { exitCode, output, stdout } = await client.exec(client.getById(id), [...command], { env: environment })
  if (exitCode !== 0) throw new Error(`${command[0]} ended with ${exitCode}: ${output}`)
  return stdout.trim()
}

type CreateOptions = Parameters<ContainerRuntimeClient["container"]["create"]>[0]

/** Runs a container until it ends, and removes it. Returns its exit status and output. */
export const runOnce = async (image: string, command: ReadonlyArray<string>, options: Partial<CreateOptions> = {}) => {
  const output = new PassThrough()
  const chunks: Array<Uint8Array> = []
  output.on("data", (chunk: Uint8Array) => void chunks.push(chunk))
  const [{ StatusCode }, container] = await (await dockerode()).run(image, [...command], [output, output], {
    Tty: false,
    ...options,
  })
  await container.remove()
  return { status: StatusCode as number, output: Buffer.concat(chunks).toString() }
}

/** PostgreSQL that is ready once it logs so: twice if it creates its database first, in a server of its own. */
export class Postgres extends PostgreSqlContainer {
  constructor(image: string) {
    super(image)
    this.withUsername("postgres").withPassword("own").withDatabase("postgres").startsAs("new")
      // The library's check starts a process in the container 4 times a second, which slows a start on two processors.
      .withHealthCheck({ test: ["CMD-SHELL", "true"], interval: 3_600_000 })
  }

  protected startsAs(kind: "new" | "standby"): this {
    const line = /database system is ready to accept (read-only )?connections/
    return this.withWaitStrategy(Wait.forLogMessage(line, kind === "new" ? 2 : 1)).withStartupTimeout(120_000)
  }
}

/** A PostgreSQL whose data folder is in a volume that other containers can use. */
export class PostgresWithVolume extends Postgres {
  constructor(image: string, port: number) {
    super(image)
    this.createOpts.Volumes = { "/var/lib/postgresql": {} }
    this.withExposedPorts({ container: 5432, host: port })
  }

  /** Uses the volume of another container, with data that exist. */
  withVolumeOf(container: StartedTestContainer): this {
    delete this.createOpts.Volumes
    this.hostConfig.VolumesFrom = [container.getId()]
    return this.startsAs("standby")
  }
}

/** Whether the machine has an image or can pull it. */
export const hasImage = async (name: string): Promise<boolean> => {
  const { image } = await getContainerRuntimeClient()
  const wanted = ImageName.fromString(name)
  return await image.exists(wanted) || await image.pull(wanted).then(() => true, () => false)
}

/** Starts a container, and removes it with its volumes when the scope closes. */
export const scopedContainer = <C extends StartedTestContainer>(container: { readonly start: () => Promise<C> }) =>
  Effect.acquireRelease(
    Effect.promise(() => container.start()),
    (started) => Effect.promise(() => started.stop({ remove: true, removeVolumes: true, timeout: 0 })),
  )

/** Whether PostgreSQL in a container accepts connections over TCP. */
export const answersIn = (container: StartedPostgreSqlContainer) => () =>
  inContainer(container.getId(), ["pg_isready", "-h", "127.0.0.1", "-U", "postgres"]).then(() => true, () => false)

/** A PostgreSQL for one test, on a port that stays the same when it starts again. Ends with the scope. */
export const ownPostgres = Effect.gen(function* () {
  const port = yield* Effect.promise(freePort)
  const container = yield* scopedContainer(new PostgresWithVolume("postgres:18", port))
  return {
    container,
    /** Folder of its data. */
    data: "/var/lib/postgresql/18/docker",
    answers: answersIn(container),
    url: `postgres://postgres:own@127.0.0.1:${port}/postgres`,
  }
})
