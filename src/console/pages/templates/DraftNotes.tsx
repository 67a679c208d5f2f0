import { nameOf } from "../../../accounts/Actor.ts"
import type { Template } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import type { DraftHead } from "../../../templates/Drafts.ts"
import { PostButton } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import { counted } from "../../Format.ts"
import type { Visit } from "../../Routes.tsx"
import { templatePath, variantPath } from "./Paths.ts"

/** Drafts that the page of a template names. */
const shownDrafts = 5

/** The path of the editor of a variant, or of a new one. */
const editorPath = ({ org }: Visit, template: string, variant: string | undefined) =>
  variant === undefined ? `${templatePath(org.slug, template)}/new-variant` : variantPath(org.slug, template, variant)

/** The page of a draft below the path of its editor. */
const draftPath = (path: string, author: string): string => `${path}/draft?${new URLSearchParams({ author })}`

/** The button that removes the visitor's draft. */
export const DiscardDraft = ({ path, savedAt }: {
  readonly path: string
  /** The draft that the visitor has seen; a newer one stays. */
  readonly savedAt: string
}) => (
  <PostButton to={`${path}/discard-draft`} fields={{ draft: savedAt }} kind="compact danger">
    {t`Discard draft`}
  </PostButton>
)

/** Says that the editor shows a draft instead of the live variant. */
export const OwnDraftNote = ({ draft, isNew, path, visit }: {
  readonly draft: DraftHead
  readonly isNew: boolean
  /** The path of the editor. */
  readonly path: string
  readonly visit: Visit
}) => (
  <Note>
    <div class="note-row">
      <p>
        {t`${<b>{t`Your draft`}</b>} of ${<Time at={draft.savedAt} zone={visit.org.time_zone} />}. ${
          isNew
            ? t`It is not served: create the variant to publish it.`
            : t`It is not live: save the variant to publish it.`
        }`}
      </p>
      <div class="buttons">
        <a class="button compact" href={draftPath(path, draft.author)}>{t`Show changes`}</a>
        <DiscardDraft path={path} savedAt={draft.savedAt} />
      </div>
    </div>
  </Note>
)

/** Names the drafts of a template. */
export const TemplateDraftsNote = ({ drafts, template, visit }: {
  readonly drafts: ReadonlyArray<DraftHead>
  readonly template: Template
  readonly visit: Visit
}) => {
  const names = new Map<string, string>(template.variants.map(({ id, name }) => [id, name]))
  const own = nameOf(visit.actor)
  return drafts.length === 0 ? null : (
    <Note>
      <p>
        {t`${<b>{t`Drafts`}</b>} that are not live:`}
      </p>
      <ul class="plain-list">
        {drafts.slice(0, shownDrafts).map(({ author, savedAt, variant }) => (
          <li key={`${variant} ${author}`}>
            {t`${(
              <a href={draftPath(editorPath(visit, template.id, variant), author)}>
                {variant === undefined ? t`New variant` : names.get(variant) ?? variant}
              </a>
            )} by ${author === own ? t`you` : author}, ${<Time at={savedAt} zone={visit.org.time_zone} />}`}
          </li>
        ))}
      </ul>
      {drafts.length > shownDrafts && <p>{t`And ${counted(drafts.length - shownDrafts, "more draft")}.`}</p>}
    </Note>
  )
}

/** Names the drafts of colleagues. */
export const OtherDraftsNote = ({ drafts, path, visit }: {
  readonly drafts: ReadonlyArray<DraftHead>
  readonly path: string
  readonly visit: Visit
}) =>
  drafts.length === 0 ? null : (
    <Note>
      <ul class="plain-list">
        {drafts.map(({ author, savedAt }) => (
          <li key={author}>
            <a href={draftPath(path, author)}>{t`Draft by ${author}`}</a>,{" "}
            <Time at={savedAt} zone={visit.org.time_zone} />
          </li>
        ))}
      </ul>
    </Note>
  )
