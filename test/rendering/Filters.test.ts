import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { filters } from "../../src/rendering/Filters.ts"
import { parseVars, render } from "../../src/rendering/Renderer.ts"
import { faultOf, type Fields, now, textOf } from "./variants.ts"

/** An expression and its rendered text. */
type Example = readonly [expression: string, expected: string]

const holds = (fields: Fields, examples: ReadonlyArray<Example>) => {
  for (const [expression, expected] of examples) {
    assert.strictEqual(textOf(`{{ ${expression} }}`, fields), expected, expression)
  }
}

describe("text filters", () => {
  it("change case and trim", () =>
    holds({ s: "  Hello World \n" }, [
      ["'straße' | upcase", "STRASSE"],
      ["'ÀÉ' | downcase", "àé"],
      ["'ada LOVELACE' | capitalize", "Ada lovelace"],
      ["s | strip | append: '|'", "Hello World|"],
      ["s | lstrip", "Hello World \n"],
      ["s | rstrip", "  Hello World"],
      ["'--a-b--' | strip: '-'", "a-b"],
      ["'a\nb\r\nc' | strip_newlines", "abc"],
      ["' a \n  b ' | squish", "a b"],
      ["' a \n  b ' | normalize_whitespace", " a b "],
      ["'ADA lovelace, jean-luc o’neill' | titlecase", "Ada Lovelace, Jean-Luc O’neill"],
    ]))

  it("join, replace and remove", () =>
    holds({ r: "$&$1" }, [
      ["'a' | append: 'b' | prepend: 'c'", "cab"],
      ["'a-b-c' | replace: '-', '+'", "a+b+c"],
      ["'a-b-c' | replace: '-', r", "a$&$1b$&$1c"],
      ["'a-b-c' | replace: '.', ''", "a-b-c"],
      ["'😀b' | replace: '', '-'", "😀-b"],
      ["'a-b-c' | replace_first: '-', r", "a$&$1b-c"],
      ["'a-b-c' | replace_last: '-', '+'", "a-b+c"],
      ["'a-b-c' | remove: '-'", "abc"],
      ["'a-b-c' | remove_first: '-' | remove_last: 'c'", "ab-"],
      ["'a,b,,c,,' | split: ',' | join: '.'", "a.b..c"],
      ["'a b' | split: '' | reverse | join: ''", "b a"],
    ]))

  it("truncate and count", () =>
    holds({}, [
      ["'abcdefgh' | truncate: 5", "ab..."],
      ["'abcdefgh' | truncate: 5, ''", "abcde"],
      ["'one two three' | truncatewords: 2", "one two..."],
      ["'one two' | truncatewords", "one two"],
      ["'one two three' | number_of_words", "3"],
      ["'hello world 你好' | number_of_words: 'cjk'", "4"],
      ["'abcdef' | slice: 1, 3", "bcd"],
      ["'abcdef' | slice: -2, 2", "ef"],
      ["'abc' | size", "3"],
      ["'abc' | first | append: '-'", "a-"],
      ["'ab😀' | last", "😀"],
    ]))

  it("encode and decode", () =>
    holds({ h: "<p>Tom &amp; <b>\"J'</b></p>", broken: "a\ud800b" }, [
      ["h | strip_html", "Tom &amp; \"J'"],
      ["'<a>&amp;' | escape", "&lt;a&gt;&amp;amp;"],
      ["'<a>&amp;' | escape_once", "&lt;a&gt;&amp;"],
      ["'a\nb' | newline_to_br", "a<br />\nb"],
      ["'a b&c=ü' | url_encode", "a+b%26c%3D%C3%BC"],
      ["'a+b%26%C3%BC' | url_decode", "a b&ü"],
      ["'100%' | url_decode", "100%"],
      ["broken | url_encode", "a%EF%BF%BDb"],
      ['"it\'s (a) *!" | cgi_escape', "it%27s+%28a%29+%2A%21"],
      ["'https://x.y/ü?a=[b]' | uri_escape", "https://x.y/%C3%BC?a=[b]"],
      ["'hey<>hi' | url_escape", "hey%3C%3Ehi"],
      ["'hey<&>hi' | url_param_escape", "hey%3C%26%3Ehi"],
      ["'Ann Lee & Co' | url_param_escape", "Ann%20Lee%20%26%20Co"],
      ['"it\'s (a) *!~+" | url_param_escape', "it%27s%20%28a%29%20%2A%21~%2B"],
      ["broken | url_param_escape", "a%EF%BF%BDb"],
      ["'Ünder the Sea!' | slugify", "ünder-the-sea"],
      ["'Ünder the Sea!' | slugify: 'constructor'", "ünder-the-sea"],
      ["'ü😀' | base64_encode", "w7zwn5iA"],
      ["'w7zwn5iA' | base64_decode", "ü😀"],
      ["'not base64!' | base64_decode", ""],
      ["'abc' | sha256 | slice: 0, 8", "ba7816bf"],
      ["'abc' | hmac_sha256: 'key' | slice: 0, 8", "9c196e32"],
      ["h | json", '"<p>Tom &amp; <b>\\"J\'</b></p>"'],
      ["nothing | json", "null"],
      ["'say \"hi\"' | json_escape", 'say \\"hi\\"'],
      ["'abc' | md5", "900150983cd24fb0d6963f7d28e17f72"],
    ]))
})

