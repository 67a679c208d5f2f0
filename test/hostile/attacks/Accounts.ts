import { randomBytes } from "node:crypto"
import type { Attack, Target } from "../Attack.ts"

// Guesses at passwords, codes, tokens and keys, and requests to the console without a session. They claim addresses of
// their own behind a proxy that the service trusts: with the address of the test, its own requests would be refused,
// too.

const guesser = { "x-forwarded-for": "198.51.100.7" }

const form = { "content-type": "application/x-www-form-urlencoded" }
const megabyte = 1024 * 1024

/** A well-formed token of a session or link that does not exist. */
const token = () => randomBytes(32).toString("base64url")

/** Sends requests in groups, as a client with so many connections would. */
const flood = async (
  times: number,
  send: (index: number) => Promise<number>,
  connections = 50,
): Promise<ReadonlyArray<number>> => {
  const statuses: Array<number> = []
  for (let at = 0; at < times; at += connections) {
    const group = Array.from({ length: Math.min(connections, times - at) }, (_, index) => send(at + index))
    statuses.push(...await Promise.all(group))
  }
  return statuses
}

const signIn = (target: Target, email: string, password: string, headers: Readonly<Record<string, string>> = {}) =>
  target.send("POST", "/console/sign-in", String(new URLSearchParams({ email, password })), {
    ...form,
    ...guesser,
    ...headers,
  })

/** An attack that posts one form to every page that takes forms without a session. */
const forms = (name: string, body: string): Attack => ({
  name,
  bytes: body.length,
  run: async ({ send }) => {
    const statuses: Array<number> = []
    for (const path of ["sign-in", "sign-in/code", "password", "invitation", "first-run", "theme", "sign-out"]) {
      statuses.push(await send("POST", `/console/${path}`, body, form))
    }
    return statuses
  },
})

/** Texts that V8 hashes to few values, as names of a form. */
const colliding = (bytes: number): string => {
  const fields: Array<string> = []
  for (let value = 8192, size = 0; size < bytes; value += 8192) {
    fields.push(`${value}=`)
    size += String(value).length + 2
  }
  return fields.join("&").slice(0, bytes)
}

const keyHeaders = (key: string, index: number): Readonly<Record<string, string>> => {
  const wrong = `plk_${randomBytes(8).toString("hex")}_${randomBytes(23).toString("hex")}`
  const forms: ReadonlyArray<Readonly<Record<string, string>>> = [
    { "x-api-key": wrong },
    { "x-api-key": `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}` },
    { "x-api-key": "", authorization: "" },
    { "x-api-key": "x".repeat(8000) },
    { "x-api-key": "", authorization: `Bearer ${wrong}` },
    { "x-api-key": wrong, authorization: `Bearer ${key}` },
    { "x-api-key": "", authorization: `Basic ${btoa(`key:${key}`)}` },
    { "x-api-key": "", authorization: `Bearer${" ".repeat(4000)}${wrong}` },
    { "x-api-key": ` ${wrong},${wrong}` },
    { "x-api-key": "plk__" },
    { "x-api-key": "", cookie: `x-api-key=${key}` },
  ]
  return forms[index % forms.length]!
}

