import { Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Verdict from "./Verdict.ts"

/**
 * A secret that the sender puts into a header unchanged. It covers neither body nor time, so replays are recognized by
 * event ids. Used by Braze (`providers.md` 2.1), and by platforms on which customers can set the header.
 */
export const BearerTokenSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.TokenSecret),
  /** `authorization` unless set. */
  header: Schema.optionalKey(Verdict.HeaderName),
})
export type BearerTokenSettings = typeof BearerTokenSettings.Type

/** Accepted forms of a token in its header. */
export interface Forms {
  /** The words that may stand before it, lowercase. */
  readonly schemes: ReadonlyArray<string>
  /** Whether `authorization` may lack such a word. Other headers may always. */
  readonly bare: boolean
  /** The words after which it may also be the Base64 of the secret. */
  readonly encoded: ReadonlyArray<string>
}

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64")

/** Whether a header of the request has one of the secrets, in one of the forms. */
export const checkToken = (
  settings: BearerTokenSettings,
  forms: Forms,
  headers: Verdict.Headers,
): Verdict.SignatureVerdict => {
  const name = settings.header ?? "authorization"
  const secrets = Verdict.usable(settings.secrets)
  if (secrets.length === 0) return Verdict.noSecret
  const header = Verdict.headerOf(headers, name)
  if ("fault" in header) return header.fault
  // A token has neither spaces nor, with one behind it, a comma.
  if (header.value.includes(", ")) return Verdict.refused(`The header ${name} was sent more than once`)
  const space = header.value.indexOf(" ")
  const scheme = space < 0 ? "" : header.value.slice(0, space).toLowerCase()
  const isKnown = forms.schemes.includes(scheme)
  if (!isKnown && !forms.bare && name === "authorization") {
    return Verdict.refused(`The header ${name} must be ${forms.schemes.join(" or ")}, a space, and the token`)
  }
  const presented = isKnown ? header.value.slice(space + 1).trim() : header.value
  const isEncoded = isKnown && forms.encoded.includes(scheme)
  let fits = false
  for (const secret of secrets) {
    if (Verdict.sameText(presented, secret)) fits = true
    if (isEncoded && Verdict.sameText(presented, base64(secret))) fits = true
  }
  return fits ? Verdict.accepted : Verdict.refused(`The token in the header ${name} is not the one that was set up`)
}

/** `Authorization: Bearer` and the token, or its Base64: Braze gives the token of a connector in that form. */
export const check: Verdict.Check<BearerTokenSettings> = (settings, headers) =>
  checkToken(settings, { schemes: ["bearer"], bare: false, encoded: ["bearer"] }, headers)
