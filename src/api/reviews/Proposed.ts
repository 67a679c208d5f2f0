import { Effect, type Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import { ChangeProposed } from "../../domain/Errors.ts"

/**
 * Returns the schema of the response 202 in the form of `schema`: the change affects live messages and needs approval.
 */
export const waiting = <S extends Schema.Top>(schema: S) =>
  schema.pipe(HttpApiSchema.status(202)).annotate({
    description:
      "The organization requires approval, and the change affects live messages: it is stored as a proposed change",
  })

/**
 * Responds with 202 and the proposals if a change needs approval. The response also has the members of a live change,
 * which `answer` creates from the result, so that clients read a single form.
 */
export const orProposed = <A>(answer: (value: A) => object | undefined) => <B, E, R>(effect: Effect.Effect<B, E, R>) =>
  Effect.catchIf(
    effect,
    (error): error is Extract<E, ChangeProposed> => error instanceof ChangeProposed,
    ({ message: detail, proposals, value }) =>
      Effect.succeed(
        HttpServerResponse.jsonUnsafe({ ...answer(value as A), detail, proposals }, { status: 202 }),
      ),
  )

/** Returns the result of a change unchanged. */
export const asIs = (value: object | undefined) => value
