// Counts live objects of a running process through its inspector (`deno run --inspect=127.0.0.1:PORT`).

/** Live objects after a full collection. */
export interface HeapCensus {
  readonly objects: number
  readonly bytes: number
  /** Objects by kind and class, such as `object FiberImpl` or `closure evaluate`. */
  readonly counts: ReadonlyMap<string, number>
}

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: ReadonlyArray<string>
      readonly node_types: readonly [ReadonlyArray<string>, ...ReadonlyArray<unknown>]
    }
  }
  readonly nodes: ReadonlyArray<number>
  readonly strings: ReadonlyArray<string>
}

/** Kinds of objects whose names are their contents, or that V8 itself creates and deletes. */
const unnamed = new Set(["string", "concatenated string", "sliced string", "number", "code", "hidden", "object shape"])

/** Shared name of objects of a kind. V8 ends the names of block scopes with an identifier that each snapshot renews. */
const classOf = (name: string) => name.replace(/ @\d+$/, "").slice(0, 80)

const countsOf = ({ nodes, snapshot: { meta }, strings }: Snapshot): HeapCensus => {
  const width = meta.node_fields.length
  const [type, name, size] = ["type", "name", "self_size"].map((field) => meta.node_fields.indexOf(field))
  const counts = new Map<string, number>()
  let bytes = 0
  for (let at = 0; at < nodes.length; at += width) {
    const kind = meta.node_types[0][nodes[at + type!]!]!
    const key = unnamed.has(kind) ? kind : `${kind} ${classOf(strings[nodes[at + name!]!]!)}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    bytes += nodes[at + size!]!
  }
  return { objects: nodes.length / width, bytes, counts }
}

/**
 * Collects garbage in the process and counts its live objects. The process pauses at this time, for several seconds at
 * 200 MB.
 */
export const heapCensus = async (inspectorPort: number): Promise<HeapCensus> => {
  const [target] = await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json()
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  const chunks: Array<string> = []
  await new Promise<void>((resolve, reject) => {
    const send = (id: number, method: string) => socket.send(JSON.stringify({ id, method, params: {} }))
    socket.onerror = () => reject(new Error("The inspector closed the connection"))
    socket.onopen = () => {
      send(1, "HeapProfiler.enable")
      send(2, "HeapProfiler.collectGarbage")
      send(3, "HeapProfiler.takeHeapSnapshot")
    }
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data)
      if (message.method === "HeapProfiler.addHeapSnapshotChunk") chunks.push(message.params.chunk)
      // Without this, V8 would continue to track moved objects, which makes collections ten times longer.
      if (message.id === 3) send(4, "HeapProfiler.disable")
      if (message.id === 4) resolve()
    }
  })
  socket.close()
  return countsOf(JSON.parse(chunks.join("")))
}

/** A class with more live objects at each census than at the previous census. */
export interface Riser {
  readonly name: string
  readonly counts: ReadonlyArray<number>
}

/**
 * Returns classes that have at least `least` more objects at every census than at the previous census, largest increase
 * first.
 */
export const risersOf = (censuses: ReadonlyArray<HeapCensus>, least: number): ReadonlyArray<Riser> =>
  [...censuses.at(-1)!.counts.keys()]
    .map((name) => ({ name, counts: censuses.map(({ counts }) => counts.get(name) ?? 0) }))
    .filter(({ counts }) => counts.every((count, i) => i === 0 || count >= counts[i - 1]! + least))
    .sort((a, b) => b.counts.at(-1)! - b.counts[0]! - (a.counts.at(-1)! - a.counts[0]!))
