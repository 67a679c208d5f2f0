import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { describe, it } from "vitest"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { navigation } from "../../src/console/Navigation.ts"
import { provider } from "../accounts/provider.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { type LocalService, type Service, startInProcess } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { type Control, encoded, type FoundForm, foundOn, shapeOf } from "./found.ts"
import { untranslated } from "./untranslated.ts"
import { connect, deliveryEnvironment, furnish, managed, password, receiver, script } from "./furnished.ts"

// The whole console, found by following what its pages lead to, so that a page that is added is tried as well.

/** The most pages of one shape, and of all shapes: further pages of a shape show nothing new. */
const perShape = 6
const mostPages = 600

/** Shapes of pages at the end of the ways, by which one sees that nothing has been cut off. */
const deepest: ReadonlyArray<string> = [
  "/console/account",
  "/console/accounts/:/remove",
  "/console/account/passkeys",
  "/console/accounts/audit/:",
  "/console/accounts/audit/export?format",
  "/console/accounts/audit/export?log",
  "/console/o/:/templates?archived",
  "/console/o/:/templates/:/archive",
  "/console/o/:/templates/:/history/:",
  "/console/o/:/templates/:/results",
  "/console/o/:/templates/:/results/share",
  "/console/o/:/templates/:/results/explore",
  "/console/o/:/templates/:/send-times",
  "/console/o/:/templates/:/variants/:",
  "/console/o/:/templates/:/variants/:/delete",
  "/console/o/:/templates/:/new-variant",
  "/console/o/:/deliveries?hours",
  "/console/o/:/deliveries/:/message?part",
  "/console/o/:/sources/:/inbox",
  "/console/o/:/sources/events/dry-run",
  "/console/o/:/connections/:/remove",
  "/console/o/:/webhook-endpoints/:/remove",
  "/console/o/:/people?q",
  "/console/o/:/settings/bucket/remove",
  "/console/o/:/settings/keys/:/revoke",
  "/console/o/:/settings/keys/new?from",
  "/console/o/:/settings/members/:/remove",
  "/console/o/:/settings/audit/:",
  "/console/o/:/settings/test-groups/-/new?from",
  "/console/o/:/settings/test-groups/:/delete",
  "/console/o/:/snippets/-/new?from",
  "/console/o/:/snippets/:/delete",
  "/console/o/:/webhook-endpoints/-/new?from",
]

/** Bytes of a page without what its frames load. */
const mostBytes = 150_000

/** What no field expects, as a browser's address bar or a script would encode it. */
const hostile: Readonly<Record<string, string>> = {
  script: encodeURIComponent("<script>alert(1)</script>"),
  long: "x".repeat(5000),
  nul: "a%00b",
  surrogate: "a%ED%A0%80b",
  negative: "-1",
  huge: "1e309",
  digits: "9".repeat(400),
  elsewhere: encodeURIComponent("__proto__"),
}

/** Fields that the service reads before the action of a form, which never sees them. */
const ofSession: ReadonlyArray<string> = ["_csrf", "_account", "_secrets"]

/** How many of the hostile values each field gets alone, in turns; the trial tries all of them. */
const valuesPerField = Number(process.env.CRAWL_VALUES ?? 3)

/** What the provider of the test knows the service by. */
const clientSecret = "a-client-secret-of-the-test"

/** Pages that end the session they are asked with: tried last, by a session of their own. */
const endsSession = (action: string) =>
  action === "/console/sign-out" || action === "/console/account/password" || action.endsWith("/end")

/** Whether a form removes something that other forms need. Such forms are tried last. */
const takesAway = (action: string) => /\/(delete|remove|revoke|withdraw|erase|archive|cancel)(\?|$)/.test(action)

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Somebody who is signed in, and sends bodies as they stand. */
const visitor = async (service: Service, email: string, role?: readonly [org: string, role: string]) => {
  const manage = managed(service)
  const { id } = await manage("POST", "/accounts", {
    email,
    name: `Ada ${script}`.slice(0, 60),
    password,
    administrator: role === undefined,
  })
  if (role !== undefined) await manage("PUT", `/organizations/${role[0]}/members/${id}`, { role: role[1] })
  const signIn = async () => {
    const answer = await service.request("/console/sign-in", {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams({ email, password }),
    })
    assert.strictEqual(answer.status, 303, await answer.text())
    return answer.headers.get("set-cookie")!.split(";")[0]!
  }
  const cookie = await signIn()
  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const answer = await service.request(path, {
      redirect: "manual",
      // An answer that does not come is a fault like any other.
      signal: AbortSignal.timeout(20_000),
      ...init,
      headers: { cookie, ...init.headers as Record<string, string> },
    })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const post = (path: string, body: string) =>
    ask(path, { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body })
  return { ask, post, email, signIn }
}

