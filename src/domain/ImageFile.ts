import { Buffer } from "node:buffer"
import { isDeepStrictEqual } from "node:util"
import { crc32 } from "node:zlib"

// Reads the structure of image files, without decoding their pixels. Pure.

/** The types of images that mail programs show. */
export const imageTypes = ["png", "jpeg", "gif", "webp"] as const
export type ImageType = typeof imageTypes[number]

/** Facts about an image file. */
export interface ImageFacts {
  readonly type: ImageType
  /** Unit: pixels. */
  readonly width: number
  /** Unit: pixels. */
  readonly height: number
}

/** Why a file is not stored: a phrase that follows "The file". */
export interface NotAnImage {
  readonly fault: string
}

type Read = Omit<ImageFacts, "type"> | NotAnImage

const truncated: NotAnImage = { fault: "ends before the image does. Export the image again" }

const damaged: NotAnImage = { fault: "is damaged. Export the image again" }

const withoutPixels: NotAnImage = { fault: "has no pixels. Export the image again" }

/** The fault of bytes after the image, such as a second file. `end`: the length of the image. */
const trailing = (file: Buffer, end: number): NotAnImage => ({
  fault: `has other data after the end of the image, ${file.length - end} of its bytes. Export the image again`,
})

const sizeOf = (width: number, height: number): Read => width > 0 && height > 0 ? { width, height } : withoutPixels

/** Reads the chunks of a PNG file (ISO/IEC 15948), with their checksums. */
const readPng = (file: Buffer): Read => {
  let size: Read = damaged
  let hasPixels = false
  for (let at = 8; at + 12 <= file.length;) {
    const length = file.readUInt32BE(at)
    const end = at + 12 + length
    if (end > file.length) return truncated
    const name = file.toString("latin1", at + 4, at + 8)
    if (crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4)) return damaged
    if ((name === "IHDR") !== (at === 8)) return damaged
    if (name === "IHDR") {
      if (length !== 13) return damaged
      size = sizeOf(file.readUInt32BE(at + 8), file.readUInt32BE(at + 12))
    }
    hasPixels ||= name === "IDAT" && length > 0
    if (name === "IEND") return end < file.length ? trailing(file, end) : hasPixels ? size : withoutPixels
    at = end
  }
  return truncated
}

/** Whether a marker of a JPEG file begins a frame, which has the size. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** Reads the segments of a JPEG file (ITU-T T.81). */
const readJpeg = (file: Buffer): Read => {
  let size: Read | undefined
  let hasScan = false
  for (let at = 2; at + 2 <= file.length;) {
    if (file[at] !== 0xff) return damaged
    const marker = file[at + 1]!
    if (marker === 0xff) {
      at++
      continue
    }
    if (marker === 0xd9) {
      return at + 2 < file.length ? trailing(file, at + 2) : hasScan && size !== undefined ? size : withoutPixels
    }
    if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8)) return damaged
    if (at + 4 > file.length) return truncated
    const length = file.readUInt16BE(at + 2)
    if (length < 2) return damaged
    if (at + 2 + length > file.length) return truncated
    if (isFrame(marker)) {
      if (length < 8 || size !== undefined) return damaged
      size = sizeOf(file.readUInt16BE(at + 7), file.readUInt16BE(at + 5))
    }
    at += 2 + length
    if (marker === 0xda) {
      hasScan = true
      // The data of a scan ends at the next marker. 0 after 0xff belongs to the data, as do restart markers.
      for (;; at += 2) {
        at = file.indexOf(0xff, at)
        if (at === -1 || at + 1 >= file.length) return truncated
        const next = file[at + 1]!
        if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) break
      }
    }
  }
  return truncated
}

/** Returns the end of the sub-blocks of a GIF file. Undefined if the file ends within them. */
const endOfBlocks = (file: Buffer, start: number): number | undefined => {
  for (let at = start; at < file.length; at += 1 + file[at]!) if (file[at] === 0) return at + 1
  return undefined
}

/** Returns the size of a color table of a GIF file. Unit: bytes. */
const colorTable = (flags: number) => (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1)

