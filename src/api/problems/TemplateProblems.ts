import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { Variant } from "../../domain/Template.ts"
import { declare } from "./ProblemPage.ts"

// Problems of templates and their variants, drafts, comments, proposals and shared results.

/** 404: the organization has no such template. */
export class TemplateNotFound extends HttpApiError.Problem<TemplateNotFound>()(
  "TemplateNotFound",
  declare(
    "template-not-found",
    404,
    "There is no such template",
    "Check `template_id`; the templates of an organization are listed by `parlance template list`.",
  ),
) {}

/** 404: the template is archived and not served. */
export class TemplateArchived extends HttpApiError.Problem<TemplateArchived>()(
  "TemplateArchived",
  declare(
    "template-archived",
    404,
    "The template is archived",
    "An archived template keeps its content and results, but is not served. To serve it again, restore it on its page in " +
      "the console or with `parlance template restore`.",
  ),
) {}

/** 404: the template has no such variant. */
export class VariantNotFound extends HttpApiError.Problem<VariantNotFound>()(
  "VariantNotFound",
  declare("variant-not-found", 404, "There is no such variant", "Check the id of the variant and its template."),
) {}

/** 404: the organization has no such proposed change. */
export class ProposalNotFound extends HttpApiError.Problem<ProposalNotFound>()(
  "ProposalNotFound",
  declare(
    "proposal-not-found",
    404,
    "There is no such proposed change",
    "The list of proposed changes has their ids: `parlance review list`.",
  ),
) {}

/** 409: the proposed change is closed, it has changed since it was read, or the live template has changed. */
export class ProposalConflict extends HttpApiError.Problem<ProposalConflict>()(
  "ProposalConflict",
  declare(
    "proposal-conflict",
    409,
    "The proposed change cannot be approved or changed like this",
    "Read the proposed change again. `version` is the version that you read. If `is_outdated` is true, the live template has " +
      "changed since: `live_changes` shows how. Its author can bring it up to date with `update`, after which it can be " +
      "approved. Closed changes stay as they are: make the change again.",
  ),
) {}

/** 404: the template has no such comment. */
export class CommentNotFound extends HttpApiError.Problem<CommentNotFound>()(
  "CommentNotFound",
  declare(
    "comment-not-found",
    404,
    "There is no such comment",
    "It may have been deleted. `parlance comment list` lists the comments of a template.",
  ),
) {}

/** 404: the template has no such link to its results. */
export class ShareNotFound extends HttpApiError.Problem<ShareNotFound>()(
  "ShareNotFound",
  declare(
    "share-not-found",
    404,
    "There is no such link to results",
    "It has expired or was revoked. `parlance share list` lists the links of a template that work.",
  ),
) {}

/** 404: the member does not get this report. */
export class ReportNotFound extends HttpApiError.Problem<ReportNotFound>()(
  "ReportNotFound",
  declare(
    "report-not-found",
    404,
    "There is no such report",
    "The member is not subscribed to it, or the channel is none of mail, slack and teams. `parlance report list` lists the " +
      "reports of a member.",
  ),
) {}

/** 404: there is no saved view by that id. */
export class ViewNotFound extends HttpApiError.Problem<ViewNotFound>()(
  "ViewNotFound",
  declare(
    "view-not-found",
    404,
    "There is no such saved view",
    "The view was deleted, is of another list, or belongs to another member. `parlance view list` lists the views that a member sees.",
  ),
) {}

/** 409: the variant or the draft has changed since the version that the request was made from. */
export class VersionConflict extends HttpApiError.Problem<VersionConflict>()(
  "VersionConflict",
  declare(
    "version-conflict",
    409,
    "It has changed since",
    "Somebody saved it after the version that the request was made from. Read it again, decide what to keep, and repeat " +
      "the request with the new version. `current` is the variant as it is now. The request changed nothing.",
  ),
  { current: Schema.optionalKey(Variant) },
) {}

/** 404: the author has no such draft. */
export class DraftNotFound extends HttpApiError.Problem<DraftNotFound>()(
  "DraftNotFound",
  declare(
    "draft-not-found",
    404,
    "There is no such draft",
    "`parlance draft list` lists the drafts of a template. Each author has a draft of their own.",
  ),
) {}

/** 404: the variant has no such version. */
export class VersionNotFound extends HttpApiError.Problem<VersionNotFound>()(
  "VersionNotFound",
  declare(
    "version-not-found",
    404,
    "There is no such version",
    "`parlance variant versions` lists the versions of a variant. The latest 200 are kept.",
  ),
) {}

/** 404: the template has no such suggestion that waits for a decision. */
export class SuggestionNotFound extends HttpApiError.Problem<SuggestionNotFound>()(
  "SuggestionNotFound",
  declare(
    "suggestion-not-found",
    404,
    "There is no such suggestion",
    "It was kept or discarded, or 20 newer ones have replaced it. `parlance template suggestions list` lists the open ones.",
  ),
) {}

/** 429: the organization asks a model already, or has reached its daily limit. */
export class SuggestionsBusy extends HttpApiError.Problem<SuggestionsBusy>()(
  "SuggestionsBusy",
  declare(
    "suggestions-busy",
    429,
    "The model cannot be asked now",
    "An organization asks its model one question at a time, and SUGGESTIONS_DAILY_LIMIT times a day. Retry after the number " +
      "of seconds in Retry-After.",
  ),
) {}

/** 502: the model returned no usable answer. */
export class SuggestionsFailed extends HttpApiError.Problem<SuggestionsFailed>()(
  "SuggestionsFailed",
  declare(
    "suggestions-failed",
    502,
    "The model gave no usable answer",
    "`detail` has the reason and the beginning of the answer. Nothing was stored. The settings of the model are in the console " +
      "under Settings, Suggestions.",
  ),
) {}

/** 404: the organization has no such snippet. */
export class SnippetNotFound extends HttpApiError.Problem<SnippetNotFound>()(
  "SnippetNotFound",
  declare(
    "snippet-not-found",
    404,
    "There is no such snippet",
    "`parlance snippet list` lists the snippets of an organization.",
  ),
) {}

/** 404: the organization has no such image. */
export class ImageNotFound extends HttpApiError.Problem<ImageNotFound>()(
  "ImageNotFound",
  declare(
    "image-not-found",
    404,
    "There is no such image",
    "`parlance image list` lists the images of an organization.",
  ),
) {}

/** 404: the organization has no such sample person. */
export class SamplePersonNotFound extends HttpApiError.Problem<SamplePersonNotFound>()(
  "SamplePersonNotFound",
  declare(
    "sample-person-not-found",
    404,
    "There is no such sample person",
    "`parlance sample-person list` lists the sample people of an organization.",
  ),
) {}

/**
 * The problem of an item of Batch generate whose `copy_id` forces another variant than the decision of its tracking id.
 */
export const trackingIdReused = declare(
  "tracking-id-reused",
  409,
  "The tracking id has a decision for another variant",
  "A tracking id names one decision, which a repeated request gets again. Use another tracking id for another message, or " +
    "leave out `copy_id` to get the decision again. `detail` names both variants. The request changed nothing.",
)

/** 409: the only item of a batch forces another variant than the decision of its tracking id. */
export class TrackingIdReused extends HttpApiError.Problem<TrackingIdReused>()("TrackingIdReused", trackingIdReused) {}
