import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { SamplePersonInput } from "../domain/SamplePerson.ts"
import { argument, given, text } from "./Flags.ts"
import { bodyOf, readJsonFlag } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"

const person = argument("person", "The person's id, such as gold-customer")

const list = organizationCommand({
  name: "list",
  description: "List the sample people",
  call: (client, { org }) => client.samplePeople.listSamplePeople({ params: { org } }),
  result: ({ people }) => people,
}).table({ id: "id", name: "name" }, "No sample people")

const show = organizationCommand({
  name: "show",
  description: "Show the attributes and fields of a sample person",
  flags: { person },
  call: (client, { org, person }) => client.samplePeople.getSamplePerson({ params: { org, person } }),
}).text(({ attrs, fields, id, name }) =>
  `${id} (${name})\nattrs: ${JSON.stringify(attrs)}\nfields: ${JSON.stringify(fields)}`
)

const set = organizationCommand({
  name: "set",
  description: "Create or replace a sample person. Use made-up data: all members see it",
  examples: [
    'parlance sample-person set gold-customer --attrs \'{"tier":"gold"}\' --fields \'{"name":"Ann"}\'',
  ],
  flags: {
    person,
    name: text("name", "Its name. Default: the id"),
    attrs: text("attrs", "Attributes for targeting, as JSON"),
    fields: text("fields", "Values for placeholders, as JSON"),
  },
  payload: ({ attrs, fields, name, person }) =>
    Effect.gen(function* () {
      const values = given({
        attrs: yield* readJsonFlag("--attrs", attrs),
        fields: yield* readJsonFlag("--fields", fields),
      })
      return bodyOf<SamplePersonInput>({ name: Option.getOrElse(name, () => person), ...values })
    }),
  call: (client, { org, payload, person }) =>
    client.samplePeople.saveSamplePerson({ params: { org, person }, payload }),
}).text(({ id, name }) => `Saved ${id} (${name})`)

const remove = organizationCommand({
  name: "delete",
  description: "Delete a sample person",
  flags: { person },
  call: (client, { org, person }) => client.samplePeople.deleteSamplePerson({ params: { org, person } }),
  result: (_, { person }) => ({ id: person, deleted: true }),
}).text(({ id }) => `Deleted ${id}`)

/** `parlance sample-person …` */
export const samplePersonCommand = Command.make("sample-person").pipe(
  Command.withDescription("Sample people for previews and test messages"),
  Command.withSubcommands([list, show, set, remove]),
)
