import { t } from "../../../languages/Language.ts"
import { PostButton } from "../../components/Form.tsx"
import { Note } from "../../components/Note.tsx"
import { Time } from "../../components/Time.tsx"
import type { Visit } from "../../Routes.tsx"
import { templatePath } from "./Paths.ts"

/** Says since when a template is archived. */
export const archivedText = (archivedAt: string, zone: string) =>
  t`${<b>{t`Archived`}</b>} since ${(
    <Time at={archivedAt} zone={zone} />
  )}: it is not served, even if variants are active.
    Its results are kept.`

/** Says that the template `id` is archived, with a button that restores it. */
export const ArchivedNote = ({ archivedAt, id, visit: { can, org } }: {
  readonly archivedAt: string
  readonly id: string
  readonly visit: Visit
}) => (
  <Note kind="warn">
    <div class="note-row">
      <p>{archivedText(archivedAt, org.time_zone)}</p>
      {can("updateTemplate") && (
        <PostButton to={`${templatePath(org.slug, id)}/restore`} fields={{ archived: "false" }} kind="compact">
          {t`Restore the template`}
        </PostButton>
      )}
    </div>
  </Note>
)
