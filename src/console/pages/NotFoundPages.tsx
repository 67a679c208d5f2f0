import { Effect } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import { t } from "../../languages/Language.ts"
import { alone, problem } from "../Routes.tsx"

/** Answers paths under /console that no page has; the API below it answers for itself. */
export const layer = HttpRouter.use((router) =>
  router.add(
    "GET",
    "/console/:page/*",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const path = request.url.split("?", 1)[0]!
      return path === "/console/api" || path.startsWith("/console/api/")
        ? Effect.fail(new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) }))
        : Effect.succeed(
          alone(
            request,
            problem(404, t`Page not found`, t`The address may be mistyped, or the page has been removed.`),
          ),
        )
    }),
  )
)
