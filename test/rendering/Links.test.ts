import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { tagLinks } from "../../src/rendering/Links.ts"

const domains = ["shop.example", "xn--bcher-kva.example"]
const tag = (html: string, trackingId = "x1") => tagLinks(html, { domains, trackingId })

/** The link in the result of `tag`, for a link in double quotes. */
const linkOf = (href: string) => /^<a href="([^"]*)">$/.exec(tag(`<a href="${href}">`))![1]

describe("tagLinks", () => {
  it.each([
    ["https://shop.example", "https://shop.example?tracking_id=x1"],
    ["https://shop.example/", "https://shop.example/?tracking_id=x1"],
    ["HTTP://Shop.Example:8080/a", "HTTP://Shop.Example:8080/a?tracking_id=x1"],
    ["https://www.eu.shop.example./", "https://www.eu.shop.example./?tracking_id=x1"],
    ["//shop.example/a", "//shop.example/a?tracking_id=x1"],
    ["https://ann:pw@shop.example/", "https://ann:pw@shop.example/?tracking_id=x1"],
    ["https://evil.example@shop.example/", "https://evil.example@shop.example/?tracking_id=x1"],
    ["https://bücher.example/", "https://bücher.example/?tracking_id=x1"],
    ["https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/?tracking_id=x1"],
    ["https&#58;&#x2F;&sol;shop&period;example/", "https&#58;&#x2F;&sol;shop&period;example/?tracking_id=x1"],
    ["  https://shop.example/a \n", "  https://shop.example/a?tracking_id=x1 \n"],
    ["https://shop.example ", "https://shop.example?tracking_id=x1 "],
    ["https://shop.example&#32;", "https://shop.example?tracking_id=x1&#32;"],
  ])("tags a link to a configured domain or a subdomain: %s", (href, tagged) => {
    assert.strictEqual(linkOf(href), tagged)
  })

  it.each([
    ["https://shop.example/?", "https://shop.example/?tracking_id=x1"],
    ["https://shop.example/?a=1", "https://shop.example/?a=1&amp;tracking_id=x1"],
    ["https://shop.example/?a=1&b=2", "https://shop.example/?a=1&b=2&tracking_id=x1"],
    ["https://shop.example/?a=1&amp;b=2", "https://shop.example/?a=1&amp;b=2&amp;tracking_id=x1"],
    ["https://shop.example/?a=1&#38;b=2", "https://shop.example/?a=1&#38;b=2&#38;tracking_id=x1"],
    ["https://shop.example/?a=1&", "https://shop.example/?a=1&tracking_id=x1"],
    ["https://shop.example/?a=1&amp;", "https://shop.example/?a=1&amp;tracking_id=x1"],
    ["https://shop.example/?a=1&amp", "https://shop.example/?a=1&amp&amp;tracking_id=x1"],
    ["https://shop.example/?a=1&copy=2", "https://shop.example/?a=1&copy=2&tracking_id=x1"],
    ["https://shop.example/#top", "https://shop.example/?tracking_id=x1#top"],
    ["https://shop.example#top?a=1", "https://shop.example?tracking_id=x1#top?a=1"],
    ["https://shop.example/?a=1#top", "https://shop.example/?a=1&amp;tracking_id=x1#top"],
    ["https://shop.example/?a=1&#top", "https://shop.example/?a=1&tracking_id=x1#top"],
    ["https://shop.example/?a=1&num;top", "https://shop.example/?a=1&amp;tracking_id=x1&num;top"],
    ["https://shop.example/?a=it&#39;s", "https://shop.example/?a=it&#39;s&amp;tracking_id=x1"],
    ["https://shop.example/?a=1?b", "https://shop.example/?a=1?b&amp;tracking_id=x1"],
  ])("adds to the query the link has, written as the link is, before its fragment: %s", (href, tagged) => {
    assert.strictEqual(linkOf(href), tagged)
  })

  it.each([
    "https://shop.example/?tracking_id=other",
    "https://shop.example/?a=1&tracking_id=",
    "https://shop.example/?a=1&amp;tracking_id=other#top",
    "https://shop.example/?tracking_id",
    "https://shop.example/?tracking%5Fid=other",
    "https://shop.example/?%74racking&lowbar;id=other&b",
  ])("leaves the tracking id a link has: %s", (href) => {
    assert.strictEqual(linkOf(href), href)
  })

  it("distinguishes the tracking id from other parameters", () => {
    for (const query of ["tracking_ids=1", "a=tracking_id", "my_tracking_id=1", "tracking_i=d", "tracking_id%2=1"]) {
      const href = `https://shop.example/?${query}`
      assert.strictEqual(linkOf(href), `${href}&amp;tracking_id=x1`)
    }
    assert.strictEqual(
      linkOf("https://shop.example/?a#tracking_id=1"),
      "https://shop.example/?a&amp;tracking_id=x1#tracking_id=1",
    )
  })

  it.each([
    "https://other.example/",
    "https://notshop.example/",
    "https://shop.example.evil.example/",
    "https://shop.example@evil.example/",
    "https://evil.example/@shop.example",
    "https://evil.example\\@shop.example",
    "https://evil.example?@shop.example",
    "https://evil.example#@shop.example",
    "https://shop.example:port/",
    "https:///shop.example/",
    "https:shop.example",
    "ftp://shop.example/",
    "httpss://shop.example/",
    "mailto:ann@shop.example",
    "tel:123",
    "javascript:open('https://shop.example/')",
    "/shop.example/",
    "shop.example/",
    "?a=1",
    "#top",
    "",
    "https://",
    "//",
  ])("leaves every other link: %s", (href) => {
    assert.strictEqual(linkOf(href), href)
  })

  it("finds the links of a and area in any syntax of the attribute", () => {
    const to = "https://shop.example/"
    const cases: ReadonlyArray<readonly [html: string, tagged: string]> = [
      [`<a href='${to}'>x</a>`, `<a href='${to}?tracking_id=x1'>x</a>`],
      [`<a href=${to}>x</a>`, `<a href=${to}?tracking_id=x1>x</a>`],
      [`<a href=${to} class=b>x</a>`, `<a href=${to}?tracking_id=x1 class=b>x</a>`],
      [`<A class="b>c"\n\tHREF = "${to}"/>`, `<A class="b>c"\n\tHREF = "${to}?tracking_id=x1"/>`],
      [`<a/href="${to}">`, `<a/href="${to}?tracking_id=x1">`],
      [`<a title='<a href="${to}">' href="${to}">`, `<a title='<a href="${to}">' href="${to}?tracking_id=x1">`],
      [`<a b = href="${to}" href="${to}">`, `<a b = href="${to}" href="${to}?tracking_id=x1">`],
      [`<a href="${to}" href="${to}">`, `<a href="${to}?tracking_id=x1" href="${to}">`],
      [`<map><area shape=rect href="${to}"></map>`, `<map><area shape=rect href="${to}?tracking_id=x1"></map>`],
      [`a < b <3 <a href="${to}">`, `a < b <3 <a href="${to}?tracking_id=x1">`],
      [`<!-- x --><a href="${to}"><!---->`, `<!-- x --><a href="${to}?tracking_id=x1"><!---->`],
      [`<![if !mso]><a href="${to}"><![endif]>`, `<![if !mso]><a href="${to}?tracking_id=x1"><![endif]>`],
      [`<!--[if mso]><a href="${to}"><![endif]-->`, `<!--[if mso]><a href="${to}?tracking_id=x1"><![endif]-->`],
      [
        `<!--[if mso]><v:roundrect href="${to}#b" arcsize="8%"><![endif]--><a href="${to}">`,
        `<!--[if mso]><v:roundrect href="${to}?tracking_id=x1#b" arcsize="8%"><![endif]--><a href="${to}?tracking_id=x1">`,
      ],
      [
        `<a clicktracking=off href="${to}"><a href="${to}">`,
        `<a clicktracking=off href="${to}"><a href="${to}?tracking_id=x1">`,
      ],
      [`<style>a{}</style><a href="${to}">`, `<style>a{}</style><a href="${to}?tracking_id=x1">`],
      [
        `<a href="${to}"><a href="/"><a href="${to}">`,
        `<a href="${to}?tracking_id=x1"><a href="/"><a href="${to}?tracking_id=x1">`,
      ],
    ]
    for (const [html, tagged] of cases) assert.strictEqual(tag(html), tagged)
  })

  it("leaves other text unchanged", () => {
    const link = `<a href="https://shop.example/">`
    for (
      const html of [
        `<!-- ${link} -->`,
        `<!-- --!${link}`,
        `<script>document.write('${link}')</script>`,
        `<script><!-- <script>${link}</script>${link}--></script>`,
        `<SCRIPT type="a">${link}</scripts>${link}</script>`,
        `<style>/* ${link} */</style>`,
        `<textarea>${link}</textarea>`,
        `<title>${link}</title >`,
        `<plaintext>${link}`,
        `<?php ${link.replace(">", "")}>`,
        `<link href="https://shop.example/"><abbr href="https://shop.example/">`,
        `<a data-href="https://shop.example/" hrefs="https://shop.example/">`,
        `<img src="https://shop.example/"><form action="https://shop.example/">`,
        `</a href="https://shop.example/">`,
        `<a href="https://shop.example/"`,
        `<a href="https://shop.example/>`,
        `<a href href="https://shop.example/">`,
        `https://shop.example/ &lt;a href="https://shop.example/"&gt;`,
      ]
    ) assert.strictEqual(tag(html), html)
    assert.strictEqual(tagLinks(link, { domains: [], trackingId: "x" }), link)
  })

  it("encodes the tracking id so that it cannot end the attribute", () => {
    const id = `a b&c="d'<e>#(é)\ud800`
    const value = "a%20b%26c%3D%22d%27%3Ce%3E%23%28%C3%A9%29%EF%BF%BD"
    for (const sign of [`"`, "'", ""]) {
      assert.strictEqual(
        tag(`<a href=${sign}//shop.example/${sign}>`, id),
        `<a href=${sign}//shop.example/?tracking_id=${value}${sign}>`,
      )
    }
  })

  it("tags at most 5,000 links of a text", () => {
    const tagged = tag(`<a href="//shop.example/">`.repeat(6_000))
    assert.strictEqual(tagged.split("tracking_id=x1").length - 1, 5_000)
    assert.strictEqual(tag(tagged), tagged)
  })
})

