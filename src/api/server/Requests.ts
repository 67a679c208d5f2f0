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

/** The problem for a domain error; other errors are returned unchanged. */
type ProblemOf<E> = E extends Errors.OrganizationNotFound ? Problems.OrganizationNotFound
  : E extends Errors.KeyNotFound ? Problems.KeyNotFound
  : E extends Errors.TemplateNotFound ? Problems.TemplateNotFound
  : E extends Errors.TemplateArchived ? Problems.TemplateArchived
  : E extends Errors.VariantNotFound ? Problems.VariantNotFound
  : E extends Errors.VariantChanged | Errors.DraftChanged ? Problems.VersionConflict
  : E extends Errors.DraftNotFound ? Problems.DraftNotFound
  : E extends Errors.VersionNotFound ? Problems.VersionNotFound
  : E extends Errors.SamplePersonNotFound ? Problems.SamplePersonNotFound
  : E extends Errors.TestGroupNotFound ? Problems.TestGroupNotFound
  : E extends Errors.InboxEntryNotFound ? Problems.InboxEntryNotFound
  : E extends Errors.ErasureNotFound ? Problems.ErasureNotFound
  : E extends Errors.SourceNotFound ? Problems.SourceNotFound
  : E extends Errors.ConnectionNotFound ? Problems.ConnectionNotFound
  : E extends Errors.EndpointNotFound ? Problems.EndpointNotFound
  : E extends Errors.DkimKeyNotFound ? Problems.DkimKeyNotFound
  : E extends Errors.DeliveryNotFound ? Problems.DeliveryNotFound
  : E extends Errors.DeliveryFixed ? Problems.DeliveryFixed
  : E extends Errors.BulkActionNotFound ? Problems.BulkActionNotFound
  : E extends Errors.BulkKeyReused ? Problems.IdempotencyKeyReused
  : E extends NoSecretKey | SecretFileFaulty ? Problems.Unprocessable
  : E extends Errors.AlreadyExists ? Problems.Conflict
  : E extends Errors.InvalidInput ? Problems.InvalidRequest
  : E extends Errors.ChecksBusy ? Problems.Unavailable
  : E extends NotRendered ? Problems.Unprocessable
  : E extends Errors.ProposalNotFound ? Problems.ProposalNotFound
  : E extends Errors.ProposalConflict ? Problems.ProposalConflict
  : E extends Errors.CommentNotFound ? Problems.CommentNotFound
  : E extends Errors.ShareNotFound ? Problems.ShareNotFound
  : E extends Errors.NotAllowed ? Problems.Forbidden
  : E

const problemOf = (error: unknown): unknown => {
  if (error instanceof Errors.OrganizationNotFound) return new Problems.OrganizationNotFound({ detail: error.message })
  if (error instanceof Errors.KeyNotFound) return new Problems.KeyNotFound({ detail: error.message })
  if (error instanceof Errors.TemplateNotFound) return new Problems.TemplateNotFound({ detail: error.message })
  if (error instanceof Errors.TemplateArchived) return new Problems.TemplateArchived({ detail: error.message })
  if (error instanceof Errors.VariantNotFound) return new Problems.VariantNotFound({ detail: error.message })
  if (error instanceof Errors.VariantChanged) {
    return new Problems.VersionConflict({ detail: error.message, current: error.current })
  }
  if (error instanceof Errors.DraftChanged) return new Problems.VersionConflict({ detail: error.message })
  if (error instanceof Errors.DraftNotFound) return new Problems.DraftNotFound({ detail: error.message })
  if (error instanceof Errors.VersionNotFound) return new Problems.VersionNotFound({ detail: error.message })
  if (error instanceof Errors.SamplePersonNotFound) return new Problems.SamplePersonNotFound({ detail: error.message })
  if (error instanceof Errors.TestGroupNotFound) return new Problems.TestGroupNotFound({ detail: error.message })
  if (error instanceof Errors.InboxEntryNotFound) return new Problems.InboxEntryNotFound({ detail: error.message })
  if (error instanceof Errors.ErasureNotFound) return new Problems.ErasureNotFound({ detail: error.message })
  if (error instanceof Errors.SourceNotFound) return new Problems.SourceNotFound({ detail: error.message })
  if (error instanceof Errors.ConnectionNotFound) return new Problems.ConnectionNotFound({ detail: error.message })
  if (error instanceof Errors.EndpointNotFound) return new Problems.EndpointNotFound({ detail: error.message })
  if (error instanceof Errors.DkimKeyNotFound) return new Problems.DkimKeyNotFound({ detail: error.message })
  if (error instanceof Errors.DeliveryNotFound) return new Problems.DeliveryNotFound({ detail: error.message })
  if (error instanceof Errors.DeliveryFixed) return new Problems.DeliveryFixed({ detail: error.message })
  if (error instanceof Errors.BulkActionNotFound) return new Problems.BulkActionNotFound({ detail: error.message })
  if (error instanceof Errors.BulkKeyReused) return new Problems.IdempotencyKeyReused({ detail: error.message })
  if (error instanceof NoSecretKey || error instanceof SecretFileFaulty) {
    return new Problems.Unprocessable({ detail: error.message })
  }
  if (error instanceof Errors.AlreadyExists) return new Problems.Conflict({ detail: error.message })
  if (error instanceof Errors.InvalidInput) return invalid(error.faults)
  if (error instanceof Errors.ChecksBusy) return new Problems.Unavailable({ detail: error.message })
  if (error instanceof NotRendered) return notRendered(error)
  if (error instanceof Errors.ProposalNotFound) return new Problems.ProposalNotFound({ detail: error.message })
  if (error instanceof Errors.ProposalConflict) return new Problems.ProposalConflict({ detail: error.message })
  if (error instanceof Errors.CommentNotFound) return new Problems.CommentNotFound({ detail: error.message })
  if (error instanceof Errors.ShareNotFound) return new Problems.ShareNotFound({ detail: error.message })
  if (error instanceof Errors.NotAllowed) return new Problems.Forbidden({ detail: error.message })
  return error
}

/** The problem of a domain's error. */
export const toProblem = <E>(error: E): ProblemOf<E> => problemOf(error) as ProblemOf<E>

/** Turns the domain's errors into problems, the only errors with a status. */
export const toProblems = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, ProblemOf<E>, R> =>
  Effect.mapError(effect, toProblem)
