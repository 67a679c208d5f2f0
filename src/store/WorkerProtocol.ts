import "../runtime/leakGuard.ts"
import { Buffer } from "node:buffer"
import { deserialize, serialize } from "node:v8"

// The service and its worker process exchange frames over standard input and output: four bytes of length,
// little-endian, followed by a value in V8's serialization format. The format is binary. Unlike `JSON.parse`, it does
// not intern a value's texts, whose hashes a caller could make collide.

/**
 * A message of a worker process: `ready` once, then for each request any number of notes and one answer or exception.
 */
export type ProcessAnswer =
  | { readonly type: "ready" }
  | { readonly type: "note"; readonly value: unknown }
  | { readonly type: "answer"; readonly value: unknown }
  | { readonly type: "threw"; readonly message: string }

/** Splits a stream of bytes into frames. */
export class Frames {
  #chunks: Array<Uint8Array> = []
  #size = 0

  /** Adds bytes. Returns the payloads that are complete after them. */
  add(chunk: Uint8Array): ReadonlyArray<Uint8Array> {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    const complete: Array<Uint8Array> = []
    for (;;) {
      const length = this.#nextLength()
      if (length === undefined || this.#size < 4 + length) return complete
      const bytes = this.#joined()
      complete.push(bytes.subarray(4, 4 + length))
      this.#chunks = [bytes.subarray(4 + length)]
      this.#size -= 4 + length
    }
  }

  #nextLength(): number | undefined {
    if (this.#size < 4) return undefined
    const first = this.#chunks[0]!.length >= 4 ? this.#chunks[0]! : this.#joined()
    return first[0]! + first[1]! * 2 ** 8 + first[2]! * 2 ** 16 + first[3]! * 2 ** 24
  }

  #joined(): Uint8Array {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size)
    this.#chunks = [bytes]
    return bytes
  }
}

const writeAll = (bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at))
}

/** Larger values are written separately from their length, without a copy. Unit: bytes. */
const copied = 65_536

/** Returns the frame of a value in the parts to write: one part for small values. */
export const frameOf = (value: unknown): ReadonlyArray<Uint8Array> => {
  const bytes = serialize(value)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32LE(bytes.length)
  return bytes.length < copied ? [Buffer.concat([length, bytes])] : [length, bytes]
}

/** Sends one value. Synchronous, because a buffered note would be lost if the following work does not end. */
const send = (answer: ProcessAnswer): void => {
  for (const part of frameOf(answer)) writeAll(part)
}

/**
 * The main function of a worker process: answers requests with `run` until standard input closes, so that the process
 * never outlives the service. `run` calls `note` with the item that it is about to process, which the service adds to
 * its error if it must kill the process.
 */
export const answerAsProcess = async <Request, Answer>(
  run: (request: Request, note: (value: unknown) => void) => Answer | Promise<Answer>,
): Promise<void> => {
  const note = (value: unknown) => send({ type: "note", value })
  send({ type: "ready" })
  const frames = new Frames()
  for await (const chunk of Deno.stdin.readable) {
    for (const frame of frames.add(chunk)) {
      try {
        send({ type: "answer", value: await run(deserialize(frame) as Request, note) })
      } catch (cause) {
        send({ type: "threw", message: cause instanceof Error ? cause.message : String(cause) })
      }
    }
  }
}
