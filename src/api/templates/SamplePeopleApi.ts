import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { SamplePerson, SamplePersonInput } from "../../domain/SamplePerson.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

const path = { org: Schema.String }
const personPath = { ...path, person: Schema.String }
const at = "/organizations/:org/sample-people" as const
const notFound = [Problems.OrganizationNotFound, Problems.SamplePersonNotFound] as const

/** Endpoints of sample people. */
export class SamplePeopleGroup extends managementGroup(
  "samplePeople",
  "Sample people of previews and test messages",
  {
    listSamplePeople: reads("viewer", "templates:read"),
    getSamplePerson: reads("viewer", "templates:read"),
    saveSamplePerson: writes("editor", "sample person saved", "templates:write", { isPrivate: true }),
    deleteSamplePerson: writes("editor", "sample person deleted", "templates:write", { isPrivate: true }),
  },
  HttpApiEndpoint.get("listSamplePeople", at, {
    params: path,
    success: Schema.Struct({ people: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String })) }),
    error: [Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The sample people of an organization, by name"),
  HttpApiEndpoint.get("getSamplePerson", `${at}/:person`, {
    params: personPath,
    success: SamplePerson,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "A sample person with attributes and fields"),
  HttpApiEndpoint.put("saveSamplePerson", `${at}/:person`, {
    params: personPath,
    payload: SamplePersonInput,
    success: SamplePerson,
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Creates or replaces a sample person").annotate(
    OpenApi.Description,
    "A person for previews and test messages. All members of the organization see it: use made-up data. An organization has " +
      "at most 100.",
  ),
  HttpApiEndpoint.delete("deleteSamplePerson", `${at}/:person`, {
    params: personPath,
    success: HttpApiSchema.NoContent,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "Deletes a sample person"),
) {}