const pieces = fc.constantFrom(
  "<a ",
  "<area ",
  "<b ",
  "</a",
  ">",
  "<",
  "href=",
  "HREF = ",
  "'",
  '"',
  " ",
  "/",
  "=",
  "https://shop.example",
  "//shop.example/",
  "https://other.example/",
  "http://a.shop.example:1/b",
  "?",
  "&",
  "&amp",
  "&amp;",
  "&#38",
  "&#x26;",
  "#",
  "&num;",
  "a=1",
  "tracking_id",
  "=x",
  "%74racking_id",
  "@",
  "<!--",
  "-->",
  "--!>",
  "-",
  "!",
  "<script>",
  "</script>",
  "<style>",
  "</style",
  "é",
  "\n",
  "\u0000",
  "x",
)
const anyHtml = fc.oneof(
  fc.array(pieces, { maxLength: 40 }).map((all) => all.join("")),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 20 }).map((all) =>
    `<a href="https://shop.example/${all.join("").replaceAll('"', "")}">`
  ),
)
const anyId = fc.string({ minLength: 1, maxLength: 20, unit: "binary" })

describe("tagLinks for any text", () => {
  it("never fails, only adds text, and changes nothing when repeated", () => {
    fc.assert(
      fc.property(anyHtml, anyId, (html, id) => {
        const once = tag(html, id)
        assert.strictEqual(tag(once, id), once)
        assert.strictEqual(tag(once, "another"), once)
        // The added text is the parameter and its separator.
        const parameter = `tracking_id=${/tracking_id=([^"'&#\s>]*)/.exec(tag(`<a href="//shop.example">`, id))![1]}`
        assert.strictEqual((once.length - html.length) >= 0, true)
        if (once === html) return
        let at = 0
        for (const sign of once) if (at < html.length && html.startsWith(sign, at)) at += sign.length
        assert.strictEqual(at, html.length)
        assert.include(once, parameter)
      }),
      { numRuns: 5_000 },
    )
  })

  it("changes nothing without a link to a configured domain", () => {
    fc.assert(
      fc.property(anyHtml, anyId, (html, id) => {
        const elsewhere = html.replaceAll("shop.example", "shop.test")
        assert.strictEqual(tag(elsewhere, id), elsewhere)
        assert.strictEqual(tagLinks(html, { domains: [], trackingId: id }), html)
      }),
      { numRuns: 2_000 },
    )
  })

  it("adds exactly one parameter to the URL that a browser reads", () => {
    const part = fc.array(fc.constantFrom("a", "b=1", "=", "&amp;", "&", "%41", "é", "?", "/", "&#39;", "&quot;"), {
      maxLength: 8,
    })
      .map((all) => all.join(""))
    fc.assert(
      fc.property(part, part, anyId, (path, query, id) => {
        const resolved = (href: string) =>
          new URL(href.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"'))
        const href = `https://shop.example/${path}?${query}#f`
        const [before, after] = [resolved(href), resolved(/"([^"]*)"/.exec(tag(`<a href="${href}">`, id))![1]!)]
        assert.deepStrictEqual(
          [...after.searchParams],
          [...before.searchParams, ["tracking_id", id.toWellFormed()]],
        )
        assert.deepStrictEqual([after.pathname, after.hash], [before.pathname, before.hash])
      }),
      { numRuns: 2_000 },
    )
  })
})

describe("tagLinks for a hostile text of a million characters", () => {
  const link = `<a href="//shop.example?`
  const repeated: ReadonlyArray<string> = [
    "<",
    "<a>",
    "<a ",
    "<a href ",
    "<a href='",
    "<a href=//x>",
    "<a href=//shop.example>",
    "<a href=//é.x>",
    "</",
    "<!--",
    "<!-- -->",
    "--!",
    "<script>",
    "<!--<script </script",
    "<style></style>",
    "<textarea",
    "&amp;",
    "&#x26;",
    "&a",
    "tracking_id&",
    "%74racking_i&",
    "@",
    "a.",
  ]
  it.each(["", link, `<a href="//`, "<script>", "<style>", "<!--", "<a "])(
    "reads a megabyte of what a backtracking reader would be lost in, behind %j",
    (start) => {
      for (const piece of repeated) {
        const html = `${(start + piece.repeat(1_000_000)).slice(0, 1_000_000)}">`
        const tagged = tag(html)
        assert.isAtLeast(tagged.length, html.length, JSON.stringify(piece))
      }
    },
    // Quadratic time would be minutes.
    180_000,
  )
})
