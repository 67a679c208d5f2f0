import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor, nameOf } from "../../accounts/Actor.ts"
import { difference } from "../../domain/Difference.ts"
import { DraftNotFound, InvalidInput, VersionNotFound } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { Variant } from "../../domain/Template.ts"
import { draftChanges, type DraftHead, Drafts, isStoredTime } from "../../templates/Drafts.ts"
import { fieldsOfVariant } from "../../templates/TemplateFields.ts"
import { Templates } from "../../templates/Templates.ts"
import { ofVariant, read } from "../../templates/VariantForm.ts"
import { restoredBy, VariantVersions } from "../../templates/VariantVersions.ts"
import { ServedApi } from "../Api.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, lookedUp, slugOf, toProblems } from "../server/Requests.ts"
import { DraftBody } from "./DraftsApi.ts"

const decodeBody = decoder(DraftBody)

type Request = HttpServerRequest.HttpServerRequest

/** The version that a change is made from; undefined for any. */
export const baseOf = (request: Request): string | undefined => {
  const text = request.headers["if-match"]?.trim().replace(/^W\//, "").replace(/^"(.*)"$/, "$1")
  return text === undefined || text === "*" ? undefined : text
}

const wireOf = ({ author, base, savedAt, variant }: DraftHead) => ({
  variant: variant ?? null,
  author,
  base: base ?? null,
  saved_at: savedAt,
})

const nothing = { name: "", vars: {} } as const

/** The form of a draft to store. Fails with `InvalidInput` where the body has not exactly one of `form` and `change`. */
const formOf = (given: DraftBody, live: Variant | undefined) => {
  const { change, form } = given
  const fault = (pointer: string, detail: string) => new InvalidInput({ faults: [{ pointer, detail }] })
  if ((form === undefined) === (change === undefined)) {
    return Effect.fail(fault("", "must have exactly one of form and change"))
  }
  for (const member of ["base", "replaces"] as const) {
    const time = given[member]
    if (typeof time === "string" && !isStoredTime(time)) return Effect.fail(fault(`/${member}`, "must be a time"))
  }
  if (form !== undefined) return Effect.succeed(form)
  const { base: _, ...written } = ofVariant({
    id: "" as Variant["id"],
    active: false,
    formats: {},
    targeting: [],
    seasons: [],
    components: {},
    created_at: "",
    updated_at: "",
    ...nothing,
    ...live,
    ...change,
  })
  return Effect.succeed(written)
}

const draftParameters = (request: Request) =>
  Parameters.parameters(request, {
    variant: Parameters.text("must be the id of a variant"),
    author: Parameters.text("must be an author of a draft"),
  })

const variantParameter = (request: Request) =>
  Parameters.parameters(request, { variant: Parameters.text("must be the id of a variant") })

export const layer = HttpApiBuilder.group(
  ServedApi,
  "drafts",
  Effect.fnUntraced(function* (handlers) {
    const drafts = yield* Drafts
    const templates = yield* Templates
    const versions = yield* VariantVersions

    const liveOf = (org: OrgSlug, template: string, variant: string | undefined) =>
      variant === undefined
        ? Effect.as(templates.get(org, template), undefined)
        : templates.getVariant(org, template, variant)

    /** The place of a draft that a request names. */
    const placeOf = Effect.fnUntraced(function* (template: string, request: Request) {
      const { author, variant } = yield* draftParameters(request)
      return { template: lookedUp(template), variant, author: author ?? nameOf(yield* CurrentActor) }
    })

    const ownPlace = Effect.fnUntraced(function* (template: string, request: Request) {
      const { variant } = yield* variantParameter(request)
      return { template: lookedUp(template), variant, author: nameOf(yield* CurrentActor) }
    })

    const versionOf = (org: OrgSlug, template: string, variant: string, version: string) =>
      /^\d{1,15}$/.test(version)
        ? versions.get(org, template, variant, Number(version))
        : new VersionNotFound({ id: version.slice(0, 100) })

    return handlers
      .handle("listDrafts", ({ params }) =>
        Effect.gen(function* () {
          const { id } = yield* templates.get(slugOf(params), lookedUp(params.template))
          return { drafts: (yield* drafts.list(slugOf(params), id)).map(wireOf) }
        }).pipe(toProblems))
      .handleRaw("getDraft", ({ params, request }) =>
        Effect.gen(function* () {
          const org = slugOf(params)
          const place = yield* placeOf(params.template, request)
          const live = yield* liveOf(org, place.template, place.variant)
          const draft = yield* drafts.find(org, place)
          if (draft === undefined) return yield* new DraftNotFound()
          const content = read({ ...draft.form, base: "" })
          return {
            ...wireOf(draft),
            form: draft.form,
            changes: draftChanges(draft.form, live),
            faults: Result.isFailure(content) ? content.failure : [],
            conflict: live !== undefined && live.updated_at !== draft.base,
          }
        }).pipe(toProblems))
      .handleRaw("putDraft", ({ params, request }) =>
        Effect.gen(function* () {
          const org = slugOf(params)
          const place = yield* ownPlace(params.template, request)
          const live = yield* liveOf(org, place.template, place.variant)
          const given = yield* body(request, decodeBody)
          const form = yield* formOf(given, live)
          const base = live === undefined ? undefined : given.base ?? live.updated_at
          return wireOf(yield* drafts.put(org, place, { form, base, replaces: given.replaces }))
        }).pipe(toProblems))
      .handleRaw("discardDraft", ({ params, request }) =>
        Effect.gen(function* () {
          const place = yield* ownPlace(params.template, request)
          yield* templates.get(slugOf(params), place.template)
          yield* drafts.discard(slugOf(params), place)
        }).pipe(toProblems))
      .handleRaw(
        "publishDraft",
        ({ params, request }) =>
          Effect.flatMap(placeOf(params.template, request), (place) => drafts.publish(slugOf(params), place)).pipe(
            orProposed(asIs),
            toProblems,
          ),
      )
      .handleRaw("listVersions", ({ params, request }) =>
        Effect.gen(function* () {
          const { before, limit } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(200, 50),
            before: Parameters.numericCursor(),
          })
          const org = slugOf(params)
          const { id } = yield* templates.getVariant(org, lookedUp(params.template), lookedUp(params.variant))
          const found = yield* versions.list(org, lookedUp(params.template), id, { before, limit })
          return { versions: found, next: found.length < limit ? null : found.at(-1)!.id }
        }).pipe(toProblems))
      .handle("getVersion", ({ params }) =>
        Effect.gen(function* () {
          const org = slugOf(params)
          const live = yield* templates.getVariant(org, lookedUp(params.template), lookedUp(params.variant))
          const version = yield* versionOf(org, lookedUp(params.template), live.id, params.version)
          const after = { ...live, ...restoredBy(version) }
          return { ...version, changes: difference(fieldsOfVariant(live), fieldsOfVariant(after)) }
        }).pipe(toProblems))
      .handleRaw("restoreVersion", ({ params, request }) =>
        Effect.gen(function* () {
          const org = slugOf(params)
          const live = yield* templates.getVariant(org, lookedUp(params.template), lookedUp(params.variant))
          const version = yield* versionOf(org, lookedUp(params.template), live.id, params.version)
          return yield* templates.updateVariant(
            org,
            lookedUp(params.template),
            live.id,
            restoredBy(version),
            baseOf(request),
          )
        }).pipe(orProposed(asIs), toProblems))
  }),
)
