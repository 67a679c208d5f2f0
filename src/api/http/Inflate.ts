import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib"
import type { Transform } from "node:stream"

// Content codings of request bodies: RFC 9110, and zstd of RFC 8878.

/** The `deflate` of HTTP has a zlib header. Some senders leave it out. */
const hasZlibHeader = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0

const decoders: { readonly [coding: string]: (body: Uint8Array) => Transform } = {
  "gzip": () => createGunzip(),
  "x-gzip": () => createGunzip(),
  "deflate": (body) => hasZlibHeader(body) ? createInflate() : createInflateRaw(),
  "br": () => createBrotliDecompress(),
  "zstd": () => createZstdDecompress(),
}

export const codings = "gzip, deflate, br and zstd"

/** The coding of a body by its Content-Encoding, or none. Unsupported: an unknown coding, or several. */
export const codingOf = (contentEncoding: string | undefined): string | "none" | "unsupported" => {
  if (contentEncoding === undefined) return "none"
  const named = contentEncoding.toLowerCase().split(",").map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity")
  if (named.length === 0) return "none"
  return named.length === 1 && Object.hasOwn(decoders, named[0]!) ? named[0]! : "unsupported"
}

/** Whether a body begins as gzip does, and no JSON. */
export const isGzip = (body: Uint8Array): boolean => body[0] === 0x1f && body[1] === 0x8b && body[2] === 8

/** Bytes that are decoded between two turns of the event loop. */
const sliceBytes = 4 * 1024

/** A body may grow by this factor, beyond which it is a decompression bomb. Unlimited below `freeBytes`. */
const maxRatio = 200
const freeBytes = 64 * 1024

export type InflateFailure = "invalid" | "too large" | "no room"

/**
 * Decodes a body, and calls `done` with the bytes, or with the reason why it stopped: faulty data, more than `limit` bytes or
 * more than 200 times as many as were received, or no room for them. `makesRoom` reserves memory for so many bytes in all.
 * Other requests have their turn after each 4 kB. Returns a function that stops.
 */
export const inflate = (
  body: Uint8Array,
  coding: string,
  limit: number,
  makesRoom: (bytes: number) => boolean,
  done: (result: Uint8Array | InflateFailure) => void,
): () => void => {
  const decoder = decoders[coding]!(body)
  const chunks: Array<Uint8Array> = []
  let size = 0
  let fed = 0
  let isOver = false
  const finish = (result: Uint8Array | InflateFailure) => {
    if (isOver) return
    isOver = true
    decoder.destroy()
    done(result)
  }
  const feed = () => {
    if (isOver) return
    const slice = body.subarray(fed, fed + sliceBytes)
    fed += slice.length
    if (fed >= body.length) decoder.end(slice)
    else decoder.write(slice, () => setImmediate(feed))
  }
  decoder.on("data", (chunk: Uint8Array) => {
    if (isOver) return
    size += chunk.length
    if (size > limit || (size > freeBytes && size > fed * maxRatio)) finish("too large")
    else if (!makesRoom(size)) finish("no room")
    else chunks.push(chunk)
  })
  decoder.on("error", () => finish("invalid"))
  decoder.on("end", () => {
    const whole = new Uint8Array(size)
    let at = 0
    for (const chunk of chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    finish(whole)
  })
  feed()
  return () => {
    isOver = true
    decoder.destroy()
  }
}
