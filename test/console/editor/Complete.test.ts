import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { namesAt, openLiquid } from "../../../src/console/editor/complete.ts"
import { filters } from "../../../src/rendering/Filters.ts"
import { tagNames } from "../../../src/rendering/Grammar.ts"
import { hasLiquid, isParsed, parse } from "../../../src/rendering/Source.ts"

const settings = {
  fields: { first_name: "Ann", user: { address: { city: "Berlin" } }, items: [{ price: 1 }] },
  filters: ["upcase", "downcase"],
  tags: ["if", "endif"],
}

/** The suggestions at the end of a text: the written part, and the names. */
const suggested = (before: string): readonly [string, ReadonlyArray<string>] | undefined => {
  const open = openLiquid(before)
  const found = open === undefined ? undefined : namesAt(settings, open)
  return found && [found.written, found.options.map(({ label }: { readonly label: string }) => label)]
}

describe("completion of Liquid", () => {
  it("suggests fields, members, filters and tags only where each is allowed", () => {
    assert.deepStrictEqual(suggested("Hello {{ fi"), ["fi", ["first_name", "user", "items"]])
    assert.deepStrictEqual(suggested("{{ user.address.c"), ["c", ["city"]])
    assert.deepStrictEqual(suggested("{{ first_name | up"), ["up", ["upcase", "downcase"]])
    assert.deepStrictEqual(suggested("{%- i"), ["i", ["if", "endif"]])
    assert.deepStrictEqual(suggested("{% if us"), ["us", ["first_name", "user", "items"]])
    assert.deepStrictEqual(suggested('{{ x | default: "a" }}{{ user.'), ["", ["address"]])
    for (const outside of ["Hello", "{{ x }} and", "{% if x %} and", '{{ x | default: "fi', "{{ nobody.x"]) {
      const found = suggested(outside)
      assert.isTrue(found === undefined || found[1].length === 0, outside)
    }
  })

  it("contains the filters and tags of the service, each of which it parses", () => {
    assert.includeMembers([...tagNames], ["assign", "if", "elsif", "endif", "for", "endfor", "when", "endcase", "raw"])
    for (const name of ["include", "layout", "block", "#"]) assert.notInclude(tagNames, name)
    const opening = (name: string) => {
      const args: Record<string, string> = {
        assign: "a = 1",
        capture: "a",
        case: "a",
        cycle: "1",
        for: "a in b",
        render: "'a'",
      }
      return `{% ${name} ${args[name] ?? (name === "tablerow" ? "a in b" : "a")} %}`
    }
    for (const name of tagNames.filter((name) => !/^(?:end|els|when)/.test(name))) {
      const end = tagNames.includes(`end${name}`) ? `{% end${name} %}` : ""
      const inner = name === "case" ? "{% when 1 %}" : ""
      const source = `${name === "liquid" ? "{% liquid assign a = 1 %}" : opening(name)}${inner}${end}`
      assert.isTrue(hasLiquid(source) && isParsed(parse(source, "text")), source)
    }
    for (const name of filters.keys()) assert.isTrue(isParsed(parse(`{{ x | ${name}: 1, 2 }}`, "text")), name)
  })
})
