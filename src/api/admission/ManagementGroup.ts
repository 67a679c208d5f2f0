import type { NonEmptyReadonlyArray } from "effect/Array"
import { type HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EndpointAccess, type Rule } from "../../accounts/Access.ts"
import { managementSecurity } from "../openapi/Security.ts"
import { AdminRequired } from "./AdminRequired.ts"

/** Creates a group of the management API, with the access rule of each endpoint. */
export const managementGroup = <
  const Id extends string,
  const E extends NonEmptyReadonlyArray<HttpApiEndpoint.Constraint>,
>(
  identifier: Id,
  description: string,
  access: { readonly [Name in HttpApiEndpoint.Identifier<E[number]>]: Rule },
  ...endpoints: E
) => {
  const rules: Readonly<Record<string, Rule>> = access
  const annotated = (endpoints as ReadonlyArray<HttpApiEndpoint.Constraint> as ReadonlyArray<HttpApiEndpoint.Top>)
    .map((endpoint) => {
      const rule = rules[endpoint.identifier]!
      return endpoint.annotate(EndpointAccess, rule).annotateMerge(managementSecurity(rule))
    })
  return HttpApiGroup.make(identifier)
    .add(...annotated as ReadonlyArray<HttpApiEndpoint.Constraint> as E)
    .middleware(AdminRequired)
    .prefix("/console/api")
    .annotate(OpenApi.Description, description)
}
