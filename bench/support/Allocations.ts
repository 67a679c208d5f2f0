// Samples the allocations of a running process through its inspector (`deno run --inspect=127.0.0.1:PORT`).

/** Bytes allocated by function and its place in the sources. */
export interface Allocations {
  readonly bytes: number
  readonly byPlace: ReadonlyMap<string, number>
}

interface ProfileNode {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly selfSize: number
  readonly children: ReadonlyArray<ProfileNode>
}

const placeOf = ({ functionName, lineNumber, url }: ProfileNode["callFrame"]): string => {
  const file = url.replace(/^.*\/node_modules\/(?!\.deno)/, "").replace(/^file:.*?\/(src|bench)\//, "$1/")
  return `${functionName === "" ? "(anonymous)" : functionName} ${file}${url === "" ? "" : `:${lineNumber + 1}`}`
}

/** Returns totals by place. Functions of V8, such as `next` of an iterator, are distinguished by their callers. */
const totalsOf = (head: ProfileNode): Allocations => {
  const byPlace = new Map<string, number>()
  let bytes = 0
  const open: Array<readonly [node: ProfileNode, caller: string]> = [[head, ""]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, caller] = next
    const own = placeOf(node.callFrame)
    const place = node.callFrame.url === "" && caller !== "" ? `${own}of ${caller}` : own
    for (const child of node.children) open.push([child, place])
    if (node.selfSize === 0) continue
    bytes += node.selfSize
    byPlace.set(place, (byPlace.get(place) ?? 0) + node.selfSize)
  }
  return { bytes, byPlace }
}

/**
 * Samples the allocations of a process while `work` runs. With `surviving`, counts only allocations that survive
 * collections of the young generation, and therefore fill the old generation.
 */
export const allocationsDuring = async (
  inspectorPort: number,
  work: () => Promise<void>,
  { surviving }: { readonly surviving: boolean },
): Promise<Allocations> => {
  const [target] = await (await fetch(`http://127.0.0.1:${inspectorPort}/json`)).json()
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  const waiting = new Map<number, (result: { readonly profile: { readonly head: ProfileNode } }) => void>()
  await new Promise((resolve) => socket.onopen = resolve)
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(data)
    waiting.get(id)?.(result)
  }
  let last = 0
  const call = (method: string, params = {}) =>
    new Promise<{ readonly profile: { readonly head: ProfileNode } }>((resolve) => {
      waiting.set(++last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  await call("HeapProfiler.enable")
  await call("HeapProfiler.startSampling", {
    samplingInterval: 4096,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: !surviving,
  })
  await work()
  const { profile } = await call("HeapProfiler.stopSampling")
  socket.close()
  return totalsOf(profile.head)
}
