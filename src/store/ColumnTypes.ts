import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"
import * as Json from "../json/Json.ts"

// PostgreSQL sends valid UTF-8, which needs no check. A `fatal` decoder needs two to four times as long: see
// `text/Utf8.ts`.
const decoder = new TextDecoder()

const decode = (bytes: Uint8Array): Result.Result<unknown, PgTypes.CodecError> =>
  Result.try({
    try: () => Json.parseStored(decoder.decode(bytes)),
    catch: (cause) => new PgTypes.CodecError({ message: `A JSON column cannot be read: ${cause}` }),
  })

/** The driver's types, except for JSON columns. They contain data of callers, which `json/Json.ts` parses. */
export const columnTypes: PgTypes.Registry = PgTypes.makeRegistry()

columnTypes.register(PgTypes.OID.json, {
  encode: (value: unknown) => PgTypes.encode(value, PgTypes.OID.json),
  decode,
})
columnTypes.register(PgTypes.OID.jsonb, {
  encode: (value: unknown) => PgTypes.encode(value, PgTypes.OID.jsonb),
  decode: (bytes) =>
    bytes[0] === 1
      ? decode(bytes.subarray(1))
      : Result.fail(new PgTypes.CodecError({ message: `A jsonb column has the unknown version ${bytes[0]}` })),
})
