import { Context, Effect } from "effect"
import { HttpRouter, type HttpServerResponse } from "effect/http"
import type { ChangeProposed, Fault, InvalidInput } from "../domain/Errors.ts"
import { RawRoutes } from "./RawRoutes.tsx"
import { Console, type Fields, type Goto, type View, type Visit } from "./Routes.tsx"

// How the pages of a subject become routes.

type Path = `/console${string}`

type Run<E, R> = (visit: Visit, fields: Fields) => Effect.Effect<View | Goto, E | InvalidInput | ChangeProposed, R>

const makersOf = ({ action, page, signedIn }: Console["Service"], { route }: RawRoutes["Service"]) => ({
  action,
  page,
  route,
  signedIn,
  /** A page with a form that posts to the address of the page. A form with faults is shown again. */
  form: <E, R, E2, R2>(
    path: Path,
    endpoint: string,
    show: (visit: Visit, fields?: Fields, faults?: ReadonlyArray<Fault>) => Effect.Effect<View, E, R>,
    run: Run<E2, R2>,
  ) => [page(path, endpoint, (visit) => show(visit)), action(path, endpoint, run, show)] as const,
  /** A page that asks before an action at the address of the page (see `askFirst`). */
  asks: <E, R, E2, R2>(
    path: Path,
    endpoint: string,
    ask: (visit: Visit) => Effect.Effect<View, E, R>,
    run: Run<E2, R2>,
  ) => [page(path, endpoint, ask), action(path, endpoint, run)] as const,
})

// deno-lint-ignore no-explicit-any -- every route, whatever it requires
type AnyRoute = HttpRouter.Route<never, any>

type Handler<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

/** Adds the routes of a subject. Their handlers take services from the context of the layer. */
export const pages = <const Routes extends ReadonlyArray<AnyRoute>>(
  make: (makers: ReturnType<typeof makersOf>) => Routes,
) =>
  HttpRouter.use(Effect.fnUntraced(function* (router) {
    const services = yield* Effect.context<HttpRouter.Route.Context<Routes[number]>>()
    const routes: ReadonlyArray<AnyRoute> = make(makersOf(yield* Console, yield* RawRoutes))
    yield* router.addAll(routes.map(({ handler, method, path }) => {
      const provided: Handler<never> = Effect.contextWith((request: Context.Context<never>) =>
        Effect.provideContext(handler as Handler<never>, Context.merge(services, request))
      )
      return HttpRouter.route(method, path, provided)
    }))
  }))
