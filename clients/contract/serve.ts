// An imitated service that answers as the cases of the contract suite say, and checks what it receives:
// deno run --allow-net --allow-read clients/contract/serve.ts [PORT]. See README.md.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { readFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"

interface Request {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface Response {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly text?: string
  readonly isCut?: boolean
}

interface Case {
  readonly name: string
  readonly operation: string
  readonly exchanges: ReadonlyArray<{ readonly request: Request; readonly response: Response }>
}

/** The cases of all files of the suite. */
export const cases: ReadonlyArray<Case> = ["operations.json", "failures.json"].flatMap((name) =>
  JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"))
)

/** Returns the name of a case as a part of an address. */
export const pathOf = (name: string): string => encodeURIComponent(name.replaceAll(" ", "-"))

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of request) chunks.push(chunk)
  return new TextDecoder().decode(await new Blob(chunks as Array<BlobPart>).arrayBuffer())
}

/** Returns how a request differs from the expected one. */
const faultsOf = (expected: Request, received: IncomingMessage, path: string, search: string, text: string) => {
  const query = Object.fromEntries(new URLSearchParams(search))
  const differs = (what: string, wanted: unknown, found: unknown) =>
    isDeepStrictEqual(wanted, found)
      ? []
      : [`${what}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(found)}`]
  return [
    ...differs("method", expected.method, received.method),
    ...differs("path", expected.path, path),
    ...differs("query", expected.query ?? {}, query),
    ...Object.entries(expected.headers).flatMap(([name, value]) => differs(name, value, received.headers[name])),
    ...differs("body", expected.body, text === "" ? undefined : JSON.parse(text)),
  ]
}

const respond = (response: ServerResponse, { body, headers = {}, isCut, status, text }: Response) => {
  if (isCut === true && text === undefined) return void response.socket?.destroy()
  const isProblem = status >= 400 && body !== undefined
  response.writeHead(status, {
    ...(text === undefined ? { "content-type": isProblem ? "application/problem+json" : "application/json" } : {}),
    ...headers,
  })
  if (isCut === true) return void response.write(text, () => response.socket?.destroy())
  response.end(text ?? JSON.stringify(body))
}

/** Starts the imitated service. Clients use the address of a case: `url`, `/`, and the name with `-` for spaces. */
export const startSuite = async (port = 0) => {
  const played = new Map(cases.map(({ name }) => [name, 0]))
  const faults: Array<string> = []
  const byPath = new Map(cases.map((one) => [pathOf(one.name), one]))
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [full = "", search = ""] = (request.url ?? "").split("?", 2)
    if (full === "/cases") return respond(response, { status: 200, body: cases })
    if (full === "/report") return respond(response, { status: 200, body: report() })
    const [, name = "", ...rest] = full.split("/")
    const one = byPath.get(name)
    const text = await textOf(request)
    const number = played.get(one?.name ?? "") ?? 0
    const exchange = one?.exchanges[number]
    if (one === undefined || exchange === undefined) {
      faults.push(`${one?.name ?? full}: request ${number + 1} is not expected: ${request.method} ${request.url}`)
      return respond(response, { status: 400, body: { title: "The contract has no such request" } })
    }
    played.set(one.name, number + 1)
    faults.push(
      ...faultsOf(exchange.request, request, `/${rest.join("/")}`, search, text).map((fault) =>
        `${one.name}: ${fault}`
      ),
    )
    respond(response, exchange.response)
  }
  /** The differences from the cases. `faults` is empty if a client played every case as it should. */
  const report = () => ({
    faults: [
      ...faults,
      ...cases.flatMap(({ exchanges, name }) => {
        const count = played.get(name)!
        return count === exchanges.length ? [] : [`${name}: ${count} of ${exchanges.length} requests arrived`]
      }),
    ],
  })
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const { port: chosen } = server.address() as { readonly port: number }
  return {
    url: `http://127.0.0.1:${chosen}`,
    report,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

if (import.meta.main) {
  const { url } = await startSuite(Number(process.argv[2] ?? 8099))
  console.log(`${url} answers as the ${cases.length} cases say. ${url}/cases lists them, ${url}/report the faults.`)
}
