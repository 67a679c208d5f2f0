import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import * as client from "openid-client"
import { Buffer } from "node:buffer"
import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto"
import { Settings } from "../settings/Settings.ts"
import * as Json from "../json/Json.ts"
import { groupsIn, noGroups, type ProvidedGroups } from "./GroupsClaim.ts"

// `openid-client` parses the provider's responses with `JSON.parse`, which confuses names with escapes: it then returns
// a part of the escaped name, which contains a backslash. The names that this module reads contain no backslash, so
// they cannot be confused.

/** The sign-in at the identity provider failed. The message states the reason. */
class OpenIdFailed extends Schema.TaggedError<OpenIdFailed>()("OpenIdFailed", { message: Schema.String }) {}

/** A person according to the identity provider, with an address that the provider has verified. */
interface Identity {
  readonly email: string
  readonly name: string
  /**
   * Methods by which the provider authenticated the person: the claim `amr`, such as `pwd` and `mfa`. Empty if the
   * claim is absent.
   */
  readonly factors: ReadonlyArray<string>
  /** The groups of the person. Asks the provider's userinfo endpoint if the token has no groups. */
  readonly groups: Effect.Effect<ProvidedGroups>
  readonly next: string | undefined
}

interface State {
  readonly verifier: string
  readonly state: string
  readonly nonce: string
  readonly next: string | undefined
  readonly until: number
}

/**
 * Encrypts the state of a sign-in for its cookie, and reads it again. `open` returns undefined for a state that is
 * forged or has expired at `now`.
 */
