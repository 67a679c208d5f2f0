import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { describe } from "vitest"
import { makeTemplate } from "./support.ts"
import { adminToken, freePort, makeOrganization, run, type Running, serviceAt } from "../support/service.ts"
import { embeddedEnvironment, type Environment, temporaryFolder } from "../support/stores.ts"

interface Line {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly cause?: string
}

const document = readFileSync(new URL("../../docs/operations/logs.md", import.meta.url), "utf8")

/** Names of the annotations that the document lists. */
const annotationNames = [...document.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(([, names]) =>
  names!.split(", ").map((quoted) => quoted.slice(1, -1))
)

/** Reads a line of the log, and fails unless it has the members that docs/operations/logs.md lists and no other. */
const read = (text: string): Line => {
  let line: Line
  try {
    line = JSON.parse(text)
  } catch {
    throw new Error(`This line of standard output is not JSON: ${text}`)
  }
  const { cause, ...always } = line
  assert.sameMembers(Object.keys(always), ["timestamp", "level", "message", "annotations"], text)
  assert.match(line.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.oneOf(line.level, ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
  assert.isString(line.message)
  assert.notStrictEqual(line.message, "", text)
  assert.isObject(line.annotations)
  const isOfEffect = String(line.annotations["module"] ?? "").startsWith("effect/")
  if (line.level !== "DEBUG" && !isOfEffect) assert.includeMembers(annotationNames, Object.keys(line.annotations), text)
  assert.isTrue(cause === undefined || (typeof cause === "string" && cause !== ""), text)
  return line
}

/** A service with the lines of its standard output, each checked. It is killed when the scope closes. */
const serveWithLog = (environment: Environment, running?: Running) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const port = await freePort()
      const { child, ended } = run(["serve"], { PORT: String(port), ADMIN_TOKEN: adminToken, ...environment }, running)
      const lines: Array<Line> = []
      const faults: Array<unknown> = []
      const waiting = new Set<() => void>()
      const reader = createInterface({ input: child.stdout })
      reader.on("line", (text) => {
        try {
          lines.push(read(text))
        } catch (error) {
          faults.push(error)
        }
        for (const look of waiting) look()
      })
      const closed = new Promise<void>((resolve) => reader.on("close", resolve))
      /** The first line that `isIt`, also one to come. */
      const lineWith = (isIt: (line: Line) => boolean) =>
        new Promise<Line>((resolve, reject) => {
          const look = () => {
            const found = lines.find(isIt)
            if (found === undefined && faults.length === 0) return
            waiting.delete(look)
            if (found === undefined) reject(faults[0])
            else resolve(found)
          }
          waiting.add(look)
          void closed.then(() => reject(new Error(`The log ended:\n${JSON.stringify(lines, null, 1)}`)))
          look()
        })
      /** All lines, once the process has ended. */
      const atEnd = async () => {
        const { code } = await ended
        await closed
        assert.deepStrictEqual(faults, [])
        return { code, lines }
      }
      return { service: serviceAt(`http://127.0.0.1:${port}`), pid: child.pid!, lineWith, atEnd, ended }
    }),
    ({ ended, pid }) =>
      Effect.promise(async () => {
        try {
          process.kill(pid, "SIGKILL")
        } catch {
          // It has ended.
        }
        await ended
      }),
  )

const isStart = ({ message }: Line) => message.startsWith("Parlance answers at")

