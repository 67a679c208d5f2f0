import { Effect } from "effect"
import { MemberNames, type NamedMember } from "../../../accounts/MemberNames.ts"
import { idIn } from "../../../api/reviews/ReviewsRoutes.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { CommentInput, CommentPatch } from "../../../domain/Comment.ts"
import { CommentNotFound, type Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { type CommentFilter, Comments, type ReadComment } from "../../../team/Comments.ts"
import { handlesById } from "../../../team/Mentions.ts"
import type { TemplateOutline } from "../../../templates/TemplateContent.ts"
import { Templates } from "../../../templates/Templates.ts"
import { assets } from "../../Assets.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { MoreRows } from "../../components/MoreRows.tsx"
import { askFirst } from "../../components/AskFirst.tsx"
import { Empty } from "../../components/Empty.tsx"
import { SelectField } from "../../components/Field.tsx"
import { Form, PostButton, Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { Pills } from "../../components/Pills.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { lines, readForm } from "../../FormReaders.ts"
import { decoded, type Fields, type Visit } from "../../Routes.tsx"
import { templatePath, variantPath } from "../templates/Paths.ts"

const decodeInput = decoder(CommentInput)
const decodePatch = decoder(CommentPatch)

const pageSize = 14

const labels = { text: english("Comment"), variant_id: english("About") }

const template = ({ org, params }: Visit) =>
  Templates.use((templates) => templates.outline(org.slug, params["template"] ?? ""))

const here = (visit: Visit) => `${templatePath(visit.org.slug, visit.params["template"] ?? "")}/comments`

const filters: { readonly [which in CommentFilter]: string } = {
  open: english("Unresolved"),
  resolved: english("Resolved"),
  all: english("All"),
}

const isFilter = (text: string | null): text is CommentFilter => text !== null && Object.hasOwn(filters, text)

const commentReaders = { text: lines, variant_id: (sent = "") => sent === "" ? undefined : sent }

interface Mentions {
  readonly members: ReadonlyArray<NamedMember>
  readonly handles: ReadonlyMap<string, string>
}

/** The members to mention, for the script. */
const MentionList = ({ handles, members }: Mentions) => (
  <>
    <ul class="mention-list" id="mention-list" role="listbox" aria-label={t`Members`} hidden>
      {members.map((member, at) => (
        <li role="option" id={`mention-${at}`} data-handle={handles.get(member.id)} aria-selected="false" hidden>
          <bdi>{member.name}</bdi> <span class="muted small">{member.email}</span>
        </li>
      ))}
    </ul>
    <p class="visually-hidden" role="status" id="mention-status"></p>
  </>
)

const Mentionable = ({ handles, members }: Mentions) => (
  <details class="small">
    <summary>{t`Members you can mention`}</summary>
    <ul class="plain-list">
      {members.map((member) => (
        <li>
          <bdi>@{handles.get(member.id)}</bdi>
        </li>
      ))}
    </ul>
  </details>
)

const CommentFields = ({ faults, members, of, text, variant }: {
  readonly faults: ReadonlyArray<Fault>
  readonly members: ReadonlyArray<NamedMember>
  /** Absent where a comment is edited. */
  readonly of?: TemplateOutline
  readonly text: string
  readonly variant: string
}) => {
  const handles = handlesById(members)
  return (
    <>
      {of !== undefined && of.variants.length !== 0 && (
        <SelectField
          name="variant_id"
          label={translated(labels.variant_id)}
          value={variant}
          faults={faults}
          options={[
            ["", t`The template`],
            ...of.variants.slice(0, 200).map(({ id, name }) => [id as string, t`Variant ${name}`] as const),
          ]}
        />
      )}
      <div data-mentions>
        <TextAreaField
          name="text"
          label={translated(labels.text)}
          rows={4}
          value={text}
          faults={faults}
          hint={t`Plain text. @ and the name of a member mentions the member.`}
        />
        <MentionList members={members} handles={handles} />
      </div>
      <Mentionable members={members} handles={handles} />
    </>
  )
}

const Text = ({ parts }: { readonly parts: ReadComment["parts"] }) => (
  <p class="prose" dir="auto">
    {parts.map(({ mentioned, text }) => mentioned === undefined ? text : <b class="mention">{text}</b>)}
  </p>
)

const CommentItem = ({ comment, of, visit }: {
  readonly comment: ReadComment
  readonly of: TemplateOutline
  readonly visit: Visit
}) => {
  const { can, org, role, session } = visit
  const isOwn = comment.author_id === session.account.id
  const one = `${here(visit)}/${comment.id}`
  const variant = of.variants.find(({ id }) => id === comment.variant_id)
  const isOpen = comment.resolved_at === null
  return (
    <li id={`comment-${comment.id}`}>
      <div class="change-head">
        <p>
          <b>
            <bdi>{comment.author}</bdi>
          </b>
          {comment.variant_id !== null && (
            <span class="subject">
              {t`on ${
                variant === undefined
                  ? <bdi>{t`${comment.variant_id} (deleted)`}</bdi>
                  : (
                    <a href={variantPath(org.slug, of.id, variant.id)}>
                      <bdi>{variant.name}</bdi>
                    </a>
                  )
              }`}
            </span>
          )} {!isOpen && <Badge kind="good">{t`resolved by ${comment.resolved_by}`}</Badge>}
        </p>
        <p class="small muted">
          <Time at={comment.created_at} zone={org.time_zone} />
          {comment.edited_at !== null && ` · ${t`edited`}`}
        </p>
      </div>
      <Text parts={comment.parts} />
      <div class="buttons">
        {can("updateComment") && (
          <PostButton
            to={`${one}/${isOpen ? "resolve" : "reopen"}`}
            kind="compact"
            label={isOpen ? t`Resolve the comment of ${comment.author}` : t`Reopen the comment of ${comment.author}`}
          >
            {isOpen ? t`Resolve` : t`Reopen`}
          </PostButton>
        )}
        {isOwn && (
          <a class="button compact" href={one} aria-label={t`Edit the comment of ${comment.author}`}>{t`Edit`}</a>
        )}
        {(isOwn || role === "admin") && (
          <a
            class="button compact danger"
            href={`${one}/delete`}
            aria-label={t`Delete the comment of ${comment.author}`}
          >
            {t`Delete`}
          </a>
        )}
      </div>
    </li>
  )
}

const mentionable = (members: ReadonlyMap<string, NamedMember>, visit: Visit) =>
  [...members.values()].filter(({ id, isMember }) => isMember && id !== visit.session.account.id).slice(0, 500)

const list = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { can, org, query } = visit
  const of = yield* template(visit)
  const shownAt = idIn(query.get("at") ?? "")
  const stateParameter = query.get("state")
  const which = isFilter(stateParameter) ? stateParameter : shownAt === undefined ? "open" : "all"
  const cursor = shownAt === undefined ? idIn(query.get("cursor") ?? "") : shownAt + 1
  const comments = yield* Comments
  const { next, page } = yield* pageOf(pageSize, (limit) => comments.list(org.slug, of.id, { which, cursor, limit }))
  const members = mentionable(yield* (yield* MemberNames).of(org.slug), visit)
  const addressOf = (state: CommentFilter) => state === "open" ? here(visit) : `${here(visit)}?state=${state}`
  return view(
    {
      title: t`${of.name} · Comments`,
      back: { href: templatePath(org.slug, of.id), label: of.name },
      lead: t`What members say about the template and its variants. Recipients never see it.`,
    },
    <ErrorSummary faults={faults} labels={labels} />,
    can("createComment") && (
      <Card title={t`New comment`}>
        <Form submit={t`Add comment`} action={here(visit)}>
          <CommentFields
            faults={faults}
            members={members}
            of={of}
            text={fields["text"] ?? ""}
            variant={fields["variant_id"] ?? query.get("variant") ?? ""}
          />
        </Form>
      </Card>
    ),
    <Pills
      label={t`Which comments`}
      links={(Object.keys(filters) as ReadonlyArray<CommentFilter>).map((one) => ({
        href: addressOf(one),
        label: translated(filters[one]),
        isCurrent: one === which,
      }))}
    />,
    <Card kind="flush">
      {page.length === 0
        ? <Empty title={which === "open" ? t`No open comments` : t`No comments`}>{t`Comments are listed here.`}</Empty>
        : (
          <>
            <ol class="change-list comments" aria-label={t`Comments, newest first`}>
              {page.map((comment) => <CommentItem comment={comment} of={of} visit={visit} />)}
            </ol>
            <MoreRows first={6} rows={page.length} label={t`Show all ${page.length} comments`} />
          </>
        )}
      <Pagination
        label={t`Pages of comments`}
        at={addressOf(which)}
        cursor={cursor}
        next={next}
      />
    </Card>,
    <script type="module" src={assets.comments}></script>,
  )
})

