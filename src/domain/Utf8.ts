import { isUtf8 } from "node:buffer"

// A decoder that is `fatal` takes two to four times as long on Deno 2.9.6 as a check and one that is not (measured).
const decoder = new TextDecoder()

/** The text of bytes in UTF-8, without a byte order mark; undefined for bytes that are not valid UTF-8. */
export const textOfUtf8 = (bytes: Uint8Array): string | undefined => isUtf8(bytes) ? decoder.decode(bytes) : undefined
