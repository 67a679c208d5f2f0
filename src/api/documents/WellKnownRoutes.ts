import { Clock, Effect, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PathNotFound } from "../Problems.ts"
import { Settings } from "../../settings/Settings.ts"

/** How long a reader may rely on security.txt. RFC 9116 recommends less than a year. Unit: milliseconds. */
const validMillis = 90 * 86_400_000

/** Returns security.txt (RFC 9116) of an installation. `now`: Unix milliseconds. */
export const securityText = (contact: string, now: number): string =>
  `Contact: ${contact}\nExpires: ${new Date(now + validMillis).toISOString().replace(/\.\d+/, "")}\n`

/** Serves the files that crawlers and security researchers request from every host. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { securityContact } = yield* Settings
  // A message can link to pages of this host, and none of them is for a search engine.
  yield* router.add("GET", "/robots.txt", HttpServerResponse.text("User-agent: *\nDisallow: /\n"))
  yield* router.add(
    "GET",
    "/.well-known/security.txt",
    Option.match(securityContact, {
      onNone: () =>
        Effect.fail(new PathNotFound({ detail: "This installation names no contact. SECURITY_CONTACT sets it." })),
      onSome: (contact) =>
        Effect.map(Clock.currentTimeMillis, (now) => HttpServerResponse.text(securityText(contact, now))),
    }),
  )
}))
