import { Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Verdict from "./Verdict.ts"

/**
 * A secret that the sender puts into a header unchanged. It protects neither body nor time, so replays are detected by
 * event ids. Used by Braze (docs/integrations/facts/braze.md), and by platforms whose customers can set a header.
 */
export const BearerTokenSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.TokenSecret),
  /** Name of the header. Default: `authorization`. */
  header: Schema.optionalKey(Verdict.HeaderName),
})
export type BearerTokenSettings = typeof BearerTokenSettings.Type

/** The accepted forms of a token in its header. */
interface Forms {
  /** Lowercase schemes that may precede the token. */
  readonly schemes: ReadonlyArray<string>
  /** Whether `authorization` may contain the token without a scheme. Other headers always may. */
  readonly bare: boolean
  /** Schemes after which the Base64 of the secret is also accepted. */
  readonly encoded: ReadonlyArray<string>
  /** Whether `Basic` is followed by the Base64 of a user name, a colon and the secret. Default: false. */
  readonly isPassword?: boolean
}

/** Returns the credentials of Basic authentication, and the password alone. Empty if the text is not Base64. */
const credentialsIn = (text: string): ReadonlyArray<string> => {
  const decoded = Verdict.base64Of(text)
  if (decoded === undefined) return []
  const credentials = Buffer.from(decoded).toString("utf8")
  return [credentials, credentials.slice(credentials.indexOf(":") + 1)]
}

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64")

/** Checks that a header contains one of the secrets in an accepted form. */
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
  // A token contains no spaces, so ", " shows that several headers were joined.
  if (header.value.includes(", ")) return Verdict.refused(`The header ${name} was sent more than once`)
  const space = header.value.indexOf(" ")
  const scheme = space < 0 ? "" : header.value.slice(0, space).toLowerCase()
  const isKnown = forms.schemes.includes(scheme)
  if (!isKnown && !forms.bare && name === "authorization") {
    return Verdict.refused(`The header ${name} must be ${forms.schemes.join(" or ")}, a space, and the token`)
  }
  const presented = isKnown ? header.value.slice(space + 1).trim() : header.value
  const isEncoded = isKnown && forms.encoded.includes(scheme)
  const texts = forms.isPassword === true && scheme === "basic" ? credentialsIn(presented) : [presented]
  let fits = false
  for (const secret of secrets) {
    for (const text of texts) if (Verdict.sameText(text, secret)) fits = true
    if (isEncoded && Verdict.sameText(presented, base64(secret))) fits = true
  }
  return fits ? Verdict.accepted : Verdict.refused(`The token in the header ${name} is not the one that was set up`)
}

/**
 * Accepts `Authorization: Bearer` with the token or its Base64, because Braze requires a connector's token in Base64.
 */
export const check: Verdict.Check<BearerTokenSettings> = (settings, headers) =>
  checkToken(settings, { schemes: ["bearer"], bare: false, encoded: ["bearer"] }, headers)
