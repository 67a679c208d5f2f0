import type { OpenApi } from "effect/http-api"
import { readFileSync } from "node:fs"
import * as Json from "../../json/Json.ts"

// Examples of the OpenAPI document: calls that the service answered, recorded by test/api/Examples.test.ts.

interface Example {
  readonly parameters?: Readonly<Record<string, string>>
  readonly request?: unknown
  readonly status: number
  readonly response?: unknown
}

export type Examples = Readonly<Record<string, Example>>

/** Recorded examples by operation id. */
export const readExamples = (): Examples =>
  Json.parse(readFileSync(new URL("examples.json", import.meta.url), "utf8")) as Examples

type Content = Readonly<Record<string, object>>

/** Named, because Scalar shows the parameters, body and answer of one name together, and answers of `example` not at all. */
const recorded = (value: unknown) => ({ recorded: { value } })

/** The example at the first media type of a body. */
const withExample = (content: Content | undefined, example: unknown) => {
  const [type] = Object.keys(content ?? {})
  return type === undefined || example === undefined
    ? content
    : { ...content, [type]: { ...content![type], examples: recorded(example) } }
}

/** An operation with the recorded example of its parameters, its body and its successful answer. */
export const withExamples = (
  { parameters, requestBody, responses, ...others }: OpenApi.OpenAPISpecOperation,
  { parameters: values = {}, request, response, status }: Example,
): OpenApi.OpenAPISpecOperation =>
  ({
    ...others,
    parameters: parameters.map((parameter) =>
      values[parameter.name] === undefined ? parameter : { ...parameter, examples: recorded(values[parameter.name]) }
    ),
    ...(requestBody === undefined
      ? {}
      : { requestBody: { ...requestBody, content: withExample(requestBody.content, request) } }),
    responses: {
      ...responses,
      [status]: { ...responses[status], content: withExample(responses[status]?.content, response) },
    },
  }) as unknown as OpenApi.OpenAPISpecOperation
