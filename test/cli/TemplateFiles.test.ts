import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { hash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runCommand } from "../support/cli.ts"
import { makeOrganization, scopedProcess, type ServiceProcess } from "../support/service.ts"
import { images } from "../support/testImages.ts"
import { temporaryEnvironment, temporaryFolder } from "../support/stores.ts"

class Place extends Context.Service<Place, { readonly folder: string; readonly service: ServiceProcess }>()(
  "test/TemplateFiles",
) {}

const layerPlace = Layer.effect(
  Place,
  Effect.gen(function* () {
    const service = yield* scopedProcess({ ...(yield* temporaryEnvironment), SECRET_KEY: "5e".repeat(32) })
    return Place.of({ folder: yield* temporaryFolder, service })
  }),
)

const file = (subject: string, more = "") =>
  `templates:
  - id: spring
    name: Spring
    variants:
      - id: story
        vars: {subject: "${subject}", preheader: Soon}
${more}`

const faulty = `templates:
  - id: spring
    nam: Spring
    variants:
      - id: story
        vars: {subject: "{{ name"}
  - id: held
    name: Held
    holdout: {share: 0.1, content: fixed, copy_id: none}
`

layer(layerPlace, { excludeTestServices: true })("Template files in a pipeline", (it) => {
  it.effect("have the whole organization, which is compared and applied without secrets", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "whole", ["admin"]))
      const path = join(folder, "whole.yaml")
      const command = (...args: ReadonlyArray<string>) =>
        Effect.promise(() =>
          runCommand(["org", ...args], {
            PARLANCE_URL: service.url,
            PARLANCE_KEY: key,
            DATA_DIR: join(folder, "unused"),
          })
        )
      yield* Effect.promise(() =>
        service.manage("PUT", "/organizations/whole/connections/main", {
          platform: "sink",
          settings: {},
        })
      )
      assert.strictEqual((yield* command("export", "--out", path)).code, 0)
      const same = yield* command("diff", path)
      assert.strictEqual(same.code, 0, same.output)
      assert.include(same.output, "equal to the file")

      const text = readFileSync(path, "utf8")
        .replace("quiet_hours: null", "quiet_hours: {from: '21:00', to: '08:00'}")
        .replace(/^templates:[^]*/m, "") + file("Hello")
      writeFileSync(path, text)
      const differing = yield* command("diff", path)
      assert.strictEqual(differing.code, 2, differing.output)
      for (const part of ["/quiet_hours", "Create spring"]) assert.include(differing.output, part)
      const dry = yield* command("apply", "--dry-run", path)
      assert.include(dry.output, "Nothing was changed")
      const applied = yield* command("apply", path)
      assert.strictEqual(applied.code, 0, applied.output)
      assert.strictEqual((yield* command("diff", path)).code, 0)

      writeFileSync(path, `${text}\nkeyz: []\n`)
      const faulty = yield* command("diff", path)
      assert.strictEqual(faulty.code, 1, faulty.output)
      assert.include(faulty.output, "keyz")
    }))

  it.effect("copy an organization to an empty one, with secrets by the commands that `org apply` prints", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const path = join(folder, "original.yaml")
      const wordsOf = (line: string) =>
        [...line.matchAll(/'((?:[^'])*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
      const at = (org: string) =>
        Effect.map(
          Effect.promise(() => makeOrganization(service, org, ["admin"])),
          (key) => (args: ReadonlyArray<string>, input = "", expected = 0) =>
            Effect.promise(() =>
              runCommand(
                args,
                { PARLANCE_URL: service.url, PARLANCE_KEY: key, DATA_DIR: join(folder, "unused") },
                input,
              )
            ).pipe(Effect.tap(({ code, output }) => Effect.sync(() => assert.strictEqual(code, expected, output)))),
        )
      const secrets: Readonly<Record<string, string>> = {
        webhook: "b".repeat(32),
        connection: JSON.stringify({ password: "smtp-password" }),
        bucket: "s3-secret",
        org: "model-key",
      }
      const original = yield* at("original")
      yield* original(["org", "update", "original", "--name", "Acme", "--quiet-hours", "21:00-08:00"])
      yield* original(["webhook", "set", "braze", "--secret-stdin"], secrets["webhook"])
      const smtp = JSON.stringify({ host: "smtp.example.com", port: 587, from: "news@example.com", user: "acme" })
      yield* original(
        ["connection", "set", "main", "--platform", "smtp", "--settings", smtp, "--secrets-stdin", "--default"],
        secrets["connection"],
      )
      yield* original(["key", "create", "Shop", "--scope", "generate", "--scope", "events"])
      yield* original(["webhook-endpoint", "create", "https://hooks.example.com/a", "--event", "delivery.failed"])
      yield* original(
        "bucket set --name acme-data --region eu-west-1 --access-key-id AKIA --folder parlance --secret-stdin".split(
          " ",
        ),
        secrets["bucket"],
      )
      const suggestions = ["org", "suggestions", "set", "--key-stdin"]
      yield* original(
        [...suggestions, ..."--endpoint own --url https://model.example.com/v1 --model m --tone Short".split(" ")],
        secrets["org"],
      )
      yield* original(["group-role", "set", "crm-editors", "editor"])
      yield* original([
        "view",
        "set",
        "summer",
        "--list",
        "templates",
        "--name",
        "Summer",
        "--query",
        "tag=summer",
        "--shared",
      ])
      writeFileSync(path, file("Hello"))
      yield* original(["template", "import", path])
      yield* original(["org", "export", "--out", path])
      const text = readFileSync(path, "utf8")
      for (const secret of [...Object.values(secrets), "smtp-password", "plk_", "whsec_"]) {
        assert.notInclude(text, secret)
      }

      const copy = yield* at("copy")
      const { output } = yield* copy(["org", "apply", path])
      const commands = [...output.matchAll(/`parlance ([^`]+)`/g)].map(([, line]) => wordsOf(line!))
      assert.deepStrictEqual(commands.map(([subject, verb]) => `${subject} ${verb}`).sort(), [
        "bucket set",
        "connection set",
        "key create",
        "org suggestions",
        "webhook set",
        "webhook-endpoint create",
      ])
      for (const words of commands) yield* copy(words, secrets[words[0]!])
      yield* copy(["org", "apply", path])
      assert.include((yield* copy(["org", "diff", path])).output, "equal to the file")
      assert.strictEqual((yield* copy(["org", "export"])).output.trim(), text.trim())

      const settings = "{ host: 1, from: news@example.com }"
      const wrong = `connections:\n  main: { platform: smtp, enabled: true, default: true, settings: ${settings} }\n`
      const refused = yield* copy(["org", "apply", "-"], wrong, 1)
      assert.include(refused.output, "Connection main was not changed: /settings/host: must be a string")
    }))

  it.effect("are compared, tried and imported with a key for templates only", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "ci", ["templates:write"]))
      const path = join(folder, "spring.yaml")
      const command = (...args: ReadonlyArray<string>) =>
        Effect.promise(() =>
          runCommand(args, { PARLANCE_URL: service.url, PARLANCE_KEY: key, DATA_DIR: join(folder, "unused") })
        )
      const write = (text: string) => Effect.sync(() => writeFileSync(path, text))

      yield* write(file("Hello"))
      const missing = yield* command("template", "diff", path)
      assert.strictEqual(missing.code, 2, missing.output)
      assert.include(missing.output, "Create spring")
      assert.include(missing.output, "Templates: 1 to create, 0 to change, 0 unchanged")
      const dry = yield* command("template", "import", "--dry-run", path)
      assert.strictEqual(dry.code, 0, dry.output)
      assert.include(dry.output, "Nothing was imported")
      assert.strictEqual((yield* command("template", "diff", path)).code, 2, "the dry run imported nothing")

      assert.include((yield* command("template", "import", path)).output, "Created: spring")
      const same = yield* command("template", "diff", path)
      assert.deepStrictEqual([same.code, same.output.trim()], [0, "Templates: 0 to create, 0 to change, 1 unchanged"])

      yield* write(file("Good day"))
      const changed = yield* command("template", "diff", path)
      assert.strictEqual(changed.code, 2, changed.output)
      assert.match(
        changed.output,
        /Change spring\n {2}\/variants\/story\/vars\/subject\n {4}- Hello\n {4}\+ Good day\n/,
      )
      const json = yield* command("template", "diff", path, "--json")
      assert.strictEqual(json.code, 2)
      assert.deepStrictEqual(JSON.parse(json.output).changes[0].fields, [
        { field: "/variants/story/vars/subject", before: "Hello", after: "Good day" },
      ])

      const refused = yield* command("key", "list")
      assert.strictEqual(refused.code, 1)
      assert.include(refused.output, 'The key has the scopes templates:write; this request needs "admin"')
    }))

  it.effect("render snippets, which commands save, check, list, restore and delete", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "blocks", ["templates:write"]))
      const path = join(folder, "footer.liquid")
      const ran = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
        const environment = { PARLANCE_URL: service.url, PARLANCE_KEY: key, DATA_DIR: join(folder, "unused") }
        const { code, output } = yield* Effect.promise(() => runCommand(args, environment))
        return code === 0 ? output.trim() : `exit ${code}: ${output.trim()}`
      })
      writeFileSync(path, "© {{ year }} Acme")
      assert.strictEqual(yield* ran("snippet", "set", "legal", "--file", path), "Saved legal\nNo template uses it")
      writeFileSync(join(folder, "spring.yaml"), file("Hi {% render 'legal', year: 2026 %}"))
      yield* ran("template", "import", join(folder, "spring.yaml"))
      const checked = yield* ran("snippet", "check", "legal", "--text", "© {{ yaer }}")
      assert.match(checked, /spring +story +yes/)
      assert.include(checked, 'the snippet "legal" needs "yaer"')
      yield* ran("snippet", "set", "legal", "--text", "(c) {{ year }}")
      assert.include(yield* ran("snippet", "show", "legal"), "(c) {{ year }}")
      const versions = JSON.parse(yield* ran("snippet", "versions", "legal", "--json"))
      yield* ran("snippet", "restore", "legal", String(versions[1].id))
      assert.include(yield* ran("snippet", "list"), "legal")
      assert.strictEqual(JSON.parse(yield* ran("snippet", "show", "legal", "--json")).text, "© {{ year }} Acme")
      assert.include(yield* ran("snippet", "delete", "legal"), "exit 1: ")
      const exported = yield* ran("template", "export", "spring")
      assert.match(
        exported,
        /^snippets:\n {2}- id: legal\n {4}format: text\n {4}text: © \{\{ year \}\} Acme\ntemplates:/,
      )
      writeFileSync(join(folder, "spring.yaml"), exported.replace("Acme", "Acme Ltd"))
      assert.include(yield* ran("template", "diff", join(folder, "spring.yaml")), "Snippets to save: legal")
      assert.include(yield* ran("template", "import", join(folder, "spring.yaml")), "Snippets: legal")
    }))

  it.effect("are imported with warnings about doubtful content at its place in the file", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "ci-warnings", ["templates:write"]))
      const path = join(folder, "doubtful.yaml")
      const own = { PARLANCE_URL: service.url, PARLANCE_KEY: key, DATA_DIR: join(folder, "unused") }
      yield* Effect.sync(() => writeFileSync(path, file("Stop: {{ unsubscribeUrl }}")))
      for (const flags of [["--dry-run"], []]) {
        const { code, output } = yield* Effect.promise(() => runCommand(["template", "import", ...flags, path], own))
        assert.strictEqual(code, 0, output)
        assert.include(output, `warning: ${path}:6:16: templates[0].variants[0].vars.subject: line 1, column 7: `)
        assert.include(output, "Write {{ unsubscribe_url }}")
      }
    }))

  it.effect("are rejected with the position of every fault in one run", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "ci-faults", ["templates:write"]))
      const path = join(folder, "faulty.yaml")
      const own = { PARLANCE_URL: service.url, PARLANCE_KEY: key, DATA_DIR: join(folder, "unused") }
      const outcome = (text: string, ...args: ReadonlyArray<string>) =>
        Effect.promise(async () => {
          writeFileSync(path, text)
          const { code, output } = await runCommand(["template", ...args, path], own)
          return { code, lines: output.trim().split("\n") }
        })
      for (const args of [["diff"], ["import", "--dry-run"], ["import"]]) {
        const { code, lines } = yield* outcome(faulty, ...args)
        assert.strictEqual(code, 1)
        const places = lines.map((line) => /\.yaml:(\d+:\d+): (\S+):/.exec(line)?.slice(1))
        assert.deepStrictEqual(places, [
          ["2:5", "templates[0].name"],
          ["3:5", "templates[0].nam"],
          ["6:16", "templates[0].variants[0].vars.subject"],
          ["9:43", "templates[1].holdout.copy_id"],
        ], lines.join("\n"))
      }
      const latin = yield* Effect.promise(async () => {
        writeFileSync(path, file("Grüße"), "latin1")
        return await runCommand(["template", "import", path], own)
      })
      assert.strictEqual(latin.code, 1)
      assert.match(
        latin.output,
        /faulty\.yaml:6:\d+: the file is not UTF-8: it looks like Windows-1252\. Save it as UTF-8/,
      )
      const twice = yield* outcome(file("GrÃ¼n"), "import", "--dry-run")
      assert.strictEqual(twice.code, 0)
      assert.match(twice.lines.join(), /warning: .*faulty\.yaml:6:\d+: Ã¼ looks like ü that was encoded twice/)
      const liquid = yield* outcome(file("{% if %}"), "import")
      assert.strictEqual(liquid.code, 1)
      assert.match(
        liquid.lines.join(),
        /faulty\.yaml:6:16: templates\[0\]\.variants\[0\]\.vars\.subject: line 1, column/,
      )
    }))

  it.effect("are written from copy of other platforms without a service", () =>
    Effect.gen(function* () {
      const { folder } = yield* Place
      const unused = join(folder, "unused")
      const convert = (from: string, copy: string) =>
        Effect.promise(() => {
          const path = join(folder, "copy.html")
          writeFileSync(path, copy)
          return runCommand(["template", "convert", "--from", from, path], { DATA_DIR: unused })
        })
      const whole = yield* convert("mailchimp", "Hi *|FNAME|*")
      assert.strictEqual(whole.code, 0, whole.output)
      assert.include(whole.output, "Hi {{ first_name }}")
      assert.include(whole.output, "field: FNAME is first_name")
      const rest = yield* convert("mailchimp", "<p>\n*|MC:SUBJECT|*</p>")
      assert.strictEqual(rest.code, 2, rest.output)
      assert.match(rest.output, /mend: .*copy\.html:2:1: \*\|MC:SUBJECT\|\*: Write the subject in the variable/)
      const control = yield* convert("mailchimp", "a\u0001")
      assert.strictEqual(control.code, 1, control.output)
      assert.match(control.output, /copy\.html is no text: the character U\+0001 is at offset 1/)
      assert.isFalse(existsSync(unused))
    }))

  it.effect("can be CSV with copy", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "sheet", ["templates:write"]))
      const path = join(folder, "copy.csv")
      const run = (command: string, csv: string) =>
        Effect.promise(() => {
          writeFileSync(path, csv)
          return runCommand(["template", command, path], {
            PARLANCE_URL: service.url,
            PARLANCE_KEY: key,
            DATA_DIR: join(folder, "unused"),
          })
        })
      const csv = "template,variant,subject\nWelcome,warm,Hello\n"
      const compared = yield* run("diff", csv)
      assert.strictEqual(compared.code, 2, compared.output)
      assert.include(compared.output, "+ Hello")
      const imported = yield* run("import", csv)
      assert.include(imported.output, "Created: welcome")
      const wrong = yield* run("import", "template,variant,subject\nWelcome,,Hello\n")
      assert.strictEqual(wrong.code, 1)
      assert.include(wrong.output, "copy.csv: row 2, column B (variant): is empty")
    }))

  it.effect("show images that were uploaded before", () =>
    Effect.gen(function* () {
      const { folder, service } = yield* Place
      const key = yield* Effect.promise(() => makeOrganization(service, "pictures", ["templates:write"]))
      const run = (...args: ReadonlyArray<string>) =>
        Effect.promise(() =>
          runCommand(["image", ...args], {
            PARLANCE_URL: service.url,
            PARLANCE_KEY: key,
            DATA_DIR: join(folder, "unused"),
          })
        )
      const [logo, vector] = [join(folder, "logo.png"), join(folder, "vector.png")]
      writeFileSync(logo, images.png)
      writeFileSync(vector, "<svg>")
      const refused = yield* run("upload", vector)
      assert.strictEqual(refused.code, 1)
      assert.include(refused.output, `${vector}: The file is an SVG`)
      const { output: url } = yield* run("upload", logo)
      const id = hash("sha256", images.png, "hex")
      assert.isTrue(url.trim().endsWith(`/i/pictures/${id}.png`), url)
      assert.match((yield* run("list")).output, /logo\.png +6 × 4 +101/)
      const path = join(folder, "logo.yaml")
      writeFileSync(path, file("Logo").replace("Soon", `'<img src="${url.trim()}">'`))
      yield* Effect.promise(() =>
        runCommand(["template", "import", path], {
          PARLANCE_URL: service.url,
          PARLANCE_KEY: key,
          DATA_DIR: join(folder, "unused"),
        })
      )
      assert.match((yield* run("show", id)).output, /spring +story/)
      const used = yield* run("delete", id)
      assert.strictEqual(used.code, 1)
      assert.include(used.output, 'the variant "story" of the template "spring"')
      assert.include((yield* run("delete", id, "--force")).output, `Deleted ${id}`)
      assert.include((yield* run("list")).output, "No images")
    }))
})
