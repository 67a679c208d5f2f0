import { assert, describe, it } from "@effect/vitest"
import { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { type Template, withDefaults } from "../../src/domain/Template.ts"
import { isCopyCsv, readCopy } from "../../src/templates/CopyCsv.ts"
import { copyInputs } from "../../src/templates/CopyInputs.ts"

const details = (faults: ReadonlyArray<{ readonly detail: string }>) => faults.map(({ detail }) => detail)

describe("copy as CSV", () => {
  it("is read by the meaning of its columns, in any order and behind titles", () => {
    const csv = "\ufeffSpring campaign;;;\r\n\r\nBetreff;Vorlage;Variante;HTML;Owner\r\n" +
      'Hello;cart;warm;"<p>A ""b""\r\nc</p>";Ann\r\n;;;;\r\n;cart;cold;Plain;\r\n'
    assert.isTrue(isCopyCsv(csv))
    const { faults, rows, warnings } = readCopy(csv)
    assert.deepStrictEqual(faults, [])
    assert.deepStrictEqual(rows, [
      {
        row: 4,
        template: "cart",
        variant: "warm",
        vars: { subject: "Hello", body: '<p>A "b"\r\nc</p>' },
        places: { subject: "column A (Betreff)", body: "column D (HTML)" },
      },
      { row: 6, template: "cart", variant: "cold", vars: { body: "Plain" }, places: { body: "column D (HTML)" } },
    ])
    assert.deepStrictEqual(details(warnings), [
      "row 3: not imported: Owner. For a variable of this name, write vars. before it, as in vars.owner",
    ])
  })

  it("names what a spreadsheet has changed", () => {
    const { rows, warnings } = readCopy(
      "template,variant,subject,preheader,vars.cta\n" +
        `t,a, Hi {{ name | default: “you” }} ,4.0E+3,'=Buy\nt,b,(empty),${"x".repeat(32_767)},#NAME?\n`,
    )
    assert.deepStrictEqual(rows.map(({ vars }) => vars), [
      { subject: 'Hi {{ name | default: "you" }}', preheader: "4.0E+3", cta: "=Buy" },
      { subject: "", preheader: "x".repeat(32_767), cta: "#NAME?" },
    ])
    assert.deepStrictEqual(details(warnings), [
      "row 2, column C (subject): spaces around the text were removed",
      "row 2, column C (subject): curly quotation marks or special spaces in Liquid were made plain",
      'row 2, column D (preheader): "4.0E+3" looks like a value that the spreadsheet changed',
      "row 3, column D (preheader): has 32767 characters, at which Excel cuts a cell: compare its end",
      'row 3, column E (vars.cta): "#NAME?" looks like a value that the spreadsheet changed',
    ])
  })

  it.each([
    ['template,variant\nt,"a', "line 2: has a quotation mark that is never closed"],
    ["name,subject\na,b", "has no header: name the columns template"],
    ["\u0000\u0001", "has no header: name the columns template"],
    ["template,variant,html,body\nt,a,b,c", "row 1, column D (body): is a second column for body: remove one of them"],
    [
      "template,variant,subject\n,a,b",
      "row 2, column A (template): is empty: write the id or the name of the template",
    ],
    ["template,variant,locale,subject\nt,a,deutsch!,b", 'row 2, column C (locale): "deutsch!" is not a locale'],
    [`template,variant,subject\n${"t,a,b\n".repeat(2_001)}`, "has 2001 rows. One import has at most 2000"],
  ])("is refused with the place of each fault: %j", (csv, fault) => {
    assert.include(details(readCopy(csv).faults)[0]!, fault)
  })

  const stored: Template = {
    id: TemplateId.make("cart"),
    name: "Cart reminder",
    ...withDefaults({ strict: true }),
    archived_at: null,
    revision: 1,
    created_at: "",
    updated_at: "",
    variants: [{
      id: CopyId.make("v1"),
      name: "Warm",
      vars: { subject: "Old", html: "<p>Old</p>" },
      formats: { html: "html" },
      active: true,
      targeting: [],
      seasons: [],
      locales: { de: { subject: "Alt" } },
      components: { tone: "warm" },
      created_at: "",
      updated_at: "",
    }],
  }
  const inputsOf = (csv: string) => copyInputs(readCopy(csv).rows, [stored])

  it("gives new texts the format of their tags", () => {
    const { templates } = inputsOf("template,variant,subject,body\nnew,a,Hi <3,<mjml><mj-body></mj-body></mjml>\n")
    assert.deepStrictEqual(templates[0]?.variants?.[0]?.formats, { body: "mjml" })
  })

  it("changes the variables of rows and keeps everything else", () => {
    const { faults, placed, templates } = inputsOf(
      "template,variant,subject,body\nCart reminder,Warm,New,<p>New</p>\ncart,Cold & dry,Brr,<b>x</b>\nOther,first,Hi,\n",
    )
    assert.deepStrictEqual(faults, [])
    assert.deepStrictEqual(templates.map(({ variants: _, ...rest }) => rest), [
      { id: "cart", name: "Cart reminder", strict: true },
      { id: "other", name: "Other" },
    ] as never)
    assert.deepStrictEqual(templates.flatMap(({ variants }) => variants), [
      {
        id: "v1",
        name: "Warm",
        vars: { subject: "New", html: "<p>New</p>" },
        formats: { html: "html" },
        locales: { de: { subject: "Alt" } },
        components: { tone: "warm" },
      },
      {
        id: "cold-dry",
        name: "Cold & dry",
        active: false,
        vars: { subject: "Brr", body: "<b>x</b>" },
        formats: { body: "html" },
      },
      { id: "first", name: "first", active: false, vars: { subject: "Hi" } },
    ] as never)
    assert.deepStrictEqual(placed({ pointer: "/templates/0/variants/0/vars/html", detail: "wrong" }), {
      pointer: "/csv",
      detail: "row 2, column D (body): wrong",
    })
  })

  it("changes the texts of a locale", () => {
    const csv = "template,variant,locale,subject\ncart,v1,de_AT,Neu\ncart,v1,en,New\n"
    assert.deepStrictEqual(details(inputsOf(csv).faults), [
      "row 2: the template has one locale: set where a request has the person's locale, as in locale of a template file",
      "row 3: the template has one locale: set where a request has the person's locale, as in locale of a template file",
    ])
    const inSeveral = { ...stored, locale: { attribute: "language", default: "en" } }
    const { faults, placed, templates } = copyInputs(readCopy(csv).rows, [inSeveral])
    assert.deepStrictEqual(faults, [])
    assert.deepInclude(templates[0]!.variants![0], {
      vars: { subject: "New", html: "<p>Old</p>" },
      locales: { de: { subject: "Alt" }, "de-AT": { subject: "Neu" } },
    })
    assert.deepStrictEqual(placed({ pointer: "/templates/0/variants/0/locales/de-AT/subject", detail: "wrong" }), {
      pointer: "/csv",
      detail: "row 2, column D (subject): wrong",
    })
  })

  it("refuses two rows for one variant", () => {
    assert.deepStrictEqual(details(inputsOf("template,variant,subject\ncart,v1,A\nCart reminder,Warm,B").faults), [
      "row 3: Warm of Cart reminder is in an earlier row, too: keep one of them",
    ])
  })
})
