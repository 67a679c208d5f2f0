import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { isIP } from "node:net"
import * as Json from "../json/Json.ts"
import { PasskeyRefused } from "./AccountErrors.ts"

// The ceremonies of WebAuthn, without storage. The library takes 0.2 s to import, so the first passkey imports it.

const library = Effect.promise(() => import("@simplewebauthn/server"))

/** Time for which a challenge is valid. Unit: milliseconds. */
export const challengeMillis = 5 * 60_000

/**
 * Signature algorithms of passkeys, by their COSE ids: Ed25519, ES256 and RS256, which cover all authenticators. The
 * library would add ML-DSA, which not every runtime can verify.
 */
const algorithms = [-8, -7, -257]

/** The site that passkeys belong to. */
export interface Site {
  /** URL of the console without a path, such as `https://crm.example.com`. */
  readonly origin: string
  /** Domain of the origin, to which browsers bind passkeys. */
  readonly rpId: string
}

/**
 * Returns the site of the console's URL. Undefined for an IP address, and for plain HTTP except on `localhost`, because
 * browsers accept no passkeys there.
 */
export const siteOf = (url: string): Site | undefined => {
  if (!URL.canParse(url)) return undefined
  const { hostname, origin, protocol } = new URL(url)
  const isAddress = hostname.startsWith("[") || isIP(hostname) !== 0
  return isAddress || (protocol !== "https:" && hostname !== "localhost") ? undefined : { origin, rpId: hostname }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === "object" && !Array.isArray(value)

/** The response of a browser, and what it says about the request. */
interface Sent<R> {
  readonly response: R
  readonly challenge: string
  readonly origin: string
}

/** Whether a value is text in base64url, as credential ids are. Names of transports have the same characters. */
const isBase64Url = (value: unknown): value is string => typeof value === "string" && /^[\w-]+$/.test(value)

/** Maximum length of a response. Attestations of some security keys have a few kilobytes. Unit: characters. */
const maxResponse = 65_536

/** Reads the JSON of a browser's response. Fails with `PasskeyRefused` for any other text. */
export const readResponse = <R extends AuthenticationResponseJSON | RegistrationResponseJSON>(
  text: string,
): Effect.Effect<Sent<R>, PasskeyRefused> =>
  Effect.try({
    try: () => {
      const parsed = text.length > maxResponse ? undefined : Json.parse(text)
      const inner = isRecord(parsed) ? parsed["response"] : undefined
      if (!isRecord(parsed) || !isBase64Url(parsed["id"]) || !isRecord(inner)) {
        throw new PasskeyRefused({ reason: "malformed" })
      }
      const client = Json.parse(Buffer.from(String(inner["clientDataJSON"]), "base64url").toString("utf8"))
      if (!isRecord(client) || typeof client["challenge"] !== "string") {
        throw new PasskeyRefused({ reason: "malformed" })
      }
      return { response: parsed as unknown as R, challenge: client["challenge"], origin: String(client["origin"]) }
    },
    catch: () => new PasskeyRefused({ reason: "malformed" }),
  })

/** A passkey as the verification needs it. */
interface Credential {
  readonly credentialId: string
  readonly publicKey: string
  readonly counter: number
  readonly transports: ReadonlyArray<string>
}

const descriptors = (known: ReadonlyArray<Pick<Credential, "credentialId" | "transports">>) =>
  known.map(({ credentialId, transports }) => ({ id: credentialId, transports: [...transports] as never }))

/**
 * Returns the options for `navigator.credentials.create`. The passkey must be discoverable and verify its user. `known`:
 * the account's passkeys, of which no authenticator makes a second one.
 */
export const creationOptions = (
  { rpId }: Site,
  challenge: string,
  { email, id, name }: { readonly id: string; readonly email: string; readonly name: string },
  known: ReadonlyArray<Pick<Credential, "credentialId" | "transports">>,
): Effect.Effect<PublicKeyCredentialCreationOptionsJSON> =>
  Effect.flatMap(library, ({ generateRegistrationOptions }) =>
    Effect.promise(() =>
      generateRegistrationOptions({
        rpName: "Parlance",
        rpID: rpId,
        userID: new Uint8Array(Buffer.from(id, "utf8")),
        userName: email,
        userDisplayName: name,
        challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
        timeout: challengeMillis,
        attestationType: "none",
        supportedAlgorithmIDs: algorithms,
        excludeCredentials: descriptors(known),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      })
    ))

/** Returns the options for `navigator.credentials.get`. Without `known`, the person chooses among all passkeys. */
export const requestOptions = (
  { rpId }: Site,
  challenge: string,
  known: ReadonlyArray<Pick<Credential, "credentialId" | "transports">>,
): Effect.Effect<PublicKeyCredentialRequestOptionsJSON> =>
  Effect.flatMap(library, ({ generateAuthenticationOptions }) =>
    Effect.promise(() =>
      generateAuthenticationOptions({
        rpID: rpId,
        challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
        timeout: challengeMillis,
        allowCredentials: descriptors(known),
        userVerification: "required",
      })
    ))

/** Verifies a new passkey. Fails with `PasskeyRefused` for a wrong origin or an invalid response. */
export const verifyCreation = Effect.fnUntraced(function* (
  { origin, rpId }: Site,
  sent: Sent<RegistrationResponseJSON>,
) {
  if (sent.origin !== origin) return yield* new PasskeyRefused({ reason: "origin" })
  const { verifyRegistrationResponse } = yield* library
  const { registrationInfo: info } = yield* Effect.tryPromise({
    try: () =>
      verifyRegistrationResponse({
        response: sent.response,
        expectedChallenge: sent.challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        supportedAlgorithmIDs: algorithms,
        requireUserVerification: true,
      }),
    catch: () => new PasskeyRefused({ reason: "invalid" }),
  })
  if (info === undefined) return yield* new PasskeyRefused({ reason: "invalid" })
  const { counter, id, publicKey, transports } = info.credential
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString("base64url"),
    counter,
    // The library passes on what the browser sent.
    transports: (Array.isArray(transports) ? transports : []).filter(isBase64Url).slice(0, 10)
      .map((one) => one.slice(0, 20)),
    isSynced: info.credentialDeviceType === "multiDevice",
  }
})

