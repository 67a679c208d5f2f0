import { Schema } from "effect"
import { described } from "./described.ts"
import { CopyId } from "./Ids.ts"

// A holdout: a group of people for whom the service does not use learned data, so that its effect can be measured.

/** Share of the people held out: 0 (the default, no holdout) to 0.5. */
const HoldoutShare = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.5 }))

const share = described(HoldoutShare, "Share of the people who are held out, 0 to 0.5. 0: no holdout")

/** The holdout of an organization. It applies to templates without a holdout of their own. */
export const OrganizationHoldout = Schema.Struct({
  share,
  content: described(
    Schema.Literals(["even", "no_message"]),
    "Content for held-out people. `even`: a random split among their eligible variants; `no_message`: nothing",
  ),
}).annotate({
  description: "Holdout of all templates without one of their own. The same people are held out of all of them",
})
export type OrganizationHoldout = typeof OrganizationHoldout.Type

/** The holdout of a template. `copy_id` is present if and only if the content is `fixed`. */
export const TemplateHoldout = Schema.Struct({
  share,
  content: described(
    Schema.Literals(["even", "fixed", "no_message"]),
    "Content for held-out people. `even`: a random split among their eligible variants; `fixed`: the variant " +
      "`copy_id`; `no_message`: nothing",
  ),
  copy_id: Schema.optionalKey(described(CopyId, "The variant of `fixed` content")),
}).check(
  Schema.makeFilter<{ readonly content: string; readonly copy_id?: string }>(({ content, copy_id }) =>
    content === "fixed" && copy_id === undefined
      ? { path: ["copy_id"], issue: "must name the variant that people who are held out get" }
      : content !== "fixed" && copy_id !== undefined
      ? { path: ["copy_id"], issue: "must be left out unless the content is fixed" }
      : undefined
  ),
).annotate({
  description: "Holdout of this template; null: the holdout of the organization",
})
export type TemplateHoldout = typeof TemplateHoldout.Type

/** The reason why a template with these variants cannot have this holdout. Undefined for a valid holdout. */
export const holdoutFault = (
  holdout: TemplateHoldout | null | undefined,
  variants: ReadonlyArray<{ readonly id?: string }>,
): string | undefined =>
  holdout?.copy_id === undefined || variants.some(({ id }) => id === holdout.copy_id)
    ? undefined
    : "names no variant of this template"

/** The text of a holdout in decisions and tallies, such as `0.05 even` or `0.1 fixed welcome-a`. */
export const holdoutText = ({ content, copy_id, share }: TemplateHoldout): string =>
  [share, content, ...(copy_id === undefined ? [] : [copy_id])].join(" ")

/**
 * Parses a holdout typed by a person: `0.05` (even content), `0.05 no_message`, `0.1 fixed welcome-a`. Checks nothing.
 */
export const holdoutInput = (text: string) => {
  const [share = "", content = "even", ...copyId] = text.trim().split(/\s+/)
  return {
    share: share === "" ? share : Number(share),
    content,
    ...(copyId.length === 0 ? {} : { copy_id: copyId.join(" ") }),
  }
}

/** Parses a text of `holdoutText`. */
export const parseHoldout = (text: string): TemplateHoldout => {
  const [share = "", content = "", ...copyId] = text.split(" ")
  return {
    share: Number(share),
    content: content as TemplateHoldout["content"],
    ...(copyId.length === 0 ? {} : { copy_id: copyId.join(" ") as CopyId }),
  }
}
