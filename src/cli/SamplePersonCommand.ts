import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { SamplePersonInput } from "../domain/SamplePerson.ts"
import { ManagementClient } from "./Connection.ts"
import { bodyOf, readJson } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const person = Argument.String("person").pipe(Argument.withDescription("The person's id, such as gold-customer"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { people } = yield* client.samplePeople.listSamplePeople({ params: { org: yield* organization } })
    yield* print(
      people,
      people.length === 0 ? "No sample people" : table(["id", "name"], people.map(({ id, name }) => [id, name])),
    )
  }),
).pipe(Command.withDescription("List the sample people"))

const show = Command.make(
  "show",
  { person },
  Effect.fnUntraced(function* ({ person }) {
    const client = yield* ManagementClient
    const found = yield* client.samplePeople.getSamplePerson({ params: { org: yield* organization, person } })
    yield* print(
      found,
      `${found.id} (${found.name})\nattrs: ${JSON.stringify(found.attrs)}\nfields: ${JSON.stringify(found.fields)}`,
    )
  }),
).pipe(Command.withDescription("Show the attributes and fields of a sample person"))

const set = Command.make(
  "set",
  {
    person,
    name: Flag.String("name").pipe(Flag.withDescription("Its name. Default: the id"), Flag.optional),
    attrs: Flag.String("attrs").pipe(Flag.withDescription("Attributes for targeting, as JSON"), Flag.optional),
    fields: Flag.String("fields").pipe(Flag.withDescription("Values for placeholders, as JSON"), Flag.optional),
  },
  Effect.fnUntraced(function* ({ attrs, fields, name, person }) {
    const client = yield* ManagementClient
    const payload = bodyOf<SamplePersonInput>({
      name: Option.getOrElse(name, () => person),
      ...(Option.isSome(attrs) ? { attrs: yield* readJson("--attrs", attrs.value) } : {}),
      ...(Option.isSome(fields) ? { fields: yield* readJson("--fields", fields.value) } : {}),
    })
    const saved = yield* client.samplePeople.saveSamplePerson({
      params: { org: yield* organization, person },
      payload,
    })
    yield* print(saved, `Saved ${saved.id} (${saved.name})`)
  }),
).pipe(
  Command.withDescription("Create or replace a sample person. Use made-up data: all members see it"),
  Command.withExamples([{
    command: 'parlance sample-person set gold-customer --attrs \'{"tier":"gold"}\' --fields \'{"name":"Ann"}\'',
  }]),
)

const remove = Command.make(
  "delete",
  { person },
  Effect.fnUntraced(function* ({ person }) {
    const client = yield* ManagementClient
    yield* client.samplePeople.deleteSamplePerson({ params: { org: yield* organization, person } })
    yield* print({ id: person, deleted: true }, `Deleted ${person}`)
  }),
).pipe(Command.withDescription("Delete a sample person"))

/** `parlance sample-person …` */
export const samplePersonCommand = Command.make("sample-person").pipe(
  Command.withDescription("Sample people for previews and test messages"),
  Command.withSubcommands([list, show, set, remove]),
)