/**
 * Verifies the use of a passkey and returns its new counter. Fails with `PasskeyRefused` for a wrong origin, a counter
 * that went back, or an invalid response.
 */
export const verifyUse = Effect.fnUntraced(function* (
  { origin, rpId }: Site,
  sent: Sent<AuthenticationResponseJSON>,
  { counter, credentialId, publicKey }: Credential,
  accountId: string,
) {
  const { userHandle } = sent.response.response
  if (typeof userHandle === "string" && Buffer.from(userHandle, "base64url").toString("utf8") !== accountId) {
    return yield* new PasskeyRefused({ reason: "invalid" })
  }
  if (sent.origin !== origin) return yield* new PasskeyRefused({ reason: "origin" })
  const { verifyAuthenticationResponse } = yield* library
  const { authenticationInfo, verified } = yield* Effect.tryPromise({
    try: () =>
      verifyAuthenticationResponse({
        response: sent.response,
        expectedChallenge: sent.challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        // The library compares counters before the signature, and reports every fault alike.
        credential: { id: credentialId, publicKey: new Uint8Array(Buffer.from(publicKey, "base64url")), counter: 0 },
        requireUserVerification: true,
      }),
    catch: () => new PasskeyRefused({ reason: "invalid" }),
  })
  if (!verified) return yield* new PasskeyRefused({ reason: "invalid" })
  const { newCounter } = authenticationInfo
  if ((newCounter > 0 || counter > 0) && newCounter <= counter) return yield* new PasskeyRefused({ reason: "counter" })
  return newCounter
})
