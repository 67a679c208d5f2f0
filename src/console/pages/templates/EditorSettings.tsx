// deno-lint-ignore-file react-no-danger -- rendered once, on the server; the JSON has no `<` in it
import { filters } from "../../../rendering/Filters.ts"
import { tagNames } from "../../../rendering/Grammar.ts"

/** Suggestions of the editor. */
export interface Hints {
  /** Allows the editor to add its style sheet to the page. */
  readonly nonce: string
  /** Fields that Liquid of the organization uses, with example values; members of objects are suggested after a dot. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Names of attributes in recent requests. */
  readonly attributes: ReadonlyArray<string>
}

const filterNames = [...filters.keys()].sort()

/** JSON for a script element. */
const scriptJson = (value: unknown) => JSON.stringify(value).replaceAll("<", "\\u003c")

/** The data of the editor's script, and the suggestions of plain inputs. */
export const EditorSettings = ({ hints: { attributes, fields, nonce } }: { readonly hints: Hints }) => (
  <>
    <script
      type="application/json"
      id="editor-settings"
      dangerouslySetInnerHTML={{ __html: scriptJson({ nonce, fields, filters: filterNames, tags: tagNames }) }}
    >
    </script>
    <datalist id="attribute-names">{attributes.map((name) => <option value={name}></option>)}</datalist>
  </>
)
