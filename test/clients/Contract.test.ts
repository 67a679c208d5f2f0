import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { startSuite } from "../../clients/contract/serve.ts"
import { isProblem, Parlance, ParlanceUnavailable, verifyWebhook } from "../../clients/typescript/src/index.ts"
import { publicOperations } from "../../scripts/clients/PublicDocument.ts"
import { callOf, samplesOf } from "../../scripts/clients/Samples.ts"
import type { Case, Exchange, Outcome } from "../../scripts/clients/Suite.ts"
import { clientFiles } from "../../scripts/writeClients.ts"
import { problemPages } from "../../src/api/Problems.ts"
import { version } from "../../src/domain/Version.ts"
import type { Service } from "../support/service.ts"
import { python } from "./python.ts"
import { serviceForClients } from "./serviceForClients.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, "utf8")
const casesOf = (name: string): ReadonlyArray<Case> => JSON.parse(read(`clients/contract/${name}.json`))
const failures = casesOf("failures")
const cases = [...casesOf("operations"), ...failures]

const has = (program: string, ...args: ReadonlyArray<string>): boolean => {
  const isThere = spawnSync(program, args).status === 0
  if (!isThere) console.warn(`Skipped: the client of ${program} (it is not installed: .ci/run installs it)`)
  return isThere
}

const urlOf = (url: string, name: string): string => `${url}/${encodeURIComponent(name.replaceAll(" ", "-"))}`

type Json = Readonly<Record<string, unknown>>

/** Results of calls whose form differs from the answer, in the form of the answer. */
const answersOf: Readonly<Record<string, (result: Json) => unknown>> = {
  generate: ({ copy_id, tracking_id, vars }) => ({ tracking_id, copy: { id: copy_id, vars } }),
  batchGenerate: (result) =>
    Object.fromEntries(Object.entries(result).map(([id, content]) => [id, answersOf["generate"]!(content as Json)])),
  delay: ({ delay_id, delay_time }) => ({ service_words: { delay_id, delay_time } }),
  deliver: ({ delivery_id }) => ({ status: delivery_id === "delivery-1" ? "ok" : "no delivery" }),
  receiveEvents: ({ items, received }) => ({
    status: "ok",
    received,
    items: (items as ReadonlyArray<Json>).map((item) => {
      const { pointer, reason, ...others } = item
      return { ...others, ...(pointer == null ? {} : { pointer }), ...(reason == null ? {} : { reason }) }
    }),
  }),
}

/** Asserts that a call ended as its case says. */
const check = ({ name, operation, outcome }: Case, ended: Outcome) => {
  if (!("answer" in outcome) || outcome.answer === null) {
    const expected = "answer" in outcome ? [] : outcome
    return assert.deepStrictEqual("answer" in ended && "answer" in outcome ? [] : ended, expected, name)
  }
  assert.property(ended, "answer", `${name}: ${JSON.stringify(ended)}`)
  const { answer } = ended as { readonly answer: Json }
  assert.deepStrictEqual(answersOf[operation]?.(answer) ?? answer, outcome.answer, name)
}

const AsyncFunction = (async () => {}).constructor as new (...parts: ReadonlyArray<string>) => (
  ...values: ReadonlyArray<unknown>
) => Promise<unknown>

const endInTypeScript = async (one: Case, url: string): Promise<Outcome> => {
  const parlance = new Parlance({ url, org: "acme", apiKey: "plk_EXAMPLE", timeout: 20_000 })
  const rows: Array<unknown> = []
  const { javascript } = callOf(one)
  const isLoop = javascript.startsWith("for")
  const program = new AsyncFunction("parlance", "process", "console", isLoop ? javascript : `return ${javascript}`)
  const environment = { env: { PARLANCE_URL: url, PARLANCE_KEY: "plk_EXAMPLE" } }
  try {
    const answer = await program(parlance, environment, { log: (row: unknown) => rows.push(row) })
    return isLoop ? { rows } : { answer }
  } catch (error) {
    if (isProblem(error)) {
      const { errors, requestId, status, type } = error
      const pointers = errors.map(({ pointer }) => pointer)
      return { problem: { type, status, pointers, ...(requestId === undefined ? {} : { request_id: requestId }) } }
    }
    if (error instanceof ParlanceUnavailable) return { unavailable: error.reason }
    throw error
  }
}

