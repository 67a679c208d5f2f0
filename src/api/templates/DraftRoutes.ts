import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type Actor, nameOf } from "../../accounts/Actor.ts"
import { difference } from "../../domain/Difference.ts"
import { DraftNotFound, InvalidInput, VersionNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { Variant } from "../../domain/Template.ts"
import { draftChanges, type DraftHead, Drafts, isStoredTime } from "../../templates/Drafts.ts"
import { fieldsOfVariant } from "../../templates/TemplateFields.ts"
import { Templates } from "../../templates/Templates.ts"
import { ofVariant, read } from "../../templates/VariantForm.ts"
import { restoredBy, VariantVersions } from "../../templates/VariantVersions.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import type { DraftBody } from "./DraftsApi.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Returns the version that a change is made from. Undefined if the change applies to any version. */
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

const nothing = { name: "", vars: {}, locales: {} } as const

/**
 * Returns the form of a draft to store. Fails with `InvalidInput` unless the body has exactly one of `form` and
 * `change`, and valid times.
 */
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

/** Returns the place of the draft that a request names. Default author: the caller. */
const placeOf = (
  { template }: { readonly template: string },
  { author, variant }: { readonly author?: string | undefined; readonly variant: string | undefined },
  actor: Actor,
) => ({ template, variant, author: author ?? nameOf(actor) })

/** Serves `DraftsGroup`. */
export const layer = managed(
  "drafts",
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const templates = yield* Templates
    const versions = yield* VariantVersions

    const liveOf = (org: OrgSlug, template: string, variant: string | undefined) =>
      variant === undefined
        ? Effect.as(templates.outline(org, template), undefined)
        : templates.getVariant(org, template, variant)

    const versionOf = (org: OrgSlug, template: string, variant: string, version: string) =>
      /^\d{1,15}$/.test(version)
        ? versions.get(org, template, variant, Number(version))
        : new VersionNotFound({ id: version.slice(0, 100) })

    return {
      listDrafts: Effect.fnUntraced(function* ({ org, params }) {
        const { id } = yield* templates.outline(org, params.template)
        return { drafts: (yield* drafts.list(org, id)).map(wireOf) }
      }),
      getDraft: Effect.fnUntraced(function* ({ actor, org, params, query }) {
        const place = placeOf(params, query, actor)
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
      }),
      putDraft: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, params, query, slug }) {
          const place = placeOf(params, yield* query, actor)
          const live = yield* liveOf(slug, place.template, place.variant)
          const given = yield* body
          const form = yield* formOf(given, live)
          const base = live === undefined ? undefined : given.base ?? live.updated_at
          return wireOf(yield* drafts.put(slug, place, { form, base, replaces: given.replaces }))
        }),
      },
      discardDraft: Effect.fnUntraced(function* ({ actor, org, params, query }) {
        yield* templates.outline(org, params.template)
        yield* drafts.discard(org, placeOf(params, query, actor))
      }),
      publishDraft: ({ actor, org, params, query }) =>
        drafts.publish(org, placeOf(params, query, actor)).pipe(orProposed(asIs)),
      listVersions: Effect.fnUntraced(function* ({ org, params, query: { cursor, limit } }) {
        const { id } = yield* templates.getVariant(org, params.template, params.variant)
        const found = (limit: number) => versions.list(org, params.template, id, { before: cursor, limit })
        const { next, page } = yield* pageOf(limit, found)
        return { versions: page, next }
      }),
      getVersion: Effect.fnUntraced(function* ({ org, params }) {
        const live = yield* templates.getVariant(org, params.template, params.variant)
        const version = yield* versionOf(org, params.template, live.id, params.version)
        const after = { ...live, ...restoredBy(version) }
        return { ...version, changes: difference(fieldsOfVariant(live), fieldsOfVariant(after)) }
      }),
      restoreVersion: ({ org, params: { template, variant, version }, request }) =>
        Effect.gen(function* () {
          const live = yield* templates.getVariant(org, template, variant)
          const restored = restoredBy(yield* versionOf(org, template, live.id, version))
          return yield* templates.updateVariant(org, template, live.id, restored, baseOf(request))
        }).pipe(orProposed(asIs)),
    }
  }),
  "by the services",
)
