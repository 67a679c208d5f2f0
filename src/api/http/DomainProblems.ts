import type { HttpServerRequest } from "effect/http"
import * as AccountErrors from "../../accounts/AccountErrors.ts"
import { HashingOverloaded } from "../../accounts/Passwords.ts"
import { NoSecretKey, SecretFileFaulty, SecretUnreadable } from "../../store/SecretBox.ts"
import { NotRendered } from "../../decide/Answer.ts"
import * as Errors from "../../domain/Errors.ts"
import * as SuggestionErrors from "../../suggestions/SuggestionErrors.ts"
import * as Problems from "../Problems.ts"
import { retryLater } from "../admission/RetryAfter.ts"
import { invalid } from "./Requests.ts"

/** Returns a 422 that names the variables at fault, or the targeting. */
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

/** Domain errors and their problems, for problems that need only the error's message. */
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
  [Errors.SnippetNotFound, Problems.SnippetNotFound],
  [Errors.SnippetInUse, Problems.Conflict],
  [Errors.SnippetChanged, Problems.VersionConflict],
  [Errors.ImageNotFound, Problems.ImageNotFound],
  [Errors.ImageInUse, Problems.Conflict],
  [Errors.TrackingKeyInUse, Problems.Conflict],
  [Errors.TrackingKeyNotFound, Problems.TrackingKeyNotFound],
  [Errors.CommentNotFound, Problems.CommentNotFound],
  [Errors.ShareNotFound, Problems.ShareNotFound],
  [Errors.ReportNotFound, Problems.ReportNotFound],
  [Errors.ViewNotFound, Problems.ViewNotFound],
  [Errors.NotAllowed, Problems.Forbidden],
  [AccountErrors.AccountNotFound, Problems.AccountNotFound],
  [AccountErrors.GroupRoleNotFound, Problems.GroupRoleNotFound],
  [AccountErrors.InvitationNotFound, Problems.InvitationNotFound],
  [AccountErrors.PasskeyNotFound, Problems.PasskeyNotFound],
  [AccountErrors.SessionNotFound, Problems.SessionNotFound],
  [AccountErrors.EmailTaken, Problems.Conflict],
  [AccountErrors.NoPassword, Problems.Unprocessable],
  [AccountErrors.NotOneself, Problems.Unprocessable],
  [AccountErrors.PasskeyRefused, Problems.Unprocessable],
  [AccountErrors.PasskeysOff, Problems.Unprocessable],
  [AccountErrors.SecondFactorOff, Problems.Unprocessable],
  [AccountErrors.SecondFactorOn, Problems.Unprocessable],
  [AccountErrors.SignInTooOld, Problems.Unprocessable],
  [SecretUnreadable, Problems.Unprocessable],
  [HashingOverloaded, Problems.Unavailable],
  [SuggestionErrors.SuggestionsOff, Problems.Unprocessable],
  [SuggestionErrors.SuggestionsFailed, Problems.SuggestionsFailed],
  [SuggestionErrors.SuggestionNotFound, Problems.SuggestionNotFound],
] as const

/** Domain errors whose problems need more than their messages. */
const special = [
  [Errors.VariantChanged, Problems.VersionConflict],
  [Errors.InvalidInput, Problems.InvalidRequest],
  [NotRendered, Problems.Unprocessable],
  [AccountErrors.WrongPassword, Problems.InvalidRequest],
  [AccountErrors.WrongCode, Problems.InvalidRequest],
  [AccountErrors.TooManyAttempts, Problems.TooManyAttempts],
  [SuggestionErrors.SuggestionsBusy, Problems.SuggestionsBusy],
] as const

type Pair = typeof problems[number] | typeof special[number]

/** Every domain error whose problem is one of `P`. */
export type DomainErrorOf<P, Each extends Pair = Pair> = Each extends unknown
  ? InstanceType<Each[1]> extends P ? InstanceType<Each[0]> : never
  : never

/**
 * Returns the problem of a domain error, and any other error unchanged. For `TooManyAttempts` and
 * `SuggestionsBusy`, sets the `Retry-After` of the response to `request`.
 */
export const problemOf = (error: unknown, request?: HttpServerRequest.HttpServerRequest): unknown => {
  if (error instanceof Errors.VariantChanged) {
    return new Problems.VersionConflict({ detail: error.message, current: error.current })
  }
  if (error instanceof Errors.InvalidInput) return invalid(error.faults)
  if (error instanceof NotRendered) return notRendered(error)
  if (error instanceof AccountErrors.WrongPassword) {
    return invalid([{ pointer: "/current_password", detail: "is not the password of this account" }])
  }
  if (error instanceof AccountErrors.WrongCode) {
    return invalid([{ pointer: "/code", detail: "is wrong or has been used" }])
  }
  if (error instanceof AccountErrors.TooManyAttempts || error instanceof SuggestionErrors.SuggestionsBusy) {
    const Problem = error instanceof AccountErrors.TooManyAttempts ? Problems.TooManyAttempts : Problems.SuggestionsBusy
    const problem = new Problem({ detail: error.message })
    return request === undefined ? problem : retryLater(request, error.retryAfterSeconds, problem)
  }
  for (const [Domain, Problem] of problems) {
    if (error instanceof Domain) return new Problem({ detail: error.message })
  }
  return error
}

type ProblemOf<E, Each extends Pair = Pair> = E extends InstanceType<Pair[0]>
  ? Each extends unknown ? E extends InstanceType<Each[0]> ? InstanceType<Each[1]> : never : never
  : E

/** Returns the problem of a domain error, and any other error unchanged. */
export const toProblem = <E>(error: E): ProblemOf<E> => problemOf(error) as ProblemOf<E>
