import { Agent, createServer, request } from "node:http"

/** A load balancer that checks the readiness of nodes and removes nodes that are not ready. */
export interface Balancer {
  readonly url: string
  /** The nodes that currently receive requests. */
  readonly ready: () => ReadonlyArray<string>
  /** Adds a node. `check` is the path that responds with 200 while the node accepts requests. */
  readonly add: (node: string, check?: string) => void
  /** Removes a node, as an operator does. Resolves after the node's last response. */
  readonly remove: (node: string) => Promise<void>
  readonly close: () => Promise<void>
}

const pollMillis = 50

export const startBalancer = async (): Promise<Balancer> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const nodes = new Map<string, { readonly check: string; ready: boolean; inFlight: number }>()
  const ready = () => [...nodes].flatMap(([url, { ready }]) => ready ? [url] : [])
  let next = 0

  const server = createServer((incoming, answer) => {
    const chunks: Array<Uint8Array> = []
    incoming.on("data", (chunk) => chunks.push(chunk))
    incoming.on("end", () => {
      const tried = new Set<string>()
      const attempt = () => {
        const [url] = ready().filter((one) => !tried.has(one)).map((_, i, all) => all[(next + i) % all.length]!)
        next++
        if (url === undefined) return void answer.writeHead(502).end()
        tried.add(url)
        const node = nodes.get(url)!
        node.inFlight++
        let ended = false
        const end = () => {
          if (!ended) node.inFlight--
          ended = true
        }
        const onward = request(`${url}${incoming.url}`, { method: incoming.method!, headers: incoming.headers, agent })
        onward.on("response", (response) => {
          answer.writeHead(response.statusCode!, response.headers)
          response.pipe(answer)
          response.on("close", end)
        })
        onward.on("error", (error: NodeJS.ErrnoException) => {
          end()
          // Only a request that never reached the node may be sent to another node.
          if (error.code === "ECONNREFUSED") attempt()
          else if (!answer.headersSent) answer.writeHead(502).end(error.message)
          else answer.destroy()
        })
        onward.end(Buffer.concat(chunks))
      }
      attempt()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (typeof address !== "object" || address === null) throw new Error("no port")

  let closed = false
  const polling = (async () => {
    while (!closed) {
      await Promise.all([...nodes].map(async ([url, node]) => {
        node.ready = await fetch(`${url}${node.check}`).then(
          (response) => response.body?.cancel().then(() => response.ok) ?? false,
          () => false,
        )
      }))
      await new Promise((resolve) => setTimeout(resolve, pollMillis))
    }
  })()

  return {
    url: `http://127.0.0.1:${address.port}`,
    ready,
    add: (url, check = "/readyz?accept=memory") => void nodes.set(url, { check, ready: false, inFlight: 0 }),
    remove: async (url) => {
      const node = nodes.get(url)
      nodes.delete(url)
      while (node !== undefined && node.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    },
    close: async () => {
      closed = true
      await polling
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
