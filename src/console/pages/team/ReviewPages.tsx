import { Effect } from "effect"
import { Learning } from "../../../learning/Learning.ts"
import { MemberNames } from "../../../accounts/MemberNames.ts"
import { idIn, proposalDetailOf, proposalOf } from "../../../api/reviews/ReviewsRoutes.ts"
import { pageOf } from "../../../api/http/Paging.ts"
import { ReviewNote } from "../../../domain/Comment.ts"
import { pointerParts } from "../../../domain/Difference.ts"
import { type Fault, InvalidInput, type ProposalConflict, ProposalNotFound } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import type { Proposal, ProposalDetail } from "../../../domain/Proposal.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { Proposals, reviewRefusal } from "../../../templates/Proposals.ts"
import type { ProposalState } from "../../../templates/ProposalRows.ts"
import { Snippets } from "../../../templates/Snippets.ts"
import { count } from "../../Format.ts"
import { Badge } from "../../components/Badge.tsx"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Form, PostButton, Submit } from "../../components/Form.tsx"
import { ErrorSummary, Note } from "../../components/Note.tsx"
import { Pagination } from "../../components/Pagination.tsx"
import { Pills } from "../../components/Pills.tsx"
import { Table } from "../../components/Table.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import { view } from "../../View.tsx"
import { decoded, type Fields, type Goto, type Visit } from "../../Routes.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { labelOf } from "../history/FieldWords.ts"
import { templatePath, variantPath } from "../templates/Paths.ts"

const decodeNote = decoder(ReviewNote)

const pageSize = 25

const at = ({ org }: Visit) => `/console/o/${org.slug}/reviews`

const stateWords: { readonly [state in ProposalState]: { readonly label: string; readonly list: string } } = {
  requested: { label: english("waits for approval"), list: english("Waiting") },
  approved: { label: english("approved"), list: english("Approved") },
  rejected: { label: english("rejected"), list: english("Rejected") },
  withdrawn: { label: english("withdrawn"), list: english("Withdrawn") },
}
const stateBadges = { requested: "accent", approved: "good", rejected: "bad", withdrawn: "plain" } as const

const kindWords = {
  created: english("new template"),
  changed: english("change"),
  deleted: english("deletion"),
} as const

const State = ({ state }: { readonly state: ProposalState }) => (
  <Badge kind={stateBadges[state]}>{translated(stateWords[state].label)}</Badge>
)

const isState = (text: string | null): text is ProposalState => text !== null && Object.hasOwn(stateWords, text)

const Row = ({ proposal, visit }: { readonly proposal: Proposal; readonly visit: Visit }) => (
  <span>
    <a href={`${at(visit)}/${proposal.id}`} dir="auto">{proposal.template_name}</a>
    <span class="sub mono">{proposal.template_id}</span>
  </span>
)

