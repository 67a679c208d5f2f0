import { createTarDecoder, createTarPacker } from "modern-tar"
import { createReadStream, createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"

// Backups are gzipped tar archives of files and folders.

/** A file of an archive, or a folder, which has no content. */
export interface Entry {
  /** Relative, with `/` between folders. */
  readonly name: string
  /** `size` is the number of bytes of `chunks`. */
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

/** Writes an archive to `file`, readable by its owner alone. Returns once it is on disk. */
export const write = (entries: AsyncIterable<Entry>, file: string): Promise<void> =>
  pipeline(
    Readable.from(packed(entries)),
    createGzip({ level: 1 }),
    createWriteStream(file, { mode: 0o600, flush: true }),
  )

/** Largest piece of an archive that is read at once. Unit: bytes. */
const chunkSize = 2 ** 18

/**
 * Reads the entries of an archive. The content of each has to be read before the next is asked for. Throws if the file is
 * damaged, cut off, or no archive, and for an entry outside of the archive's folder or that is neither file nor folder.
 */
export async function* read(file: string): AsyncGenerator<Entry> {
  const chunks = createGunzip({ chunkSize })
  // Each stream ends the other; the reader of the entries gets the error.
  pipeline(createReadStream(file), chunks).catch(() => {})
  const entries = ReadableStream.from<Uint8Array>(chunks).pipeThrough(createTarDecoder({ strict: true }))
  for await (const { body, header: { name, size, type } } of entries) {
    if (name.startsWith("/") || name.split("/").includes("..")) throw new Error(`It holds the name ${name}`)
    if (type === "directory") yield { name: name.replace(/\/$/, "") }
    else if (type === "file") yield { name, content: { size, chunks: body } }
    else throw new Error(`It holds ${name}, which is neither a file nor a folder`)
  }
}