const comment = Effect.fnUntraced(function* ({ org, params }: Visit) {
  const id = idIn(params["comment"] ?? "")
  return id === undefined
    ? yield* new CommentNotFound({ id: (params["comment"] ?? "").slice(0, 100) })
    : yield* (yield* Comments).get(org.slug, params["template"] ?? "", id)
})

const edit = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const of = yield* template(visit)
  const { id, text } = yield* comment(visit)
  const members = mentionable(yield* (yield* MemberNames).of(visit.org.slug), visit)
  return view(
    { title: t`Edit a comment`, back: { href: here(visit), label: t`${of.name} · Comments` } },
    <ErrorSummary faults={faults} labels={labels} />,
    <Card>
      <Form action={`${here(visit)}/${id}`}>
        <CommentFields faults={faults} members={members} text={fields["text"] ?? text} variant="" />
        <div class="buttons">
          <Submit>{t`Save comment`}</Submit>
          <a class="button" href={here(visit)}>{t`Go back`}</a>
        </div>
      </Form>
    </Card>,
    <script type="module" src={assets.comments}></script>,
  )
})

const confirmDelete = Effect.fnUntraced(function* (visit: Visit) {
  const of = yield* template(visit)
  const { author, parts } = yield* comment(visit)
  return askFirst({
    title: t`Delete a comment`,
    question: t`Delete the comment of ${author}?`,
    back: { href: here(visit), label: t`${of.name} · Comments` },
    button: t`Delete the comment`,
    text: (
      <>
        <Text parts={parts} />
        <p class="muted">{t`It cannot be restored. To put it aside, resolve it instead.`}</p>
      </>
    ),
  })
})

