import { Effect } from "effect"
import { HttpClientError, type HttpClientResponse } from "effect/http"
import * as Json from "../json/Json.ts"

/** Reads the JSON of a response. Fails with `HttpClientError` if the body does not arrive or is not JSON. */
export const jsonOf = (
  response: HttpClientResponse.HttpClientResponse,
): Effect.Effect<unknown, HttpClientError.HttpClientError> =>
  Effect.flatMap(response.text, (text) =>
    Effect.try({
      try: () => Json.parse(text),
      catch: (cause) =>
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.DecodeError({ request: response.request, response, cause }),
        }),
    }))
