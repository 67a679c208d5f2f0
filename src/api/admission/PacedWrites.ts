import { Buffer } from "node:buffer"
import type { Socket } from "node:net"

/** Bytes handed to the operating system at once. */
const pieceBytes = 64 * 1024

type Done = (error?: Error | null) => void
interface Chunk {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

const bytesOf = (chunk: Buffer | string, encoding: BufferEncoding): Buffer =>
  typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk

/**
 * Makes a socket write data over 64 KiB in pieces, and calls `onPiece` after each piece. The runtime does not report
 * the progress of a single write, so a slow reader would look like one that has stopped reading. Shorter writes are
 * unchanged, and buffers are not copied.
 */
export const paceWrites = (socket: Socket, onPiece: () => void): void => {
  const write = socket._write
  const writev = socket._writev!

  const writePieces = (chunks: ReadonlyArray<Chunk>, done: Done) => {
    let index = 0
    let bytes = bytesOf(chunks[0]!.chunk, chunks[0]!.encoding)
    let at = 0
    let isWriting = false
    let isDue = false
    // A loop rather than recursion: a write may complete at once, and there can be thousands of pieces.
    const next: Done = (error) => {
      if (error) return done(error)
      onPiece()
      isDue = true
      if (isWriting) return
      isWriting = true
      while (isDue) {
        isDue = false
        while (at >= bytes.length && ++index < chunks.length) {
          bytes = bytesOf(chunks[index]!.chunk, chunks[index]!.encoding)
          at = 0
        }
        if (index >= chunks.length) return done()
        write.call(socket, bytes.subarray(at, at += pieceBytes), "buffer" as BufferEncoding, next)
      }
      isWriting = false
    }
    next()
  }

  socket._write = (chunk: Buffer | string, encoding, done) =>
    chunk.length <= pieceBytes ? write.call(socket, chunk, encoding, done) : writePieces([{ chunk, encoding }], done)
  socket._writev = (chunks, done) => {
    let length = 0
    let filled = 0
    let last = chunks[0]!
    for (const one of chunks) {
      if (one.chunk.length === 0) continue
      length += one.chunk.length
      filled++
      last = one
    }
    if (length > pieceBytes) writePieces(chunks, done)
    // Node's server ends each response by an empty text, and writing several texts takes half as long again as writing one.
    else if (filled === 1) write.call(socket, last.chunk, last.encoding, done)
    else writev.call(socket, chunks, done)
  }
}
