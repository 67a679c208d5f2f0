import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { eachLink } from "../../src/text/HtmlLinks.ts"

/** The URLs of the links of a text that do not opt out, as written. */
const linksOf = (html: string): ReadonlyArray<string> => {
  const links: Array<string> = []
  eachLink(html, (from, to, isLeft) => isLeft || links.push(html.slice(from, to)) > 0)
  return links
}

const bulletproof = (href: string) =>
  `<div><!--[if mso]>
  <v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" xmlns:w="urn:schemas-microsoft-com:office:word" href="${href}" style="height:40px;v-text-anchor:middle;width:200px;" arcsize="10%" strokecolor="#1e3650" fillcolor="#556270">
    <w:anchorlock/><center style="color:#ffffff;font-family:sans-serif;font-size:13px;">Show me</center>
  </v:roundrect>
<![endif]--><a href="${href}" style="background-color:#556270;mso-hide:all;">Show me</a></div>`

/** Shapes of HTML e-mails, and the links in them. */
const cases: ReadonlyArray<readonly [name: string, html: string, links: ReadonlyArray<string>]> = [
  ["a button of VML with its fallback", bulletproof("/a"), ["/a", "/a"]],
  ["a link for Outlook only", `<!--[if mso]><a href="/a">x</a><![endif]-->`, ["/a"]],
  ["a condition with versions", `<!--[if (gte mso 9)|(IE)]><a href="/a">x</a><![endif]-->`, ["/a"]],
  ["a condition in capitals", `<!--[IF MSO]><A HREF="/a">x</A><![ENDIF]-->`, ["/a"]],
  ["a condition over several lines", `<!--[if mso | IE]>\n<table><tr><td>\n<a\n  href='/a'>x</a>\n<![endif]-->`, [
    "/a",
  ]],
  ["links for all but Outlook", `<!--[if !mso]><!--><a href="/a">x</a><!--<![endif]-->`, ["/a"]],
  ["links for all but Outlook, closed early", `<!--[if !mso]>--><a href="/a">x</a><!--<![endif]-->`, ["/a"]],
  ["a revealed condition", `<![if !mso]><a href="/a">x</a><![endif]>`, ["/a"]],
  ["two conditions", `<!--[if mso]><a href="/a"><![endif]--><!--[if mso 12]><a href="/b"><![endif]-->`, ["/a", "/b"]],
  ["a condition in a condition", `<!--[if mso]><!--[if gte mso 12]><a href="/a"><![endif]-->`, ["/a"]],
  ["a tag that a condition leaves open", `<!--[if mso]><a href="/a<![endif]--><a href="/b">`, ["/b"]],
  ["a comment that ends a condition", `<!--[if mso]><!-- x --><a href="/a"><![endif]--><a href="/b">`, ["/a", "/b"]],
  ["a comment", `<!-- <a href="/a">x</a> -->`, []],
  ["a comment about a condition", `<!-- if mso: <a href="/a"> [if mso]><a href="/b"> -->`, []],
  ["a condition without content", `<!--[if mso]><![endif]--><a href="/a">`, ["/a"]],
  ["a condition that does not end", `<!--[if mso]><a href="/a">`, []],
  ["styles for Outlook", `<!--[if mso]><style>a{} </style><xml><o:AllowPNG/></xml><a href="/a"><![endif]-->`, ["/a"]],
  ["a rectangle of VML", `<!--[if mso]><v:rect href="/a" fill="true"><v:fill src="/b" /></v:rect><![endif]-->`, ["/a"]],
  ["a shape of VML", `<!--[if vml]><v:shape href='/a'></v:shape><![endif]-->`, ["/a"]],
  ["an image of VML", `<!--[if mso]><v:image href=/a src="/b" /><![endif]-->`, ["/a"]],
  ["a text box of VML", `<!--[if mso]><v:textbox href="/a"><v:imagedata o:href="/b"/></v:textbox><![endif]-->`, []],
  ["an image map", `<map name="m"><area shape="rect" coords="0,0,9,9" href="/a" alt=""></map>`, ["/a"]],
  ["a base and a style sheet", `<base href="https://shop.example/"><link rel="stylesheet" href="/a.css">`, []],
  ["a value in single quotes", `<a href='/a?q="b"'>`, [`/a?q="b"`]],
  ["a value without quotes", `<a href=/a?b=c&d target=_blank>`, ["/a?b=c&d"]],
  ["space around the sign", `<a\thref\n=\r\n "/a" >`, ["/a"]],
  ["capitals", `<A CLASS=x HREF="/A">`, ["/A"]],
  ["entities", `<a href="/a?b=1&amp;c=2&#38;d">`, ["/a?b=1&amp;c=2&#38;d"]],
  ["an angle bracket in an attribute", `<a title="a > b" href="/a">`, ["/a"]],
  ["a link in an attribute", `<a title='<a href="/b">' href="/a">`, ["/a"]],
  ["two addresses of one link", `<a href="/a" href="/b">`, ["/a"]],
  ["other attributes", `<a data-href="/a" xlink:href="/b" hrefs="/c">`, []],
  ["other elements", `<abbr href="/a"><a-b href="/b"><img src="/c"><form action="/d"><iframe src="/e"></iframe>`, []],
  ["JSON-LD", `<script type="application/ld+json">{"html":"<a href='/a'>"}</script><a href="/b">`, ["/b"]],
  ["AMP", `<script async src="https://cdn.ampproject.org/v0.js"></script><a href="/a">`, ["/a"]],
  ["a style", `<style>a[href="<a href='/a'>"]{}</style><a href="/b">`, ["/b"]],
  ["a title and a text field", `<title><a href="/a"></title><textarea><a href="/b"></textarea><a href="/c">`, ["/c"]],
  ["preformatted text", `<pre><a href="/a">x</a>\n</pre>`, ["/a"]],
  ["a link in a link", `<a href="/a"><a href="/b">x</a></a>`, ["/a", "/b"]],
  ["a link around a table", `<a href="/a"><table><tr><td><img src="b"></td></tr></table></a>`, ["/a"]],
  ["a signature", `Ann <ann@shop.example> <3 a < b <a href="/a">x</a>`, ["/a"]],
  ["a tag that does not end", `<a href="/a">x</a><a href="/b"`, ["/a"]],
  ["a quote that does not end", `<a href="/a>x</a><p>`, []],
  ["a declaration", `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0"><?xml version="1.0"?><a href="/a">`, ["/a"]],
]

