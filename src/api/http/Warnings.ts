import { Effect } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Fault } from "../../domain/Errors.ts"
import { named, namedAtMost } from "../../domain/WarningText.ts"

/** Returns the value of the header `Parlance-Warnings`. `?` replaces characters other than printable ASCII. */
export const headerOf = (warnings: ReadonlyArray<string>): string =>
  warnings.map((text) => text.replace(/[^\x20-\x7e]/g, "?")).join("; ")

/** Returns warnings about query parameters without effect: unknown and repeated parameters. */
export const ofParameters = (
  query: URLSearchParams,
  isKnown: (name: string) => boolean,
): ReadonlyArray<string> => {
  const names = [...query.keys()]
  return [...new Set(names)].flatMap((name) => {
    if (!isKnown(name)) return [`the parameter "${named(name)}" is unknown and has no effect`]
    return names.indexOf(name) === names.lastIndexOf(name)
      ? []
      : [`the parameter "${named(name)}" is given more than once, only the first counts`]
  }).slice(0, namedAtMost)
}

/** Returns warnings about the query of a request whose operation has no parameters. */
export const ofQuery = ({ url }: { readonly url: string }): ReadonlyArray<string> => {
  const at = url.indexOf("?")
  return at === -1 ? [] : ofParameters(new URLSearchParams(url.slice(at + 1)), () => false)
}

/** Returns warnings about members of a body that had no effect, by their JSON pointers. */
export const ofMembers = (pointers: ReadonlyArray<string>): ReadonlyArray<string> =>
  pointers.slice(0, namedAtMost).map((pointer) => `the member "${named(pointer)}" is unknown and has no effect`)

/**
 * Returns warnings about members of events that could not be read, by their JSON pointers. The verdicts contain the
 * reasons.
 */
export const ofUnread = (pointers: ReadonlyArray<string>): ReadonlyArray<string> =>
  pointers.slice(0, namedAtMost).map((pointer) => `the member "${named(pointer)}" could not be read, see the verdict`)

/** Maximum length of a warning about content. Proxies limit the length of all headers, often to 4,096 bytes. */
const maxLength = 240

/** Returns the first warnings about content that was saved, and the number of the others. */
export const ofContent = (warnings: ReadonlyArray<Fault>): ReadonlyArray<string> => {
  const shown = warnings.slice(0, namedAtMost).map(({ detail, pointer }) => {
    const text = `${pointer}: ${detail}`.replaceAll(";", ",")
    return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text
  })
  const more = warnings.length - shown.length
  return more === 0 ? shown : [...shown, `${more} more warnings. A preview lists all`]
}

/** Adds warnings to the header `Parlance-Warnings` of a request's response, after earlier warnings. */
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
