import { JsonPointer, Result, Schema, SchemaIssue } from "effect"
import type { Fault } from "./Errors.ts"
import { plainMessage } from "../text/FaultMessages.ts"
import { unknownMembersIn } from "./UnknownMembers.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  // Callers that refuse unknown members have a message of their own.
  leafHook: (issue) => issue._tag === "UnexpectedKey" ? "is unknown" : SchemaIssue.defaultLeafHook(issue),
})

/** A JSON pointer (RFC 6901) to `path`. */
export const pointerTo = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((segment) => `/${JsonPointer.escapeToken(String(segment))}`).join("")

/** Most faults of one response, so that the response to a small body stays small. */
const maxFaults = 100

/** Up to 100 faults of `issue`, with JSON pointers. */
export const fromIssue = (issue: SchemaIssue.Issue): ReadonlyArray<Fault> =>
  format(issue).issues.slice(0, maxFaults).map(({ message, path }) => ({
    pointer: pointerTo((path ?? []).map((segment) => typeof segment === "object" ? segment.key : segment)),
    detail: plainMessage(message),
  }))

/** Whether a value consists of more than `limit` values, counted at every depth. */
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

/** All faults are collected only for inputs of up to this many values, because each fault takes about 10 µs. */
const maxCollected = 20_000

/** Decodes an input, or lists every fault. */
export interface Decode<A> {
  (input: unknown): Result.Result<A, ReadonlyArray<Fault>>
  /** Returns JSON pointers of members that are not in the schema and therefore have no effect. */
  readonly unknownMembers?: (input: unknown) => ReadonlyArray<string>
}

const noNames: ReadonlyArray<string> = []

/** Finds members of an object itself that are not among the fields. Their JSON pointers follow `at`. */
export const unknownMembersOf = (fields: object) => (input: unknown, at = ""): ReadonlyArray<string> => {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return noNames
  let unknown: Array<string> | undefined
  // The input is parsed JSON, so all members that `in` finds are own members.
  for (const name in input) {
    if (!Object.hasOwn(fields, name)) (unknown ??= []).push(`${at}/${JsonPointer.escapeToken(name)}`)
  }
  return unknown ?? noNames
}

/**
 * Decodes `input`, or lists up to 100 faults. For an input of more than 20,000 values, lists only the first fault.
 * Ignores members that are not in the schema, which `unknownMembers` finds.
 */
export const decoder = <S extends Schema.ConstraintDecoder<unknown>>(schema: S): Decode<S["Type"]> => {
  const decode = Schema.decodeUnknownResult(schema)
  // The first pass stops at the first fault. Only invalid input needs the second pass, which collects all faults.
  const decodeAll = (input: unknown): Result.Result<S["Type"], ReadonlyArray<Fault>> => {
    const quick = decode(input)
    if (Result.isSuccess(quick)) return Result.succeed(quick.success)
    if (hasMoreValuesThan(input, maxCollected)) return Result.fail(fromIssue(quick.failure.issue))
    return Result.mapError(decode(input, { errors: "all" }), (error) => fromIssue(error.issue))
  }
  return Object.assign(decodeAll, { unknownMembers: unknownMembersIn(schema) })
}
