import { assert, describe, it } from "@effect/vitest"
import { htmlAsText } from "../../src/rendering/HtmlAsText.ts"

describe("htmlAsText", () => {
  it.each([
    ["<!doctype html><html>", 0],
    ["Hi\n<p>Hello {{ name }}</p>", 3],
    ["Hi<br>you", 2],
    ["Hi<BR/>you", 2],
    ["Hi<br />you", 2],
    ["{{ a }}<b>you</b>", 13],
    [`Click <a href="{{ url }}">here</a>`, 6],
    ["Click <a\nhref=x>here", 6],
    ["<td width=600 align='center'>", 0],
    ["<h1>Sale</h1>", 0],
    ["<div class=x>", 0],
    ["{% if a %}<span>x{% endif %}", 10],
  ])("warns of the first tag of %j", (source, begin) => {
    const [finding] = htmlAsText(source, "text")
    assert.strictEqual(finding?.begin, begin)
    assert.include(finding?.message, "Set the format html")
    assert.deepStrictEqual(htmlAsText(source, "html"), [])
  })

  it.each([
    "We <3 you",
    "a < b and b > c",
    "2<3, 5>4",
    "Ann <ann@shop.example>",
    "See <https://shop.example/a?b=c>",
    "Dear <name>, your <code>",
    "<b",
    "<a>",
    "press <i> or <q> to quit",
    "<p.miller@shop.example>",
    "<!channel> <@U123> <https://shop.example|Shop>",
    "{{ text | replace: '<br>', ', ' }}",
    "{% assign a = '<p>' %}{{ a | strip_html }}",
    "<table_name>",
    "->> <- <<EOF",
  ])("accepts %j", (source) => {
    assert.deepStrictEqual(htmlAsText(source, "text"), [])
  })

  it("needs linear time for 512 KiB", () => {
    for (const piece of ["<", "<a ", "<td =", "<p", "<!doctype ", "<a href", "{{", "</b"]) {
      htmlAsText(piece.repeat(Math.floor(524_288 / piece.length)), "text")
    }
  }, 20_000)
})
