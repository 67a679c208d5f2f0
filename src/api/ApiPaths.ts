import { HttpApi } from "effect/http-api"
import type { WorkName } from "../telemetry/LoopWork.ts"
import { Api } from "./Api.ts"

interface Route {
  readonly method: string
  readonly path: string
  readonly pattern: RegExp
}

const routes: Array<Route> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint: { method, path } }) => {
    const pattern = path.replace(/[.]/g, "\\.").replace(/:org(?=\/|$)/, "(?<org>[^/]+)").replace(/:[^/]+/g, "[^/]+")
    routes.push({ method, path, pattern: new RegExp(`^${pattern}$`) })
  },
})

const pathOf = (url: string): string => url.split("?", 1)[0]!

/**
 * Methods that the path takes; empty for a path that does not exist. HEAD goes with GET, except for Generate, which would
 * count a variant that nobody received.
 */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = pathOf(url)
  const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
  if (methods.has("GET") && !path.startsWith("/api/generate/")) methods.add("HEAD")
  return [...methods].sort()
}

const slug = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** The parts of a request that its name in the log is made of. */
interface Named {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly requestId?: string | undefined
}

/** A request as the log names it: by its route and organization, not by its path, which may name a person. */
export const nameOfParts = ({ method = "", requestId, url = "" }: Named): WorkName => {
  const path = pathOf(url)
  const route = routes.find((route) => route.method === method && route.pattern.test(path))
  const org = route?.pattern.exec(path)?.groups?.["org"] ?? /^\/console\/o\/([^/]+)/.exec(path)?.[1]
  return {
    work: route !== undefined
      ? `${method} ${route.path}`
      : path.startsWith("/console")
      ? `${method} console page`
      : "request without a route",
    org: org !== undefined && slug.test(org) ? org : undefined,
    requestId,
  }
}

/** The parts from which a request is named after its end, when the request itself should leave memory. */
export const namedParts = ({ method, requestId, url }: Named): Named => ({ method, url, requestId })

/** The name of a request that is in work. */
export const workNameOf = (request: Named): WorkName => nameOfParts(request)
