import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { deflateSync } from "node:zlib"
import { parameterOf, trackingIdOf } from "../../src/intake/LinkParameters.ts"

const id = "6f1c2f0e-8a55-4b0b-9d53-0b8a4f1f2c11"
const target = `https://shop.example/offer?utm_source=mail&tracking_id=${id}&utm_medium=email`
const short = `https://shop.example/?tracking_id=${id}`
const encoded = encodeURIComponent(target)

const safeLink = (url: string) =>
  `https://eur01.safelinks.protection.outlook.com/?url=${encodeURIComponent(url)}&data=05%7C02%7Cann%40shop.example` +
  "%7C08dc%7C0%7C638&sdata=Zm9v%3D&reserved=0"
const proofpoint2 = (url: string) =>
  `https://urldefense.proofpoint.com/v2/url?u=${
    encodeURIComponent(url).replaceAll("-", "%2D").replaceAll("_", "%5F").replaceAll("%2F", "_").replaceAll("%", "-")
  }&d=DwMFaQ&c=euGZstcaTDllvimEN8b7jXrwqOf-v5A_CdpgnVfiiMM&r=xyz&m=abc&s=def&e=`
const proofpoint3 = (url: string) => `https://urldefense.com/v3/__${url}__;!!N3hqHg43uw!6EDT4ohKCFrU-nl83x2n_Ry$`
const base64 = (text: string) => Buffer.from(text).toString("base64")
const base64Url = (text: string) => Buffer.from(text).toString("base64url")

const assertFound = (links: Readonly<Record<string, string>>) => {
  for (const [name, link] of Object.entries(links)) assert.strictEqual(trackingIdOf(link), id, `${name}: ${link}`)
}