describe("number filters", () => {
  it("calculate with numbers and numeric texts, and with nothing as 0", () =>
    holds({ t: "12.5", l: [1], o: {} }, [
      ["t | plus: 1", "13.5"],
      ["100 | times: 1.1", "110"],
      ["1.1 | plus: 2.2", "3.3"],
      ["0.3 | minus: 0.1", "0.2"],
      ["0.0725 | times: 100", "7.25"],
      ["4.35 | times: 100 | to_integer", "435"],
      ["5.5 | modulo: 0.1", "0"],
      ["8.165 | round: 2", "8.17"],
      ["2090.50 | times: 8.61 | round: 2", "17999.21"],
      ["1.0 | divided_by: 3", "0.3333333333333333"],
      ["missing | plus: 1", "1"],
      ["1 | plus: missing", "1"],
      ["5 | minus: t", "-7.5"],
      ["10 | divided_by: 4", "2.5"],
      ["10 | divided_by: 4, true", "2"],
      ["-7 | modulo: 3", "2"],
      ["-1.5 | abs", "1.5"],
      ["1.2 | ceil", "2"],
      ["1.8 | floor", "1"],
      ["1.005 | round: 2", "1.01"],
      ["-2.5 | round", "-3"],
      ["1234 | round: -2", "1200"],
      ["3 | at_least: 5 | at_most: 4", "4"],
      ["'7.9' | to_integer", "7"],
    ]))

  it("leave a text that is not a number as it is, and return nothing for other values and arguments", () =>
    holds({ word: "abc", empty: "", l: [1], o: {}, price: "1,234" }, [
      ["word | plus: 1", "abc"],
      ["empty | plus: 1", ""],
      ["price | times: 2", "1,234"],
      ["word | round", "abc"],
      ["word | to_integer", "abc"],
      ["5 | times: word", ""],
      ["5 | divided_by: word | default: '-'", "-"],
      ["l | plus: 1", ""],
      ["o | times: 2", ""],
    ]))

  it("add all elements of a list, and return nothing if one of them is not a number", () =>
    holds({ l: ["1.10", 2.2, null, " 1 000,00 "], free: [1, "free"], bare: [] }, [
      ["l | sum", "1003.3"],
      ["free | sum | default: 'none'", "none"],
      ["bare | sum", "0"],
    ]))

  it("warn of a total of a name that no element has", () => {
    const warnings: Array<string> = []
    const warn = ({ message }: { readonly message: string }) => warnings.push(message)
    const totals = (items: ReadonlyArray<unknown>) => textOf("{{ items | sum: 'price' }}", { items }, { warn })
    assert.deepStrictEqual([[], [{ price: 5 }, {}], [{ price: null }]].map(totals), ["0", "5", "0"])
    assert.deepStrictEqual(warnings, [])
    assert.deepStrictEqual([[{ prize: 5 }], [5]].map(totals), ["0", "0"])
    assert.deepStrictEqual(warnings, Array(2).fill('sum: no element has "price", so the total is 0: correct the name'))
  })

  it("return nothing if there is no numeric result", () =>
    holds({}, [
      ["1 | divided_by: 0", ""],
      ["1 | modulo: 0", ""],
      ["1 | divided_by: 0 | default: 'none'", "none"],
      ["'1e308' | times: 10", ""],
    ]))
})

