import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Body from "../api/http/Body.ts"
import { encodingFaults } from "../api/http/QueryFaults.ts"
import { textOfUtf8 } from "../text/Utf8.ts"

// Reads the posted forms of the console.

type Request = HttpServerRequest.HttpServerRequest

type TextFields = Readonly<Record<string, string>>

/** Maximum size of a form. Unit: bytes. */
const maxFormBytes = 12 * 1024 * 1024

/** Most names and values of a form. The longest, of a variant, has fewer than 1,000. */
const maxFields = 2_000

/** A form has more fields than any form of the console, or is not UTF-8. */
class UnreadableForm extends Schema.TaggedError<UnreadableForm>()("UnreadableForm", {}) {}

/** Returns the fields among names and values. Of a name that is sent several times, the values joined by line breaks. */
const fieldsIn = (entries: Iterable<readonly [string, string]>): TextFields => {
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of entries) fields[name] = name in fields ? `${fields[name]}\n${value}` : value
  return fields
}

/**
 * The fields of a posted form. Of a name that is sent several times, the values joined by line breaks. Fails past `maxBytes`,
 * 12 MiB unless given: a template file of 8 MiB has about 12 in a form.
 */
export const fieldsOf = (request: Request, maxBytes = maxFormBytes) =>
  Effect.flatMap(Body.raw(request, maxBytes), (bytes): Effect.Effect<TextFields, UnreadableForm> => {
    const text = textOfUtf8(bytes)
    // Checked before parsing: names chosen by an attacker may take long to store.
    if (text === undefined || text.split("&", maxFields + 1).length > maxFields || encodingFaults(text).length > 0) {
      return Effect.fail(new UnreadableForm())
    }
    return Effect.succeed(fieldsIn(new URLSearchParams(text)))
  })

/** A posted form. */
export interface SentForm {
  readonly fields: TextFields
  readonly files: ReadonlyArray<File>
}

/** Reads a posted form, with its files if it has any. Fails like `fieldsOf`. */
export const sentForm = (request: Request) => {
  const type = request.headers["content-type"] ?? ""
  if (!type.startsWith("multipart/form-data")) {
    return Effect.map(fieldsOf(request), (fields): SentForm => ({ fields, files: [] }))
  }
  return Effect.flatMap(Body.raw(request, maxFormBytes), (bytes) =>
    Effect.tryPromise({
      try: async (): Promise<SentForm> => {
        const entries = [...await new Response(bytes as BodyInit, { headers: { "content-type": type } }).formData()]
        const texts = entries.flatMap(([name, value]) => typeof value === "string" ? [[name, value] as const] : [])
        return {
          fields: fieldsIn(texts),
          // A browser sends an empty file without a name for a field without a file.
          files: entries.flatMap(([, value]) => typeof value === "string" || value.name === "" ? [] : [value]),
        }
      },
      catch: () => new UnreadableForm(),
    }))
}
