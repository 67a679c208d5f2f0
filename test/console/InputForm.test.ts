import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { describe, it } from "vitest"
import { inputForm } from "../../src/console/components/InputForm.tsx"
import { schemaFields } from "../../src/console/components/SchemaFields.ts"
import { CurrentLanguage, languages } from "../../src/languages/Language.ts"
import { checked, ifFilled, ifSent, list, number, orNull, readForm, text } from "../../src/console/FormReaders.ts"

const form = inputForm(
  Schema.Struct({
    name: Schema.NonEmptyString,
    role: Schema.Literals(["viewer", "admin"]),
    hours: Schema.optionalKey(Schema.Number),
    scopes: Schema.Array(Schema.String),
  }),
  {
    name: { label: "Name" },
    role: { label: "Role", as: "radio", initial: "viewer", options: [["viewer", "Viewer"], ["admin", "Admin"]] },
    hours: { label: "Hours", as: "number", required: false, read: ifFilled(number) },
    scopes: { label: "Scopes", as: "checkboxes", initial: "a\nb", options: [["a", "A"], ["b", "B"]] },
  },
)

const shown = (values: Readonly<Record<string, string>> | undefined, pointer = "/none") =>
  renderToString(h(form.Fields, { values, faults: [{ pointer, detail: "is wrong" }] }))

describe("A form for an input", () => {
  it("shows the identifiers of a setting as they are", () => {
    const tls = Schema.optionalKey(Schema.Literals(["none", "tls"]))
    const fields = schemaFields({ tls }, { tls: { label: "Encryption" } }, "settings")
    const select = inputForm(Schema.Struct({}), fields)
    const german = languages.find(({ tag }) => tag === "de")!
    const page = Effect.sync(() => renderToString(h(select.Fields, { values: undefined, faults: [] })))
    const html = Effect.runSync(Effect.provideService(page, CurrentLanguage, german))
    assert.include(html, 'translate="no">none</option>')
    assert.include(html, ">Verschlüsselung</label>")
    assert.include(html, ">Nicht gesetzt</option>")
  })

  it("reads each field as the member of its name", () => {
    const read = form.decode({ name: " Ann ", role: "admin", hours: "1.5", scopes: "a\nb" })
    assert.deepStrictEqual(Effect.runSync(read), { name: "Ann", role: "admin", hours: 1.5, scopes: ["a", "b"] })
  })

  it("leaves out fields that are empty or were not sent", () => {
    assert.deepStrictEqual(form.read({ name: "Ann", hours: " " }), { name: "Ann", scopes: [] })
  })

  it("refuses with all faults of its schema", () => {
    const { faults } = Effect.runSync(Effect.flip(form.decode({ role: "owner", hours: "many" })))
    assert.deepStrictEqual(faults.map(({ pointer }) => pointer), ["/name", "/role", "/hours"])
  })

  it("shows its initial texts when it is new", () => {
    const html = shown(undefined)
    assert.include(html, 'id="role-viewer" name="role" value="viewer" checked')
    assert.include(html, 'id="scopes-b" name="scopes" value="b" checked')
  })

  it("shows the sent values, and a fault at its field", () => {
    const html = shown({ name: "Ann", role: "admin" }, "/name")
    assert.include(html, 'value="Ann" aria-describedby="name-error" aria-invalid="true"')
    assert.include(html, 'id="role-admin" name="role" value="admin" checked')
    assert.notInclude(html, 'value="b" checked')
  })
})

describe("Readers of fields", () => {
  const readers = {
    text,
    empty: orNull(text),
    ticked: checked,
    unticked: checked,
    lines: list(),
    words: list(/[\s,]+/),
    absent: ifSent(text),
    number,
    noNumber: number,
  }

  it("read texts, lists, boxes and numbers", () => {
    assert.deepStrictEqual(
      readForm(readers, {
        text: " a ",
        empty: " ",
        ticked: "on",
        lines: "a \r\n\r\n b",
        words: "a, b  c",
        number: "2",
        noNumber: " ",
      }),
      {
        text: "a",
        empty: null,
        ticked: true,
        unticked: false,
        lines: ["a", "b"],
        words: ["a", "b", "c"],
        number: 2,
        noNumber: " ",
      },
    )
  })
})
