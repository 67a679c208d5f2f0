import * as BearerToken from "./BearerToken.ts"
import type * as Verdict from "./Verdict.ts"

/**
 * Iterable signs nothing: its system webhooks carry a fixed token, in `Authorization` or in a header of the customer's
 * choice. Source: `providers.md` 3.
 */
export const IterableSettings = BearerToken.BearerTokenSettings
export type IterableSettings = BearerToken.BearerTokenSettings

/**
 * The token alone, as Iterable's documents show it, or after `Basic`, `OAuth2` or `Bearer`; after `Basic` also in Base64,
 * as that scheme is elsewhere.
 */
export const check: Verdict.Check<IterableSettings> = (settings, headers) =>
  BearerToken.checkToken(settings, { schemes: ["basic", "oauth2", "bearer"], bare: true, encoded: ["basic"] }, headers)
