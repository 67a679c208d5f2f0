/** @jsxImportSource preact */
import { Effect, Result } from "effect"
import { isDeepStrictEqual } from "node:util"
import { InvalidInput } from "../../../domain/Errors.ts"
import * as Json from "../../../domain/Json.ts"
import { ofVariant } from "../../../templates/VariantForm.ts"
import { Note } from "../../components/Note.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { ofFields, readSample, sampleOf } from "./Draft.ts"
import { type EditorServices, type EditorState, opened, resent } from "./EditorPage.tsx"
import { samplesOf } from "./NewDraft.ts"
import { sampleOfPerson } from "./PersonPicker.tsx"

// Buttons of the editor about sample people. Each shows the form again with its text.

/** The form again. Choosing a person does not change its text. */
const shown = Effect.fnUntraced(
  function* (services: EditorServices, visit: Visit, fields: Fields, more: Partial<EditorState> = {}) {
    const { stored } = yield* opened(services, visit)
    const isSame = stored !== undefined &&
      isDeepStrictEqual({ ...ofVariant(stored), id: "" }, { ...ofFields(fields), id: "" })
    return yield* resent(services, visit, fields, { unsaved: !isSame, ...more })
  },
)

/** Fills in the sample of the chosen person, or offers recent recipients. */
export const personAction = Effect.fnUntraced(function* (services: EditorServices, visit: Visit, fields: Fields) {
  if (fields["do"] !== "use-person") return yield* shown(services, visit, fields)
  const { of } = yield* opened(services, visit)
  const sample = sampleOf((name) => fields[name], samplesOf(of))
  return yield* shown(services, visit, fields, {
    sample: yield* sampleOfPerson(services, visit, of, fields["person"] ?? "", sample),
  })
})

/** Saves the sample of the form as a person. */
export const savePersonAction = (services: EditorServices) =>
  Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const { of } = yield* opened(services, visit)
    const sample = sampleOf((name) => fields[name], samplesOf(of))
    const given = readSample(sample)
    if (Result.isFailure(given)) return yield* new InvalidInput({ faults: given.failure })
    const { id, name } = yield* services.people.save(visit.org.slug, {
      name: (fields["person_name"] ?? "").trim(),
      attrs: Json.parse(sample.attrs.trim() || "{}") as Readonly<Record<string, unknown>>,
      fields: given.success.fields,
    }).pipe(
      Effect.catchTag("InvalidInput", ({ faults }) =>
        new InvalidInput({
          faults: faults.map((fault) => fault.pointer === "/name" ? { ...fault, pointer: "/person_name" } : fault),
        })),
    )
    return yield* shown(services, visit, { ...fields, person: `saved:${id}` }, {
      notes: <Note kind="good" live>{name} has been saved.</Note>,
    })
  })

/** Deletes the chosen person. The sample stays in the form. */
export const deletePersonAction = (services: EditorServices) =>
  Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
    const id = (fields["person"] ?? "").replace(/^saved:/, "")
    yield* services.people.remove(visit.org.slug, id).pipe(
      Effect.catchTag(
        "SamplePersonNotFound",
        ({ message }) => new InvalidInput({ faults: [{ pointer: "/person", detail: message }] }),
      ),
    )
    return yield* shown(services, visit, { ...fields, person: "" }, {
      notes: <Note kind="good" live>The person has been deleted.</Note>,
    })
  })
