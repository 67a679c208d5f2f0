import type { Layer } from "effect"
import { describe } from "vitest"
import { aroundTests } from "../support/aroundTests.ts"
import { type LocalService, type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { managed, password } from "./furnished.ts"

// What tests of the console's pages about templates begin with: an organization, and somebody of every role.

/** Somebody who is signed in, without a browser. */
export const signInTo = async (service: Service, email: string) => {
  const signedIn = await service.request("/console/sign-in", {
    method: "POST",
    redirect: "manual",
    headers: { origin: service.url },
    body: new URLSearchParams({ email, password }),
  })
  const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
  const home = await (await service.request("/console/account", { headers: { cookie } })).text()
  const csrf = /name="_csrf" value="([^"]+)"/.exec(home)![1]!
  const read = async (response: Response) => ({
    status: response.status,
    headers: response.headers,
    text: await response.text(),
  })
  return {
    /** `more` are cookies in addition to the session. */
    get: async (path: string, more = "") =>
      read(await service.request(path, { headers: { cookie: cookie + more }, redirect: "manual" })),
    upload: async (path: string, files: ReadonlyArray<File>) => {
      const body = new FormData()
      body.append("_csrf", csrf)
      for (const file of files) body.append("image", file)
      const headers = { cookie, origin: service.url }
      return read(await service.request(path, { method: "POST", redirect: "manual", headers, body }))
    },
    post: async (path: string, fields: Record<string, string>, more: Record<string, string> = {}) =>
      read(
        await service.request(path, {
          method: "POST",
          redirect: "manual",
          headers: { cookie, origin: service.url, ...more },
          body: new URLSearchParams({ _csrf: csrf, ...fields }),
        }),
      ),
  }
}

/** The organization `shop`, of which `viewer@`, `editor@` and `admin@example.com` are members and `stranger@` is not. */
export interface Shop {
  readonly service: LocalService
  readonly manage: ReturnType<typeof managed>
  readonly signIn: (email: string) => ReturnType<typeof signInTo>
}

/** Tests about the console of a shop of their own, with further settings of the service. `references` replace limits of it. */
export const describeShop = (
  name: string,
  tests: (shop: Shop) => void,
  settings: Record<string, string> = {},
  references?: Layer.Layer<never>,
) =>
  describe(name, () => {
    let service: LocalService
    const start = startInProcess(temporaryEnvironment, { SECRET_KEY: "5e".repeat(32), ...settings }, references)
    aroundTests(start, async (started) => {
      service = started
      const manage = managed(service)
      await manage("POST", "/organizations", { slug: "shop", name: "Shop", time_zone: "Europe/Berlin" })
      for (const role of ["viewer", "editor", "admin"]) {
        const { id } = await manage("POST", "/accounts", { email: `${role}@example.com`, name: role, password })
        await manage("PUT", `/organizations/shop/members/${id}`, { role })
      }
      await manage("POST", "/accounts", { email: "stranger@example.com", name: "Stranger", password })
    })
    tests({
      get service() {
        return service
      },
      manage: (method, path, body) => managed(service)(method, path, body),
      signIn: (email) => signInTo(service, email),
    })
  })

export const base = "/console/o/shop/templates"

/** The fields that the editor sends of a variant. */
export const variantForm = (more: Record<string, string> = {}) => ({
  name: "Warm",
  active: "true",
  var_0_name: "subject",
  var_0_format: "text",
  var_0_source: "Hello {{ name }}",
  fields: "{}",
  attrs: "{}",
  at: "",
  ...more,
})