describe("filters that format numbers", () => {
  it("format money in a currency and a locale", () =>
    holds({ t: "17.8", big: 350000.255, word: "free" }, [
      ["t | money", "17.80"],
      ["145 | money", "145.00"],
      ["big | money", "350,000.26"],
      ["-5 | money: 'USD'", "-$5.00"],
      ["1234.5 | money: 'usd'", "$1,234.50"],
      ["1234 | money: 'JPY'", "¥1,234"],
      ["1234.5 | money: 'EUR', 'de-DE'", "1.234,50\u00a0€"],
      ["1234.5 | money_with_currency: 'CAD'", "$1,234.50 CAD"],
      ["1234.5 | money: 'XCG'", "XCG\u00a01,234.50"],
      ["word | money: 'EUR'", "free"],
      ["none | money", ""],
      ["1 | money: 'nonsense'", "1"],
      ["1 | money: 'EUR', '??'", "1"],
      ["1234.5 | money: 'EUR', 'de_DE'", "1.234,50\u00a0€"],
      ["1234.5 | money: 'EUR', ''", "€1,234.50"],
      ["'1.234,50' | money: 'USD'", "$1,234.50"],
      ["'1,234' | money: 'USD'", "1,234"],
      ["1.005 | money: 'USD'", "$1.01"],
      ["-0.004 | money: 'USD'", "$0.00"],
      ["1234.5678 | money: 'KWD'", "KWD\u00a01,234.568"],
      ["'12345678901234567890.125' | money: 'USD'", "$12,345,678,901,234,567,890.13"],
      ["1 | money: 'XYZ'", "1"],
      ["1 | money: '€'", "1"],
      ["2 | money_with_currency: none", "2.00"],
    ]))

  it("group digits", () =>
    holds({ id: "12px" }, [
      ["1234567.5 | number_with_delimiter", "1,234,567.5"],
      ["-123 | number_with_delimiter", "-123"],
      ["1234567.5 | number_with_delimiter: '.', ','", "1.234.567,5"],
      ["'1000' | number_with_delimiter: ' '", "1 000"],
      ["id | number_with_delimiter", "12px"],
      ["'1.234,50' | number_with_delimiter", "1,234.50"],
      ["none | number_with_delimiter", ""],
    ]))

  it("select the singular or the plural", () =>
    holds({ n: "1" }, [
      ["n | pluralize: 'item', 'items'", "item"],
      ["n | plural: one: 'item', other: 'items'", "item"],
      ["1.5 | plural: one: 'item', other: 'items'", "items"],
      ["3 | plural: few: 'few', other: 'items'", "items"],
      ["x.y | plural: one: 'item', other: 'items'", "items"],
      ["0 | pluralize: 'item', 'items'", "items"],
      ["2 | pluralize: 'item', 'items' | prepend: '2 '", "2 items"],
    ]))

  it("report invalid input in strict mode", () => {
    const messages = (source: string) =>
      faultOf(source, { word: "free" }, { strict: true }).faults.map(({ message }) => message)
    assert.deepStrictEqual(messages("{{ word | money }}"), [
      'money: "free" is not a number: use a number, or a text such as 1234.50',
    ])
    assert.deepStrictEqual(messages("{{ 1 | money: 'nonsense' }}"), [
      'money: "nonsense" is not a currency code: write an ISO 4217 code, such as "EUR"',
    ])
  })
})

describe("the time_zone filter", () => {
  it("converts a date to the zone, before the date filter and alone", () =>
    holds({ at: "2026-03-14T15:09:26Z" }, [
      ["at | time_zone: 'America/New_York'", "2026-03-14 11:09:26 -0400"],
      ["at | time_zone: 'America/New_York' | date: '%H:%M'", "11:09"],
      ["at | time_zone: 'America/New_York' | date: '%H:%M', 'Asia/Tokyo'", "00:09"],
      ["at | time_zone: 'Asia/Kolkata' | time_zone: 'Asia/Tokyo' | date: '%H:%M'", "00:09"],
      ["'now' | time_zone: 'Asia/Kolkata' | date: '%F %R'", "2026-03-14 20:39"],
      ["at | time_zone: 'Asia/Kolkata' | slice: 0, 10", "2026-03-14"],
      ["at | time_zone: 'Mars/Base'", "2026-03-14T15:09:26Z"],
      ["'soon' | time_zone: 'Asia/Kolkata'", "soon"],
    ]))
})

