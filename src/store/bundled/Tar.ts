import { Buffer } from "node:buffer"

// The part of the tar format (POSIX ustar) that a backup needs: folders and files with short names.

export interface Entry {
  /** Relative, with `/` between folders. 99 bytes at most. */
  readonly name: string
  readonly type: "file" | "folder"
  /** Bytes of a file; 0 for a folder. */
  readonly size: number
}

const block = 512

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`

const checksumOf = (header: Buffer): number =>
  header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)

/** The bytes before the content of an entry. Throws for a name that is too long. */
export const headerOf = ({ name, size, type }: Entry): Buffer => {
  const header = Buffer.alloc(block)
  if (Buffer.byteLength(name) > 99) throw new Error(`The name ${name} is too long for a backup`)
  header.write(name, 0)
  header.write(octal(type === "folder" ? 0o700 : 0o600, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(0, 12), 136)
  header.write(type === "folder" ? "5" : "0", 156)
  header.write("ustar\x0000", 257)
  header.write(octal(checksumOf(header), 8), 148)
  return header
}

/** Zeros that fill the last block of a content of `size` bytes. */
export const paddingOf = (size: number): Buffer => Buffer.alloc((block - size % block) % block)

/** The end of an archive. */
export const end = Buffer.alloc(2 * block)

const textAt = (header: Buffer, at: number, length: number): string =>
  header.toString("utf8", at, at + length).split("\0", 1)[0]!

/** Reads a header; undefined for the end of an archive. Throws if the block is not a header. */
export const entryOf = (header: Buffer): Entry | undefined => {
  if (header.every((byte) => byte === 0)) return undefined
  if (Number.parseInt(textAt(header, 148, 8), 8) !== checksumOf(header)) throw new Error("It is damaged or no backup")
  const name = textAt(header, 0, 100)
  if (name.startsWith("/") || name.split("/").includes("..")) throw new Error(`It holds the name ${name}`)
  return {
    name,
    size: Number.parseInt(textAt(header, 124, 12), 8),
    type: textAt(header, 156, 1) === "5" ? "folder" : "file",
  }
}

/** Reads an archive. The content of each entry has to be read before the next entry is asked for. */
export async function* read(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly [entry: Entry, content: AsyncGenerator<Buffer>]> {
  const source = chunks[Symbol.asyncIterator]()
  let rest = Buffer.alloc(0)
  const take = async (atMost: number): Promise<Buffer> => {
    while (rest.length === 0) {
      const { done, value } = await source.next()
      if (done) throw new Error("It ends too early")
      rest = Buffer.from(value)
    }
    const taken = rest.subarray(0, atMost)
    rest = rest.subarray(taken.length)
    return taken
  }
  const takeAll = async (size: number): Promise<Buffer> => {
    const parts: Array<Buffer> = []
    for (let left = size; left > 0; left -= parts.at(-1)!.length) parts.push(await take(left))
    return Buffer.concat(parts)
  }
  async function* content(size: number) {
    for (let left = size; left > 0;) {
      const part = await take(left)
      left -= part.length
      yield part
    }
    await takeAll(paddingOf(size).length)
  }
  for (;;) {
    const entry = entryOf(await takeAll(block))
    if (entry === undefined) return
    yield [entry, content(entry.size)]
  }
}
