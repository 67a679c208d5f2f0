import { call, commandGroup } from "./ApiCommand.ts"
import { argument, json, text } from "./Flags.ts"

const person = argument("person", "The person's id, such as gold-customer")

/** `parlance sample-person …` */
export const samplePersonCommand = commandGroup("sample-person", "Sample people for previews and test messages", {
  list: call("listSamplePeople", "List the sample people")
    .result(({ people }) => people)
    .table({ id: "id", name: "name" }, "No sample people"),

  show: call("getSamplePerson", "Show the attributes and fields of a sample person", { person })
    .text(({ attrs, fields, id, name }) =>
      `${id} (${name})\nattrs: ${JSON.stringify(attrs)}\nfields: ${JSON.stringify(fields)}`
    ),

  set: call("saveSamplePerson", "Create or replace a sample person. Use made-up data: all members see it", {
    person,
    name: text("name", "Its name. Default: the id"),
    attrs: json("attrs", "Attributes for targeting, as JSON"),
    fields: json("fields", "Values for placeholders, as JSON"),
  }).sends(({ name, person, ...values }) => ({ person, name: name ?? person, ...values }))
    .examples('parlance sample-person set gold-customer --attrs \'{"tier":"gold"}\' --fields \'{"name":"Ann"}\'')
    .text(({ id, name }) => `Saved ${id} (${name})`),

  delete: call("deleteSamplePerson", "Delete a sample person", { person })
    .result((_, { person }) => ({ id: person, deleted: true }))
    .text(({ id }) => `Deleted ${id}`),
})
