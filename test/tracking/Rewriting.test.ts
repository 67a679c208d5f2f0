import { assert, describe, it } from "@effect/vitest"
import { maxTracked, track, type Untracked } from "../../src/tracking/Rewriting.ts"
import { targetKey } from "../../src/tracking/Token.ts"

const id = "0192f0c1-7c1e-7000-8000-000000000001"
const base = "https://t.example"

const message = (change: Partial<Untracked> = {}): Untracked => ({
  id,
  vars: { subject: "Hi", body: "<p>Hi</p>" },
  html: ["body"],
  text: [],
  body: "body",
  sources: [],
  kept: [`${base}/u/`],
  clicks: true,
  opens: true,
  pixelUrl: () => `${base}/o/pixel.gif`,
  clickUrl: (link) => `${base}/c/${link}`,
  ...change,
})

const image =
  '<img src="https://t.example/o/pixel.gif" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">'

describe("track", () => {
  it("stores targets of the variant's source once for all messages, and others with the message", () => {
    const { own, shared, vars } = track(message({
      vars: { body: '<a href="https://shop.example/sale?a=1&amp;b=2">x</a><a href="https://shop.example/u/ada">y</a>' },
      sources: [
        '<a href="https://shop.example/sale?a=1&amp;b=2">x</a><a href="https://shop.example/u/{{ user }}">y</a>',
      ],
    }))
    const key = targetKey("https://shop.example/sale?a=1&b=2")
    assert.deepStrictEqual([...shared], [[key, "https://shop.example/sale?a=1&b=2"]])
    assert.deepStrictEqual(own, ["https://shop.example/u/ada"])
    assert.strictEqual(vars["body"], `<a href="${base}/c/${key}">x</a><a href="${base}/c/0">y</a>${image}`)
  })

  it("removes the tracking id from a target, so that messages share it", () => {
    const source = '<a href="https://shop.example/sale?a=1#top">x</a> <a href="https://shop.example/">y</a>'
    const { own, shared } = track(message({
      vars: {
        body: `<a href="https://shop.example/sale?a=1&amp;tracking_id=${id}#top">x</a> ` +
          `<a href="https://shop.example/?tracking_id=${id}">y</a>`,
      },
      sources: [source],
    }))
    assert.deepStrictEqual(own, [])
    assert.deepStrictEqual([...shared.values()], [
      "https://shop.example/sale?a=1&tracking_id=<tracking_id>#top",
      "https://shop.example/?tracking_id=<tracking_id>",
    ])
  })

  it("keeps links that cannot be redirected, and links to this service", () => {
    const body = [
      "mailto:ada@example.com",
      "tel:+49123",
      "#top",
      "/relative",
      "//shop.example/",
      "javascript:alert(1)",
      "data:text/html,x",
      "cid:logo",
      "https://",
      `${base}/u/token`,
      `https://shop.example/${"x".repeat(2_000)}`,
    ].map((url) => `<a href="${url}">x</a>`).join("")
    const { own, shared, vars } = track(message({ vars: { body }, opens: false }))
    assert.strictEqual(vars["body"], body)
    assert.deepStrictEqual([own, shared.size], [[], 0])
  })

  it("assigns one address per target, up to the maximum number of links", () => {
    const links = (count: number) =>
      Array.from({ length: count }, (_, i) => `<a href="https://shop.example/${i}"></a>`).join("")
    const { own, vars } = track(message({ vars: { body: links(maxTracked + 5) + links(3) }, opens: false }))
    assert.strictEqual(own.length, maxTracked)
    assert.include(vars["body"]!, `<a href="https://shop.example/${maxTracked + 4}">`)
    assert.strictEqual(vars["body"]!.split(`href="${base}/c/0"`).length, 3)
  })

  it("brings hosts and paths to ASCII, as a header can carry them", () => {
    const { own } = track(message({ vars: { body: '<a href=" https://caf&eacute;.example/größe?q=ü ">x</a>' } }))
    assert.deepStrictEqual(own, ["https://xn--caf-dma.example/gr%C3%B6%C3%9Fe?q=%C3%BC"])
  })

  it("rewrites plain text, and changes nothing if nothing is measured", () => {
    const vars = { subject: "https://shop.example/", text: "See https://shop.example/." }
    const plain = message({ vars, html: [], text: ["text"], body: undefined })
    assert.deepStrictEqual(track(plain).vars, { ...vars, text: `See ${base}/c/0.` })
    assert.deepStrictEqual(track({ ...plain, clicks: false }).vars, vars)
    const opens = track(message({ vars: { body: '<a href="https://a.example/">x</a>' }, clicks: false }))
    assert.strictEqual(opens.vars["body"], `<a href="https://a.example/">x</a>${image}`)
  })

  it("accepts variables of any name", () => {
    const vars = Object.fromEntries([["__proto__", '<a href="https://a.example/">x</a>'], ["constructor", "x"]])
    const tracked = track(message({ vars, html: ["__proto__"], body: undefined, opens: false }))
    assert.deepStrictEqual(Object.entries(tracked.vars), [
      ["__proto__", `<a href="${base}/c/0">x</a>`],
      ["constructor", "x"],
    ])
  })
})
