import { nothing } from "../../domain/SendNothing.ts"
import { platforms, type SourceId, sourceTitle } from "../../domain/Source.ts"
import type { NotificationEvent } from "./Kinds.ts"

/** The words of a notification. */
export interface NotificationWords {
  readonly title: string
  readonly text: string
  /** Path of the page about it, below the organization's path. */
  readonly path: string
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`

const sourceName = (source: string): string =>
  Object.hasOwn(platforms, source) ? sourceTitle(source as SourceId) : source

/** Path of a template or of one of its variants. */
const templatePath = (template: string, copy: string | null = null): string =>
  `/templates/${encodeURIComponent(template)}${copy === null ? "" : `/variants/${encodeURIComponent(copy)}`}`

const reviewPath = (id: string, snippet: string | undefined): string =>
  `/reviews/${snippet === undefined ? "" : "-/snippets/"}${encodeURIComponent(id)}`

const reviewedName = (snippet: string | undefined, template: string): string =>
  snippet === undefined ? template : `the snippet ${snippet}`

const noteOf = (note: string | null, otherwise: string): string => note === null || note === "" ? otherwise : note

/** The names of templates and variants by their ids. */
interface NotificationNames {
  readonly template: (id: string) => string
  readonly variant: (template: string, id: string) => string
}

/** Returns the words of a notification. */
export const describe = (
  event: NotificationEvent,
  { template: templateName, variant: variantName }: NotificationNames,
): NotificationWords => {
  switch (event.kind) {
    case "winner.found": {
      const { compared, copy_id, template_id, verdict } = event.data
      return {
        title: copy_id === nothing
          ? `Sending nothing is best in ${templateName(template_id)}`
          : `${variantName(template_id, copy_id)} wins in ${templateName(template_id)}`,
        text: `${verdict === "firm_winner" ? "The verdict is firm. " : ""}${compared.length} variants were compared.`,
        path: `${templatePath(template_id)}/results`,
      }
    }
    case "variant.failing": {
      const { copy_id, failed, requests, template_id, variable } = event.data
      return {
        title: `${variantName(template_id, copy_id)} of ${templateName(template_id)} cannot be rendered`,
        text:
          `${failed} of ${requests} recent requests failed, the latest in "${variable}". Check the fields that your ` +
          "systems send, or correct the Liquid.",
        path: templatePath(template_id, copy_id),
      }
    }
    case "deliveries.failing": {
      const { ended, failed, threshold } = event.data
      return {
        title: `${failed} of ${ended} deliveries failed`,
        text: `The failure rate of this and the previous hour is ${percent(failed / Math.max(1, ended))}, and the ` +
          `threshold is ${percent(threshold)}. The list of deliveries shows the reasons.`,
        path: "/deliveries?state=failed",
      }
    }
    case "connection.broken":
    case "connection.refusing": {
      const { connection, reason } = event.data
      return {
        title: event.kind === "connection.broken"
          ? `${connection} does not take messages`
          : `${connection} refuses messages and is paused`,
        text: reason,
        path: `/connections/${encodeURIComponent(connection)}`,
      }
    }
    case "source.silent": {
      const { last_received_hour, source } = event.data
      return {
        title: `${sourceName(source)} has gone silent`,
        text:
          `Nothing was received after the hour that began at ${
            last_received_hour.slice(0, 16).replace("T", " ")
          } UTC. ` +
          "Check the webhook on the platform and its secret.",
        path: `/sources/${encodeURIComponent(source)}`,
      }
    }
    case "review.requested": {
      const { by, note, review_id, snippet_id, template_id } = event.data
      return {
        title: `${by} asks for a review of ${reviewedName(snippet_id, templateName(template_id))}`,
        text: noteOf(note, "Compare the change with the live version, then approve or reject it."),
        path: reviewPath(review_id, snippet_id),
      }
    }
    case "review.approved":
    case "review.rejected": {
      const { by, note, review_id, snippet_id, template_id } = event.data
      const isApproved = event.kind === "review.approved"
      return {
        title: `${by} ${isApproved ? "approved" : "rejected"} your change of ${
          reviewedName(snippet_id, templateName(template_id))
        }`,
        text: noteOf(note, isApproved ? "The change was approved." : "The change was rejected without a note."),
        path: snippet_id === undefined
          ? reviewPath(review_id, undefined)
          : `/snippets/${encodeURIComponent(snippet_id)}`,
      }
    }
    case "comment.mention":
    case "comment.added": {
      const { by, comment_id, template_id, text } = event.data
      return {
        title: `${by} ${event.kind === "comment.mention" ? "mentioned you" : "commented"} in ${
          templateName(template_id)
        }`,
        text,
        path: `${templatePath(template_id)}/comments?at=${encodeURIComponent(comment_id)}`,
      }
    }
  }
}
