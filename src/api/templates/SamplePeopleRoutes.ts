import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { decoder } from "../../domain/Faults.ts"
import { SamplePersonInput } from "../../domain/SamplePerson.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { SamplePeople } from "../../templates/SamplePeople.ts"
import { tellSubject } from "../../store/ChangeTrail.ts"
import { ServedApi } from "../Api.ts"
import { attrsOf, both } from "../generate/GenerateWire.ts"
import { body, existing, lookedUp, toProblems } from "../server/Requests.ts"

const decodePerson = decoder(SamplePersonInput)

// The audit log does not name the people: the id is often made from a name.

// Attributes are stored as they were written, once they are known to be valid.
const personBody = (input: unknown) => both(decodePerson(input), attrsOf(input, "/attrs"), (person) => person)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "samplePeople",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const people = yield* SamplePeople

    return handlers
      .handle("listSamplePeople", ({ params }) =>
        Effect.gen(function* () {
          return { people: yield* people.list(yield* existing(organizations, params)) }
        }).pipe(toProblems))
      .handle("getSamplePerson", ({ params }) =>
        Effect.gen(function* () {
          return yield* people.get(yield* existing(organizations, params), lookedUp(params.person))
        }).pipe(toProblems))
      .handleRaw("saveSamplePerson", ({ params, request }) =>
        Effect.gen(function* () {
          yield* tellSubject("")
          const person = yield* body(request, personBody, ["attrs", "fields"])
          return yield* people.save(yield* existing(organizations, params), person, lookedUp(params.person))
        }).pipe(toProblems))
      .handle("deleteSamplePerson", ({ params }) =>
        Effect.gen(function* () {
          yield* tellSubject("")
          yield* people.remove(yield* existing(organizations, params), lookedUp(params.person))
        }).pipe(toProblems))
  }),
)
