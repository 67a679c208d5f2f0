import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib"
import type { Transform } from "node:stream"

// Content codings of request bodies: RFC 9110, and zstd of RFC 8878.

/** Whether a `deflate` body has the zlib header that HTTP requires. Some senders omit the header. */
const hasZlibHeader = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0

const decoders: { readonly [coding: string]: (body: Uint8Array) => Transform } = {
  "gzip": () => createGunzip(),
  "x-gzip": () => createGunzip(),
  "deflate": (body) => hasZlibHeader(body) ? createInflate() : createInflateRaw(),
  "br": () => createBrotliDecompress(),
  "zstd": () => createZstdDecompress(),
}

/** Names of the supported codings, for error messages. */
export const codings = "gzip, deflate, br and zstd"

/**
 * Returns the coding that a Content-Encoding names, `none` without a coding, or `unsupported` for an unknown coding or
 * several.
 */
export const codingOf = (contentEncoding: string | undefined): string | "none" | "unsupported" => {
  if (contentEncoding === undefined) return "none"
  const named = contentEncoding.toLowerCase().split(",").map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity")
  if (named.length === 0) return "none"
  return named.length === 1 && Object.hasOwn(decoders, named[0]!) ? named[0]! : "unsupported"
}

/** Whether a body begins with the signature of gzip, which no JSON text has. */
export const isGzip = (body: Uint8Array): boolean => body[0] === 0x1f && body[1] === 0x8b && body[2] === 8

/** Size of the received part that is decoded in one turn of the event loop. Unit: bytes. */
const sliceBytes = 4 * 1024

/** Maximum ratio of decoded to received bytes. A body above it is treated as a decompression bomb. */
const maxRatio = 200
/** Decoded size up to which `maxRatio` does not apply. Unit: bytes. */
const freeBytes = 64 * 1024

/** The reason why a body was not decoded. */
export type InflateFailure = "invalid" | "too large" | "no room"

/**
 * Decodes a body, and calls `done` with the bytes or with the reason of a failure: faulty data, more than `limit`
 * bytes, more than 200 times the received bytes, or no free memory. `makesRoom` reserves memory for a total number of
 * bytes. Other requests run after each 4 KiB. Returns a function that stops the decoding without calling `done`.
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
