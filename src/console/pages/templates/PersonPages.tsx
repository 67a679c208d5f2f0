import { Effect, Result } from "effect"
import { isDeepStrictEqual } from "node:util"
import { SamplePeople } from "../../../templates/SamplePeople.ts"
import { InvalidInput } from "../../../domain/Errors.ts"
import * as Json from "../../../json/Json.ts"
import { t } from "../../../languages/Language.ts"
import { ofVariant, sourcesOf } from "../../../templates/VariantForm.ts"
import { Note } from "../../components/Note.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { ofFields, readSample } from "./Draft.ts"
import { editorFields, type EditorState, opened, resent } from "./EditorPage.tsx"
import { samplesOf } from "./NewDraft.ts"
import { sampleOfPerson } from "./PersonPicker.tsx"
import { sampleOf } from "./SampleInputs.tsx"

// Buttons of the editor about sample people. Each shows the form again with its text.

/** The form again. Choosing a person does not change its text. */
const shown = Effect.fnUntraced(function* (visit: Visit, fields: Fields, more: Partial<EditorState> = {}) {
  const { stored } = yield* opened(visit)
  const isSame = stored !== undefined &&
    isDeepStrictEqual({ ...ofVariant(stored), id: "" }, { ...ofFields(fields), id: "" })
  return yield* resent(visit, fields, { unsaved: !isSame, ...more })
})

/** Fills in the sample of the chosen person, or offers recent recipients. */
export const personAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { do: button, person } = editorFields(fields)
  if (button !== "use-person") return yield* shown(visit, fields)
  const { of } = yield* opened(visit)
  const sample = sampleOf((name) => fields[name], samplesOf(of))
  const { vars } = sourcesOf(ofFields(fields))
  return yield* shown(visit, fields, { sample: yield* sampleOfPerson(visit, of, vars, person, sample) })
})

/** Saves the sample of the form as a person. */
export const savePersonAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const { of } = yield* opened(visit)
  const sample = sampleOf((name) => fields[name], samplesOf(of))
  const given = readSample(sample)
  if (Result.isFailure(given)) return yield* new InvalidInput({ faults: given.failure })
  const { id, name } = yield* (yield* SamplePeople).save(visit.org.slug, {
    name: editorFields(fields).person_name,
    attrs: Json.parse(sample.attrs.trim() || "{}") as Readonly<Record<string, unknown>>,
    fields: given.success.fields,
  }).pipe(
    Effect.catchTag("InvalidInput", ({ faults }) =>
      new InvalidInput({
        faults: faults.map((fault) => fault.pointer === "/name" ? { ...fault, pointer: "/person_name" } : fault),
      })),
  )
  return yield* shown(visit, { ...fields, person: `saved:${id}` }, {
    notes: <Note kind="good" live>{t`${name} has been saved.`}</Note>,
  })
})

/** Deletes the chosen person. The sample stays in the form. */
export const deletePersonAction = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const id = editorFields(fields).person.replace(/^saved:/, "")
  yield* (yield* SamplePeople).remove(visit.org.slug, id).pipe(
    Effect.catchTag(
      "SamplePersonNotFound",
      ({ message }) => new InvalidInput({ faults: [{ pointer: "/person", detail: message }] }),
    ),
  )
  return yield* shown(visit, { ...fields, person: "" }, {
    notes: <Note kind="good" live>{t`The person has been deleted.`}</Note>,
  })
})
