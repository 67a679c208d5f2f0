/** A part of user agents that `isbot`, made for web sites, classifies differently from what mail needs. */
interface AgentRule {
  /** Source of a regular expression. Case is ignored. */
  readonly pattern: string
  /**
   *     program  no person uses it
   *     mail     a mail program, or an image proxy that fetches when a person opens the message
   *     opener   at an open, it shows the message to a person; at a click, it checks the link before the browser opens it
   */
  readonly is: "program" | "mail" | "opener"
  /** Which program it is. */
  readonly name: string
}

/** Rules about user agents in addition to `isbot`. The programs document or send these user agents. */
export const agentRules: ReadonlyArray<AgentRule> = [
  { is: "mail", pattern: "ggpht\\.com|imageproxy", name: "Gmail's image proxy" },
  { is: "mail", pattern: "mailproxy", name: "image proxies of Yahoo and Seznam" },
  { is: "mail", pattern: "outlook|thunderbird|em client|airmail|spark/|superhuman|mailbird", name: "mail programs" },
  { is: "mail", pattern: "protonmail|navermailapp|lotus-notes", name: "mail programs of one provider" },
  { is: "opener", pattern: "\\bms-?office\\b", name: "Office up to 2019, classic Outlook" },
  { is: "opener", pattern: "microsoft (?:office/|outlook \\d|word|excel|powerpoint)", name: "Office since 2016" },
  { is: "opener", pattern: "^dalvik/|\\bcfnetwork/", name: "network library of Android, of iOS" },
  { is: "program", pattern: "microsoft office (?:existence|protocol) discovery", name: "link checks of Office" },
  { is: "program", pattern: "barracuda", name: "Barracuda Email Protection" },
  { is: "program", pattern: "mimecast", name: "Mimecast URL Protect" },
  { is: "program", pattern: "proofpoint|urldefense", name: "Proofpoint URL Defense" },
  { is: "program", pattern: "safe ?links", name: "Microsoft Defender Safe Links" },
  { is: "program", pattern: "cisco-?iron|ciscosecureemail|cloudmark", name: "Cisco Secure Email, Cloudmark" },
  { is: "program", pattern: "symantec|messagelabs|fireeye|trellix", name: "Symantec and Trellix Email Security" },
  { is: "program", pattern: "trend ?micro|\\btmufe\\b|\\btmes\\b", name: "Trend Micro Email Security" },
  {
    is: "program",
    pattern: "sophos|fortimail|fortiguard|forcepoint",
    name: "Sophos, Fortinet and Forcepoint gateways",
  },
  { is: "program", pattern: "palo ?alto|zscaler|netskope", name: "web gateways of companies" },
  {
    is: "program",
    pattern: "check ?point|avanan|ironscales|vade ?secure|hornetsecurity",
    name: "scanners of mailboxes",
  },
  { is: "program", pattern: "puppeteer|playwright|selenium|webdriver|phantomjs|slimerjs", name: "automated browsers" },
  { is: "program", pattern: "wkhtmlto|powershell|winhttp|dart:io", name: "scripts and converters" },
  { is: "program", pattern: "externalhit|linkexpanding|uripreview|bingpreview", name: "link previews" },
  { is: "program", pattern: "slurp|proximic|seokicks|phishtank|urlscan|virustotal", name: "crawlers" },
]