describe("the standard output of the service", () => {
  it.live("has one line in the same format for each event from start to stop", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = join(yield* temporaryFolder, "data")
      const log = yield* serveWithLog({ DATA_DIR: dataDir, LOG_LEVEL: "Debug", ACCESS_LOG: "1" })
      yield* Effect.promise(async () => {
        const { annotations } = await log.lineWith(isStart)
        assert.deepInclude(annotations, { store: "embedded", pid: log.pid })
        const key = await makeOrganization(log.service, "acme")
        await makeTemplate(log.service, "acme", "offer")
        const { headers, status } = await log.service.generate("acme", key, { template_id: "offer", user_id: "ann" })
        assert.strictEqual(status, 200)
        await log.service.request("/api/generate/acme?user_id=ann@personal.example&template_id=x", {
          headers: { "x-request-id": "one-request" },
        })
        await log.service.request("/people/ann@personal.example")
        await log.service.request("/o/no-such-token")
        // What the server of the database prints while it recovers is logged as well.
        process.kill(
          Number(readFileSync(join(dataDir, "postgres/data/postmaster.pid"), "utf8").split("\n")[0]),
          "SIGKILL",
        )
        const ended = await log.lineWith(({ message }) => message.startsWith("The embedded database ended"))
        assert.strictEqual(ended.level, "ERROR")
        await log.lineWith(({ message }) => message === "The database was not shut down and recovers")
        process.kill(log.pid, "SIGTERM")
        const { code, lines } = await log.atEnd()
        assert.strictEqual(code, 0)
        const requests = lines.filter(({ message }) => message === "Request").map(({ annotations }) => annotations)
        for (const one of requests) {
          assert.sameMembers(Object.keys(one), ["method", "route", "status", "duration_ms", "org", "requestId"])
          assert.isNumber(one["duration_ms"])
        }
        const seen = (route: string | null) => requests.findLast((one) => one["route"] === route)
        assert.deepInclude(requests.find(({ requestId }) => requestId === headers.get("x-request-id")), {
          method: "POST",
          route: "/api/generate/:org",
          status: 200,
          org: "acme",
        })
        assert.deepInclude(seen("/api/generate/:org"), {
          method: "GET",
          status: 401,
          org: "acme",
          requestId: "one-request",
        })
        assert.deepInclude(seen("/console/api/organizations"), { method: "POST", status: 201, org: null })
        assert.deepInclude(seen("/o/:token"), { method: "GET", status: 404, org: null })
        assert.deepInclude(seen(null), { method: "GET", status: 404, org: null })
        assert.notInclude(JSON.stringify(lines), "ann@personal.example")
      })
    })))

  it.live("has no line for a request unless the access log is enabled", () =>
    Effect.scoped(Effect.gen(function* () {
      const log = yield* serveWithLog(yield* embeddedEnvironment)
      yield* Effect.promise(async () => {
        await log.lineWith(isStart)
        await log.service.request("/api/generate/acme")
        process.kill(log.pid, "SIGTERM")
        const { lines } = await log.atEnd()
        assert.isFalse(lines.some(({ message }) => message === "Request"))
      })
    })))

  it.live("reports wrong settings and an unusable database in one line of the format", () =>
    Effect.scoped(Effect.gen(function* () {
      const wrong = yield* serveWithLog({ STORE: "external", STORE_TIMEOUT: "soon", LOG_LEVEL: "None" })
      const settings = yield* Effect.promise(wrong.atEnd)
      assert.strictEqual(settings.code, 1)
      assert.lengthOf(settings.lines, 1)
      assert.strictEqual(settings.lines[0]!.level, "FATAL")
      for (const name of ["STORE:", "STORE_TIMEOUT:"]) assert.include(settings.lines[0]!.message, name)

      const file = fileURLToPath(import.meta.url)
      const unusable = yield* serveWithLog({ DATA_DIR: file })
      const store = yield* Effect.promise(unusable.atEnd)
      assert.strictEqual(store.code, 1)
      assert.include(store.lines.at(-1)!.message, file)
      assert.notProperty(store.lines.at(-1), "cause")
    })))

  for (const name of ["exception", "rejection"]) {
    it.live(`ends with the stack of an uncaught ${name}`, () =>
      Effect.scoped(Effect.gen(function* () {
        const preload = fileURLToPath(new URL("./uncaught.preload.ts", import.meta.url))
        const environment = { DATA_DIR: join(yield* temporaryFolder, "data"), UNCAUGHT: name }
        const log = yield* serveWithLog(environment, { denoFlags: ["--preload", preload] })
        yield* Effect.promise(async () => {
          await log.lineWith(isStart)
          process.kill(log.pid, "SIGUSR2")
          const { code, lines } = await log.atEnd()
          assert.strictEqual(code, 1)
          assert.deepInclude(lines.at(-1), { level: "FATAL" })
          assert.match(lines.at(-1)!.cause!, /RangeError: no … here/)
          assert.include(lines.at(-1)!.cause, "uncaught.preload.ts")
        })
      })))
  }
})