type Visitor = Awaited<ReturnType<typeof visitor>>

/** The pages of a crawl, and their faults. */
interface Crawled {
  readonly faults: ReadonlyArray<string>
  readonly paths: ReadonlyArray<string>
  /** One of each shape of action and fields. */
  readonly forms: ReadonlyArray<FoundForm>
}

const queryOf = (controls: ReadonlyArray<Control>) =>
  encoded(controls.filter(({ sent }) => sent).map(({ name, value }) => [name, encodeURIComponent(value)] as const))

/** Runs `work` on all items, four at a time, and joins the faults that it finds. */
const faultsIn = <A>(items: ReadonlyArray<A>, work: (item: A) => Promise<ReadonlyArray<string>>) =>
  Effect.runPromise(Effect.forEach(items, (item) => Effect.promise(() => work(item)), { concurrency: 4 }))
    .then((found) => found.flat())

/** Whether an answer is a whole page of the console, with navigation. Files and previews are not. */
const isPage = ({ headers, text }: Answer) =>
  (headers.get("content-type") ?? "").startsWith("text/html") && text.includes('<main id="main"')

/** Follows everything from `/console`, breadth first. */
const crawl = async ({ ask }: Visitor): Promise<Crawled> => {
  const faults: Array<string> = []
  const paths: Array<string> = []
  const shapes = new Map<string, number>()
  const forms = new Map<string, FoundForm>()
  const seen = new Set<string>()
  const queue: Array<readonly [path: string, from: string, typed: boolean]> = []
  const follow = (to: string, from: string, typed = false) => {
    if (!to.startsWith("/") || seen.has(to)) return
    const shape = shapeOf(to)
    const count = shapes.get(shape) ?? 0
    if (count >= perShape) return
    shapes.set(shape, count + 1)
    seen.add(to)
    queue.push([to, from, typed])
  }
  follow("/console", "the beginning")
  for (let at = 0; at < queue.length; at++) {
    if (at >= mostPages) {
      faults.push(`more than ${mostPages} pages: links lead on without end, the last from ${queue[at]![1]}`)
      break
    }
    const [path, from, typed] = queue[at]!
    const answer = await ask(path)
    const { headers, status, text } = answer
    paths.push(path)
    // A form that nothing was typed into may say so.
    if (status >= 400 && !(typed && status === 400)) {
      faults.push(`${path} (from ${from}): ${status}`)
      continue
    }
    const location = headers.get("location")
    if (location !== null) follow(location, path)
    if (!(headers.get("content-type") ?? "").startsWith("text/html")) continue
    if (!/default-src 'none'/.test(headers.get("content-security-policy") ?? "")) faults.push(`${path}: no policy`)
    if (isPage(answer)) {
      const bytes = new TextEncoder().encode(text).length
      if (bytes > mostBytes) faults.push(`${path}: ${bytes} bytes`)
      if (!/<title>[^<]+<\/title>/.test(text)) faults.push(`${path}: no title`)
      if (/<script>(document\.title|alert\(1\))/.test(text)) faults.push(`${path}: text that runs`)
    }
    const found = foundOn(path, text)
    for (const to of [...found.links, ...found.frames, ...found.assets]) follow(to, path)
    for (const form of found.forms) {
      if (form.method === "get") follow(`${form.action.split("?")[0]}?${queryOf(form.controls)}`, path, true)
      const names = form.controls.map(({ kind, name, value }) => kind === "button" ? `${name}=${value}` : name)
      const key = `${form.method} ${shapeOf(form.action)} ${[...new Set(names)].sort().join(" ")}`
      if (!forms.has(key)) forms.set(key, form)
    }
  }
  return { faults, paths, forms: [...forms.values()] }
}

/** Names and ids of the furnished organization that are words of the console as well. */
const names = new Set(["brief", "template", "main", "empty", "old", "design", "Admin token", "admin", "events"])

