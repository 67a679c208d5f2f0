import { Effect } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { named, namedAtMost } from "../../domain/WarningText.ts"

/** The value of the header `Parlance-Warnings`. It carries printable ASCII only, whatever a warning says. */
export const headerOf = (warnings: ReadonlyArray<string>): string =>
  warnings.map((text) => text.replace(/[^\x20-\x7e]/g, "?")).join("; ")

/** Warnings about query parameters without effect: unknown and repeated ones. */
export const ofParameters = (
  asked: URLSearchParams,
  isKnown: (name: string) => boolean,
): ReadonlyArray<string> => {
  const names = [...asked.keys()]
  return [...new Set(names)].flatMap((name) => {
    if (!isKnown(name)) return [`the parameter "${named(name)}" is unknown and has no effect`]
    return names.indexOf(name) === names.lastIndexOf(name)
      ? []
      : [`the parameter "${named(name)}" is given more than once, only the first counts`]
  }).slice(0, namedAtMost)
}

/** Warnings about the query of a request that takes no parameters. */
export const ofQuery = ({ url }: { readonly url: string }): ReadonlyArray<string> => {
  const at = url.indexOf("?")
  return at === -1 ? [] : ofParameters(new URLSearchParams(url.slice(at + 1)), () => false)
}

/** Warnings about members of a body that had no effect, by their JSON pointers. */
export const ofMembers = (pointers: ReadonlyArray<string>): ReadonlyArray<string> =>
  pointers.slice(0, namedAtMost).map((pointer) => `the member "${named(pointer)}" is unknown and has no effect`)

/** Warnings about members of events that could not be read, by their JSON pointers. The verdicts have the reasons. */
export const ofUnread = (pointers: ReadonlyArray<string>): ReadonlyArray<string> =>
  pointers.slice(0, namedAtMost).map((pointer) => `the member "${named(pointer)}" could not be read, see the verdict`)

/** Adds warnings to the response of a request, in the header `Parlance-Warnings`, behind earlier ones. */
export const warn = (
  request: HttpServerRequest.HttpServerRequest,
  warnings: ReadonlyArray<string>,
): Effect.Effect<void> =>
  warnings.length === 0 ? Effect.void : HttpEffect.appendPreResponseHandler((_, response) =>
    Effect.sync(() => {
      const earlier = response.headers["parlance-warnings"]
      const all = earlier === undefined ? warnings : [earlier, ...warnings]
      return HttpServerResponse.setHeader(response, "parlance-warnings", headerOf(all))
    })
  ).pipe(Effect.provideService(HttpServerRequest.HttpServerRequest, request))