interface WebhookCase {
  readonly name: string
  readonly secrets: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Unit: Unix seconds. */
  readonly now: number
  readonly outcome: { readonly event: unknown } | { readonly reason: string }
}
const webhooks: ReadonlyArray<WebhookCase> = JSON.parse(read("clients/contract/webhooks.json"))

const webhookProgram = `
import json, sys
from parlance import ParlanceWebhookError, verify_webhook

def end(one):
    try:
        return {"event": verify_webhook(one["secrets"], one["headers"], one["body"], one["now"])}
    except ParlanceWebhookError as error:
        return {"reason": error.fault}

print(json.dumps([end(one) for one in json.load(sys.stdin)]))
`

const program = `
import httpx, json, os, sys
from parlance import Parlance, ParlanceProblem, ParlanceUnavailable

# A client of its own for each case would load the certificates of the system each time.
shared = httpx.Client()

def end(url, source):
    rows = []
    os.environ.update(PARLANCE_URL=url, PARLANCE_KEY="plk_EXAMPLE")
    parlance = Parlance(url, "acme", "plk_EXAMPLE", timeout=20, client=shared)
    names = {"parlance": parlance, "print": rows.append, "os": os, "httpx": httpx}
    try:
        if source.startswith("for"):
            exec(source, names)
            return {"rows": rows}
        return {"answer": eval(source, names)}
    except ParlanceProblem as problem:
        found = {"type": problem.type, "status": problem.status, "pointers": [one.pointer for one in problem.errors]}
        return {"problem": {**found, **({} if problem.request_id is None else {"request_id": problem.request_id})}}
    except ParlanceUnavailable as error:
        return {"unavailable": error.reason}

print(json.dumps([end(*one) for one in json.load(sys.stdin)], default=vars))
`

const suite = async (play: (url: string) => Promise<unknown>) => {
  const served = await startSuite()
  try {
    await play(served.url)
    return served.report().faults
  } finally {
    served.close()
  }
}

/** Statuses that only a service under load answers with. */
const isOfLoad = (status: number): boolean => status === 429 || status === 503

/** Whether the service gives the answer. A redirect and a page come from a proxy. */
const isOfService = ({ body, headers = {}, isCut = false }: Exchange["response"]): boolean =>
  isCut || body !== undefined || headers["content-type"] === "application/x-ndjson"

