import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { note } from "../../accounts/Audit.ts"
import { isStorable } from "../../domain/Attributes.ts"
import * as Errors from "../../domain/Errors.ts"
import { type Decode, hasMoreValuesThan } from "../../domain/Faults.ts"
import { type SourceId, sourceIdOf } from "../../domain/Source.ts"
import type { mailSource } from "../../domain/Source.ts"
import { inboxSourceOf } from "../../intake/Sources.ts"
import * as Body from "./Body.ts"
import * as Problems from "../Problems.ts"
import type { Decoded } from "./PublicCall.ts"
import type { ReadParameter, ValuesOf } from "./Parameters.ts"
import { encodingFaults, separatorFaults } from "./QueryFaults.ts"
import { ofMembers, ofParameters, warn } from "./Warnings.ts"

/** Returns a 400 that lists every fault. */
export const invalid = (faults: ReadonlyArray<Errors.Fault>): Problems.InvalidRequest =>
  new Problems.InvalidRequest({
    detail: faults.length === 1
      ? faults[0]!.pointer === "" && faults[0]!.detail.startsWith("The body ")
        ? faults[0]!.detail
        : `${faults[0]!.pointer === "" ? "The body" : faults[0]!.pointer}: ${faults[0]!.detail}`
      : `${faults.length} faults, listed in errors`,
    errors: faults,
  })

/**
 * Returns a path parameter that PostgreSQL can search for. NUL and lone surrogates occur in no id and would make the
 * statement fail, so U+FFFD replaces them and the search finds nothing.
 */
export const lookedUp = (text: string): string =>
  isStorable(text) ? text : text.toWellFormed().replaceAll("\0", "\ufffd")

/** Finds the source that a management path names, by its source id or the name of its platform. */
export const sourceOf = (name: string): Effect.Effect<SourceId, Errors.SourceNotFound> => {
  const sourceId = sourceIdOf(name)
  return sourceId === undefined ? new Errors.SourceNotFound({ id: name.slice(0, 100) }) : Effect.succeed(sourceId)
}

/** Finds the inbox that a management path names: the inbox of a webhook source, or of mail. */
export const inboxOf = (name: string): Effect.Effect<SourceId | typeof mailSource, Errors.SourceNotFound> => {
  const source = inboxSourceOf(name)
  return source === undefined ? new Errors.SourceNotFound({ id: name.slice(0, 100) }) : Effect.succeed(source)
}

/** Maximum number of values in a body. Decoding blocks the event loop for about 2 microseconds per value. */
const maxValues = 60_000

/** Returns the part of the input that is decoded: of opaque members, only the names of their own members. */
const decodedOf = (input: unknown, opaque: ReadonlyArray<string>): unknown =>
  opaque.length > 0 && typeof input === "object" && input !== null && !Array.isArray(input)
    ? Object.entries(input).map(([name, value]) => {
      const isRecord = typeof value === "object" && value !== null && !Array.isArray(value)
      return opaque.includes(name) && isRecord ? Object.keys(value) : value
    })
    : input

/**
 * Decodes a body of at most 60,000 values. Returns a problem with every fault, and warnings about members that the
 * schema does not have. Of the members named in `opaque`, only the names of their own members count as values.
 */
export const bodyIn = <A>(
  { bytes, json: input }: Body.RawJson,
  decode: Decode<A>,
  opaque: ReadonlyArray<string> = [],
): Decoded<A, Problems.InvalidRequest> => {
  // Each value has at least two bytes, so most bodies are too short to need a count.
  if (bytes.length > 2 * maxValues && hasMoreValuesThan(decodedOf(input, opaque), maxValues)) {
    const detail = `has more than ${maxValues} values in its lists and objects`
    return { input: Result.fail(invalid([{ pointer: "", detail }])), warnings: [] }
  }
  const decoded = decode(input)
  if (Result.isFailure(decoded)) return { input: Result.fail(invalid(decoded.failure)), warnings: [] }
  return { input: Result.succeed(decoded.success), warnings: ofMembers(decode.unknownMembers?.(input) ?? []) }
}

/** Reads the body as JSON of at most `limit` bytes, 1 MiB by default, and decodes it as `bodyIn` does. */
export const body = <A>(
  request: HttpServerRequest.HttpServerRequest,
  decode: Decode<A>,
  opaque: ReadonlyArray<string> = [],
  limit = Body.maxBodyBytes,
) =>
  Effect.flatMap(Body.rawJson(request, limit), (raw) => {
    const { input, warnings } = bodyIn(raw, decode, opaque)
    return Result.isFailure(input)
      ? Effect.fail(input.failure)
      : Effect.as(Effect.andThen(note(raw.json), warn(request, warnings)), input.success)
  })

const searchOf = ({ url }: { readonly url: string }): string => {
  const at = url.indexOf("?")
  return at === -1 ? "" : url.slice(at + 1)
}

/** The parameters of a URL's query. */
export const query = (request: { readonly url: string }): URLSearchParams => new URLSearchParams(searchOf(request))

/** The parameters of a URL's query, or the problem of a query that is not UTF-8. */
export const queryIn = (
  request: { readonly url: string },
): Result.Result<URLSearchParams, Problems.InvalidRequest> => {
  const search = searchOf(request)
  const faults = encodingFaults(search)
  return faults.length > 0 ? Result.fail(invalid(faults)) : Result.succeed(new URLSearchParams(search))
}

/** The parameters of an endpoint by name. `replacedBy` is the parameter that has replaced an earlier name. */
type Readers = {
  readonly [name: string]: { readonly read: ReadParameter<unknown>; readonly replacedBy?: string }
}

/** Reads the parameters of a query. Fails with every fault. Warns about parameters without effect. */
export const readQuery = <P extends Readers>(
  request: HttpServerRequest.HttpServerRequest,
  parameters: P,
): Effect.Effect<ValuesOf<P>, Problems.InvalidRequest> => {
  const readable = queryIn(request)
  if (Result.isFailure(readable)) return Effect.fail(readable.failure)
  const given = readable.success
  const faults: Array<Errors.Fault> = []
  const values: Record<string, unknown> = {}
  for (const [name, { read, replacedBy }] of Object.entries(parameters)) {
    if (replacedBy !== undefined && !given.has(name)) continue
    const value = read(given.get(name) ?? undefined)
    if (Result.isFailure(value)) faults.push({ pointer: name, detail: value.failure })
    else if (replacedBy !== undefined && given.has(replacedBy)) {
      faults.push({ pointer: name, detail: `is the earlier name of ${replacedBy}: send only ${replacedBy}` })
    } else values[replacedBy ?? name] = value.success
  }
  faults.push(...separatorFaults(given))
  return faults.length > 0
    ? Effect.fail(invalid(faults))
    : Effect.as(warn(request, ofParameters(given, (name) => Object.hasOwn(parameters, name))), values as ValuesOf<P>)
}
