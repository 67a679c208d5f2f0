import { packTar } from "modern-tar"
import { Buffer } from "node:buffer"
import { crc32, deflateRawSync, gzipSync } from "node:zlib"

/** A file of an archive. */
export interface File {
  readonly data: Uint8Array | string
  readonly isProgram?: boolean
}

/** Files by path. */
export type Files = Readonly<Record<string, File>>

// Archives of equal files are equal byte for byte: files are sorted, and have one time and no owner. The time is the one
// that `npm pack` writes, because archives of zip cannot hold times before 1980.
const time = new Date("1985-10-26T08:15:00Z")
const zipDate = ((1985 - 1980) << 9) | (10 << 5) | 26
const zipTime = (8 << 11) | (15 << 5)

const sorted = (files: Files) => Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1)

const bytesOf = ({ data }: File) => Buffer.from(data)

const modeOf = ({ isProgram = false }: File) => isProgram ? 0o755 : 0o644

/** Packs files below `folder` with tar and gzip. */
export const tarball = async (folder: string, files: Files): Promise<Uint8Array> => {
  const entries = sorted(files).map(([path, file]) => {
    const body = bytesOf(file)
    return { header: { name: `${folder}${path}`, size: body.length, mode: modeOf(file), mtime: time }, body }
  })
  return gzipSync(await packTar(entries), { level: 9 })
}

/** Packs files below `folder` as zip, the format of wheels. */
export const zip = (folder: string, files: Files): Uint8Array => {
  const contents: Array<Buffer> = []
  const directory: Array<Buffer> = []
  let offset = 0
  for (const [path, file] of sorted(files)) {
    const [name, data] = [Buffer.from(`${folder}${path}`), bytesOf(file)]
    const packed = deflateRawSync(data, { level: 9 })
    // The fields that both headers of a file have, from the needed version 2.0 and names in UTF-8 to the empty comment.
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x800, 2)
    common.writeUInt16LE(8, 4)
    common.writeUInt16LE(zipTime, 6)
    common.writeUInt16LE(zipDate, 8)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    contents.push(Buffer.from("PK\x03\x04", "latin1"), common, name, packed)
    const place = Buffer.alloc(14)
    place.writeUInt32LE((0o100000 | modeOf(file)) << 16 >>> 0, 6)
    place.writeUInt32LE(offset, 10)
    directory.push(Buffer.from("PK\x01\x02\x14\x03", "latin1"), common, place, name)
    offset += 30 + name.length + packed.length
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0)
  const end = Buffer.alloc(18)
  const count = Object.keys(files).length
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(size, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...contents, ...directory, Buffer.from("PK\x05\x06", "latin1"), end])
}
