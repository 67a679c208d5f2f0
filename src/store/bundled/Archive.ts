import { createTarDecoder, createTarPacker } from "modern-tar"
import { createReadStream, createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"

// Backups are gzipped tar archives of files and folders.

/** A file or a folder of an archive. Folders have no content. */
export interface Entry {
  /** Relative path with `/` between folders. */
  readonly name: string
  /** `size` is the number of bytes in `chunks`. */
  readonly content?: { readonly size: number; readonly chunks: AsyncIterable<Uint8Array> }
}

const packed = (entries: AsyncIterable<Entry>): ReadableStream<Uint8Array> => {
  const { controller, readable } = createTarPacker()
  const addAll = async () => {
    for await (const { content, name } of entries) {
      const writer = controller.add(
        content === undefined
          ? { name, type: "directory", size: 0, mode: 0o700 }
          : { name, type: "file", size: content.size, mode: 0o600 },
      ).getWriter()
      for await (const chunk of content?.chunks ?? []) await writer.write(chunk)
      await writer.close()
    }
    controller.finalize()
  }
  addAll().catch((cause) => controller.error(cause))
  return readable
}

/** Writes an archive to `file`, readable only by its owner. Returns after it is on disk. */
export const write = (entries: AsyncIterable<Entry>, file: string): Promise<void> =>
  pipeline(
    Readable.from(packed(entries)),
    createGzip({ level: 1 }),
    createWriteStream(file, { mode: 0o600, flush: true }),
  )

/** Maximum size of a chunk read from an archive. Unit: bytes. */
const chunkSize = 2 ** 18

/**
 * Reads the entries of an archive. Read the content of each entry before you request the next entry. Throws if the file
 * is damaged, truncated or no archive, if an entry is outside of the archive's folder, and if an entry is neither a
 * file nor a folder.
 */
export async function* read(file: string): AsyncGenerator<Entry> {
  const chunks = createGunzip({ chunkSize })
  // If one stream ends, the other ends too. The reader of the entries receives the error.
  pipeline(createReadStream(file), chunks).catch(() => {})
  const entries = ReadableStream.from<Uint8Array>(chunks).pipeThrough(createTarDecoder({ strict: true }))
  for await (const { body, header: { name, size, type } } of entries) {
    if (name.startsWith("/") || name.split("/").includes("..")) throw new Error(`It holds the name ${name}`)
    if (type === "directory") yield { name: name.replace(/\/$/, "") }
    else if (type === "file") yield { name, content: { size, chunks: body } }
    else throw new Error(`It holds ${name}, which is neither a file nor a folder`)
  }
}
