import { Schema } from "effect"
import { isStorable } from "./Attributes.ts"
import { described } from "./described.ts"
import { CopyId } from "./Ids.ts"

/** Plain text of up to `most` characters on any number of lines. It may be blank only if `isBlankAllowed`. */
const written = (most: number, isBlankAllowed: boolean) =>
  Schema.String.check(
    Schema.makeFilter<string>((value) =>
      !isStorable(value)
        ? "must be well-formed Unicode without NUL"
        : !isBlankAllowed && value.trim() === ""
        ? "must not be blank"
        : undefined
    ),
    Schema.isMaxLength(most),
  )

/** The text of a comment. */
const CommentText = described(
  written(5_000, false),
  "Plain text of up to 5,000 characters. `@` with the name or e-mail address of a member mentions the member",
)

/** A remark of an author or a reviewer. It may be empty. */
export const ReviewNote = described(written(2_000, true), "Plain text of up to 2,000 characters")

/** A new comment. */
export const CommentInput = Schema.Struct({
  text: CommentText,
  variant_id: Schema.optionalKey(Schema.NullOr(CopyId)).annotate({
    description: "The variant that the comment is about. Default: null, the template",
  }),
}).annotate({ identifier: "CommentInput" })
export type CommentInput = typeof CommentInput.Type

/** A change of a comment: its text, by its author, or whether it is resolved. */
export const CommentPatch = Schema.Struct({
  text: Schema.optionalKey(CommentText),
  resolved: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "CommentPatch" })
export type CommentPatch = typeof CommentPatch.Type

/** A comment on a template. Times are ISO 8601 in UTC. Members who left the organization are named `former member`. */
export const Comment = Schema.Struct({
  id: Schema.Int,
  template_id: Schema.String,
  variant_id: Schema.NullOr(Schema.String),
  author: Schema.String.annotate({ description: "The name of the member, `former member`, or the API key" }),
  author_id: Schema.NullOr(Schema.String).annotate({
    description: "Account id; null for API keys and the admin token",
  }),
  text: Schema.String.annotate({ description: "Plain text, mentions as `@` and the present name" }),
  mentions: Schema.Array(Schema.Struct({ account_id: Schema.String, name: Schema.String })),
  created_at: Schema.String,
  edited_at: Schema.NullOr(Schema.String),
  resolved_at: Schema.NullOr(Schema.String),
  resolved_by: Schema.NullOr(Schema.String),
}).annotate({ identifier: "Comment" })
export type Comment = typeof Comment.Type
