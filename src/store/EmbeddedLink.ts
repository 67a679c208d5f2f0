import { Duplex } from "node:stream"

/** What the service sends to the worker that runs PGlite. */
export type ToWorker =
  | { readonly type: "open"; readonly dataDir: string }
  | { readonly type: "exec"; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "close" }

/** What it hears back. */
export type FromWorker =
  | { readonly type: "opened" }
  | { readonly type: "result"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly type: "failed"; readonly id?: number; readonly reason: string }
  | { readonly type: "closed" }

/** Runs protocol messages in order and answers with the backend's bytes. */
export type Exec = (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>

const cancelRequest = 80877102

// Messages after which the backend answers: Sync, simple Query, Flush. Everything before them is sent along in one go.
const flushes = new Set(["S".charCodeAt(0), "Q".charCodeAt(0), "H".charCodeAt(0)])
const terminate = "X".charCodeAt(0)

/**
 * One client connection to the embedded database: a Duplex that carries the Postgres wire protocol. PGlite has a single
 * session and takes whole messages, so bytes are framed here and handed over up to each point where an answer is due.
 */
export class EmbeddedLink extends Duplex {
  #pending: Buffer = Buffer.alloc(0)
  #started = false
  readonly #exec: Exec
  readonly #reset: () => Promise<void>

  /** `reset` brings the shared session back to its initial state; it runs before the first message. */
  constructor(exec: Exec, reset: () => Promise<void>) {
    super()
    this.#exec = exec
    this.#reset = reset
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#forward().then(() => callback(), callback)
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.push(null)
    callback()
  }

  async #forward(): Promise<void> {
    let start = 0
    let at = 0
    while (true) {
      const header = this.#started ? 5 : 4
      if (this.#pending.length - at < header) break
      const length = this.#pending.readInt32BE(at + header - 4) + header - 4
      if (this.#pending.length - at < length) break
      if (!this.#started) {
        // A cancel request comes on a link of its own; the single session runs one statement at a time to its end.
        if (this.#pending.readInt32BE(at + 4) === cancelRequest) {
          this.push(null)
          return
        }
        this.#started = true
        await this.#reset()
        await this.#send(at, at + length)
        start = at + length
      } else {
        const type = this.#pending[at]!
        if (type === terminate) {
          this.push(null)
          return
        }
        if (flushes.has(type)) {
          await this.#send(start, at + length)
          start = at + length
        }
      }
      at += length
    }
    // Whole messages that no Sync follows yet stay here together with a cut one.
    if (start > 0) this.#pending = this.#pending.subarray(start)
  }

  async #send(from: number, to: number): Promise<void> {
    const answer = await this.#exec(new Uint8Array(this.#pending.subarray(from, to)))
    if (answer.length > 0 && !this.destroyed) this.push(answer)
  }
}
