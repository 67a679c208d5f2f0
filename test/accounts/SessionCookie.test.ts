import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startWith } from "../support/servicesOf.ts"

describe("the cookie of a session", () => {
  it.live("is limited to this host, and to https if the public address is https", () =>
    Effect.scoped(Effect.gen(function* () {
      const { service } = yield* startWith({ PUBLIC_URL: "https://parlance.example" })
      yield* Effect.promise(async () => {
        const password = "four unrelated words here"
        await service.manage("POST", "/accounts", { email: "a@example.com", name: "A", password })
        const signedIn = await service.request("/console/sign-in", {
          method: "POST",
          redirect: "manual",
          headers: { origin: "https://parlance.example" },
          body: new URLSearchParams({ email: "a@example.com", password }),
        })
        const cookies = signedIn.headers.getSetCookie()
        const names = cookies.map((text) => text.split("=", 1)[0])
        assert.deepStrictEqual(names, ["__Host-parlance_session", "__Host-parlance_device"])
        for (const text of cookies) {
          assert.sameMembers(text.split("; ").slice(1).map((one) => one.replace(/\d+/, "n")), [
            "HttpOnly",
            "Max-Age=n",
            "Path=/",
            "SameSite=Lax",
            "Secure",
          ], "and no Domain, with which a browser refuses __Host-")
        }
        const set = cookies[0]!
        const token = set.split(";")[0]!.split("=")[1]!
        const ask = async (cookie: string) =>
          (await service.request("/console/api/session", { headers: { cookie } })).status
        assert.strictEqual(await ask(`__Host-parlance_session=${token}`), 200)
        assert.strictEqual(await ask(`parlance_session=${token}`), 401, "a name that anybody on the domain may set")
        const foreign = await service.request("/console/sign-in", {
          method: "POST",
          headers: { origin: "https://evil.example" },
          body: new URLSearchParams({ email: "a@example.com", password }),
        })
        assert.strictEqual(foreign.status, 403)
        const session = await service.request("/console/api/session", {
          headers: { cookie: `__Host-parlance_session=${token}` },
        })
        const { csrf_token: csrf } = await session.json()
        const out = await service.request("/console/sign-out", {
          method: "POST",
          redirect: "manual",
          headers: { cookie: `__Host-parlance_session=${token}`, origin: "https://parlance.example" },
          body: new URLSearchParams({ _csrf: csrf }),
        })
        assert.match(out.headers.get("set-cookie")!, /^__Host-parlance_session=; Max-Age=0; .*Secure/)
      })
    })))
})
