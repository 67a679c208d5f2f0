import type { Variant } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { draftChanges } from "../../../templates/Drafts.ts"
import type { VariantForm } from "../../../templates/VariantForm.ts"
import type { VariantVersionHead } from "../../../templates/VariantVersions.ts"
import { Card } from "../../components/Card.tsx"
import { Time } from "../../components/Time.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"

/** The id of the editor's form, for buttons outside of it. */
export const editorFormId = "variant-form"

/**
 * Both texts of a conflict, with buttons to keep either or to combine them. Somebody has saved the variant since the text of
 * the form was begun. The form itself follows and has the visitor's text.
 */
export const ConflictCard = ({ canCombine, form, path, saved, stored, zone }: {
  /** Whether the version that the text began from is known. */
  readonly canCombine: boolean
  readonly form: VariantForm
  /** The path of the editor. */
  readonly path: string
  /** The version that was saved meanwhile, as far as it is known. */
  readonly saved: VariantVersionHead | undefined
  readonly stored: Variant
  readonly zone: string
}) => (
  <Card
    stacked
    title={t`Saved by somebody else meanwhile`}
    lead={
      <>
        {t`${saved?.author ?? t`Somebody`} saved this variant on ${(
          <Time
            at={stored.updated_at}
            zone={zone}
          />
        )}, after your text was begun. The form below has your
          text. Removed lines are of the saved version, added lines are yours.`}
      </>
    }
  >
    <DifferenceView changes={draftChanges(form, stored)} />
    <div class="buttons">
      <button type="submit" class="button primary" form={editorFormId}>{t`Save mine over it`}</button>
      {canCombine && (
        <button
          type="submit"
          class="button"
          form={editorFormId}
          formaction={`${path}/draft`}
          name="do"
          value="combine"
        >
          {t`Combine both`}
        </button>
      )}
      <button type="submit" class="button danger" form={editorFormId} formaction={`${path}/discard-draft`}>
        {t`Discard mine, take theirs`}
      </button>
    </div>
  </Card>
)