const list = Effect.fnUntraced(function* (visit: Visit) {
  const proposals = yield* Proposals
  const { org, query } = visit
  const stateParameter = query.get("state")
  const state = isState(stateParameter) ? stateParameter : "requested"
  const cursor = idIn(query.get("cursor") ?? "")
  const { next, page } = yield* pageOf(pageSize, (limit) => proposals.list(org.slug, { state, cursor, limit }))
  const members = yield* (yield* MemberNames).of(org.slug)
  const waiting = yield* proposals.countOpen(org.slug)
  const shown = page.map((row) => proposalOf(row, members))
  const ofSnippets = state === "requested" && cursor === undefined ? yield* (yield* Snippets).proposals(org.slug) : []
  const here = (state: ProposalState) => state === "requested" ? at(visit) : `${at(visit)}?state=${state}`
  return view(
    {
      title: t`Reviews`,
      lead: org.template_approval === "none"
        ? t`Changes to templates go live at once in this organization.`
        : org.template_approval === "admin"
        ? t`Changes of what recipients get wait here until another admin approves them.`
        : t`Changes of what recipients get wait here until another editor or admin approves them.`,
      actions: visit.can("updateOrganization")
        ? <a class="button" href={`/console/o/${org.slug}/settings#template_approval`}>{t`Approval settings`}</a>
        : undefined,
    },
    <Pills
      label={t`Which changes`}
      links={(Object.keys(stateWords) as ReadonlyArray<ProposalState>).map((one) => ({
        href: here(one),
        label: `${translated(stateWords[one].list)}${one === "requested" ? `: ${count(waiting)}` : ""}`,
        isCurrent: one === state,
      }))}
    />,
    <Card kind="flush">
      {shown.length + ofSnippets.length === 0
        ? (
          <Empty title={state === "requested" ? t`No changes waiting for approval` : t`No such changes`}>
            {state !== "requested"
              ? t`Changes are listed here with their author and reviewer.`
              : org.template_approval === "none"
              ? t`An admin can require approval under Settings, General.`
              : t`Edit a template as usual. A change of what recipients get is then listed here.`}
          </Empty>
        )
        : (
          <Table
            cards="line"
            caption={t`${translated(stateWords[state].list)} changes, newest first`}
            headings={[t`Content`, t`What`, t`Author`, t`Proposed`, ...(state === "requested" ? [] : [t`Decided by`])]}
            rows={[
              ...ofSnippets.map(({ author, id, name, updatedAt }) => [
                <span>
                  <a href={`${at(visit)}/-/snippets/${id}`} dir="auto">{name}</a>
                  <span class="sub mono">{id}</span>
                </span>,
                t`change of a snippet`,
                <bdi>{author}</bdi>,
                { kind: "nowrap" as const, content: <Time at={updatedAt.toISOString()} zone={org.time_zone} /> },
              ]),
              ...shown.map((proposal) => [
                <Row proposal={proposal} visit={visit} />,
                translated(kindWords[proposal.kind]),
                <bdi>{proposal.author}</bdi>,
                { kind: "nowrap" as const, content: <Time at={proposal.created_at} zone={org.time_zone} /> },
                ...(state === "requested" ? [] : [<bdi>{proposal.decided_by ?? ""}</bdi>]),
              ]),
            ]}
          />
        )}
      <Pagination
        label={t`Pages of changes`}
        at={here(state)}
        cursor={cursor}
        next={next}
      />
    </Card>,
  )
})

const idOf = ({ params }: Visit) =>
  Effect.suspend(() => {
    const id = idIn(params["proposal"] ?? "")
    return id === undefined
      ? Effect.fail(new ProposalNotFound({ id: (params["proposal"] ?? "").slice(0, 100) }))
      : Effect.succeed(id)
  })

/** The author's text, which the author can change in a form. */
const Message = ({ here, isOwn, proposal }: {
  readonly here: string
  readonly isOwn: boolean
  readonly proposal: ProposalDetail
}) => {
  if (!isOwn || proposal.state !== "requested") {
    return proposal.note === "" ? null : (
      <Card title={t`Message to reviewers`}>
        <p class="prose" dir="auto">{proposal.note}</p>
      </Card>
    )
  }
  return (
    <Card title={t`Message to reviewers`}>
      <Form action={`${here}/note`}>
        <TextAreaField
          name="note"
          label={t`Message`}
          rows={3}
          required={false}
          value={proposal.note}
          hint={t`Why you make this change. Up to 2,000 characters.`}
        />
        <div>
          <Submit kind="plain">{t`Save message`}</Submit>
        </div>
      </Form>
    </Card>
  )
}

/** Variants of an own proposal that are linked. */
const mostEdited = 10

/** Links to the editor for the variants that the own proposal changes; new ones are found here alone. */
const EditLinks = ({ proposal, visit }: { readonly proposal: ProposalDetail; readonly visit: Visit }) => {
  const ids = new Set(
    proposal.changes.fields.map(({ field }) => pointerParts(field)).flatMap(([first, id]) =>
      first === "variants" && id !== undefined ? [id] : []
    ),
  )
  const variants = (proposal.proposed?.variants ?? []).filter(({ id }) => id !== undefined && ids.has(id))
  return variants.length === 0 || proposal.live === null ? null : (
    <p class="buttons">
      {variants.slice(0, mostEdited).map(({ id = "", name }) => (
        <a class="button compact" href={variantPath(visit.org.slug, proposal.template_id, id)}>
          {t`Edit ${<bdi>{name ?? id}</bdi>}`}
        </a>
      ))}
    </p>
  )
}