/** The texts of one page of each shape that stay English for a browser that asks for German. */
const englishTexts = async (by: Visitor, paths: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const onePerShape = [...new Map(paths.map((path) => [shapeOf(path), path])).values()]
  const found = new Map<string, string>()
  await faultsIn(onePerShape, async (path) => {
    const page = await by.ask(path, { headers: { "accept-language": "de-DE,de;q=0.9,en;q=0.8" } })
    if (isPage(page)) { for (const text of untranslated(page.text, names)) found.set(text, path) }
    return []
  })
  return [...found].map(([text, path]) => `${path} is English in German: ${text}`)
}

/** An organization with something on every page. */
const furnishAll = async (service: LocalService, slug: string, sink: string) => {
  const manage = managed(service)
  const org = await furnish(service, slug)
  await connect(service, slug, sink)
  await manage("POST", `/organizations/${slug}/webhook-endpoints`, { url: sink })
  await manage("PUT", `/organizations/${slug}/snippets/footer`, { name: script, format: "html", text: script })
  await manage("PUT", `/organizations/${slug}/test-groups/design`, { name: script, emails: ["ann@example.com"] })
  await manage("PUT", `/organizations/${slug}/bucket`, {
    endpoint: sink,
    region: "eu-north-1",
    name: "warehouse",
    access_key_id: "an-access-key",
    secret_access_key: "a-secret-of-the-test",
  })
  await org.post(`/api/deliver/${slug}`, {
    template_id: "welcome",
    email: "later@example.com",
    send_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  for (let n = 0; n < 3; n++) {
    await org.post(`/api/deliver/${slug}`, {
      template_id: "welcome",
      email: `p${n}@example.com`,
      user_id: `u-${n}`,
      fields: { name: script },
    })
  }
  await manage("POST", `/organizations/${slug}/templates`, { id: "empty", name: script, variants: [] })
  await manage("POST", `/organizations/${slug}/templates`, { id: "old", name: "Old", archived: true })
  await manage("PATCH", `/organizations/${slug}/templates/welcome/variants/brief`, {
    vars: { subject: script, body: "" },
  })
  await manage("POST", `/organizations/${slug}/invitations`, { email: "invited@example.com", role: "viewer" })
  await manage("POST", `/organizations/${slug}/keys`, { name: script, scopes: ["events"] })
  await service.untilStored("messages have left and one has failed", ["deliveries"], async () => {
    const { failed, sent } = await manage("GET", `/organizations/${slug}/delivery-summary`)
    return failed + sent === 3
  })
}

describe("The whole console, found by its links", () => {
  let service: LocalService
  let sink: string
  aroundTests(startInProcess(temporaryEnvironment, deliveryEnvironment), (started) => service = started)
  aroundTests(receiver, ({ url }) => sink = url)

  /** Sends a form with some of its fields changed. Returns the faults of the response. */
  const send = async (
    by: Visitor,
    { action, controls, method }: FoundForm,
    change: (control: Control) => string | undefined,
    wrong: (status: number) => boolean,
    what: string,
  ): Promise<ReadonlyArray<string>> => {
    const body = encoded(controls.flatMap((control): Array<readonly [string, string]> => {
      const changed = control.name === "_csrf" ? undefined : change(control)
      return changed !== undefined
        ? [[control.name, changed]]
        : control.sent
        ? [[control.name, encodeURIComponent(control.value)]]
        : []
    }))
    const about = `${method} ${action} with ${what}`
    try {
      const { status } = method === "post"
        ? await by.post(action, body)
        : await by.ask(`${action.split("?")[0]}?${body}`)
      return wrong(status) ? [`${about}: ${status}`] : []
    } catch (error) {
      return [`${about}: no answer, ${error instanceof Error ? error.message : String(error)}`]
    }
  }

  for (const role of ["viewer", "editor"] as const) {
    it(`leads an account with the role ${role} to no refusal, by links and by buttons`, async () => {
      const slug = `as-${role}`
      await furnishAll(service, slug, sink)
      const by = await visitor(service, `${role}@example.com`, [slug, role])
      const { faults, forms, paths } = await crawl(by)
      assert.isAbove(paths.length, 30, paths.join("\n"))
      const refusals: Array<string> = [...faults]
      const last = (form: FoundForm) => endsSession(form.action) ? 2 : takesAway(form.action) ? 1 : 0
      for (const form of [...forms].sort((a, b) => last(a) - last(b))) {
        refusals.push(
          ...await send(by, form, () => undefined, (status) => status === 403 || status >= 500, "what stands there"),
        )
      }
      assert.deepStrictEqual(refusals, [])
    })
  }

  it("answers every page and form of an administrator, whatever is typed, and shows it as text", async () => {
    await furnishAll(service, "crawled", sink)
    const by = await visitor(service, "administrator@example.com")
    const { faults, forms, paths } = await crawl(by)
    for (const { links } of navigation) {
      for (const { path } of links) assert.include(paths, `/console/o/crawled${path}`)
    }
    const found = new Set(paths.map(shapeOf))
    assert.deepStrictEqual(deepest.filter((shape) => !found.has(shape)), [])
    assert.isAbove(forms.length, 25)
    const failures: Array<string> = [...faults]
    const fails = (status: number) => status >= 500 || status < 200
    failures.push(...await englishTexts(by, paths))

    // Addresses typed by hand: each part of each shape of path, and each value of its query.
    const shapes = new Map(paths.filter((path) => !path.includes("/assets/")).map((path) => [shapeOf(path), path]))
    const typed = [...shapes.values()].flatMap((path) => {
      const [pathname, query] = path.split("?") as [string, string | undefined]
      const parts = pathname.split("/")
      const values = { ...hostile, percent: "%", dots: "..%2f..", long: "x".repeat(2000) }
      return Object.entries(values).flatMap(([name, value]) => {
        const changed = parts.flatMap((part, i) =>
          i > 1 && !/^[a-z-]+$/.test(part) || i === 3 || i === parts.length - 1
            ? [[...parts.slice(0, i), value, ...parts.slice(i + 1)].join("/")]
            : []
        )
        const queried = query === undefined ? [] : [
          `${pathname}?${[...new URLSearchParams(query).keys()].map((key) => `${key}=${value}`).join("&")}`,
        ]
        return [...name === "script" || name === "negative" ? [] : changed, ...queried]
      })
    })
    failures.push(
      ...await faultsIn(typed, async (to) => {
        const { status } = await by.ask(to)
        return fails(status) ? [`${to.slice(0, 200)}: ${status}`] : []
      }),
    )

    const order = (form: FoundForm) => takesAway(form.action) ? 1 : 0
    const tried = forms.filter(({ action }) => !endsSession(action)).sort((a, b) => order(a) - order(b))
    for (const form of tried) {
      // The id of a thing that was deleted meanwhile, and ids that are not valid.
      const parts = form.action.split("?")[0]!.split("/")
      for (const value of ["no-such-thing", hostile.nul!, hostile.surrogate!]) {
        for (let i = 3; i < parts.length; i++) {
          const action = [...parts.slice(0, i), value, ...parts.slice(i + 1)].join("/")
          failures.push(...await send(by, { ...form, action }, () => undefined, fails, "what stands there"))
        }
      }
      failures.push(...await send(by, form, ({ sent }) => sent ? "" : undefined, fails, "empty fields"))
      const values = Object.entries(hostile)
      for (const [at, [name, value]] of values.entries()) {
        const names = [...new Set(form.controls.map(({ name }) => name))].filter((field) => !ofSession.includes(field))
        // The fields of further actions are read by the code of the form's own action: one value each is enough.
        const tries = form.isFurther ? 1 : valuesPerField
        const fields = names.filter((_, index) => (index + values.length - at) % values.length < tries)
        if (form.isFurther) failures.push(...await send(by, form, () => value, fails, `${name} everywhere`))
        failures.push(
          ...await faultsIn(
            fields,
            (field) =>
              send(by, form, (control) => control.name === field ? value : undefined, fails, `${name} as ${field}`),
          ),
        )
      }
    }

    // Pages show stored texts as text, and still answer.
    const afterwards = await crawl(by)
    failures.push(
      ...afterwards.faults.filter((fault) => !fault.endsWith(" bytes")).map((fault) => `afterwards ${fault}`),
    )

    // These end sessions: each is tried by a session of its own, with nothing and with everything hostile.
    for (const form of forms.filter(({ action }) => endsSession(action))) {
      for (const value of ["", ...Object.values(hostile)]) {
        failures.push(...await send(by, form, ({ kind }) => kind === "text" ? value : undefined, fails, "hostile text"))
      }
    }
    assert.deepStrictEqual(failures, [])
  }, 480_000)

  it("answers every page and form of somebody who is not signed in, whatever is typed", async () => {
    const own = await Effect.runPromise(Scope.make())
    try {
      const { provided, service } = await Effect.runPromise(Scope.provide(
        Effect.gen(function* () {
          const { behaviour, issuer } = yield* provider("parlance", clientSecret)
          behaviour.email = "nobody@example.com"
          const { run, service } = yield* startWith({
            OIDC_ISSUER: issuer,
            OIDC_CLIENT_ID: "parlance",
            OIDC_CLIENT_SECRET: clientSecret,
          })
          const token = yield* Effect.promise(() =>
            run(Effect.flatMap(OneTimeLinks, (links) => links.create("first_run")))
          )
          return { provided: token, service }
        }),
        own,
      ))
      const manage = managed(service)
      await manage("POST", "/organizations", { slug: "asked", name: "Asked" })
      const { path: invitation } = await manage("POST", "/organizations/asked/invitations", {
        email: "invited@example.com",
        role: "viewer",
      })
      const { link: password } = await manage("POST", "/accounts", { email: "new@example.com", name: "New" })
      await manage("POST", "/accounts", { email: "known@example.com", name: "Known" })
      const { path: known } = await manage("POST", "/organizations/asked/invitations", {
        email: "known@example.com",
        role: "viewer",
      })
      const doors = [
        "/console/sign-in",
        "/console/sign-in?next=%2Fconsole%2Faccount",
        "/console/sign-in?failed=openid",
        "/console/no-such-page",
        `/console/first-run?token=${provided}`,
        invitation,
        known,
        password.path,
      ]
      const failures: Array<string> = []
      const ask = async (path: string, init: RequestInit = {}) => {
        const answer = await service.request(path, { redirect: "manual", ...init })
        const text = await answer.text()
        const what = `${init.method ?? "GET"} ${path.slice(0, 120)}: ${answer.status}`
        // 502 is a fault of the provider, not of this service.
        if (answer.status >= 500 && !(answer.status === 502 && path.startsWith("/console/openid"))) failures.push(what)
        if (text.includes("<script>alert(1)")) failures.push(`${what}: text that runs`)
        return { status: answer.status, text, headers: answer.headers }
      }
      const forms: Array<FoundForm> = []
      for (const path of doors) {
        const { headers, status, text } = await ask(path)
        if (status !== 200 && status !== 303 && status !== 404) failures.push(`${path}: ${status}`)
        if (status === 200 && !/default-src 'none'/.test(headers.get("content-security-policy") ?? "")) {
          failures.push(`${path}: no policy`)
        }
        const found = foundOn(path, text)
        forms.push(...found.forms)
        for (const to of found.links.filter((to) => to.startsWith("/console/") && !doors.includes(to))) await ask(to)
      }
      for (const action of ["/console/first-run", "/console/invitation", "/console/password", "/console/sign-in"]) {
        assert.isTrue(forms.some((form) => form.action === action), action)
      }
      for (const value of ["", ...Object.values(hostile)]) {
        for (const page of ["first-run", "invitation", "password"]) await ask(`/console/${page}?token=${value}`)
        for (const name of ["next", "done", "failed"]) await ask(`/console/sign-in?${name}=${value}`)
        await ask(`/console/openid?next=${value}`)
        for (const query of [`code=${value}&state=${value}`, `error=${value}&error_description=${value}`, value]) {
          await ask(`/console/openid/callback?${query}`, {
            headers: { cookie: `parlance_openid=${value.slice(0, 500)}` },
          })
        }
      }
      const send = (action: string, fields: ReadonlyArray<readonly [string, string]>) =>
        ask(action, {
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: encoded(fields),
        })
      for (const { action, controls } of forms) {
        for (const value of ["", ...Object.values(hostile)]) {
          // With the link that stands there, and with none.
          for (const keeps of [true, false]) {
            await send(
              action,
              controls.map(({ name, value: stands }) =>
                [name, keeps && name === "token" ? encodeURIComponent(stands) : value] as const
              ),
            )
          }
        }
      }
      assert.deepStrictEqual(failures, [])
      const { accounts } = await manage("GET", "/accounts")
      assert.isFalse(accounts.some(({ administrator }: { administrator: boolean }) => administrator))
    } finally {
      await Effect.runPromise(Scope.close(own, Exit.void))
    }
  })
})
