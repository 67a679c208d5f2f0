import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { VariantInput, VariantPatch, VariantSwitch } from "../../domain/Template.ts"
import { Previews } from "../../decide/Previews.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import { PreviewBody } from "./VariantsApi.ts"
import { decoder } from "../../domain/Faults.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"
import { attrsOf, both } from "../generate/GenerateWire.ts"
import { baseOf } from "./DraftRoutes.ts"
import { body, lookedUp, slugOf, toProblems } from "../server/Requests.ts"

const variantInput = decoder(VariantInput)
const variantPatch = decoder(VariantPatch)
const variantSwitch = decoder(VariantSwitch)
const decodePreview = decoder(PreviewBody)
const previewBody = (input: unknown) =>
  both(decodePreview(input), attrsOf(input, "/attrs"), (ask, attrs) => ({ ...ask, attrs }))

export const layer = HttpApiBuilder.group(
  ServedApi,
  "variants",
  Effect.fnUntraced(function* (handlers) {
    const templates = yield* Templates
    const previews = yield* Previews
    return handlers
      .handleRaw(
        "createVariant",
        ({ params, request }) =>
          Effect.flatMap(
            body(request, variantInput),
            (input) => templates.createVariant(slugOf(params), lookedUp(params.template), input),
          ).pipe(orProposed(asIs), toProblems),
      )
      .handle(
        "getVariant",
        ({ params }) =>
          templates.getVariant(slugOf(params), lookedUp(params.template), lookedUp(params.variant)).pipe(toProblems),
      )
      .handleRaw(
        "updateVariant",
        ({ params, request }) =>
          Effect.flatMap(
            body(request, variantPatch),
            (patch) =>
              templates.updateVariant(
                slugOf(params),
                lookedUp(params.template),
                lookedUp(params.variant),
                patch,
                baseOf(request),
              ),
          ).pipe(orProposed(asIs), toProblems),
      )
      .handle(
        "deleteVariant",
        ({ params }) =>
          templates.removeVariant(slugOf(params), lookedUp(params.template), lookedUp(params.variant)).pipe(
            orProposed(asIs),
            toProblems,
          ),
      )
      .handleRaw(
        "switchVariants",
        ({ params, request }) =>
          Effect.flatMap(
            body(request, variantSwitch),
            (input) => templates.switchVariants(slugOf(params), lookedUp(params.template), input),
          ).pipe(orProposed(asIs), toProblems),
      )
      .handleRaw(
        "preview",
        ({ params, request }) =>
          Effect.flatMap(
            body(request, previewBody, ["fields"]),
            (ask) =>
              previews.preview(slugOf(params), lookedUp(params.template), {
                vars: ask.vars,
                formats: ask.formats,
                copyId: ask.copy_id,
                fields: ask.fields ?? {},
                attrs: ask.attrs,
                userId: ask.user_id,
              }),
          ).pipe(toProblems),
      )
  }),
)
