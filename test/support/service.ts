import { type Context, Effect, Layer, type Scope } from "effect"
import { HttpServer } from "effect/http"
import type { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { PasswordCost } from "../../src/accounts/Passwords.ts"
import { layerJobs, layerNodeServices, layerRoutes, layerServices } from "../../src/service/App.ts"
import * as Server from "../../src/api/http/Server.ts"
import type { Store } from "../../src/store/Store.ts"
import { makeWatch, type Watch } from "./platformServers/Watch.ts"
import { type Environment, layerSettings } from "./settings.ts"
import { makeTableChanges } from "./tableChanges.ts"

/** The admin token of every service under test. */
export const adminToken = "test-admin-token-0123456789-abcdef"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

/** A service under test, with functions that send requests to it. */
export interface Service {
  readonly url: string
  /** Sends a request unchanged. Paths are relative to the service. */
  readonly request: (path: string, init?: RequestInit) => Promise<Response>
  /** Sends a management request with the admin token. Encodes and decodes JSON. */
  readonly manage: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Json }>
  /** Sends a Generate request by POST. */
  readonly generate: (
    org: string,
    key: string,
    body: unknown,
  ) => Promise<{ status: number; body: Json; headers: Headers }>
}

/** A service in this process. Tests can await changes of its database. */
export interface LocalService extends Service {
  /**
   * Resolves when `holds` returns true. Runs `holds` immediately, and after each transaction that wrote to one of
   * `tables`.
   */
  readonly untilStored: (what: string, tables: ReadonlyArray<string>, holds: () => Promise<boolean>) => Promise<void>
}