const add = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const input = yield* decoded(decodeInput(readForm(commentReaders, fields)))
  yield* (yield* Comments).add(visit.org.slug, visit.params["template"] ?? "", input, visit.actor)
  return { to: here(visit), done: "comment-added" }
})

/** `reverse`: the action of a comment that undoes the change. */
const change = (done: string, patchOf: (fields: Fields) => object, reverse?: string) =>
  Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    yield* template(visit)
    const { id, template_id } = yield* comment(visit)
    const patch = yield* decoded(decodePatch(patchOf(fields)))
    yield* (yield* Comments).change(visit.org.slug, template_id, id, patch, visit.actor)
    return {
      to: here(visit),
      done,
      undo: reverse === undefined ? undefined : { to: `${here(visit)}/${id}/${reverse}` },
    }
  })

/** Comments on a template. */
export const layer = pages(({ action, asks, form, page }) => {
  const all = "/console/o/:org/templates/:template/comments" as const
  const one = `${all}/:comment` as const
  return [
    page(all, "listComments", list),
    action(all, "createComment", add, list),
    ...form(one, "updateComment", edit, change("comment-changed", ({ text }) => ({ text: lines(text) }))),
    action(`${one}/resolve`, "updateComment", change("comment-resolved", () => ({ resolved: true }), "reopen")),
    action(`${one}/reopen`, "updateComment", change("comment-opened", () => ({ resolved: false }), "resolve")),
    ...asks(
      `${one}/delete`,
      "deleteComment",
      confirmDelete,
      Effect.fnUntraced(function* (visit) {
        const { id, template_id } = yield* comment(visit)
        yield* (yield* Comments).remove(visit.org.slug, template_id, id, visit.actor)
        return { to: here(visit), done: "comment-deleted" }
      }),
    ),
  ]
})