/** Says that the live template has changed, and shows how. */
const Conflict = ({ here, isOwn, proposal }: {
  readonly here: string
  readonly isOwn: boolean
  readonly proposal: ProposalDetail
}) =>
  proposal.live_changes === null ? null : (
    <>
      <Note kind="warn">
        <div class="note-row">
          <p>
            {t`${<b>{t`The live template has changed since.`}</b>} Both changes are shown below.`}{" "}
            {proposal.both.length === 0
              ? t`They affect different fields.`
              : t`Both changed: ${
                proposal.both.map((field) => field === "/" ? t`the whole template` : labelOf({ field })).join(", ")
              }.`} {isOwn
              ? t`Bring your change up to date: your fields are kept, all other fields come from the live template.`
              : t`Its author has to bring it up to date before it can be approved.`}
          </p>
          {isOwn && <PostButton to={`${here}/update`}>{t`Bring up to date`}</PostButton>}
        </div>
      </Note>
      <Card title={t`Changed in the live template`}>
        <DifferenceView changes={proposal.live_changes} />
      </Card>
    </>
  )

/** The decision, a form for reviewers, or the reason why the visitor cannot decide. */
const Decision = ({ comment, here, proposal, refused, visit }: {
  readonly comment: string
  readonly here: string
  readonly proposal: ProposalDetail
  readonly refused: string | undefined
  readonly visit: Visit
}) => {
  if (proposal.state !== "requested") {
    return (
      <Card title={t`Decision`}>
        <p>
          {t`${<State state={proposal.state} />} by ${<bdi>{proposal.decided_by}</bdi>}, ${(
            <Time at={proposal.decided_at} zone={visit.org.time_zone} />
          )}`}
        </p>
        {proposal.comment !== null && <p class="prose" dir="auto">{proposal.comment}</p>}
      </Card>
    )
  }
  if (refused !== undefined) {
    return (
      <Card title={t`Decision`}>
        <p>{refused}.</p>
      </Card>
    )
  }
  return (
    <Card title={t`Decision`}>
      <Form action={`${here}/approve`}>
        <input type="hidden" name="version" value={String(proposal.version)} />
        <TextAreaField
          name="comment"
          label={t`Comment for the author`}
          rows={3}
          required={false}
          value={comment}
          hint={t`Say what to change if you reject it.`}
        />
        <div class="buttons">
          {!proposal.is_outdated && <Submit>{t`Approve and make live`}</Submit>}
          <button type="submit" class="button danger" formAction={`${here}/reject`}>{t`Reject`}</button>
        </div>
      </Form>
    </Card>
  )
}

const show = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { actor, org } = visit
  const found = yield* (yield* Proposals).get(org.slug, yield* idOf(visit))
  const proposal = proposalDetailOf(found, yield* (yield* MemberNames).of(org.slug))
  const here = `${at(visit)}/${proposal.id}`
  const isOwn = proposal.author_id === actor.session.account.id
  const refused = visit.can("approveProposal")
    ? reviewRefusal(actor, org.slug, found.author, org.template_approval)
    : t`Your role is ${visit.role ?? ""}: an editor or admin can approve this change`
  const open = proposal.state === "requested"
  const template = templatePath(org.slug, proposal.template_id)
  return view(
    {
      title: t`Review of ${proposal.template_name}`,
      lead: (
        <>
          {t`${<State state={proposal.state} />} ${translated(kindWords[proposal.kind])} by ${(
            <bdi>{proposal.author}</bdi>
          )}, ${<Time at={proposal.updated_at} zone={org.time_zone} />}`}
        </>
      ),
      actions: (
        <>
          {proposal.live !== null && (
            <>
              <a class="button" href={template}>{t`Live template`}</a>
              <a class="button" href={`${template}/comments`}>{t`Comments`}</a>
            </>
          )}
          {open && visit.can("withdrawProposal") && (isOwn || visit.role === "admin") && (
            <PostButton to={`${here}/withdraw`}>{t`Withdraw`}</PostButton>
          )}
        </>
      ),
    },
    <ErrorSummary faults={faults} />,
    <Message here={here} isOwn={isOwn} proposal={proposal} />,
    <Conflict here={here} isOwn={isOwn} proposal={proposal} />,
    <Card title={t`Proposed change`}>
      {proposal.proposed === null && <p>{t`The template is deleted with its variants.`}</p>}
      <DifferenceView changes={proposal.changes} />
      {isOwn && open && <EditLinks proposal={proposal} visit={visit} />}
    </Card>,
    <Decision comment={fields["comment"] ?? ""} here={here} proposal={proposal} refused={refused} visit={visit} />,
  )
})

