import type { SqlClient } from "effect/sql"
import { type Actor, nameOf } from "../accounts/Actor.ts"
import { accountOf, type Author, authorOf } from "../accounts/Author.ts"
import { notify } from "../accounts/notifications/Notify.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { TemplateApproval } from "../domain/Organization.ts"

/** The subject of a review: a proposed change of a template by its id, or the change of a snippet. */
export type Reviewed = { readonly templateId: string; readonly id: number } | { readonly snippetId: string }

const dataOf = (org: OrgSlug, subject: Reviewed, by: Actor, note: string | null) => ({
  org,
  copy_id: null,
  by: nameOf(by),
  note,
  ...("snippetId" in subject
    ? { template_id: "", snippet_id: subject.snippetId, review_id: subject.snippetId }
    : { template_id: subject.templateId, review_id: String(subject.id) }),
})

/** Notifies the reviewers of an organization of changes that await approval, except `by`. Requires a transaction. */
export const notifyReviewers = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  approval: TemplateApproval,
  by: Actor,
  subjects: ReadonlyArray<Reviewed>,
  { note, now }: { readonly note: string | null; readonly now: Date },
) => {
  const account = accountOf(authorOf(by))
  return notify(
    sql,
    subjects.map((subject) => ({
      kind: "review.requested",
      to: { role: approval === "admin" ? "admin" : "editor" },
      except: account === undefined ? [] : [account],
      data: { ...dataOf(org, subject, by, note), requested_at: now.toISOString() },
    })),
  )
}

/** Notifies the author of a decision. Requires its transaction. */
export const notifyAuthor = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  author: Author,
  subject: Reviewed,
  { by, comment, now, state }: {
    readonly state: "approved" | "rejected"
    readonly comment: string
    readonly by: Actor
    readonly now: Date
  },
) => {
  const account = accountOf(author)
  const data = dataOf(org, subject, by, comment === "" ? null : comment)
  const to = { accounts: account === undefined ? [] : [account] }
  return notify(sql, [
    state === "approved"
      ? { kind: "review.approved", to, data: { ...data, approved_at: now.toISOString() } }
      : { kind: "review.rejected", to, data: { ...data, rejected_at: now.toISOString() } },
  ])
}
