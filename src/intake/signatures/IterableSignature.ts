import * as BearerToken from "./BearerToken.ts"
import type * as Verdict from "./Verdict.ts"

/**
 * Iterable does not sign its system webhooks. They carry a fixed token, in `Authorization` or in a header that the
 * customer chooses. Facts: docs/integrations/facts/iterable.md.
 */
export const IterableSettings = BearerToken.BearerTokenSettings
export type IterableSettings = BearerToken.BearerTokenSettings

/**
 * Accepts the token without a scheme, as in Iterable's documents, or after `Basic`, `OAuth2` or `Bearer`. After
 * `Basic`, also accepts its Base64, as usual for that scheme.
 */
export const check: Verdict.Check<IterableSettings> = (settings, headers) =>
  BearerToken.checkToken(settings, { schemes: ["basic", "oauth2", "bearer"], bare: true, encoded: ["basic"] }, headers)