const stateSeal = (secret: string) => {
  // Another node may finish the sign-in, so the key is derived from the secret that all nodes have.
  const key = Buffer.from(hash("sha256", `openid state ${secret}`, "hex"), "hex")
  const seal = (state: State): string => {
    const iv = randomBytes(12)
    const cipher = createCipheriv("aes-256-gcm", key, iv)
    const sealed = Buffer.concat([cipher.update(JSON.stringify(state), "utf8"), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url")
  }
  const open = (text: string, now: number): State | undefined => {
    try {
      const bytes = Buffer.from(text, "base64url")
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      const state = Json.parseStored(
        Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8"),
      ) as State
      return state.until > now ? state : undefined
    } catch {
      return undefined
    }
  }
  return { open, seal }
}

/**
 * Whether the provider has verified the e-mail address. Entra ID sends no `email_verified`: its optional claim `xms_edov` says
 * that the owner of the address' domain is verified, and counts only in place of an absent `email_verified`. Anybody with a
 * directory can put any address into `email`, so an address without either claim is refused.
 */
export const isVerified = ({ email_verified: verified, xms_edov: owner }: Readonly<Record<string, unknown>>): boolean =>
  verified === true || (verified === undefined && (owner === true || owner === 1 || owner === "1" || owner === "true"))

/** Sign-in through OpenID Connect: code flow with PKCE, state and nonce. */
export class OpenId extends Context.Service<OpenId, {
  /** The label of the button. Undefined without a provider. */
  readonly label: string | undefined
  /**
   * Returns the URL for the browser, and the sealed state for its cookie, which is valid for ten minutes. Fails with
   * `OpenIdFailed` if the provider does not respond.
   */
  readonly begin: (
    origin: string,
    next: string | undefined,
  ) => Effect.Effect<{ readonly url: string; readonly state: string }, OpenIdFailed>
  /**
   * Returns the person who came back with `url`. Fails with `OpenIdFailed` if the sign-in fails, or the provider has
   * not verified the address.
   */
  readonly finish: (origin: string, url: string, state: string) => Effect.Effect<Identity, OpenIdFailed>
}>()("parlance/accounts/OpenId") {
  static readonly layer = Layer.effect(
    OpenId,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const { oidcClientId, oidcClientSecret, oidcGroupsClaim, oidcIssuer, oidcScopes } = yield* Settings
      const openId = Option.all({ issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret })
      if (Option.isNone(openId)) {
        const off = new OpenIdFailed({ message: "No identity provider is set up here (OIDC_ISSUER)." })
        return OpenId.of({ label: undefined, begin: () => off, finish: () => off })
      }
      const { clientId, clientSecret, issuer } = openId.value
      // Plain HTTP is only for providers on this machine.
      const isLocal = issuer.protocol === "http:"
      let found: client.Configuration | undefined

      const configuration = Effect.tryPromise({
        try: async () =>
          found ??= await client.discovery(
            issuer,
            clientId,
            undefined,
            client.ClientSecretPost(Redacted.value(clientSecret)),
            // By default, the library trusts the connection instead of the token's signature.
            { execute: [client.enableNonRepudiationChecks, ...(isLocal ? [client.allowInsecureRequests] : [])] },
          ),
        catch: () => new OpenIdFailed({ message: `The identity provider at ${issuer.host} does not answer.` }),
      })

      const { open, seal } = stateSeal(Redacted.value(clientSecret))

      /** Some providers, such as Okta, send groups only to the userinfo endpoint. */
      const groupsOf = (config: client.Configuration, claims: client.IDToken, token: string) => {
        const inToken = groupsIn(claims, oidcGroupsClaim)
        if (inToken !== undefined) return Effect.succeed(inToken)
        if (config.serverMetadata().userinfo_endpoint === undefined) return Effect.succeed(noGroups)
        return Effect.tryPromise(() => client.fetchUserInfo(config, token, claims.sub)).pipe(
          Effect.map((info) => groupsIn(info, oidcGroupsClaim) ?? noGroups),
          Effect.orElseSucceed((): ProvidedGroups => ({
            kind: "unknown",
            reason: `the userinfo endpoint of ${issuer.host} did not answer`,
          })),
        )
      }

      const redirectUri = (origin: string) => `${origin}/console/openid/callback`

      return OpenId.of({
        label: issuer.host,
        begin: Effect.fn("OpenId.begin")(function* (origin, next) {
          const config = yield* configuration
          const verifier = client.randomPKCECodeVerifier()
          const state = client.randomState()
          const nonce = client.randomNonce()
          const challenge = yield* Effect.promise(() => client.calculatePKCECodeChallenge(verifier))
          const url = client.buildAuthorizationUrl(config, {
            redirect_uri: redirectUri(origin),
            scope: oidcScopes,
            code_challenge: challenge,
            code_challenge_method: "S256",
            state,
            nonce,
          })
          return {
            url: url.href,
            state: seal({ verifier, state, nonce, next, until: clock.currentTimeMillisUnsafe() + 600_000 }),
          }
        }),
        finish: Effect.fn("OpenId.finish")(function* (origin, url, sealed) {
          const state = open(sealed, clock.currentTimeMillisUnsafe())
          if (state === undefined) {
            return yield* new OpenIdFailed({
              message: "This took too long, or began in another browser. Sign in again.",
            })
          }
          const config = yield* configuration
          const { claims, token } = yield* Effect.tryPromise({
            try: async () => {
              const tokens = await client.authorizationCodeGrant(config, new URL(url, redirectUri(origin)), {
                pkceCodeVerifier: state.verifier,
                expectedState: state.state,
                expectedNonce: state.nonce,
                idTokenExpected: true,
              })
              return { claims: tokens.claims()!, token: tokens.access_token }
            },
            catch: () => new OpenIdFailed({ message: `${issuer.host} did not confirm the sign-in. Try again.` }),
          })
          const { amr, email, name } = claims
          if (typeof email !== "string" || !isVerified(claims)) {
            return yield* new OpenIdFailed({
              message: `${issuer.host} does not say that it has verified your e-mail address. ` +
                "Whoever operates Parlance finds the claims that it must send under Single sign-on in the documentation.",
            })
          }
          return {
            email,
            name: typeof name === "string" && name !== "" ? name.slice(0, 200) : email,
            groups: groupsOf(config, claims, token),
            factors: Array.isArray(amr) ? amr.filter((one) => typeof one === "string") : [],
            next: state.next,
          }
        }),
      })
    }),
  )
}
