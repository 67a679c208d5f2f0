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
import { separatorFaults } from "./QueryFaults.ts"
import { ofMembers, ofParameters, warn } from "./Warnings.ts"

/** A 400 with every fault. */
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
 * A path parameter that can be looked up: one with characters that no id has (NUL, a lone surrogate) is changed to one
 * that nothing is called, so that it is not found like any other.
 */
export const lookedUp = (text: string): string =>
  isStorable(text) ? text : text.toWellFormed().replaceAll("\0", "\ufffd")

/** The source a management path names, by its neutral name or the platform's. */
export const sourceOf = (name: string): Effect.Effect<SourceId, Errors.SourceNotFound> => {
  const sourceId = sourceIdOf(name)
  return sourceId === undefined ? new Errors.SourceNotFound({ id: name.slice(0, 100) }) : Effect.succeed(sourceId)
}

/** The inbox named in a management path: of a webhook source, or of mail. */
export const inboxOf = (name: string): Effect.Effect<SourceId | typeof mailSource, Errors.SourceNotFound> => {
  const source = inboxSourceOf(name)
  return source === undefined ? new Errors.SourceNotFound({ id: name.slice(0, 100) }) : Effect.succeed(source)
}

/** Most values of a body: decoding takes about 2 microseconds for each, during which nothing else is answered. */
const maxValues = 60_000

/** The input with only the names of the members of its opaque members. */
const decodedOf = (input: unknown, opaque: ReadonlyArray<string>): unknown =>
  opaque.length > 0 && typeof input === "object" && input !== null && !Array.isArray(input)
    ? Object.entries(input).map(([name, value]) => {
      const isRecord = typeof value === "object" && value !== null && !Array.isArray(value)
      return opaque.includes(name) && isRecord ? Object.keys(value) : value
    })
    : input

/**
 * Decodes a body of at most 60,000 values, or fails with every fault. `opaque` are members whose values are not decoded: only their
 * names count. Warns of members that the schema does not have.
 */
export const bodyIn = <A>(
  { bytes, json: input }: Body.RawJson,
  decode: Decode<A>,
  opaque: ReadonlyArray<string> = [],
): Decoded<A, Problems.InvalidRequest> => {
  // A value takes two bytes at least, so the values of most bodies need not be counted.
  if (bytes.length > 2 * maxValues && hasMoreValuesThan(decodedOf(input, opaque), maxValues)) {
    const detail = `has more than ${maxValues} values in its lists and objects`
    return { asked: Result.fail(invalid([{ pointer: "", detail }])), warnings: [] }
  }
  const decoded = decode(input)
  if (Result.isFailure(decoded)) return { asked: Result.fail(invalid(decoded.failure)), warnings: [] }
  return { asked: Result.succeed(decoded.success), warnings: ofMembers(decode.unknownMembers?.(input) ?? []) }
}

/** Reads the body as JSON, and decodes it as `bodyIn` does. */
export const body = <A>(
  request: HttpServerRequest.HttpServerRequest,
  decode: Decode<A>,
  opaque: ReadonlyArray<string> = [],
) =>
  Effect.flatMap(Body.rawJson(request, Body.maxBodyBytes), (raw) => {
    const { asked, warnings } = bodyIn(raw, decode, opaque)
    return Result.isFailure(asked)
      ? Effect.fail(asked.failure)
      : Effect.as(Effect.andThen(note(raw.json), warn(request, warnings)), asked.success)
  })

/** The parameters of a URL's query. */
export const query = (request: { readonly url: string }): URLSearchParams => {
  const at = request.url.indexOf("?")
  return new URLSearchParams(at === -1 ? "" : request.url.slice(at + 1))
}

/** Reads the parameters of a query. Fails with every fault. Warns of parameters without effect. */
export const readQuery = <P extends { readonly [name: string]: { readonly read: ReadParameter<unknown> } }>(
  request: HttpServerRequest.HttpServerRequest,
  parameters: P,
): Effect.Effect<ValuesOf<P>, Problems.InvalidRequest> => {
  const asked = query(request)
  const faults: Array<Errors.Fault> = []
  const values: Record<string, unknown> = {}
  for (const [name, { read }] of Object.entries(parameters)) {
    const value = read(asked.get(name) ?? undefined)
    if (Result.isFailure(value)) faults.push({ pointer: name, detail: value.failure })
    else values[name] = value.success
  }
  faults.push(...separatorFaults(asked))
  return faults.length > 0
    ? Effect.fail(invalid(faults))
    : Effect.as(warn(request, ofParameters(asked, (name) => Object.hasOwn(parameters, name))), values as ValuesOf<P>)
}
