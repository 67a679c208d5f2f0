import { Effect } from "effect"
import { difference } from "../../../domain/Difference.ts"
import { type Fault, InvalidInput, ProposalNotFound } from "../../../domain/Errors.ts"
import { t } from "../../../languages/Language.ts"
import { fieldsOfSnippet, Snippets } from "../../../templates/Snippets.ts"
import { Card } from "../../components/Card.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { TextAreaField } from "../../components/TextAreaField.tsx"
import { Time } from "../../components/Time.tsx"
import { pages } from "../../Pages.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { reviewComment } from "../team/ReviewPages.tsx"
import { SnippetUsers } from "./SnippetUsers.tsx"

const idOf = ({ params }: Visit) => params["snippet"] ?? ""
const reviews = ({ org }: Visit) => `/console/o/${org.slug}/reviews`

const show = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const { org } = visit
  const snippet = yield* (yield* Snippets).get(org.slug, idOf(visit))
  const { proposal } = snippet
  if (proposal === null) return yield* new ProposalNotFound({ id: snippet.id })
  const here = `${reviews(visit)}/-/snippets/${snippet.id}`
  return view(
    {
      title: t`Review of ${snippet.name}`,
      back: { href: reviews(visit), label: t`Reviews` },
      lead: (
        <>
          {t`Change of a snippet by ${<bdi>{proposal.author}</bdi>}, ${(
            <Time at={proposal.updated_at} zone={org.time_zone} />
          )}`}
        </>
      ),
      actions: <a class="button" href={`/console/o/${org.slug}/snippets/${snippet.id}`}>{t`Live snippet`}</a>,
    },
    <ErrorSummary faults={faults} />,
    <Card title={t`Proposed change`}>
      <DifferenceView changes={difference(fieldsOfSnippet(snippet), fieldsOfSnippet({ ...snippet, ...proposal }))} />
    </Card>,
    <SnippetUsers base={`/console/o/${org.slug}`} snippet={snippet} />,
    <Card title={t`Decision`}>
      {visit.can("approveSnippet")
        ? (
          <Form action={`${here}/approve`}>
            <input type="hidden" name="version" value={String(proposal.version)} />
            <TextAreaField
              name="comment"
              label={t`Comment for the author`}
              rows={3}
              required={false}
              value={fields["comment"] ?? ""}
              hint={t`Say what to change if you reject it.`}
            />
            <div class="buttons">
              <Submit>{t`Approve and make live`}</Submit>
              <button type="submit" class="button danger" formAction={`${here}/dismiss`}>
                {t`Reject or withdraw`}
              </button>
            </div>
          </Form>
        )
        : <p>{t`Your role is ${visit.role}: an editor or admin can approve this change.`}</p>}
    </Card>,
  )
})

/** A refusal that shows the page as it is now. */
const asFault = ({ message }: { readonly message: string }) =>
  new InvalidInput({ faults: [{ pointer: "", detail: `${message.replace(/\.$/, "")}.` }] })

const approve = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const decision = { version: Number(fields["version"]), comment: yield* reviewComment(fields) }
  yield* (yield* Snippets).approve(visit.org.slug, idOf(visit), decision, visit.actor).pipe(
    Effect.catchTags({ ProposalConflict: asFault, NotAllowed: asFault, ChecksBusy: asFault }),
  )
  return { to: reviews(visit), done: "snippet-approved" }
})

const dismiss = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  yield* (yield* Snippets).dismiss(visit.org.slug, idOf(visit), visit.actor, yield* reviewComment(fields)).pipe(
    Effect.catchTag("NotAllowed", asFault),
  )
  return { to: reviews(visit), done: "snippet-dismissed" }
})

/** Reviews of snippets. */
export const layer = pages(({ action, page }) => {
  const one = "/console/o/:org/reviews/-/snippets/:snippet" as const
  return [
    page(one, "getSnippet", (visit) => show(visit)),
    action(`${one}/approve`, "approveSnippet", approve, show),
    action(`${one}/dismiss`, "dismissSnippet", dismiss, show),
  ]
})
