import type { Connections } from "../../../delivery/Connections.ts"
import { type NamedVariant, sendWarnings } from "../../../delivery/Sendable.ts"
import { renderedFormats, type Template, type Variant } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { Note } from "../../components/Note.tsx"
import { type Draft, sourcesOf } from "../../../templates/VariantForm.ts"

const rendered = ({ formats, name, vars }: Pick<Variant, "formats" | "name" | "vars">): NamedVariant => ({
  name,
  vars,
  formats: renderedFormats(formats),
})

/** Warnings for the connection in use. Without one the default names of the variables apply. */
const warningsOf = (
  connections: Connections["Service"],
  org: string,
  variants: ReadonlyArray<NamedVariant>,
): string => {
  const active = connections.active(org)
  const warnings = sendWarnings(variants, active === undefined ? {} : active.variables)
  return warnings.length === 0 ? "" : t`${warnings.join(" ")} Generate is not affected.`
}

/** The warning about a variant that Deliver cannot send, in the editor. Empty if Deliver can send it or nothing is written. */
export const draftWarning = (connections: Connections["Service"], org: string, draft: Draft): string =>
  draft.base === "" && draft.variables.every(({ source }) => source.trim() === "")
    ? ""
    : warningsOf(connections, org, [rendered({ name: draft.name.trim() || t`without a name`, ...sourcesOf(draft) })])

/** The warning about active variants that Deliver cannot send. Empty if Deliver can send all of them. */
export const templateWarning = (
  connections: Connections["Service"],
  org: string,
  { archived_at, variants }: Template,
): string =>
  archived_at !== null ? "" : warningsOf(connections, org, variants.filter(({ active }) => active).map(rendered))

/** The place of the editor's warning: the preview's script replaces its text, so it exists without a warning too. */
export const DraftNote = ({ warning }: { readonly warning: string }) => (
  <div id="send-warning" hidden={warning === ""}>
    <Note kind="warn" live>{warning}</Note>
  </div>
)
