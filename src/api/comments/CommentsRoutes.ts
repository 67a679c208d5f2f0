import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor } from "../../accounts/Actor.ts"
import { type Comment, CommentInput, CommentPatch } from "../../domain/Comment.ts"
import { CommentNotFound } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Comments, type ReadComment } from "../../team/Comments.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import { idIn } from "../reviews/ReviewsRoutes.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, lookedUp, toProblems } from "../server/Requests.ts"

const inputBody = decoder(CommentInput)
const patchBody = decoder(CommentPatch)

const wire = ({ parts: _, ...comment }: ReadComment): Comment => comment

export const layer = HttpApiBuilder.group(
  ServedApi,
  "comments",
  Effect.fnUntraced(function* (handlers) {
    const comments = yield* Comments
    const organizations = yield* Organizations
    const templates = yield* Templates

    const named = Effect.fnUntraced(
      function* (params: { readonly org: string; readonly template: string; readonly comment: string }) {
        const org = yield* existing(organizations, params)
        const id = idIn(params.comment)
        return id === undefined
          ? yield* new CommentNotFound({ id: params.comment.slice(0, 100) })
          : { org, id, template: lookedUp(params.template), actor: yield* CurrentActor }
      },
    )

    return handlers
      .handleRaw("listComments", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { before: cursor, limit, state: which, variant } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(200, 50),
            before: Parameters.numericCursor(),
            state: Parameters.oneOf(["open", "resolved", "all"]),
            variant: Parameters.text("must be the id of a variant"),
          })
          const found = yield* comments.list(org, lookedUp(params.template), { cursor, limit, variant, which })
          return { comments: found.map(wire), next: found.length < limit ? null : found.at(-1)!.id }
        }).pipe(toProblems))
      .handleRaw("createComment", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { id } = yield* templates.get(org, lookedUp(params.template))
          const input = yield* body(request, inputBody)
          return wire(yield* comments.add(org, id, input, yield* CurrentActor))
        }).pipe(toProblems))
      .handleRaw("updateComment", ({ params, request }) =>
        Effect.gen(function* () {
          const { actor, id, org, template } = yield* named(params)
          yield* comments.get(org, template, id)
          return wire(yield* comments.change(org, template, id, yield* body(request, patchBody), actor))
        }).pipe(toProblems))
      .handle("deleteComment", ({ params }) =>
        Effect.gen(function* () {
          const { actor, id, org, template } = yield* named(params)
          yield* comments.remove(org, template, id, actor)
        }).pipe(toProblems))
  }),
)
