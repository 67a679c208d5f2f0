import { Effect } from "effect"
import type { Comment } from "../../domain/Comment.ts"
import { CommentNotFound } from "../../domain/Errors.ts"
import { Comments, type ReadComment } from "../../team/Comments.ts"
import { Templates } from "../../templates/Templates.ts"
import { idIn } from "../reviews/ReviewsRoutes.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"

const wire = ({ parts: _, ...comment }: ReadComment): Comment => comment

const commentId = ({ comment }: { readonly comment: string }) => {
  const id = idIn(comment)
  return id === undefined ? new CommentNotFound({ id: comment.slice(0, 100) }) : Effect.succeed(id)
}

/** Serves `CommentsGroup`. */
export const layer = managed(
  "comments",
  Effect.gen(function* () {
    const comments = yield* Comments
    const templates = yield* Templates
    return {
      listComments: Effect.fnUntraced(function* ({ org, params, query: { cursor, limit, state, variant } }) {
        const filter = { cursor, variant, which: state }
        const found = (limit: number) => comments.list(org, params.template, { ...filter, limit })
        const { next, page } = yield* pageOf(limit, found)
        return { comments: page.map(wire), next }
      }),
      createComment: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, org: found, params }) {
          const org = yield* found
          const { id } = yield* templates.outline(org, params.template)
          return wire(yield* comments.add(org, id, yield* body, actor))
        }),
      },
      updateComment: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, org: found, params }) {
          const org = yield* found
          const id = yield* commentId(params)
          yield* comments.get(org, params.template, id)
          return wire(yield* comments.change(org, params.template, id, yield* body, actor))
        }),
      },
      deleteComment: ({ actor, org, params }) =>
        Effect.flatMap(commentId(params), (id) => comments.remove(org, params.template, id, actor)),
    }
  }),
)
