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

/** Recorded examples by operation id. */
export type Examples = Readonly<Record<string, Example>>

/** Recorded examples by operation id. */
export const readExamples = (): Examples =>
  Json.parse(readFileSync(new URL("examples.json", import.meta.url), "utf8")) as Examples

/** Samples of calls in curl, JavaScript and Python by operation id, written by scripts/writeClients.ts. */
export const readSamples = (): Readonly<Record<string, ReadonlyArray<unknown> | undefined>> =>
  Json.parse(readFileSync(new URL("samples.json", import.meta.url), "utf8")) as never

type Content = Readonly<Record<string, object>>

/**
 * Returns a named example. Scalar shows the parameters, the body and the response with an equal name together, and does
 * not show responses in `example`.
 */
const recorded = (value: unknown) => ({ recorded: { value } })

/** Returns a body's content with the example at its first media type. */
const withExample = (content: Content | undefined, example: unknown) => {
  const [type] = Object.keys(content ?? {})
  return type === undefined || example === undefined
    ? content
    : { ...content, [type]: { ...content![type], examples: recorded(example) } }
}

/** Returns an operation with the recorded example of its parameters, its body and its successful response. */
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
