import { Context, Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { SecurityLog } from "../../accounts/SecurityLog.ts"
import type { Reason } from "../../accounts/SecurityTally.ts"
import { networkOf } from "../../text/Addresses.ts"
import { Settings } from "../../settings/Settings.ts"
import { seenThrough } from "../http/TrustedProxies.ts"

/**
 * Counts refused requests in the metrics and the audit log, under the client's address as trusted proxies report it.
 */
export class Refusals extends Context.Service<Refusals, {
  /** `org` is any text from the request. `subject` names the credential, such as the id of a key. */
  readonly count: (
    request: HttpServerRequest.HttpServerRequest,
    reason: Reason,
    about?: { readonly org?: string | undefined; readonly subject?: string | undefined },
  ) => void
  /** The client's address; undefined for requests within this process. */
  readonly addressOf: (request: HttpServerRequest.HttpServerRequest) => string | undefined
  /** The network under which the guesses of a request's client are limited. */
  readonly networkOf: (request: HttpServerRequest.HttpServerRequest) => string
}>()("parlance/api/admission/Refusals") {
  static readonly layer = Layer.effect(
    Refusals,
    Effect.gen(function* () {
      const log = yield* SecurityLog
      const { trustedProxies } = yield* Settings
      const addressOf = (request: HttpServerRequest.HttpServerRequest) =>
        Option.getOrUndefined(seenThrough(trustedProxies, request).remoteAddress)
      return Refusals.of({
        count: (request, reason, about = {}) => log.refused(reason, { ...about, address: addressOf(request) }),
        addressOf,
        networkOf: (request) => networkOf(addressOf(request) ?? ""),
      })
    }),
  )
}
