import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { rewriteHtml } from "../../src/tracking/HtmlLinks.ts"
import { rewriteText } from "../../src/tracking/TextLinks.ts"

/** The links that are seen, and the HTML with all of them replaced. */
const rewritten = (html: string, end?: string) => {
  const seen: Array<string> = []
  const text = rewriteHtml(html, (url) => {
    seen.push(url)
    return "T"
  }, end)
  return { seen, text }
}

describe("rewriteHtml", () => {
  for (
    const [html, url, after] of [
      ['<a href="https://a.example/">x</a>', "https://a.example/", '<a href="T">x</a>'],
      ["<a href='https://a.example/'>x</a>", "https://a.example/", "<a href='T'>x</a>"],
      ["<a href=https://a.example/>x</a>", "https://a.example/", "<a href=T>x</a>"],
      ["<A\n HREF = 'a' id=1>x</A>", "a", "<A\n HREF = 'T' id=1>x</A>"],
      ['<a title=">" href="a">', "a", '<a title=">" href="T">'],
      ['<a title="href=b" href="a">', "a", '<a title="href=b" href="T">'],
      ['<area shape=rect href="a"/>', "a", '<area shape=rect href="T"/>'],
      ['<a href="a?b=1&amp;c=2&#38;d=3&#x26;e&e=4">', "a?b=1&c=2&d=3&e&e=4", '<a href="T">'],
      ['<a href="caf&eacute;&nbsp;&copy=1">', "café\u00a0&copy=1", '<a href="T">'],
      ['<a href="&#104;ttps:&sol;&sol;a.example">', "https://a.example", '<a href="T">'],
      ['<a href="a" href="b">', "a", '<a href="T" href="b">'],
      ['<a href=" a\n">', " a\n", '<a href="T">'],
      ['<!--[if mso]><v:rect href="a"><![endif]-->', "a", '<!--[if mso]><v:rect href="T"><![endif]-->'],
      ["<a href='a?b=\"&eacute;\"&amp;c'>", 'a?b="é"&c', "<a href='T'>"],
      ['<a href="a"href2="b">', "a", '<a href="T"href2="b">'],
    ] as const
  ) {
    it(`rewrites the address in ${JSON.stringify(html)}`, () => {
      assert.deepStrictEqual(rewritten(html), { seen: [url], text: after })
    })
  }

  for (
    const html of [
      "",
      "plain text with https://a.example/ and a < b > c & d",
      '<img src="https://a.example/"><link href="https://a.example/"><base href="a">',
      '<!-- <a href="a"> --><!--[if mso]><img src="a"><![endif]-->',
      '<a href="a" clicktracking="off">x</a>',
      '<script>var a = \'<a href="a">\'</script><style>a[href="a"]{}</style>',
      '<title><a href="a"></title><textarea><a href="a"></textarea>',
      '<iframe><a href="a">shown by no mail program</a></iframe>',
      "<a href>x</a><a href=>x</a><a href=''>x</a>",
      '<a hrefs="a" data-href="b" xlink:href="c">x</a>',
      '<a href="a" title="never ends>',
      '<a href="a"',
      "<a",
      '</a href="a">',
      "<?xml href='a'?><!doctype html>",
      '<abbr href="a"><a-b href="a">',
    ]
  ) {
    it(`keeps ${JSON.stringify(html)} unchanged`, () => {
      assert.deepStrictEqual(rewritten(html), { seen: [], text: html })
    })
  }

  it("changes only the addresses, for any surrounding text", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "<",
        ">",
        "&",
        "&amp;",
        '"',
        "'",
        "\u0000",
        "é",
        "\u{1f600}",
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "\r\n",
      ),
      fc.constantFrom("<script>", "</script>", "<style>", "</style>", "<title>", "<a href=x>", "<a title='", "</body>"),
      fc.string({ maxLength: 5 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const html = pieces.join("")
        assert.strictEqual(rewriteHtml(html, () => undefined), html)
        // A link written back equals the original.
        assert.strictEqual(rewriteHtml(html, (_, written) => written), html)
      }),
      { numRuns: 2_000 },
    )
  })

  it("inserts the pixel before the last </body>, or at the end", () => {
    assert.strictEqual(rewriteHtml("<p>x</p>", () => undefined, "P"), "<p>x</p>P")
    assert.strictEqual(
      rewriteHtml("<html><body><p>x</p></BODY ></html>\n", () => undefined, "P"),
      "<html><body><p>x</p>P</BODY ></html>\n",
    )
    assert.strictEqual(
      rewritten('<body><!-- </body> --><a href="a">x</a></body><a href="b">y</a>', "P").text,
      '<body><!-- </body> --><a href="T">x</a>P</body><a href="T">y</a>',
    )
  })

  it("takes linear time for hostile HTML", () => {
    for (const one of ['<a href="', "<a href='&amp;", "<!--", "<a ", "</body", "&amp", '<a href="x">']) {
      rewriteHtml(one.repeat(Math.ceil(1_000_000 / one.length)), () => "T", "P")
    }
  })
})

describe("rewriteText", () => {
  const text = (before: string) => rewriteText(before, (url) => `[${url}]`)

  it("finds addresses as mail programs do", () => {
    for (
      const [before, after] of [
        ["See https://a.example/x?y=1&z=2#top.", "See [https://a.example/x?y=1&z=2#top]."],
        ["(https://a.example/)", "([https://a.example/])"],
        ["https://a.example/w_(disambiguation)", "[https://a.example/w_(disambiguation)]"],
        ["<https://a.example/>, HTTP://B.example!", "<[https://a.example/]>, [HTTP://B.example]!"],
        ["a\nhttps://a.example\r\nb", "a\n[https://a.example]\r\nb"],
        ["mailto:ada@example.com tel:+49123 ftp://a.example xhttps://a.example", undefined],
        ["https:// alone", "https:// alone"],
      ] as const
    ) assert.strictEqual(text(before), after ?? before)
  })

  it("takes linear time for hostile text", () => {
    for (const one of [")", "https://", "https://x)", ".", "("]) text(`https://${one.repeat(500_000)}`)
  })
})
