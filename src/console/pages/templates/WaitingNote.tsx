import { Effect } from "effect"
import { authorOf } from "../../../accounts/Author.ts"
import { MemberNames, type NamedMember, nameOfAuthor } from "../../../accounts/MemberNames.ts"
import { t } from "../../../languages/Language.ts"
import { Proposals } from "../../../templates/Proposals.ts"
import { Note } from "../../components/Note.tsx"
import type { Visit } from "../../Routes.tsx"

/** Reads the latest changes of a template that wait for approval, as a note with links. Null without any. */
export const waitingNote = Effect.fnUntraced(function* ({ actor, org }: Visit, template: string) {
  const waiting = yield* (yield* Proposals).list(org.slug, { template, state: "requested", limit: 5 })
  if (waiting.length === 0) return null
  const members: ReadonlyMap<string, NamedMember> = yield* (yield* MemberNames).of(org.slug)
  return (
    <Note>
      {waiting.map(({ author, id, kind }) => (
        <p>
          {t`${(
            <a href={`/console/o/${org.slug}/reviews/${id}`}>
              {author === authorOf(actor)
                ? t`Your change waits for approval`
                : kind === "deleted"
                ? t`Deletion by ${nameOfAuthor(author, members)} waits for approval`
                : t`A change by ${nameOfAuthor(author, members)} waits for approval`}
            </a>
          )}. This page shows the live version.`}
        </p>
      ))}
    </Note>
  )
})