/** Attributes of platforms that leave a link as it is. */
const optOuts: ReadonlyArray<readonly [attribute: string, isLeft: boolean]> = [
  ["clicktracking=off", true],
  [`clicktracking="off"`, true],
  ["CLICKTRACKING = 'OFF'", true],
  ["clicktracking=on", false],
  ["clicktracking", false],
  [`data-msys-clicktrack="0"`, true],
  [`data-msys-clicktrack="1"`, false],
  ["data-pm-no-track", true],
  ["disable-tracking=true", true],
  ["disable-tracking=false", false],
  ["mc:disable-tracking", true],
  ["ses:no-track", true],
  [`ses:no-track=""`, true],
  [`title="clicktracking=off"`, false],
]

describe("eachLink", () => {
  it.each(cases)("finds the links of an e-mail with %s", (_, html, links) => {
    assert.deepStrictEqual(linksOf(html), links)
  })

  it.each(optOuts)("reads the attribute %s before and after the address", (attribute, isLeft) => {
    const links = isLeft ? ["/b"] : ["/a", "/b"]
    for (const html of [`<a ${attribute} href="/a">`, `<a href="/a" ${attribute}>`, `<a href="/a" ${attribute} />`]) {
      assert.deepStrictEqual(linksOf(`${html}x</a><a href="/b">`), links, html)
    }
  })

  it("finds the scripts and the end of the body, outside of conditions only", () => {
    const html = `<body><script>a</script><!--[if mso]><script>b</script></body><![endif]--></body><script>c`
    const scripts: Array<string> = []
    const end = eachLink(html, () => true, (from, to) => scripts.push(html.slice(from, to)))
    assert.deepStrictEqual(scripts, ["a", "b", "c"])
    assert.strictEqual(html.slice(end), "</body><script>c")
  })

  it("stops when it is told to", () => {
    let calls = 0
    eachLink(`<a href="/a"><!--[if mso]><a href="/b"><a href="/c"><![endif]--><a href="/d">`, () => ++calls < 2)
    assert.strictEqual(calls, 2)
  })

  it("finds each link once and in order, with a value inside the text", () => {
    const piece = fc.constantFrom(
      ...["<!--[if mso]>", "<![endif]-->", "<!--", "-->", "<a href=", "'/a'", '"/b"', "/c ", ">", "<v:rect href=x>"],
      ...["<script>", "</script>", "<title>", "</title>", "<", '"', "'", " clicktracking=off", "</body>", "x"],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const html = pieces.join("")
        let last = 0
        eachLink(html, (from, to) => {
          assert.isTrue(last < from && from <= to && to <= html.length)
          last = to
          return true
        })
      }),
      { numRuns: 3_000 },
    )
  })

  it.each(["<!--[if mso]>", "<!--[if ", "<![endif]-->", "<v:rect href=x>", "<a clicktracking=", "<!--[if mso]><!-- "])(
    "needs linear time for a megabyte of %j",
    // Quadratic time would be minutes.
    (piece) => {
      for (const end of ["", "-->"]) linksOf(piece.repeat(Math.ceil(1_000_000 / piece.length)) + end)
    },
    60_000,
  )
})
