import { Effect } from "effect"
import { Previews } from "../../decide/Previews.ts"
import { decoder } from "../../domain/Faults.ts"
import { Templates } from "../../templates/Templates.ts"
import { attrsOf, both } from "../generate/GenerateWire.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"
import { managed } from "../http/Managed.ts"
import { body } from "../http/Requests.ts"
import { baseOf } from "./DraftRoutes.ts"
import { PreviewBody } from "./VariantsApi.ts"

const decodePreview = decoder(PreviewBody)
const previewBody = (input: unknown) =>
  both(decodePreview(input), attrsOf(input, "/attrs"), (ask, attrs) => ({ ...ask, attrs }))

/** Serves `VariantsGroup`. */
export const layer = managed(
  "variants",
  Effect.gen(function* () {
    const templates = yield* Templates
    const previews = yield* Previews
    return {
      createVariant: ({ body, org, params }) =>
        templates.createVariant(org, params.template, body).pipe(orProposed(asIs)),
      getVariant: ({ org, params }) => templates.getVariant(org, params.template, params.variant),
      updateVariant: ({ body, org, params, request }) =>
        templates.updateVariant(org, params.template, params.variant, body, baseOf(request)).pipe(orProposed(asIs)),
      deleteVariant: ({ org, params }) =>
        templates.removeVariant(org, params.template, params.variant).pipe(orProposed(asIs)),
      switchVariants: ({ body, org, params }) =>
        templates.switchVariants(org, params.template, body).pipe(orProposed(asIs)),
      preview: {
        inSteps: Effect.fnUntraced(function* ({ params, request, slug }) {
          const { attrs, copy_id: copyId, fields = {}, formats, locale, locales, user_id: userId, vars } = yield* body(
            request,
            previewBody,
            ["fields"],
          )
          return yield* previews.preview(slug, params.template, {
            vars,
            formats,
            locales,
            locale,
            copyId,
            fields,
            attrs,
            userId,
          })
        }),
      },
    }
  }),
  "by the services",
)