/** Attacks on accounts, sessions, keys and tokens. */
export const attacks: ReadonlyArray<Attack> = [
  {
    name: "400 wrong passwords at one account",
    bytes: 100,
    run: (target) => flood(400, (index) => signIn(target, "owner@example.com", `wrong words ${index}`)),
  },
  {
    name: "400 wrong passwords at as many accounts",
    bytes: 100,
    run: (target) => flood(400, (index) => signIn(target, `guess-${index}@example.com`, "password1234")),
  },
  {
    name: "400 wrong passwords under as many claimed addresses",
    bytes: 150,
    run: (target) =>
      flood(
        400,
        (index) =>
          signIn(target, "owner@example.com", `wrong ${index}`, {
            "x-forwarded-for": `2001:db8:${index.toString(16)}::1`,
          }),
      ),
  },
  {
    name: "400 wrong passwords with forged device cookies",
    bytes: 4000,
    run: (target) =>
      flood(400, (index) =>
        signIn(target, "owner@example.com", `wrong ${index}`, {
          cookie: `parlance_device=${"a".repeat(index * 9)}:${index}:99999999999999.${token()}`,
        })),
  },
  forms("forms with a password of 1 MB", `email=a%40example.com&password=${"x".repeat(megabyte - 40)}`),
  forms("forms with an e-mail address of 1 MB", `password=x&email=${"a%40".repeat(megabyte / 4 - 10)}`),
  forms("forms with 1 MB of names that collide", colliding(megabyte)),
  forms("forms with 16 kB of names that collide", colliding(16_000)),
  forms("forms with 1 MB of one name", "a=&".repeat(megabyte / 3)),
  forms("forms with 16 kB of percent signs", "%".repeat(16_000)),
  forms("forms with a token of 16 kB", `token=${"é".repeat(8_000)}&code=${"1".repeat(100)}`),
  {
    name: "1,000 wrong admin tokens",
    bytes: 64,
    run: ({ send }) =>
      flood(1000, (index) =>
        send(["GET", "POST", "DELETE"][index % 3]!, "/console/api/organizations", undefined, {
          ...guesser,
          authorization: `Bearer ${token()}`,
        })),
  },
  {
    name: "1,000 wrong admin tokens from as many addresses",
    bytes: 64,
    run: ({ send }) =>
      flood(1000, (index) =>
        send("GET", "/console/api/organizations", undefined, {
          "x-forwarded-for": `2001:db8:${index.toString(16)}::1`,
          authorization: `Bearer ${token()}`,
        })),
  },
  {
    name: "admin tokens of 15 kB and of odd forms",
    bytes: 15_000,
    run: ({ send }) =>
      flood(200, (index) =>
        send("GET", "/console/api/accounts", undefined, {
          ...guesser,
          authorization: [
            `Bearer ${"x".repeat(15_000)}`,
            `bearer\t${token()}`,
            `BEARER ${token()} ${token()}`,
            `Basic ${btoa(`admin:${token()}`)}`,
            `Digest username="admin", response="${token()}"`,
          ][index % 5]!,
        })),
  },
  {
    name: "2,000 sessions that are nobody's",
    bytes: 100,
    run: ({ send }) =>
      flood(
        2000,
        (index) =>
          send("GET", ["/console", "/console/account", "/console/api/session"][index % 3]!, undefined, {
            cookie: `parlance_session=${token()}`,
          }),
      ),
  },
  {
    name: "cookies of 15 kB",
    bytes: 15_000,
    run: ({ send }) =>
      flood(200, (index) =>
        send("GET", "/console/sign-in", undefined, {
          cookie: [
            `parlance_session=${"x".repeat(15_000)}`,
            `parlance_pending=${"a.".repeat(7_500)}`,
            Array.from({ length: 1200 }, (_, at) => `${(at + 1) * 8192}=1`).join("; "),
            `parlance_theme=${"%".repeat(15_000)}`,
            ";".repeat(15_000),
          ][index % 5]!,
        })),
  },
  {
    name: "1,000 tokens of invitations and one-time links",
    bytes: 100,
    run: ({ send }) =>
      flood(1000, (index) => {
        const path = ["invitation", "password", "first-run"][index % 3]!
        return index % 2 === 0
          ? send("GET", `/console/${path}?token=${token()}`)
          : send("POST", `/console/${path}`, `token=${token()}&name=A&password=four+unrelated+words`, form)
      }),
  },
  {
    name: "1,000 codes of a second factor under forged sign-ins",
    bytes: 1000,
    run: ({ send }) =>
      flood(1000, (index) =>
        send("POST", "/console/sign-in/code", `code=${String(index).padStart(6, "0")}`, {
          ...form,
          cookie: `parlance_pending=${
            [`acc_${index}:password:99999999999999:.${token()}`, `${"x".repeat(900)}.${token()}`, ".", "é"][index % 4]
          }`,
        })),
  },
  {
    name: "2,000 API keys in every form of header",
    bytes: 8000,
    run: ({ key, org, send }) =>
      flood(2000, (index) =>
        send(
          "POST",
          [
            `/api/generate/${org}`,
            `/api/deliver/${org}`,
            `/api/webhook/events/${org}`,
            "/api/generate/nobody",
          ][index % 4]!,
          `{"template_id":"welcome"}`,
          keyHeaders(key, index),
        )),
  },
  {
    name: "1,000 webhooks with wrong signatures",
    bytes: 2000,
    run: ({ org, send }) =>
      flood(
        1000,
        (index) =>
          send(
            "POST",
            `/api/webhook/${["braze", "iterable", "customerio", "segment", "events"][index % 5]}/${org}`,
            "{}",
            {
              "x-api-key": "",
              "webhook-id": token(),
              "webhook-timestamp": String(index),
              "webhook-signature": `v1,${token()} `.repeat(30),
              "x-signature": token(),
            },
          ),
      ),
  },
  {
    name: "500 forms that other sites send",
    bytes: 200,
    run: ({ send }) =>
      flood(
        500,
        (index) =>
          send("POST", ["/console/sign-in", "/console/sign-out", "/console/account/password"][index % 3]!, "_csrf=x", {
            ...form,
            origin: "https://evil.example",
            "sec-fetch-site": "cross-site",
            cookie: `parlance_session=${token()}`,
          }),
      ),
  },
  {
    name: "500 returns from an identity provider that nobody went to",
    bytes: 8000,
    run: ({ send }) =>
      flood(
        500,
        (index) =>
          send("GET", `/console/openid/callback?code=${token()}&state=${"s".repeat(index * 10)}`, undefined, {
            cookie: `parlance_openid=${randomBytes(2000).toString("base64url")}`,
          }),
      ),
  },
  {
    name: "500 addresses to go to after signing in",
    bytes: 7000,
    run: ({ send }) =>
      flood(
        500,
        (index) =>
          send(
            "GET",
            `/console/sign-in?next=${encodeURIComponent(`/console/${"a/".repeat(index * 4)}\\evil`)}&failed=openid`,
          ),
      ),
  },
]