/** A conflict as a fault of the form, so that the page is shown as it is now. */
const asFault = ({ message }: ProposalConflict) =>
  new InvalidInput({ faults: [{ pointer: "", detail: `${message}.` }] })

const noteOf = (fields: Fields, name: string) =>
  decoded(decodeNote((fields[name] ?? "").replaceAll("\r\n", "\n"))).pipe(
    Effect.mapError(({ faults }) =>
      new InvalidInput({ faults: faults.map((one) => ({ ...one, pointer: `/${name}` })) })
    ),
  )

/** Returns the comment of a decision. */
export const reviewComment = (fields: Fields) => noteOf(fields, "comment")

/** Runs an action on the proposal of the path, which leads back to its page. */
const acting = <E, R>(
  done: string,
  run: (visit: Visit, id: number, fields: Fields) => Effect.Effect<unknown, E | ProposalConflict, R>,
) =>
  Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const id = yield* idOf(visit)
    yield* Effect.catchIf(
      run(visit, id, fields),
      (error): error is Extract<E | ProposalConflict, ProposalConflict> =>
        typeof error === "object" && error !== null && "_tag" in error && error._tag === "ProposalConflict",
      (error) => asFault(error),
    )
    const to: Goto = { to: `${at(visit)}/${id}`, done }
    return to
  })

const approve = acting(
  "change-approved",
  Effect.fnUntraced(function* ({ actor, org }, id, fields) {
    const comment = yield* reviewComment(fields)
    const version = Number(fields["version"] ?? "")
    const { proposal, relearns } = yield* (yield* Proposals).approve(org.slug, id, { version, comment }, actor)
    if (relearns) yield* (yield* Learning).relearn(org.slug, proposal.templateId)
  }),
)

const reject = acting(
  "change-rejected",
  Effect.fnUntraced(function* ({ actor, org }, id, fields) {
    yield* (yield* Proposals).reject(org.slug, id, yield* reviewComment(fields), actor)
  }),
)

const withdraw = acting(
  "change-withdrawn",
  ({ actor, org }, id) => Proposals.use((proposals) => proposals.withdraw(org.slug, id, actor)),
)

const update = acting(
  "change-updated",
  ({ actor, org }, id) => Proposals.use((proposals) => proposals.revise(org.slug, id, { update: true }, actor)),
)

const note = acting(
  "note-saved",
  Effect.fnUntraced(function* ({ actor, org }, id, fields) {
    yield* (yield* Proposals).revise(org.slug, id, { note: yield* noteOf(fields, "note") }, actor)
  }),
)

/** Proposed changes: their authors, their content and the decision on each. */
export const layer = pages(({ action, page }) => {
  const one = "/console/o/:org/reviews/:proposal" as const
  return [
    page("/console/o/:org/reviews", "listProposals", list),
    page(one, "getProposal", show),
    action(`${one}/approve`, "approveProposal", approve, show),
    action(`${one}/reject`, "rejectProposal", reject, show),
    action(`${one}/withdraw`, "withdrawProposal", withdraw, show),
    action(`${one}/update`, "reviseProposal", update, show),
    action(`${one}/note`, "reviseProposal", note, show),
  ]
})
