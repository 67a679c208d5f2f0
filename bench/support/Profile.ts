// Profiles the processor time of a running process through its inspector (`deno run --inspect=127.0.0.1:PORT`).

interface Node {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: ReadonlyArray<number>
}
interface Profile {
  readonly nodes: ReadonlyArray<Node>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

const placeOf = ({ functionName, lineNumber, url }: Node["callFrame"]): string => {
  const file = url.replace(/^.*\/node_modules\/(?!\.deno)/, "").replace(/^file:.*?\/(src|bench)\//, "$1/")
  return `${functionName === "" ? "(anonymous)" : functionName} ${file}${url === "" ? "" : `:${lineNumber + 1}`}`
}

/**
 * Processor time by function: of the function itself (`self`), and including the functions that it calls (`total`).
 * Unit: microseconds.
 */
export interface Times {
  readonly self: ReadonlyMap<string, number>
  readonly total: ReadonlyMap<string, number>
}

const timesOf = ({ nodes, samples, timeDeltas }: Profile): Times => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parent = new Map<number, number>()
  for (const node of nodes) for (const child of node.children ?? []) parent.set(child, node.id)
  const self = new Map<string, number>()
  const total = new Map<string, number>()
  const add = (map: Map<string, number>, place: string, micros: number) =>
    map.set(place, (map.get(place) ?? 0) + micros)
  const chains = new Map<number, ReadonlyArray<string>>()
  const chainOf = (id: number): ReadonlyArray<string> => {
    let chain = chains.get(id)
    if (chain === undefined) {
      const places = new Set<string>()
      for (let at: number | undefined = id; at !== undefined; at = parent.get(at)) {
        places.add(placeOf(byId.get(at)!.callFrame))
      }
      chains.set(id, chain = [...places])
    }
    return chain
  }
  samples.forEach((id, i) => {
    // During a longer step, another process used the core.
    const micros = Math.min(timeDeltas[i]!, 1000)
    add(self, placeOf(byId.get(id)!.callFrame), micros)
    for (const place of chainOf(id)) add(total, place, micros)
  })
  return { self, total }
}

/** Samples the main thread of a process every 200 µs while `work` runs. */
export const profileDuring = async (inspectorPort: number, work: () => Promise<void>): Promise<Times> => {
  const [target] = await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json()
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  const waiting = new Map<number, (result: { readonly profile: Profile }) => void>()
  await new Promise((resolve) => socket.onopen = resolve)
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(data)
    waiting.get(id)?.(result)
  }
  let last = 0
  const call = (method: string, params = {}) =>
    new Promise<{ readonly profile: Profile }>((resolve) => {
      waiting.set(++last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  await call("Profiler.enable")
  await call("Profiler.setSamplingInterval", { interval: 200 })
  await call("Profiler.start")
  await work()
  const { profile } = await call("Profiler.stop")
  socket.close()
  return timesOf(profile)
}