describe("trackingIdOf", () => {
  it("finds the parameter after an escaped ampersand", () => {
    const after = (ampersand: string) => `https://shop.example/?a=1${ampersand}tracking_id=${id}${ampersand}b=2`
    assertFound({
      once: after("&amp;"),
      twice: after("&amp;amp;"),
      "three times": after("&amp;amp;amp;"),
      decimal: after("&#38;"),
      "with a leading zero": after("&#038;"),
      hexadecimal: after("&#x26;"),
      "uppercase hexadecimal": after("&#X26;"),
      "uppercase name": after("&AMP;"),
      "a decimal reference, escaped again": after("&amp;#38;"),
      "JSON in JSON": after("\\u0026"),
      "as the first parameter": `https://shop.example/?amp;tracking_id=${id}`,
      "partly encoded": `https://shop.example/?a=1&amp%3Btracking_id=${id}`,
    })
    assert.strictEqual(trackingIdOf("https://shop.example/?tracking_id=trk&#x2F;7&amp;b=2"), "trk/7")
  })

  it("finds the parameter in HTML whose template escapes more than ampersands", () => {
    assertFound({
      handlebars: `https://shop.example/?a&#x3D;1&amp;tracking_id&#x3D;${id}&amp;b&#x3D;2`,
      mustache: `https:&#x2F;&#x2F;shop.example&#x2F;?tracking_id&#x3D;${id}`,
      names: `https&colon;&sol;&sol;shop.example&sol;&quest;tracking_id&equals;${id}`,
    })
  })

  it("finds the parameter in the fragment", () => {
    assertFound({
      "hash router": `https://shop.example/#/offer?tracking_id=${id}`,
      "second parameter": `https://shop.example/#/offer?a=1&tracking_id=${id}&b=2`,
      "hash-bang": `https://shop.example/#!/offer?tracking_id=${id}`,
      "hash-bang without a route": `https://shop.example/#!tracking_id=${id}`,
      "after a query": `https://shop.example/?a=1#/offer?tracking_id=${id}`,
      "without a route": `https://shop.example/#tracking_id=${id}`,
      "without a path": `https://shop.example/#?tracking_id=${id}`,
      "escaped": `https://shop.example/#/offer?a=1&amp;tracking_id=${id}`,
      "matrix parameter": `https://shop.example/#/offer;a=1;tracking_id=${id};b=2`,
      "encoded": `https://shop.example/%23/offer%3Ftracking_id%3D${id}`,
    })
  })

  it("finds the parameter in a link whose parts were joined carelessly", () => {
    assertFound({
      "second question mark": `https://shop.example/?a=1?tracking_id=${id}`,
      "parameters appended with a question mark": `https://shop.example/?tracking_id=${id}?utm_source=x`,
      "encoded name": `https://shop.example/?tracking%5Fid=${id}`,
      "angle brackets and white space": ` <${short}>\n`,
      "semicolons": `https://shop.example/?a=1;tracking_id=${id};b=2`,
      "query alone": `tracking_id=${id}&a=1`,
      "encoded whole": encodeURIComponent(target),
    })
  })

  it("finds the parameter in links of mail gateways", () => {
    assertFound({
      "Safe Links": safeLink(target),
      "Safe Links in HTML": safeLink(target).replaceAll("&", "&amp;"),
      "Safe Links of a link in HTML": safeLink(target.replaceAll("&", "&amp;")),
      "Safe Links for a fragment": safeLink(`https://shop.example/#/offer?tracking_id=${id}`),
      "Safe Links of Teams":
        `https://statics.teams.cdn.office.net/evergreen-assets/safelinks/1/atp-safelinks.html?url=${encoded}&locale=en`,
      "Proofpoint 1": `https://urldefense.proofpoint.com/v1/url?u=${encoded}&k=NzQ%3D%0A&r=m&m=x%3D%0A&s=1f5`,
      "Proofpoint 2": proofpoint2(target),
      "Proofpoint 2 in HTML": proofpoint2(target).replaceAll("&", "&amp;"),
      "Proofpoint 3": proofpoint3(target),
      "Proofpoint 3 at the end": proofpoint3(short),
      "Proofpoint 3 with one slash": proofpoint3(short.replace("//", "/")),
      "Proofpoint 3 with a replaced fragment":
        `https://urldefense.com/v3/__https://shop.example/*/offer?tracking_id=${id}__;Iw!!N3hqHg43uw!6EDT$`,
      Mimecast: `https://protect-eu.mimecast.com/s/AbC1?domain=shop.example&url=${encoded}`,
      Barracuda: `https://linkprotect.cudasvc.com/url?a=${encoded.replace("%3A", "%3a")}&c=E,1,Ez0FDT_U,,&typo=1`,
      Cisco: `https://secure-web.cisco.com/1rpFFtn1JZDE_g214Q-YS6v/${encoded}`,
      "Trend Micro": `https://ca-1234.url.trendmicro.com:443/wis/clicktime/v1/query?url=${
        encoded.replaceAll("-", "%2d")
      }&umid=edab3d48-7a50&auth=3bd1ed0e`,
      Sophos: `https://eu-central-1.protection.sophos.com/?d=shop.example&u=${
        base64(target)
      }&i=NjA5&t=MnQ4UUR5=&h=b05e&s=AV`,
      FireEye: `https://protect2.fireeye.com/v1/url?k=5f&q=1&e=3a&u=${encoded}`,
      Symantec: `https://clicktime.symantec.com/3HQ?u=${encoded}`,
      FortiMail: `https://mail.shop.example/fmlurlsvc/?fewReq=:B:JVw&url=${encoded}`,
      Avanan: `https://url.avanan.click/v2/r01/___${target}___.YXAzOnNhcmE6YTpvOjBh`,
      "Avanan at the end": `https://url.avanan.click/v2/___${short}___.YXAzOnNhcmE6YTpvOjBh#top`,
    })
  })

  it("finds the parameter in links of click trackers", () => {
    const parameters = JSON.stringify({ u: 1, v: 1, url: target, id: "a" }).replaceAll("/", "\\/")
    assertFound({
      Google: `https://www.google.com/url?q=${encoded}&sa=D&source=editors&ust=1`,
      "Google, not encoded": `https://www.google.com/url?sa=t&url=${short}&usg=AOv`,
      Facebook: `https://l.facebook.com/l.php?u=${encoded}&h=AT0&s=1`,
      Yahoo: `https://r.search.yahoo.com/_ylt=Awr/RV=2/RE=17/RO=10/RU=${encodeURIComponent(short)}/RK=2/RS=x-`,
      "Amazon SES": `https://abc.r.eu-west-1.awstrack.me/L0/${
        short.replaceAll("/", "%2F").replace("?", "%3F")
      }/1/01020199d0963a8e-62776654-000000/p_cF684=447`,
      Postmark: `https://click.pstmrk.it/3s/${encodeURIComponent(short.slice(8))}/I54/omO0AQ/AQ/fc4996d3/5/iK88`,
      Mandrill: `https://mandrillapp.com/track/click/1/shop.example?p=${
        base64Url(JSON.stringify({ s: "x", v: 1, p: parameters }))
      }`,
      "Customer.io": `https://e.customeriomail.com/e/c/${base64Url(JSON.stringify({ id: 1, href: target }))}/4f2b`,
      "JSON with a space": `https://click.shop.example/r/${base64Url(`{ "u": "${target}" }`)}`,
      Mailjet: `https://x1.mjt.lu/lnk/AVsAAA/1/zE2-kQ/${base64Url(target)}`,
      Mailgun: `https://email.mg.shop.example/c/${deflateSync(`h=1f&i=2&l=${encoded}`).toString("base64url")}`,
      "base64 that is percent-encoded": `https://click.shop.example/?r=${
        encodeURIComponent(base64(`${target}&x=ü~~~`))
      }`,
      "encoded twice": `https://click.shop.example/?to=${encodeURIComponent(encoded)}`,
      "app link": `https://shop.onelink.me/x?deep_link=${encodeURIComponent(`shop://offer?tracking_id=${id}`)}`,
      "install referrer": `https://play.google.com/store/apps/details?id=x&referrer=${
        encodeURIComponent(`tracking_id=${id}&utm=1`)
      }`,
    })
  })

  it("finds the parameter in links that several gateways have wrapped", () => {
    assertFound({
      "Safe Links around Proofpoint 2": safeLink(proofpoint2(target)),
      "Safe Links around Proofpoint 3": safeLink(proofpoint3(short)),
      "Proofpoint 2 around Safe Links": proofpoint2(safeLink(target)),
      "Proofpoint 3 around Safe Links": proofpoint3(safeLink(target)),
      "Proofpoint 3 around Proofpoint 3": proofpoint3(proofpoint3(short)),
      "Proofpoint 2 around Safe Links around a tracker": proofpoint2(
        safeLink(`https://l.facebook.com/l.php?u=${encoded}`),
      ),
      "Safe Links around base64": safeLink(`https://eu.protection.sophos.com/?d=a&u=${base64(target)}`),
    })
  })

  it("prefers the outermost parameter", () => {
    const inner = encodeURIComponent("https://shop.example/?tracking_id=inner")
    assert.strictEqual(trackingIdOf(`https://shop.example/?next=${inner}&tracking_id=outer`), "outer")
  })

  it("finds nothing where a link only resembles one with a tracking id", () => {
    for (
      const link of [
        "https://shop.example/tracking_id=t",
        "https://shop.example/?my_tracking_id=t",
        "https://shop.example/?url=https%3A%2F%2Fshop.example%2F%3Fmy_tracking_id%3Dt",
        "https://protect-eu.mimecast.com/s/AbC1?domain=shop.example",
        "https://u1.ct.sendgrid.net/ls/click?upn=u001.eyJhbGciOiJIUzI1NiJ9-3D",
        "https://shop.example/?u=aHR0cHM6Ly9zaG9wLmV4YW1wbGUv",
        "https://urldefense.com/v3/__https://shop.example/__;!!N3hqHg43uw!6EDT$",
        `https://shop.example/?q=${"%25".repeat(50)}26tracking_id=`,
      ]
    ) assert.isUndefined(trackingIdOf(link), link)
  })

  it("searches at most seven levels, 40 enclosed texts and 8,000 characters", () => {
    let deep = short
    for (let level = 0; level < 8; level++) deep = `https://a.example/?u=${encodeURIComponent(deep)}`
    assert.isUndefined(trackingIdOf(deep))
    const many = Array.from({ length: 41 }, (_, at) => `a${at}=%2F`).join("&")
    assert.isUndefined(trackingIdOf(`https://a.example/?${many}&u=${encoded}`))
    assert.isUndefined(trackingIdOf(`https://a.example/?a=${"x".repeat(8_000)}&u=${encoded}`))
    assert.strictEqual(trackingIdOf(`https://a.example/?a=${"x".repeat(8_000)}&tracking_id=${id}`), id)
  })
})

describe("parameterOf", () => {
  it("finds a parameter of any name in an enclosed link", () => {
    assert.strictEqual(parameterOf(safeLink("https://shop.example/?pid=p-1&x=2"), "pid"), "p-1")
  })
})
