import { JsonPointer, Result, Schema, SchemaIssue } from "effect"
import type { Fault } from "./Errors.ts"
import { plainMessage } from "./FaultMessages.ts"
import { unknownMembersIn } from "./UnknownMembers.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  // Callers that refuse unknown members word that fault themselves.
  leafHook: (issue) => issue._tag === "UnexpectedKey" ? "is unknown" : SchemaIssue.defaultLeafHook(issue),
})

/** A JSON pointer (RFC 6901) to `path`. */
export const pointerTo = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((segment) => `/${JsonPointer.escapeToken(String(segment))}`).join("")

/** Most faults one answer lists, so that a small body cannot ask for an answer many times its size. */
const maxFaults = 100

/** Every fault of `issue`, up to 100, with JSON pointers. */
export const fromIssue = (issue: SchemaIssue.Issue): ReadonlyArray<Fault> =>
  format(issue).issues.slice(0, maxFaults).map(({ message, path }) => ({
    pointer: pointerTo((path ?? []).map((segment) => typeof segment === "object" ? segment.key : segment)),
    detail: plainMessage(message),
  }))

/** Whether a value holds more than `limit` values, itself and those at every depth included. */
export const hasMoreValuesThan = (value: unknown, limit: number): boolean => {
  const open: Array<unknown> = [value]
  for (let seen = 1; open.length > 0; seen++) {
    if (seen > limit) return true
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    const values = Array.isArray(next) ? next : Object.values(next)
    if (values.length > limit - seen) return true
    for (const one of values) open.push(one)
  }
  return false
}

/** Most values of an input whose faults are all collected: each fault costs about 10 microseconds. */
const maxCollected = 20_000

/** Decodes an input, or lists every fault. */
export interface Decode<A> {
  (input: unknown): Result.Result<A, ReadonlyArray<Fault>>
  /** JSON pointers of the members that are not in the schema and therefore have no effect. */
  readonly unknownMembers?: (input: unknown) => ReadonlyArray<string>
}

const noNames: ReadonlyArray<string> = []

/** Finds members of an object itself that are not among the fields. Their JSON pointers follow `at`. */
export const unknownMembersOf = (fields: object) => (input: unknown, at = ""): ReadonlyArray<string> => {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return noNames
  let unknown: Array<string> | undefined
  // Every input is parsed JSON, so that all members which `in` finds are its own.
  for (const name in input) {
    if (!Object.hasOwn(fields, name)) (unknown ??= []).push(`${at}/${JsonPointer.escapeToken(name)}`)
  }
  return unknown ?? noNames
}

/**
 * Decodes `input`, or lists every fault, up to 100; the first fault alone of an input with more than 20,000 values. Members
 * that the schema does not name are ignored; `unknownMembers` finds them.
 */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(schema: S): Decode<S["Type"]> => {
  const decode = Schema.decodeUnknownResult(schema)
  // The first pass stops at the first fault, which costs nothing for valid input. Only invalid input gets a second pass
  // for all faults.
  const decodeAll = (input: unknown): Result.Result<S["Type"], ReadonlyArray<Fault>> => {
    const quick = decode(input)
    if (Result.isSuccess(quick)) return Result.succeed(quick.success)
    if (hasMoreValuesThan(input, maxCollected)) return Result.fail(fromIssue(quick.failure.issue))
    return Result.mapError(decode(input, { errors: "all" }), (error) => fromIssue(error.issue))
  }
  return Object.assign(decodeAll, { unknownMembers: unknownMembersIn(schema) })
}
