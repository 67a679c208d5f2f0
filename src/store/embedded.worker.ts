/// <reference lib="deno.worker" />
// PGlite runs here, off the service's event loop: a large grouped insert takes milliseconds of WebAssembly.
import { PGlite } from "@electric-sql/pglite"
import type { FromWorker, ToWorker } from "./EmbeddedLink.ts"

const scope = self as unknown as DedicatedWorkerGlobalScope
const answer = (message: FromWorker, transfer: Array<Transferable> = []) => scope.postMessage(message, transfer)

let db: PGlite | undefined
let chain: Promise<void> = Promise.resolve()

const handle = async (message: ToWorker): Promise<void> => {
  try {
    switch (message.type) {
      case "open":
        db = await PGlite.create({ dataDir: message.dataDir })
        return answer({ type: "opened" })
      case "exec": {
        const bytes = await db!.execProtocolRaw(message.bytes, { syncToFs: false })
        // A copy of its own: the result may be a view into WebAssembly memory, which cannot be transferred.
        const copy = bytes.slice()
        return answer({ type: "result", id: message.id, bytes: copy }, [copy.buffer])
      }
      case "close":
        await db?.close()
        db = undefined
        return answer({ type: "closed" })
    }
  } catch (cause) {
    answer({
      type: "failed",
      ...(message.type === "exec" ? { id: message.id } : {}),
      reason: cause instanceof Error ? cause.message : String(cause),
    })
  }
}

// One session: messages run strictly in the order they came.
scope.onmessage = (event: MessageEvent<ToWorker>) => {
  chain = chain.then(() => handle(event.data))
}