describe("list filters", () => {
  const fields = {
    l: [3, 1, 2],
    names: ["b", "A", null, "c"],
    nested: [1, [2, [3]], 4],
    items: [
      { name: "lamp", price: { amount: 20 }, on: true },
      { name: "Desk", price: { amount: 100 }, on: false },
      { name: "chair", price: { amount: 20 } },
    ],
  }

  it("sort, select and group items", () =>
    holds(fields, [
      ["l | sort | join", "1 2 3"],
      ["names | sort | join: ','", "A,b,c,"],
      ["names | sort_natural | join: ','", "A,b,c,"],
      ["items | sort: 'price.amount' | map: 'name' | join: ','", "lamp,chair,Desk"],
      ["items | sort_natural: 'name' | map: 'name' | join: ','", "chair,Desk,lamp"],
      ["items | where: 'on' | map: 'name'", "lamp"],
      ["items | where: 'price.amount', 20 | size", "2"],
      ["items | reject: 'on' | map: 'name' | join: ','", "Desk,chair"],
      ["items | find: 'name', 'Desk' | json", '{"name":"Desk","price":{"amount":100},"on":false}'],
      ["items | find_index: 'name', 'Desk'", "1"],
      ["items | find: 'name', 'none'", ""],
      ["items | has: 'on', false", "true"],
      ["items | sum: 'price.amount'", "140"],
      ["l | sum", "6"],
      ["items | group_by: 'price.amount' | map: 'name' | join: ','", "20,100"],
      ["names | compact | join: ','", "b,A,c"],
      ["'a,b,a' | split: ',' | uniq | join: ','", "a,b"],
      ["items | uniq: 'price.amount' | map: 'name' | join: ','", "lamp,Desk"],
      ["items | map: '__proto__.constructor' | join: ','", ",,"],
    ]))

  it("sort by number if all elements are numbers or their texts, and otherwise by text", () =>
    holds({
      prices: [{ p: "149.00" }, { p: 20 }, { p: null }, { p: "9.5" }, { p: "12345678901234567891" }, {
        p: "12345678901234567890",
      }],
      mixed: ["10", "9", "1a"],
    }, [
      [
        "prices | sort: 'p' | map: 'p' | join: ' '",
        "9.5 20 149.00 12345678901234567890 12345678901234567891 ",
      ],
      ["mixed | sort | join: ' '", "10 1a 9"],
    ]))

  it("split and combine lists", () =>
    holds(fields, [
      ["l | first | append: '-'", "3-"],
      ["l | last", "2"],
      ["l | reverse | join: ''", "213"],
      ["l | push: 4 | unshift: 0 | join: ''", "03124"],
      ["l | pop | shift | join: ''", "1"],
      ["l | concat: names | join: ','", "3,1,2,b,A,,c"],
      ["l | slice: 1, 2 | join: ''", "12"],
      ["l | slice: -1", "2"],
      ["l | array_to_sentence_string", "3, 1, and 2"],
      ["'a,b' | split: ',' | array_to_sentence_string: 'or'", "a or b"],
      ["l | join: ', '", "3, 1, 2"],
      ["nested | join: '-'", "1-2-3-4"],
      ["l | size", "3"],
      ["'x' | join: ','", "x"],
      ["nothing | concat: l | size", "3"],
    ]))

  it("do not modify their input", () => {
    const before = JSON.stringify(fields)
    textOf("{{ l | sort }}{{ l | reverse }}{{ l | push: 1 | pop | shift }}{{ items | sort: 'name' }}", fields)
    assert.strictEqual(JSON.stringify(fields), before)
  })
})

describe("the default filter", () => {
  it("replaces nothing, false, and an empty text, list or object", () =>
    holds({ f: false, e: "", l: [], z: 0, o: {}, p: { a: 1 } }, [
      ["n | default: 'd'", "d"],
      ["f | default: 'd'", "d"],
      ["f | default: 'd', allow_false: true", "false"],
      ["e | default: 'd'", "d"],
      ["l | default: 'd'", "d"],
      ["z | default: 'd'", "0"],
      ["o | default: 'd'", "d"],
      ["p | default: 'd'", '{"a":1}'],
      ["empty | default: 'd'", "d"],
      ["blank | default: 'd'", "d"],
    ]))
})

describe("every filter", () => {
  const values: Fields = {
    nothing: null,
    no: false,
    text: "Ada & <b>",
    empty: "",
    broken: "\ud800",
    zero: 0,
    number: -12.75,
    large: 1e300,
    list: [3, null, "x", { a: 1 }, [1]],
    object: { a: { b: 1 }, toString: 1, length: 3, then: 1 },
    bare: JSON.parse('{"__proto__": {"toString": null}, "valueOf": 1}'),
  }

  it("accepts a value and arguments of any type without an exception, and does not modify them", () => {
    const before = JSON.stringify(values)
    const expressions: Array<string> = []
    for (const name of filters.keys()) {
      for (const value of Object.keys(values)) {
        for (const argument of Object.keys(values)) {
          expressions.push(`{{ ${value} | ${name}: ${argument}, ${argument}, ${value} }}`)
          expressions.push(`{{ ${value} | ${name}: missing, ${argument}, allow_false: ${argument} | json }}`)
        }
      }
    }
    assert.isAbove(expressions.length, 15_000)
    for (const source of expressions) {
      const rendered = render(Result.getOrThrow(parseVars({ v: source }, {})), values, { strict: false, now })
      assert.isTrue(Result.isSuccess(rendered), source)
    }
    assert.strictEqual(JSON.stringify(values), before)
  })
})
