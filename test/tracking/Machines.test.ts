import { assert, describe, it } from "@effect/vitest"
import { isMachineClick, isMachineOpen } from "../../src/tracking/Machines.ts"

const chrome =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"

describe("Machines", () => {
  for (
    const [name, agent, opens, clicks] of [
      ["a browser", chrome, false, false],
      [
        "Apple Mail",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)",
        false,
        false,
      ],
      ["Apple's privacy proxy", "Mozilla/5.0", true, true],
      [
        "Gmail's image proxy",
        "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
        false,
        false,
      ],
      [
        "Gmail's prefetch",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 " +
        "Safari/537.36 Edge/12.246 Mozilla/5.0",
        true,
        false,
      ],
      [
        "Yahoo's image proxy",
        "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html",
        false,
        false,
      ],
      [
        "Outlook for Windows",
        "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; Microsoft Outlook 16.0.4266; ms-office; MSOffice 16)",
        false,
        true,
      ],
      [
        "Outlook of Microsoft 365",
        "Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.12026; Pro)",
        false,
        true,
      ],
      [
        "Outlook 2013",
        "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 6.1; Trident/7.0; Microsoft Outlook 15.0.4719; ms-office; MSOffice 15)",
        false,
        true,
      ],
      [
        "Word, which checks a link",
        "Microsoft Office/16.0 (Windows NT 10.0; Microsoft Word 16.0.12026; Pro)",
        false,
        true,
      ],
      ["Office, which looks for a protocol", "Microsoft Office Protocol Discovery", true, true],
      ["Outlook for iOS", "Outlook-iOS/2.0", false, false],
      ["Thunderbird", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0", false, false],
      ["the image proxy of Seznam", "Mozilla/5.0 SeznamEmailProxy/2.0.174", false, false],
      [
        "an Office program without a version of its own",
        "Mozilla/4.0 (compatible; ms-office; MSOffice 16)",
        false,
        true,
      ],
      ["an Office program that checks a link", "Microsoft Office Existence Discovery", true, true],
      ["Mimecast", "Mozilla/5.0 (compatible; Mimecast URL Protect)", true, true],
      ["Barracuda", "BarracudaCentral.org Link Scanner", true, true],
      ["a preview", "Mozilla/5.0 (Windows NT) SkypeUriPreview Preview/0.5", true, true],
      ["a gateway that imitates a browser", `${chrome} Barracuda`, true, true],
      ["a crawler", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", true, true],
      ["a preview of a messenger", "WhatsApp/2.23.20.0", true, true],
      ["a crawler without the word bot", "Mozilla/5.0 (compatible; Yahoo! Slurp)", true, true],
      [
        "a phone whose name ends in bot",
        chrome.replace("Windows NT 10.0; Win64; x64", "Linux; Android 11; CUBOT X30"),
        false,
        false,
      ],
      ["a library", "okhttp/4.9.3", true, true],
      ["a library of Go", "Go-http-client/2.0", true, true],
      ["a library of Java", "Apache-HttpClient/4.5.13 (Java/11.0.9)", true, true],
      ["a library of Node", "axios/1.6.0", true, true],
      ["curl", "curl/8.4.0", true, true],
      ["PowerShell", "Mozilla/5.0 (Windows NT 10.0; WOW64) WindowsPowerShell/5.1.19041", true, true],
      ["an automated browser", `${chrome} Puppeteer`, true, true],
      ["a web gateway", `${chrome} (compatible; Palo Alto Networks)`, true, true],
      ["a phone of Huawei", chrome.replace("Windows NT 10.0", "Linux; Android 12; HarmonyOS"), false, false],
      [
        "an app that shows a page",
        chrome.replace("Windows NT 10.0; Win64; x64", "Linux; Android 13; wv"),
        false,
        false,
      ],
      ["no name at all", "", true, true],
      ["a script", "python-requests/2.32.3", true, true],
      ["a browser without a window", chrome.replace("Chrome/", "HeadlessChrome/"), true, true],
    ] as const
  ) {
    it(`classifies ${name} as ${opens ? "a machine" : "a person"} at an open and ${clicks ? "a machine" : "a person"} at a click`, () => {
      assert.deepStrictEqual(
        [isMachineOpen({ "user-agent": agent }), isMachineClick({ "user-agent": agent })],
        [opens, clicks],
      )
    })
  }

  it("treats prefetching browsers as machines", () => {
    for (const header of ["sec-purpose", "purpose", "x-moz"]) {
      const headers = { "user-agent": chrome, [header]: "prefetch" }
      assert.deepStrictEqual([isMachineOpen(headers), isMachineClick(headers)], [true, true])
    }
  })
})
