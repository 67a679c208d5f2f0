import * as BearerToken from "./BearerToken.ts"
import type * as Verdict from "./Verdict.ts"

/** The header in which a sender's webhook may send its secret instead of `authorization`. */
const secretHeader = "x-webhook-secret"

/**
 * Accepts the secret as the password of Basic authentication with any user name, after `Bearer`, or alone in the header
 * `x-webhook-secret`. A secret with a colon may also be the whole credentials, `user:password`. For senders of e-mail
 * that do not sign their webhooks.
 */
export const check: Verdict.Check<BearerToken.BearerTokenSettings> = (settings, headers) => {
  const isAlone = settings.header === undefined && !Object.hasOwn(headers, "authorization") &&
    Object.hasOwn(headers, secretHeader)
  return BearerToken.checkToken(
    isAlone ? { ...settings, header: secretHeader } : settings,
    { schemes: ["basic", "bearer"], bare: false, encoded: [], isPassword: true },
    headers,
  )
}
