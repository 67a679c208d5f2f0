import { Effect, type Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import { ChangeProposed } from "../../domain/Errors.ts"

/** The answer 202 to a change that affects what is served and waits for approval, in the given form. */
export const waiting = <S extends Schema.Top>(schema: S) =>
  schema.pipe(HttpApiSchema.status(202)).annotate({
    description:
      "The organization requires approval, and the change affects what is served: it waits as a proposed change",
  })

/**
 * Answers 202 to a change that waits for approval, with its proposals. The answer has the members of a live change as well,
 * which `answer` makes of the result, so that clients read one form.
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

/** The result of a change as it is. */
export const asIs = (value: object | undefined) => value