/** Returns functions that send requests to the service at `url`. */
export const serviceAt = (url: string): Service => {
  const request = (path: string, init?: RequestInit) => fetch(`${url}${path}`, init)
  const read = async (response: Response) => {
    const text = await response.text()
    return text === "" ? undefined : JSON.parse(text)
  }
  return {
    url,
    request,
    manage: async (method, path, body) => {
      const response = await request(`/console/api${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await read(response) }
    },
    generate: async (org, key, body) => {
      const response = await request(`/api/generate/${org}`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: await read(response), headers: response.headers }
    },
  }
}

/** Reduces the cost of password hashes, because users in tests sign in often. Other tests cover the real cost. */
export const layerCheapPasswords = Layer.succeed(PasswordCost, { logN: 10, r: 8, p: 1 })

/** Returns functions that send requests to a service in this process. */
export const localService = <R>(
  context: Context.Context<R | HttpServer.HttpServer | SqlClient.SqlClient | Store>,
): Effect.Effect<LocalService> =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    if (address._tag === "UnixPathAddress") return yield* Effect.die("no port")
    const changes = yield* makeTableChanges
    const untilStored: LocalService["untilStored"] = (what, tables, holds) =>
      Effect.runPromise(changes.until(what, tables, Effect.promise(holds)))
    return { ...serviceAt(`http://127.0.0.1:${address.port}`), untilStored }
  }).pipe(Effect.provideContext(context))

/**
 * Starts the real service in this process with all its jobs, on a port of its own, until the scope closes. Returns its
 * client and its Effect services. `references` replace limits of the service.
 */
export const buildInProcess = (
  environment: Effect.Effect<Environment, never, Scope.Scope>,
  more: Environment = {},
  references: Layer.Layer<never> = Layer.empty,
  services: typeof layerServices | typeof layerNodeServices = layerServices,
) =>
  Effect.gen(function* () {
    const env = yield* environment
    const context = yield* Layer.build(
      Server.serve(layerRoutes).pipe(
        Layer.provideMerge(layerJobs),
        Layer.provideMerge(Server.layerServer),
        Layer.provideMerge(services),
        Layer.provide(layerCheapPasswords),
        Layer.provide(layerSettings({ PORT: "0", ADMIN_TOKEN: adminToken, LOG_LEVEL: "None", ...env, ...more })),
        Layer.provide(references),
      ),
    )
    return { context, service: yield* localService(context) }
  }).pipe(Effect.orDie)

/** Starts the real service in this process, on a port of its own, until the scope closes. */
export const startInProcess = (
  environment: Effect.Effect<Environment, never, Scope.Scope>,
  more: Environment = {},
  references?: Layer.Layer<never>,
): Effect.Effect<LocalService, never, Scope.Scope> =>
  Effect.map(buildInProcess(environment, more, references), ({ service }) => service)

/** A process that runs `src/main.ts`, with its output so far. */
export interface ServiceProcess extends Service {
  readonly pid: number
  readonly output: () => string
  /** Resolves when a condition on the output holds. Checked after each output of the process. */
  readonly printed: Watch["until"]
  readonly kill: (signal: NodeJS.Signals) => void
  /** Resolves to the exit status and the signal when the process ends. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

/** Returns a free TCP port outside the range that the system assigns to connections. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().on("error", () => resolve(false))
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

/** Polls until `ready` returns true. Fails after `seconds`. */
export const waitUntil = async (what: string, ready: () => boolean | Promise<boolean>, seconds = 90): Promise<void> => {
  const end = Date.now() + seconds * 1000
  while (Date.now() < end) {
    if (await ready()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`Waited ${seconds} s in vain until ${what}`)
}

const root = fileURLToPath(new URL("../../", import.meta.url))

const [, startVariables, startArguments] = / && ((?:\S+=\S+ )*)deno run (.*) src\/main\.ts serve$/.exec(
  JSON.parse(readFileSync(`${root}deno.json`, "utf8")).tasks.start.command,
)!

/** The flags of Deno in `deno task start`. */
export const startFlags: ReadonlyArray<string> = startArguments!.split(" ")

/** The variables that `deno task start` sets. */
export const startEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  startVariables!.trim().split(" ").map((assignment) => assignment.split("=", 2)),
)

/** Options of a process: the folder of another checkout, flags of Deno, and flags of `serve`. */
export interface Running {
  readonly folder?: string | undefined
  readonly denoFlags?: ReadonlyArray<string>
  readonly flags?: ReadonlyArray<string>
}

/** Resolves when `holds` returns true for the output of a process. Fails if the process ends before that. */
export const untilPrinted = (
  until: Watch["until"],
  ended: Promise<unknown>,
  holds: () => boolean,
  output: () => string,
): Promise<void> => {
  const tooLate = ended.then(() => {
    if (!holds()) throw new Error(`The process ended, and had printed:\n${output()}`)
  })
  return Promise.race([until(holds), tooLate])
}

/** Runs `src/main.ts` with `args`, without the settings of this process. */
export const run = (
  args: ReadonlyArray<string>,
  environment: Environment,
  { denoFlags = [], folder = root }: Running = {},
) => {
  const { HOME, PATH, DENO_DIR, TMPDIR } = process.env
  const inherited = Object.fromEntries(
    Object.entries({ HOME, PATH, DENO_DIR, TMPDIR }).filter(([, value]) => value !== undefined),
  )
  const child = spawn(
    Deno.execPath(),
    ["run", "--cached-only", ...startFlags, ...denoFlags, "src/main.ts", ...args],
    {
      cwd: folder,
      env: { ...inherited, ...startEnvironment, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", ...environment } as Record<
        string,
        string
      >,
    },
  )
  let output = ""
  const { changed, until } = makeWatch()
  const collect = (chunk: unknown) => {
    output += String(chunk)
    changed()
  }
  child.stdout.on("data", collect)
  child.stderr.on("data", collect)
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.on("exit", (code, signal) => resolve({ code, signal }))
  )
  const printed = (holds: () => boolean) => untilPrinted(until, ended, holds, () => output)
  return { child, output: () => output, printed, ended }
}

/** Starts the service as a separate process. Resolves when the service is healthy. */
export const startProcess = async (environment: Environment, running?: Running): Promise<ServiceProcess> => {
  const port = await freePort()
  const settings = { PORT: String(port), ADMIN_TOKEN: adminToken, ...environment }
  const { child, ended, output, printed } = run(["serve", ...(running?.flags ?? [])], settings, running)
  const url = `http://127.0.0.1:${port}`
  let exited = false
  void ended.then(() => exited = true)
  await waitUntil(`the service answers:\n${output()}`, async () => {
    if (exited) throw new Error(`The service ended while starting:\n${output()}`)
    return await fetch(`${url}/healthz`).then(
      (response) => response.body?.cancel().then(() => response.ok) ?? false,
      () => false,
    )
  })
  return {
    ...serviceAt(url),
    pid: child.pid!,
    output,
    printed,
    ended,
    kill: (signal) => {
      // After `child.kill`, Deno would report the signal even if the process ended by itself with status 0.
      if (!exited) process.kill(child.pid!, signal)
    },
  }
}

/** Starts a service process. If it still runs when the scope closes, kills it. */
export const scopedProcess = (environment: Environment, running?: Running) =>
  Effect.acquireRelease(
    Effect.promise(() => startProcess(environment, running)),
    (service) =>
      Effect.promise(async () => {
        service.kill("SIGKILL")
        await service.ended
      }),
  )

/** Creates an organization with an API key. Returns the key. */
export const makeOrganization = async (
  service: Service,
  slug: string,
  scopes?: ReadonlyArray<string>,
): Promise<string> => {
  await service.manage("POST", "/organizations", { slug, name: slug })
  const { body } = await service.manage("POST", `/organizations/${slug}/keys`, {
    name: "test",
    ...(scopes ? { scopes } : {}),
  })
  return body.key
}
