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
  "number in a condition": {
    from: "mailchimp",
    source: "*|IF:POINTS=100|*Y*|ELSE:|*N*|END:IF|**|IF:AGE >= 18|*A*|END:IF|*",
    shows: [[{ "points": 100, "age": 20 }, "YA"], [{ "points": "100", "age": "20" }, "YA"], [{}, "N"]],
  },
  "comparison with an empty text": {
    from: "mailchimp",
    source: "*|IF:FNAME!=|*Hi *|FNAME|**|ELSE:|*Hi*|END:IF|*",
    shows: [[{}, "Hi"], [{ "first_name": "A" }, "Hi A"]],
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
  "comparison with an empty text": {
    from: "sfmc",
    source:
      '%%[ SET @fn = AttributeValue("FirstName") IF @fn != "" THEN ]%%Hi %%=v(@fn)=%%%%[ ELSE ]%%Hello%%[ ENDIF ]%%',
    shows: [[{ "first_name": "A" }, "Hi A"], [{}, "Hello"], [{ "first_name": "" }, "Hello"]],
  },
  "number that equals its text": {
    from: "sfmc",
    source: '%%[ IF @points == "100" THEN ]%%Y%%[ ELSE ]%%N%%[ ENDIF ]%%%%[ IF [Tier] == 1 THEN ]%%T%%[ ENDIF ]%%',
    shows: [[{ "points": 100, "Tier": "1" }, "YT"], [{ "points": "100", "Tier": 1 }, "YT"]],
  },
  "date with a time": {
    from: "sfmc",
    source: '%%=FormatDate(@d, "MMMM d, yyyy", "h:mm tt")=%%',
    shows: [[{ "d": "2026-03-04T15:06:07Z" }, "March 4, 2026 3:06 PM"]],
  },
  "date in another language": {
    from: "sfmc",
    source: '%%=FormatDate(@d, "dd. MMMM yyyy", "", "de-DE")=%%',
    mend: [/Write the month as a number, or pass the date as a field: na/],
  },
  "letter that names a date format": {
    from: "sfmc",
    source: '%%=FormatDate(@d, "d")=%%',
    mend: [/Write the format with directives such as "%-d %B %Y": its on/],
  },
  "address with a space": {
    from: "sfmc",
    source: '<a href="https://x.y/?e=%%=URLEncode(@e)=%%&n=%%FirstName%%">',
    shows: [[{ "e": "a b", "first_name": "A" }, '<a href="https://x.y/?e=a%20b&n=A">']],
  },
  "usual fields in any case": {
    from: "sfmc",
    source: "%%FIRSTNAME%% %%firstname%% %%=AttributeValue('FirstName')=%% [x]",
    shows: [[{ "first_name": "A" }, "A A A [x]"]],
  },
  "truth as a text": {
    from: "sfmc",
    source: "%%[ IF @vip == 'True' THEN ]%%V%%[ ENDIF ]%%%%[ IF @a == true THEN ]%%A%%[ ENDIF ]%%",
    shows: [[{ "vip": "True", "a": true }, "VA"], [{ "vip": true, "a": "true" }, "VA"], [{ "vip": "true" }, "V"]],
  },
  "time of sending that is compared": {
    from: "sfmc",
    source:
      "%%[ IF @exp > Now() THEN ]%%valid%%[ ENDIF ]%%%%[ IF @exp < DateAdd(Now(), 3, 'D') THEN ]%%soon%%[ ENDIF ]%%",
    mend: [/Compare seconds/, /Compare seconds/],
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
  "condition of ActiveCampaign": {
    from: "activecampaign",
    source: "%IF $PLAN=pro%Pro%ELSE%Free%/IF% 100%FUN%",
    mend: [
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
    ],
  },
  "date and sender of ActiveCampaign": {
    from: "activecampaign",
    source: "%TODAY% %TODAY+5% %SENDER-INFO-SINGLELINE% %WEBCOPY%",
    mend: [
      /Write \{\{ 'now' \| date: '%-d %B %Y' \}\} with the format of the/,
      /Write \{\{ 'now' \| date: '%-d %B %Y' \}\} with the format of the/,
      /Write the words here, or pass them as a field, such as \{\{ co/,
      /Pass the address as a field, such as \{\{ browser_url \}\}/,
    ],
  },
  "placeholder in a style": {
    from: "activecampaign",
    source: "<pre>%FIRSTNAME%</pre><style>.a{color:%COLOR%}</style>",
    shows: [[{ "first_name": "A", "color": "red" }, "<pre>A</pre><style>.a{color:red}</style>"]],
  },
  "condition of Campaign Monitor": {
    from: "campaignmonitor",
    source: "[if:plan=pro]Pro[elseif:plan=basic]B[else]Free[endif] [currentyear] [email]",
    mend: [
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
      /Write the condition in Liquid, such as \{% if plan == 'pro' %/,
      /Write \{\{ 'now' \| date: '%Y' \}\}/,
    ],
  },
  "signs of several platforms": {
    from: "other",
    source: "Hi <%= user.name %> ${city} [[zip]] {first_name}",
    shows: [[{ user: { name: "A" }, city: "O", zip: "1", first_name: "F" }, "Hi A O 1 F"]],
  },
  "field with a space": {
    from: "campaignmonitor",
    source: "[fullname] [email,fallback=x] [Favourite Colour,fallback=blue] [1] [link](https://x)",
    shows: [[{ "fullname": "F", "email": "e" }, "F e blue [1] [link](https://x)"]],
  },
  "address of the recipient": {
    from: "mailgun",
    source: "To %recipient% and %recipient.plan%",
    shows: [[{ email: "a@b.example", plan: "pro" }, "To a@b.example and pro"]],
  },
}
