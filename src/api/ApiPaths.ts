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
 * Returns the methods that a path supports, or an empty list for a path that does not exist. Paths with GET also
 * support HEAD, except Generate, which would record a decision for a variant that no user received.
 */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = pathOf(url)
  const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
  if (methods.has("GET") && !path.startsWith("/api/generate/")) methods.add("HEAD")
  return [...methods].sort()
}

const slug = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** The parts of a request that determine its name in the log. */
interface Named {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly requestId?: string | undefined
}

/** Returns the name of a request in the log: its route and organization, without the path, which may name a person. */
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

/** Returns the parts that name a request after its end, so that memory need not hold the request itself. */
export const namedParts = ({ method, requestId, url }: Named): Named => ({ method, url, requestId })

/** Returns the name of a request in work. */
export const workNameOf = (request: Named): WorkName => nameOfParts(request)
