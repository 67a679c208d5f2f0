import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { note } from "../../accounts/Audit.ts"
import { NoSecretKey, SecretFileFaulty } from "../../auth/SecretBox.ts"
import { NotRendered } from "../../decide/Answer.ts"
import { isStorable } from "../../domain/Attributes.ts"
import * as Errors from "../../domain/Errors.ts"
import { type Decode, hasMoreValuesThan } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { type SourceId, sourceIdOf } from "../../domain/Source.ts"
import type { mailSource } from "../../domain/Source.ts"
import { inboxSourceOf } from "../../intake/Sources.ts"
import type { Organizations } from "../../organizations/Organizations.ts"
import * as Body from "./Body.ts"
import * as Problems from "../Problems.ts"
import type { Decoded } from "./PublicCall.ts"
import { ofMembers, warn } from "./Warnings.ts"

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

/** The organization a management path names. A path that is no slug names none: it is looked up and not found. */
export const slugOf = (params: { readonly org: string }): OrgSlug => lookedUp(params.org) as OrgSlug

/** The organization a management path names, which must exist. */
export const existing = (
  organizations: Organizations["Service"],
  params: { readonly org: string },
): Effect.Effect<OrgSlug, Errors.OrganizationNotFound> =>
  Effect.map(organizations.get(slugOf(params)), ({ slug }) => slug)

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

/** A 422 that names the variable at fault, or the targeting. */
export const notRendered = ({ copyId, faults, templateId }: NotRendered): Problems.Unprocessable => {
  const template = `the template ${JSON.stringify(templateId)}`
  if (copyId === null) {
    return new Problems.Unprocessable({
      detail: `The targeting of ${template} cannot be checked with these attrs: ${
        faults.map(({ detail }) => detail).join("; ")
      }`,
      errors: faults.map(({ detail }) => ({ pointer: "/attrs", detail })),
    })
  }
  return new Problems.Unprocessable({
    detail: `The variant ${JSON.stringify(copyId)} of ${template} cannot be rendered with these fields: ${
      faults.map(({ detail, variable }) => `${variable}: ${detail}`).join("; ")
    }`,
    errors: faults.map(({ detail, variable }) => ({ pointer: `/copy/vars/${variable}`, detail })),
  })
}

/** The parameters of a URL's query. */
export const query = (request: { readonly url: string }): URLSearchParams => {
  const at = request.url.indexOf("?")
  return new URLSearchParams(at === -1 ? "" : request.url.slice(at + 1))
}

/** The problems of domain errors that need no more than their messages. */
const problems = [
  [Errors.OrganizationNotFound, Problems.OrganizationNotFound],
  [Errors.KeyNotFound, Problems.KeyNotFound],
  [Errors.TemplateNotFound, Problems.TemplateNotFound],
  [Errors.TemplateArchived, Problems.TemplateArchived],
  [Errors.VariantNotFound, Problems.VariantNotFound],
  [Errors.DraftChanged, Problems.VersionConflict],
  [Errors.DraftNotFound, Problems.DraftNotFound],
  [Errors.VersionNotFound, Problems.VersionNotFound],
  [Errors.SamplePersonNotFound, Problems.SamplePersonNotFound],
  [Errors.TestGroupNotFound, Problems.TestGroupNotFound],
  [Errors.InboxEntryNotFound, Problems.InboxEntryNotFound],
  [Errors.ErasureNotFound, Problems.ErasureNotFound],
  [Errors.SourceNotFound, Problems.SourceNotFound],
  [Errors.ConnectionNotFound, Problems.ConnectionNotFound],
  [Errors.EndpointNotFound, Problems.EndpointNotFound],
  [Errors.DkimKeyNotFound, Problems.DkimKeyNotFound],
  [Errors.DeliveryNotFound, Problems.DeliveryNotFound],
  [Errors.DeliveryFixed, Problems.DeliveryFixed],
  [Errors.BulkActionNotFound, Problems.BulkActionNotFound],
  [Errors.BulkKeyReused, Problems.IdempotencyKeyReused],
  [NoSecretKey, Problems.Unprocessable],
  [SecretFileFaulty, Problems.Unprocessable],
  [Errors.AlreadyExists, Problems.Conflict],
  [Errors.ChecksBusy, Problems.Unavailable],
  [Errors.ProposalNotFound, Problems.ProposalNotFound],
  [Errors.ProposalConflict, Problems.ProposalConflict],
  [Errors.CommentNotFound, Problems.CommentNotFound],
  [Errors.ShareNotFound, Problems.ShareNotFound],
  [Errors.NotAllowed, Problems.Forbidden],
] as const

type Pair = typeof problems[number]

type PairOf<E, P extends Pair = Pair> = P extends unknown ? E extends InstanceType<P[0]> ? P : never : never

/** The problem for a domain error; other errors are returned unchanged. */
type ProblemOf<E> = E extends InstanceType<Pair[0]> ? InstanceType<PairOf<E>[1]>
  : E extends Errors.VariantChanged ? Problems.VersionConflict
  : E extends Errors.InvalidInput ? Problems.InvalidRequest
  : E extends NotRendered ? Problems.Unprocessable
  : E

const problemOf = (error: unknown): unknown => {
  if (error instanceof Errors.VariantChanged) {
    return new Problems.VersionConflict({ detail: error.message, current: error.current })
  }
  if (error instanceof Errors.InvalidInput) return invalid(error.faults)
  if (error instanceof NotRendered) return notRendered(error)
  for (const [Domain, Problem] of problems) {
    if (error instanceof Domain) return new Problem({ detail: error.message })
  }
  return error
}

/** The problem of a domain's error. */
export const toProblem = <E>(error: E): ProblemOf<E> => problemOf(error) as ProblemOf<E>

/** Turns the domain's errors into problems, the only errors with a status. */
export const toProblems = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, ProblemOf<E>, R> =>
  Effect.mapError(effect, toProblem)
