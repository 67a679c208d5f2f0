import type { Message } from "./message.ts"

export const mergeTagMessages: Readonly<Record<string, Message>> = {
  "names": {
    from: "mailchimp",
    source: "<p>Hi *|FNAME|* *|LNAME|*, *|EMAIL|* in *|CITY|*</p>",
    shows: [[
      { first_name: "Ann", last_name: "Lee", email: "a@b.example", city: "Oslo" },
      "<p>Hi Ann Lee, a@b.example in Oslo</p>",
    ]],
  },
  "nested conditions": {
    from: "mailchimp",
    source:
      "*|IF:FNAME|*Hi *|FNAME|**|IF:PLAN=pro|* (pro)*|ELSEIF:PLAN=basic|* (basic)*|END:IF|**|ELSE:|*Hi there*|END:IF|*",
    shows: [
      [{ first_name: "Ann", plan: "pro" }, "Hi Ann (pro)"],
      [{ first_name: "Ann", plan: "basic" }, "Hi Ann (basic)"],
      [{ first_name: "" }, "Hi there"],
    ],
  },
  "absence and numbers": {
    from: "mailchimp",
    source: "*|IFNOT:CITY|*No city*|END:IF|**|IF:AGE >= 18|*Adult*|END:IF|*",
    shows: [[{ age: 20 }, "No cityAdult"], [{ city: "x", age: "17" }, ""]],
  },
  "filters": {
    from: "mailchimp",
    source: "*|TITLE:FNAME|* *|UPPER:CITY|* *|LOWER:LNAME|*",
    shows: [[{ first_name: "ann lee", city: "oslo", last_name: "LEE" }, "Ann Lee OSLO lee"]],
  },
  "links": {
    from: "mailchimp",
    source: '<a href="*|UNSUB|*">Out</a> <a href="*|ARCHIVE|*">Web</a> <a href="*|UPDATE_PROFILE|*">Me</a>',
    shows: [[
      { unsubscribe_url: "u", browser_url: "w", preferences_url: "p" },
      '<a href="u">Out</a> <a href="w">Web</a> <a href="p">Me</a>',
    ]],
  },
  "parts of the campaign": {
    from: "mailchimp",
    source: "<title>*|MC:SUBJECT|*</title>*|MC_PREVIEW_TEXT|* *|LIST:COMPANY|* *|HTML:LIST_ADDRESS_HTML|* *|MC:TOC|*",
    mend: [/variable `subject`/, /variable `preheader`/, /Write the words/, /Write the words/, /no equivalent/],
  },
  "groups": {
    from: "mailchimp",
    source: "*|INTERESTED:Sport:Ski|*Snow*|END:INTERESTED|*",
    mend: [/interests contains/],
  },
  "multiplication is no tag": {
    from: "mailchimp",
    source: "2*|x|*3 and *|FNAME|*",
    shows: [[{ first_name: "Ann" }, "2*|x|*3 and Ann"]],
  },
}