/** Reads the blocks of a GIF file (GIF89a). */
const readGif = (file: Buffer): Read => {
  if (file.length < 13) return truncated
  // Programs enlarge an image to its largest frame.
  let width = file.readUInt16LE(6)
  let height = file.readUInt16LE(8)
  let hasFrame = false
  for (let at = 13 + colorTable(file[10]!); at < file.length;) {
    const kind = file[at]
    if (kind === 0x3b) {
      return at + 1 < file.length ? trailing(file, at + 1) : hasFrame ? sizeOf(width, height) : withoutPixels
    }
    if (kind !== 0x21 && kind !== 0x2c) return damaged
    if (kind === 0x2c && at + 10 > file.length) return truncated
    // An extension has a label, and a frame its place, its color table and the least size of its codes.
    const blocks = kind === 0x21 ? at + 2 : at + 11 + colorTable(file[at + 9]!)
    const end = endOfBlocks(file, blocks)
    if (end === undefined) return truncated
    if (kind === 0x2c) {
      hasFrame = true
      width = Math.max(width, file.readUInt16LE(at + 1) + file.readUInt16LE(at + 5))
      height = Math.max(height, file.readUInt16LE(at + 3) + file.readUInt16LE(at + 7))
    }
    at = end
  }
  return truncated
}

/** Reads the size from a chunk of pixels of a WebP file. Undefined for other chunks. */
const sizeOfWebp = (name: string, data: Buffer): Read | undefined => {
  if (name === "VP8X") return data.length < 10 ? damaged : sizeOf(data.readUIntLE(4, 3) + 1, data.readUIntLE(7, 3) + 1)
  if (name === "VP8 ") {
    if (data.length < 10 || data.readUIntBE(3, 3) !== 0x9d012a) return damaged
    return sizeOf(data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff)
  }
  if (name !== "VP8L") return undefined
  if (data.length < 5 || data[0] !== 0x2f) return damaged
  const bits = data.readUInt32LE(1)
  return sizeOf((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1)
}

/** Reads the chunks of a WebP file (RFC 9649). */
const readWebp = (file: Buffer): Read => {
  const end = 8 + file.readUInt32LE(4)
  if (end > file.length) return truncated
  if (end < file.length) return trailing(file, end)
  let size: Read | undefined
  let hasPixels = false
  let at = 12
  while (at + 8 <= end) {
    const name = file.toString("latin1", at, at + 4)
    const next = at + 8 + file.readUInt32LE(at + 4)
    if (next > end) return damaged
    // The canvas of an extended file has the size of its pixels.
    const own = sizeOfWebp(name, file.subarray(at + 8, next))
    if (own !== undefined && size !== undefined && !isDeepStrictEqual(own, size)) return damaged
    size ??= own
    hasPixels ||= name === "VP8 " || name === "VP8L" || name === "ANMF"
    at = next + next % 2
  }
  return at < end ? damaged : hasPixels && size !== undefined ? size : withoutPixels
}

const readers: ReadonlyArray<
  readonly [type: ImageType, begins: (start: string) => boolean, read: (file: Buffer) => Read]
> = [
  ["png", (start) => start.startsWith("\x89PNG\r\n\x1a\n"), readPng],
  ["jpeg", (start) => start.startsWith("\xff\xd8\xff"), readJpeg],
  ["gif", (start) => /^GIF8[79]a/.test(start), readGif],
  ["webp", (start) => /^RIFF[^]{4}WEBP/.test(start), readWebp],
]

/** Other kinds of files that people take for images, by their beginning, and why they are refused. */
const others: ReadonlyArray<readonly [begins: RegExp, fault: string]> = [
  [/^$/, "is empty"],
  [
    /<svg[\s>]/i,
    "is an SVG. Mail programs do not show SVG, and it can contain scripts. Save the image as PNG, twice as large as messages show it",
  ],
  [/^\s*(?:<!doctype html|<html|<head|<body|<script)/i, "is an HTML page. Save the image itself"],
  [/^[^]{4}ftyp(?:hei|hev|mif|msf)/, "is a HEIC photo, which most mail programs do not show. Save it as JPEG"],
  [/^[^]{4}ftypavi[fs]/, "is an AVIF image, which most mail programs do not show. Save it as PNG or JPEG"],
  [/^BM/, "is a BMP image. Save it as PNG"],
  [/^(?:II\*\0|MM\0\*)/, "is a TIFF image. Save it as PNG or JPEG"],
  [/^%PDF-/, "is a PDF. Save the image as PNG or JPEG"],
  [/^8BPS/, "is a Photoshop file. Export the image as PNG or JPEG"],
]

/**
 * Reads the type and the size of an image from its content, whatever its name says. Refuses files that are not whole, or
 * have bytes after the image.
 */
export const readImageFile = (bytes: Uint8Array): ImageFacts | NotAnImage => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = file.toString("latin1", 0, 1024)
  for (const [type, begins, read] of readers) {
    if (!begins(start)) continue
    const facts = read(file)
    return "fault" in facts ? facts : { type, ...facts }
  }
  return { fault: others.find(([begins]) => begins.test(start))?.[1] ?? "is not a PNG, JPEG, GIF or WebP image" }
}
