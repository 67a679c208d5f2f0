import { Effect } from "effect"
import { type RecentRecipient, RecentRecipients } from "../../../journal/decisions/RecentRecipients.ts"
import { Profiles } from "../../../profiles/Profiles.ts"
import type { SamplePerson } from "../../../domain/SamplePerson.ts"
import { SamplePeople } from "../../../templates/SamplePeople.ts"
import type { Template, Vars } from "../../../domain/Template.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { t, translated } from "../../../languages/Language.ts"
import { dateTime } from "../../Format.ts"
import type { Fields, Visit } from "../../Routes.tsx"
import type { Sample } from "./Draft.ts"
import { Labelled, tied } from "./EditorParts.tsx"
import { madeUpPeople, madeUpSample } from "./SampleInputs.tsx"

// The person that the editor previews as, and sends tests as: a made-up or saved one, a recent recipient, or values.

/** The people that the editor offers. */
export interface OfferedPeople {
  readonly saved: ReadonlyArray<Pick<SamplePerson, "id" | "name">>
  /** Undefined until they are requested: to find them can take a second. */
  readonly recent: ReadonlyArray<RecentRecipient> | undefined
  /** The chosen person, as the value of the control; empty for the values of the form. */
  readonly chosen: string
}

/** The people to offer. `fields`: the fields of the form. Undefined when the page is opened. */
export const offeredPeople = Effect.fnUntraced(
  function* ({ org }: Visit, template: string, fields: Fields | undefined) {
    const asksRecent = fields?.["do"] === "recent-people" || fields?.["people"] === "recent"
    return {
      saved: yield* (yield* SamplePeople).list(org.slug),
      recent: asksRecent ? yield* (yield* RecentRecipients).list(org.slug, template) : undefined,
      chosen: fields?.["person"] ?? "",
    } satisfies OfferedPeople
  },
)

const jsonText = (value: unknown) => JSON.stringify(value, null, 2)

/** The sample of the chosen person; the one of the form where nobody is chosen, or who was is gone. */
export const sampleOfPerson = Effect.fnUntraced(
  function* ({ org }: Visit, template: Template, draft: Vars, chosen: string, sample: Sample) {
    const [, kind, id = ""] = /^(made|saved|recent):(.*)$/s.exec(chosen) ?? []
    if (kind === "made") return madeUpSample(id, template, draft, sample)
    if (kind === "saved") {
      return yield* (yield* SamplePeople).get(org.slug, id).pipe(
        Effect.map(({ attrs, fields }): Sample => ({ ...sample, attrs: jsonText(attrs), fields: jsonText(fields) })),
        Effect.catchTag("SamplePersonNotFound", () => Effect.succeed(sample)),
      )
    }
    if (kind !== "recent") return sample
    const recent = (yield* (yield* RecentRecipients).list(org.slug, template.id)).find(({ user }) => user === id)
    if (recent === undefined) return sample
    const own = new Map([...recent.attrs].map(([name, value]) => [name, [value]] as const))
    const attrs = yield* (yield* Profiles).attributes(org.slug, id, own) ?? Effect.succeed(own)
    return {
      ...sample,
      attrs: jsonText(
        Object.fromEntries([...attrs].map(([name, values]) => [name, values.length === 1 ? values[0] : values])),
      ),
    }
  },
)

const Choices = ({ people: { chosen, recent = [], saved }, zone }: {
  readonly people: OfferedPeople
  readonly zone: string
}) => (
  <>
    <option value="">{t`The values below`}</option>
    <optgroup label={t`Made up`}>
      {Object.entries(madeUpPeople).map(([id, name]) => (
        <option key={id} value={`made:${id}`} selected={chosen === `made:${id}`}>{translated(name)}</option>
      ))}
    </optgroup>
    {saved.length !== 0 && (
      <optgroup label={t`Saved people`}>
        {saved.map(({ id, name }) => (
          <option key={id} value={`saved:${id}`} selected={chosen === `saved:${id}`}>{name}</option>
        ))}
      </optgroup>
    )}
    {recent.length !== 0 && (
      <optgroup label={t`Recent recipients`}>
        {recent.map(({ decidedAt, user }) => (
          <option key={user} value={`recent:${user}`} selected={chosen === `recent:${user}`}>
            {user}, {dateTime(decidedAt, zone)}
          </option>
        ))}
      </optgroup>
    )}
  </>
)

/** Chooses, saves and deletes people. The buttons send the form of the editor, which is shown again. */
export const PersonPicker = ({ canSave, faults, path, people, zone }: {
  readonly canSave: boolean
  readonly faults: ReadonlyArray<Fault>
  /** The path of the editor. */
  readonly path: string
  readonly people: OfferedPeople
  readonly zone: string
}) => (
  <div class="stack person-picker">
    {people.recent !== undefined && <input type="hidden" name="people" value="recent" />}
    <Labelled
      id="person"
      label={t`Preview as`}
      faults={faults}
      hint={t`Fills in the values below. Recent recipients have attributes only: fields of requests are not
        stored.`}
    >
      <select {...tied(faults, "person", "person-hint")}>
        <Choices people={people} zone={zone} />
      </select>
    </Labelled>
    {people.recent?.length === 0 && <p class="small muted">{t`No user got this template in the last 30 days.`}</p>}
    <div class="buttons">
      <button
        type="submit"
        class="button compact"
        name="do"
        value="use-person"
        formaction={`${path}/draft#person`}
        data-use-person
      >
        {t`Use this person`}
      </button>
      {people.recent === undefined && (
        <button
          type="submit"
          class="button compact"
          name="do"
          value="recent-people"
          formaction={`${path}/draft#person`}
        >
          {t`Find recent recipients`}
        </button>
      )}
      {canSave && people.chosen.startsWith("saved:") && (
        <button type="submit" class="button compact danger" formaction={`${path}/delete-person#person`}>
          {t`Delete this person`}
        </button>
      )}
    </div>
    {canSave && (
      <details class="save-person" open={faults.some(({ pointer }) => pointer === "/person_name")}>
        <summary>{t`Save the sample as a person`}</summary>
        <div class="stack">
          <Labelled
            id="person_name"
            label={t`Name of the person`}
            faults={faults}
            hint={t`A person of the same name is replaced. Members of the organization see it: use made-up data.`}
          >
            <input
              type="text"
              autocomplete="off"
              maxLength={200}
              {...tied(faults, "person_name", "person_name-hint")}
            />
          </Labelled>
          <div>
            <button type="submit" class="button compact" formaction={`${path}/save-person#person`}>
              {t`Save person`}
            </button>
          </div>
        </div>
      </details>
    )}
  </div>
)