export const ampScriptMessages: Readonly<Record<string, Message>> = {
  "strings": {
    from: "sfmc",
    source: "Dear %%First Name%%, 50%% off in %%City%%. 100%% wool",
    shows: [[{ first_name: "Ann", City: "Oslo" }, "Dear Ann, 50%% off in Oslo. 100%% wool"]],
  },
  "default by a block": {
    from: "sfmc",
    source:
      '%%[ VAR @name\nSET @name = AttributeValue("FirstName")\nIF EMPTY(@name) THEN SET @name = "there" ENDIF ]%%Hi %%=v(@name)=%%',
    shows: [[{ first_name: "Ann" }, "Hi Ann"], [{}, "Hi there"], [{ first_name: "" }, "Hi there"]],
  },
  "conditions in any case": {
    from: "sfmc",
    source:
      '%%[ if [Tier] == "Gold" and Orders > 1 or Vip == "yes" then ]%%A%%[ elseif tier == "silver" then ]%%B%%[ ELSE ]%%C%%[ ENDIF ]%%',
    shows: [
      [{ Tier: "GOLD", Orders: 2 }, "A"],
      [{ Tier: "gold", Orders: 1 }, "C"],
      [{ Vip: "Yes", Orders: 0 }, "A"],
      [{ tier: "Silver", Orders: 0 }, "B"],
    ],
  },
  "brackets": {
    from: "sfmc",
    source: "%%[ IF (@a == 1 OR @b == 1) AND NOT (@c == 1 AND @d == 1) THEN ]%%X%%[ ELSE ]%%Y%%[ ENDIF ]%%",
    shows: [[{ a: 1, c: 1, d: 0 }, "X"], [{ b: 1, c: 1, d: 1 }, "Y"], [{ c: 0 }, "Y"]],
  },
  "inline condition": {
    from: "sfmc",
    source: '%%=IIF(Empty(@city), "your town", ProperCase(@city))=%%',
    shows: [[{ city: "oslo" }, "Oslo"], [{}, "your town"]],
  },
  "texts": {
    from: "sfmc",
    source:
      '%%=Concat(Uppercase(@a), "-", Substring(@b, 2, 3), "-", Trim(@c))=%% %%=Replace(@a, "x", "y")=%% %%=Length(@b)=%%',
    shows: [[{ a: "xx", b: "abcdef", c: " z " }, "XX-bcd-z yy 6"]],
  },
  "dates and numbers": {
    from: "sfmc",
    source:
      '%%=FormatDate(@d, "dddd, MMMM d, yyyy")=%% %%=Format(@d, "hh:mm tt")=%% %%=FormatCurrency(@x, "en-US")=%% %%=Add(@n, 1)=%% %%=FormatDate(DateAdd(@d, 3, "D"), "yyyy-MM-dd")=%%',
    shows: [[
      { d: "2026-03-14T15:05:00Z", x: 12.5, n: 1 },
      "Saturday, March 14, 2026 03:05 PM $12.50 2 2026-03-17",
    ]],
  },
  "loop of numbers": {
    from: "sfmc",
    source: "%%[ FOR @i = 1 TO 3 DO ]%%%%=v(@i)=%%;%%[ NEXT @i ]%%",
    shows: [[{}, "1;2;3;"]],
  },
  "comments": {
    from: "sfmc",
    source: '%%[ /* the greeting */ SET @a = "x" ]%%%%=v(@a)=%%',
    shows: [[{}, "x"]],
  },
  "links": {
    from: "sfmc",
    source:
      '<a href="%%unsub_center_url%%">Out</a> <a href="%%view_email_url%%">Web</a> <a href="%%=RedirectTo(@url)=%%">Go</a>',
    shows: [[
      { unsubscribe_url: "u", browser_url: "w", url: "g" },
      '<a href="u">Out</a> <a href="w">Web</a> <a href="g">Go</a>',
    ]],
  },
  "data of other tables": {
    from: "sfmc",
    source:
      '%%[ SET @store = Lookup("Stores", "Name", "Id", StoreId)\nSET @x = "1" ]%%%%=v(@store)=%% %%=v(@x)=%% %%[ RaiseError("stop", true) ]%% %%Member_Busname%%',
    mend: [/Look the data up/, /targeting/, /Write the words/],
  },
  "content blocks": {
    from: "sfmc",
    source: '%%=ContentBlockByKey("f")=%%, %%=ContentBlockByName("My Contents\\\\Footer A")=%%',
    shows: [[{}, "SNIPPET f, SNIPPET footer-a"]],
  },
  "code of the server": {
    from: "sfmc",
    source: '<script runat="server">Write("x")</script>',
    mend: [/Compute the values/],
  },
}

export const placeholderMessages: Readonly<Record<string, Message>> = {
  "Marketo": {
    from: "marketo",
    source: "Hi {{lead.First Name:default=you}} at {{company.Company Name}}, {{lead.Loyalty Points}}",
    shows: [[{ first_name: "Ann", company: "Acme", "Loyalty Points": 3 }, "Hi Ann at Acme, 3"], [{}, "Hi you at , "]],
  },
  "ActiveCampaign": {
    from: "activecampaign",
    source: 'Hi %FIRSTNAME%, <a href="%UNSUBSCRIBELINK%">out</a>, 20% OFF%',
    shows: [[{ first_name: "Ann", unsubscribe_url: "u" }, 'Hi Ann, <a href="u">out</a>, 20% OFF%']],
  },
  "Mailgun": {
    from: "mailgun",
    source: "Hi %recipient.first_name%, %unsubscribe_url%",
    shows: [[{ first_name: "Ann", unsubscribe_url: "u" }, "Hi Ann, u"]],
  },
  "Campaign Monitor": {
    from: "campaignmonitor",
    source: "Hi [firstname,fallback=there] <unsubscribe>Stop</unsubscribe> [nickname,fallback=]",
    shows: [[{ firstname: "Ann", unsubscribe_url: "u" }, 'Hi Ann <a href="u">Stop</a> ']],
  },
  "Campaign Monitor, link to the browser": {
    from: "campaignmonitor",
    source: "<webversion>Web</webversion>",
    mend: [/browser_url/],
  },
  "listmonk": {
    from: "other",
    source: 'Hi {{ .Subscriber.FirstName }} {{ .Tx.Data.code }} <a href="{{ UnsubscribeURL }}">out</a>',
    shows: [[{ first_name: "Ann", event: { code: "X" }, unsubscribe_url: "u" }, 'Hi Ann X <a href="u">out</a>']],
  },
}
