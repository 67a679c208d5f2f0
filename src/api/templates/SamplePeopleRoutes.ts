import { Effect } from "effect"
import { decoder } from "../../domain/Faults.ts"
import { SamplePersonInput } from "../../domain/SamplePerson.ts"
import { tellSubject } from "../../store/ChangeTrail.ts"
import { SamplePeople } from "../../templates/SamplePeople.ts"
import { attrsOf, both } from "../generate/GenerateWire.ts"
import { managed } from "../http/Managed.ts"
import { body } from "../http/Requests.ts"

const decodePerson = decoder(SamplePersonInput)

// The audit log omits the ids of sample people, because such ids often contain a name.

// Checks the attributes, and returns them as written.
const personBody = (input: unknown) => both(decodePerson(input), attrsOf(input, "/attrs"), (person) => person)

/** Serves `SamplePeopleGroup`. */
export const layer = managed(
  "samplePeople",
  Effect.gen(function* () {
    const people = yield* SamplePeople
    return {
      listSamplePeople: ({ org }) => Effect.map(people.list(org), (all) => ({ people: all })),
      getSamplePerson: ({ org, params }) => people.get(org, params.person),
      saveSamplePerson: {
        inSteps: Effect.fnUntraced(function* ({ org, params, request }) {
          yield* tellSubject("")
          const person = yield* body(request, personBody, ["attrs", "fields"])
          return yield* people.save(yield* org, person, params.person)
        }),
      },
      deleteSamplePerson: ({ org, params }) => Effect.andThen(tellSubject(""), people.remove(org, params.person)),
    }
  }),
)