/** Sends the request of an exchange to a service, and asserts that its response has the form of the answer. */
const compare = async (service: Service, apiKey: string, { request, response }: Exchange, cursor: string) => {
  const { body, headers = {}, isCut = false, status } = response
  const query = new URLSearchParams({ ...request.query, ...(request.query?.cursor === undefined ? {} : { cursor }) })
  const live = await service.request(`${request.path}?${query}`, {
    method: request.method,
    headers: {
      ...request.headers,
      ...(status === 401 ? {} : { "x-api-key": apiKey }),
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  })
  const text = await live.text()
  assert.strictEqual(live.status, status, text)
  if (isCut) return cursor
  for (const name of Object.keys(headers)) assert.isTrue(live.headers.has(name), name)
  if (body === undefined) return live.headers.get("parlance-cursor")!
  const json = JSON.parse(text)
  if (status < 400) assert.containsAllKeys(json, Object.keys(body as Json))
  else assert.deepStrictEqual(json, body)
  return json.next_cursor as string
}

describe("the contract suite", () => {
  it("has a case and three samples for every public operation", () => {
    const samples: Record<string, ReadonlyArray<unknown>> = JSON.parse(read("src/api/openapi/samples.json"))
    for (const id of publicOperations) {
      assert.isTrue(cases.some(({ operation }) => operation === id), id)
      assert.lengthOf(samples[id]!, 3, id)
    }
  })

  it("has the failures of the service", () => {
    for (const { response: { body, status } } of failures.flatMap(({ exchanges }) => exchanges)) {
      if (status < 400) continue
      const { title, type } = body as Json
      const page = problemPages.find(({ slug }) => type === `/problems/${slug}`)
      assert.deepStrictEqual({ status, title }, { status: page?.status, title: page?.title }, String(type))
    }
  })

  it.effect("has failures and lists in the form in which the service answers", () =>
    Effect.gen(function* () {
      const { service } = yield* serviceForClients
      yield* Effect.promise(async () => {
        const variants = [{ id: "a", vars: { subject: "Your cart", body: "<p>Hi</p>" } }]
        await service.manage("POST", "/organizations/acme/templates", { id: "cart", name: "Cart", variants })
        const scopes = ["generate", "deliver", "admin"]
        const { body: { key } } = await service.manage("POST", "/organizations/acme/keys", { name: "all", scopes })
        for (const { exchanges } of failures) {
          let cursor = ""
          for (const exchange of exchanges) {
            const { response } = exchange
            if (isOfLoad(response.status) || !isOfService(response)) continue
            cursor = await compare(service, key, exchange, cursor)
          }
        }
      })
    }))

  it("is written by scripts/writeClients.ts, as are the document of the public operations and the generated clients", () => {
    for (const [path, text] of Object.entries(clientFiles())) {
      assert.strictEqual(read(path), text, `Run scripts/writeClients.ts, and review what changed in ${path}`)
    }
  })

  it("finds the version of the service in every client", () => {
    for (
      const path of [
        "typescript/src/version.ts",
        "python/parlance/_version.py",
        "go/client.go",
        "php/src/Transport.php",
      ]
    ) {
      assert.match(read(`clients/${path}`), new RegExp(`VERSION = ['"]${version}['"]`, "i"), path)
    }
    assert.strictEqual(JSON.parse(read("clients/php/composer.json")).version, version)
  })

  it("is passed by the client in TypeScript, whose calls are the samples in JavaScript", async () => {
    const faults = await suite((url) =>
      Promise.all(cases.map(async (one) => check(one, await endInTypeScript(one, urlOf(url, one.name)))))
    )
    assert.deepStrictEqual(faults, [])
  })

  it.runIf(python !== undefined)(
    "is passed by the client in Python, whose calls are the samples in Python",
    async () => {
      const faults = await suite(async (url) => {
        const running = run(python!, ["-B", "-c", program], { cwd: `${root}clients/python` })
        running.child.stdin!.end(JSON.stringify(cases.map((one) => [urlOf(url, one.name), callOf(one).python])))
        const ends: ReadonlyArray<Outcome> = JSON.parse((await running).stdout)
        for (const [n, one] of cases.entries()) check(one, ends[n]!)
      })
      assert.deepStrictEqual(faults, [])
    },
  )

  it("has webhook requests that the client in TypeScript verifies", async () => {
    for (const { name, now, outcome, ...request } of webhooks) {
      const ended: WebhookCase["outcome"] = await verifyWebhook({ ...request, now: now * 1000 }).then(
        (event) => ({ event }),
        (error) => ({ reason: error.fault }),
      )
      assert.deepStrictEqual(ended, outcome, name)
    }
  })

  it.runIf(python !== undefined)("has webhook requests that the client in Python verifies", async () => {
    const running = run(python!, ["-B", "-c", webhookProgram], { cwd: `${root}clients/python` })
    running.child.stdin!.end(JSON.stringify(webhooks))
    const ends: ReadonlyArray<unknown> = JSON.parse((await running).stdout)
    for (const [n, { name, outcome }] of webhooks.entries()) assert.deepStrictEqual(ends[n], outcome, name)
  })

  it("is passed by the samples of curl", async () => {
    const operations = cases.filter(({ name }) => publicOperations.some((id) => id === name))
    const faults = await suite((url) =>
      run("sh", [
        "-ec",
        operations.map((one) => `(export PARLANCE_URL=${urlOf(url, one.name)}\n${samplesOf(one)[0]!.source})`).join(
          "\n",
        ),
      ], { env: { ...process.env, PARLANCE_KEY: "plk_EXAMPLE" } })
    )
    const failures = cases.filter((one) => !operations.includes(one)).map(({ name }) => name)
    assert.deepStrictEqual(faults.filter((fault) => !failures.some((name) => fault.startsWith(`${name}: `))), [])
  })

  it.runIf(has("go", "version"))("is passed by the client in Go", async () => {
    const faults = await suite((url) =>
      run("go", ["test", "-count=1", "./..."], {
        cwd: `${root}clients/go`,
        env: { ...process.env, PARLANCE_CONTRACT: url },
      }).catch((error) => assert.fail(error.stdout))
    )
    assert.deepStrictEqual(faults, [])
  })

  it.runIf(has("php", "--version"))("is passed by the client in PHP", async () => {
    const faults = await suite((url) =>
      run("php", ["clients/php/tests/contract.php"], { cwd: root, env: { ...process.env, PARLANCE_CONTRACT: url } })
        .catch((error) => assert.fail(error.stdout))
    )
    assert.deepStrictEqual(faults, [])
  })
})
