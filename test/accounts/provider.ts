import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { generateKeyPairSync, hash, randomBytes, sign } from "node:crypto"
import { createServer } from "node:http"

/** The person that the provider identifies, and its deviations. */
export interface Behaviour {
  email: string
  /** Undefined: absent from the token. */
  verified: boolean | undefined
  /** Signs the token with a key that it does not publish. */
  forged: boolean
  /** Answers with this nonce instead of the one it was asked with. */
  nonce: string | undefined
  /** More claims of the token. */
  claims: Readonly<Record<string, unknown>>
  /** Claims of the userinfo endpoint, which fails without them. */
  userinfo: Readonly<Record<string, unknown>> | undefined
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A small OpenID Connect provider on loopback: discovery, keys, code flow with PKCE, one client. */
export const provider = (clientId: string, clientSecret: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const behaviour: Behaviour = {
        email: "",
        verified: true,
        forged: false,
        nonce: undefined,
        claims: {},
        userinfo: {},
      }
      const [real, other] = [0, 1].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }))
      const codes = new Map<string, URLSearchParams>()
      let issuer = ""
      const json = (status: number, body: unknown) => ({ status, body: JSON.stringify(body) })

      const answer = (url: URL, form: URLSearchParams) => {
        switch (url.pathname) {
          case "/.well-known/openid-configuration":
            return json(200, {
              issuer,
              authorization_endpoint: `${issuer}/authorize`,
              token_endpoint: `${issuer}/token`,
              jwks_uri: `${issuer}/keys`,
              userinfo_endpoint: `${issuer}/userinfo`,
              response_types_supported: ["code"],
              subject_types_supported: ["public"],
              id_token_signing_alg_values_supported: ["RS256"],
            })
          case "/keys":
            return json(200, {
              keys: [{ ...real!.publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" }],
            })
          case "/userinfo":
            return behaviour.userinfo === undefined
              ? json(503, {})
              : json(200, { sub: behaviour.email, ...behaviour.userinfo })
          case "/authorize": {
            const code = randomBytes(16).toString("hex")
            codes.set(code, url.searchParams)
            const back = new URL(url.searchParams.get("redirect_uri")!)
            back.searchParams.set("code", code)
            back.searchParams.set("state", url.searchParams.get("state")!)
            return { status: 302, location: back.href, body: "" }
          }
          case "/token": {
            const asked = codes.get(form.get("code") ?? "")
            codes.delete(form.get("code") ?? "")
            const proof = hash("sha256", form.get("code_verifier") ?? "", "base64url")
            const right = asked !== undefined && asked.get("code_challenge_method") === "S256" &&
              asked.get("code_challenge") === proof && asked.get("redirect_uri") === form.get("redirect_uri") &&
              form.get("client_id") === clientId && form.get("client_secret") === clientSecret
            if (!right) return json(400, { error: "invalid_grant" })
            const now = Math.floor(Date.now() / 1000)
            const claims = {
              iss: issuer,
              aud: clientId,
              sub: behaviour.email,
              iat: now,
              exp: now + 300,
              nonce: behaviour.nonce ?? asked.get("nonce"),
              email: behaviour.email,
              email_verified: behaviour.verified,
              name: "By Provider",
              ...behaviour.claims,
            }
            const signed = `${encode({ alg: "RS256", kid: "one" })}.${encode(claims)}`
            const key = behaviour.forged ? other! : real!
            const signature = sign("sha256", Buffer.from(signed), key.privateKey).toString("base64url")
            return json(200, { access_token: "a", token_type: "bearer", id_token: `${signed}.${signature}` })
          }
          default:
            return json(404, {})
        }
      }

      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk) => chunks.push(chunk))
        request.on("end", () => {
          const { status, body, ...rest } = answer(
            new URL(request.url!, issuer),
            new URLSearchParams(Buffer.concat(chunks).toString()),
          )
          const location = "location" in rest ? { location: rest.location } : {}
          response.writeHead(status, { "content-type": "application/json", ...location }).end(body)
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      issuer = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
      return { issuer, behaviour, server }
    }),
    ({ server }) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      }),
  )
