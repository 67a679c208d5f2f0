import type { Message } from "./message.ts"

export const iterableMessages: Readonly<Record<string, Message>> = {
  "default": {
    from: "iterable",
    source: '<p>Hi {{defaultIfEmpty firstName "there"}}, {{address.city}}, {{[Favorite Color]}}</p>',
    shows: [
      [{ firstName: "Ann", address: { city: "Oslo" }, "Favorite Color": "red" }, "<p>Hi Ann, Oslo, red</p>"],
      [{}, "<p>Hi there, , </p>"],
    ],
  },
  "condition on a value": {
    from: "iterable",
    source: "{{#if points}}You have {{points}}{{else}}No points{{/if}}",
    shows: [
      [{ points: 5 }, "You have 5"],
      [{ points: 0 }, "No points"],
      [{ points: "" }, "No points"],
      [{ points: [] }, "No points"],
      [{ points: "0" }, "You have 0"],
      [{ points: false }, "No points"],
      [{}, "No points"],
    ],
  },
  "chain of branches": {
    from: "iterable",
    source:
      '{{#ifEq plan "pro"}}P{{else}}{{#ifGte age 18}}A{{else}}Y{{/ifGte}}{{/ifEq}}{{#if a}}1{{else if b}}2{{else}}3{{/if}}',
    shows: [[{ plan: "pro", b: 1 }, "P2"], [{ age: 18, a: "x" }, "A1"], [{ age: 3 }, "Y3"]],
  },
  "unless": {
    from: "iterable",
    source: "{{#unless phone}}Add your phone{{/unless}}",
    shows: [[{}, "Add your phone"], [{ phone: 0 }, "Add your phone"], [{ phone: "1" }, ""]],
  },
  "and with or": {
    from: "iterable",
    source: "{{#or a b}}{{#and c d}}X{{else}}Y{{/and}}{{/or}}",
    shows: [[{ b: 1, c: 1, d: 0 }, "Y"], [{ a: 1, c: "x", d: "y" }, "X"], [{ c: 1, d: 1 }, ""]],
  },
  "nested helpers in a condition": {
    from: "iterable",
    source: "{{#if (or (and a b) (and c d))}}X{{else}}Y{{/if}}",
    shows: [[{ a: 1, b: 1 }, "X"], [{ a: 1, d: 1 }, "Y"], [{ c: 1, d: 1 }, "X"], [{ a: 0, b: 1, c: 1, d: 2 }, "X"]],
  },
  "loop with index": {
    from: "iterable",
    source: "{{#each items}}{{@index}} {{name}}{{#unless @last}}, {{/unless}}{{else}}Empty{{/each}}",
    shows: [[{ items: [{ name: "A<b>" }, { name: "B" }] }, "0 A&lt;b&gt;, 1 B"], [{ items: [] }, "Empty"], [
      {},
      "Empty",
    ]],
  },
  "loop of texts in a loop": {
    from: "iterable",
    source: "{{#each groups}}{{title}}:{{#each tags}} {{this}}/{{../title}}{{/each}};{{/each}}",
    shows: [[{ groups: [{ title: "G", tags: ["a", "b"] }, { title: "H", tags: [] }] }, "G: a/G b/G;H:;"]],
  },
  "name of the person in a loop": {
    from: "iterable",
    source: "{{firstName}}: {{#each items}}{{title}} for {{firstName}}. {{/each}}",
    shows: [[
      { firstName: "Ann", items: [{ title: "A" }, { title: "B", firstName: "Bo" }] },
      "Ann: A for Ann. B for Bo. ",
    ]],
  },
  "named item and object": {
    from: "iterable",
    source: "{{#each items as |p|}}{{p.name}} {{/each}}{{#with address}}{{city}} {{zip}}{{/with}}",
    shows: [[{ items: [{ name: "A" }], address: { city: "Oslo", zip: "01" } }, "A Oslo 01"], [{}, ""]],
  },
  "keys of an object": {
    from: "iterable",
    source: "{{#each prices}}{{@key}}={{this}};{{/each}}",
    shows: [[{ prices: { a: 1, b: 2 } }, "a=1;b=2;"]],
  },
  "every second row": {
    from: "iterable",
    source: "{{#each rows}}{{#ifModEq @index 2}}<b>{{this}}</b>{{else}}{{this}}{{/ifModEq}}{{/each}}",
    shows: [[{ rows: ["a", "b", "c"] }, "<b>a</b>b<b>c</b>"]],
  },
  "filters": {
    from: "iterable",
    source:
      '{{upper a}} {{lower b}} {{capitalizeFirst c}} {{capitalize d}} {{replace e "x" "y"}} {{join f ", "}} {{items.[0].name}} {{items.length}}',
    shows: [[
      { a: "ab", b: "AB", c: "aBC", d: "ann lee", e: "axa", f: ["p", "q"], items: [{ name: "N" }] },
      "AB ab ABC Ann Lee aya p, q N 1",
    ]],
  },
  "dates with letters of Java": {
    from: "iterable",
    source: '{{dateFormat at format="MMMM d, yyyy" tz="America/New_York"}} {{dateFormat at format="HH:mm \'on\' EEE"}}',
    shows: [[{ at: "2026-03-14T20:05:00Z" }, "March 14, 2026 20:05 on Sat"]],
  },
  "date with a letter without an equivalent": {
    from: "iterable",
    source: '{{dateFormat at format="QQQ yyyy"}}',
    mend: [/"Q" in it has none/],
  },
  "numbers": {
    from: "iterable",
    source:
      '{{numberFormat total "currency" "en_US"}} {{numberFormat n "integer"}} {{math n "*" 2}} {{numberFormat r "percent"}}',
    shows: [[{ total: 1234.5, n: 1200, r: 0.25 }, "$1,234.50 1,200 2400 25%"]],
  },
  "HTML as it is": {
    from: "iterable",
    source: "{{{bio}}} {{bio}} {{&bio}}",
    shows: [[{ bio: "<i>x</i>" }, "<i>x</i> &lt;i&gt;x&lt;/i&gt; <i>x</i>"]],
  },
  "comments and spaces": {
    from: "iterable",
    source: "a{{! note }}b{{!-- {{x}} --}}c  {{~ firstName ~}}  d",
    shows: [[{ firstName: "A" }, "abcAd"]],
  },
  "lines of block tags in a text": {
    from: "iterable",
    format: "text",
    source: "Hi\n{{#if a}}\n  A: {{a}}\n{{else}}\n  none\n{{/if}}\nBye",
    shows: [[{ a: "x" }, "Hi\n  A: x\nBye"], [{}, "Hi\n  none\nBye"]],
  },
  "blocks around a text": {
    from: "iterable",
    source: '{{#urlEncode}}a b {{x}}{{/urlEncode}}{{#minInList items "price"}}{{name}}{{/minInList}}',
    shows: [[{ x: "c", items: [{ name: "B", price: 2 }, { name: "A", price: 1 }] }, "a+b+cA"]],
  },
  "text in a value": {
    from: "iterable",
    source: '{{#ifContainsStr tags "vip"}}VIP{{/ifContainsStr}}',
    shows: [[{ tags: "a,vip" }, "VIP"], [{ tags: "b" }, ""]],
  },
  "links": {
    from: "iterable",
    source: '<a href="{{unsubscribeUrl}}">Out</a> <a href="{{viewInBrowserUrl}}">Web</a>',
    shows: [[{ unsubscribe_url: "u", browser_url: "w" }, '<a href="u">Out</a> <a href="w">Web</a>']],
    check: [/browser_url/],
  },
  "pattern of a text": {
    from: "iterable",
    source: '{{#ifMatchesRegexStr zip "^9"}}West{{else}}East{{/ifMatchesRegexStr}} {{city}}',
    mend: [/Liquid has no patterns/],
  },
  "snippet with a variable": {
    from: "iterable",
    source: '{{{snippet "My footer" year=year}}}',
    shows: [[{ year: 2026 }, "SNIPPET my-footer2026"]],
    check: [/as the snippet my-footer/],
  },
  "skip and catalog": {
    from: "iterable",
    source: '{{sendSkip cause="none"}}{{#catalog "c" id as |x|}}{{x.name}}{{/catalog}}',
    mend: [/targeting/, /Look the data up/],
  },
  "feed": {
    from: "iterable",
    source: "[[#each articles]][[title]][[/each]]",
    mend: [/Look the data up/, /Look the data up/, /Look the data up/],
  },
  "helper that nobody knows": { from: "iterable", source: "{{fancy a b}}", mend: [/"fancy" has no equivalent/] },
  "block that never ends": { from: "iterable", source: "{{#if a}}x", mend: [/it has none/] },
  "time of sending in a format": {
    from: "iterable",
    source: "{{now format='MMM dd'}} {{now format=\"yyyy\"}}",
    shows: [[{}, "Jan 01 1970"]],
  },
  "time of sending in a time zone": {
    from: "iterable",
    source: "{{now format='yyyy-MM-dd HH:mm' tz='America/New_York'}}",
    shows: [[{}, "1969-12-31 19:00"]],
  },
  "number that is compared with its text": {
    from: "iterable",
    source: '{{#ifEq points 100}}Y{{else}}N{{/ifEq}}{{#ifEq zip "01067"}}Y{{else}}N{{/ifEq}}',
    shows: [[{ "points": "100", "zip": "01067" }, "YY"], [{ "points": 100, "zip": 3 }, "YN"], [{}, "NN"]],
  },
  "text that is compared with its number": {
    from: "iterable",
    source: '{{#ifEq plan "1"}}Y{{else}}N{{/ifEq}}',
    shows: [[{ "plan": 1 }, "Y"], [{ "plan": "1" }, "Y"]],
  },
  "words of a helper that compares": {
    from: "iterable",
    source: '{{or likesCoffee likesTea yes="hot" no="cold"}}',
    shows: [[{ "likesTea": true }, "hot"], [{}, "cold"]],
  },
  "words of a helper that negates": {
    from: "iterable",
    source: '{{not adult yes="young" no="old"}}',
    shows: [[{ "adult": true }, "old"], [{}, "young"]],
  },
  "list with a prefix and a suffix": {
    from: "iterable",
    source: '{{join ids ", " prefix="(" suffix=")"}}',
    shows: [[{ "ids": [1, 2] }, "(1, 2)"]],
  },
  "several values that are joined": {
    from: "iterable",
    source: '{{join firstName lastName " "}}',
    shows: [[{ "firstName": "A", "lastName": "B" }, "A B"]],
  },
  "named format of a number": {
    from: "iterable",
    source: '{{numberFormat price format="currency"}}',
    shows: [[{ "price": 3 }, "$3.00"]],
  },
  "usual field of the person in a loop": {
    from: "iterable",
    source: "{{#each items}}{{firstName}}-{{name}};{{/each}}",
    shows: [[{ "firstName": "Ann", "items": [{ "name": "a" }] }, "Ann-a;"]],
  },
  "name in a loop that may be outside": {
    from: "iterable",
    source: '{{#each items}}<a href="{{shopUrl}}/{{id}}">{{name}}</a>{{/each}}',
    check: [/Write \{\{ shopUrl \}\} if it is a field of /, /Write \{\{ id \}\} if it is a field of the p/],
  },
  "braces behind a backslash": {
    from: "iterable",
    source: "Use \\{{firstName}} here: {{firstName}}",
    shows: [[{ "firstName": "A" }, "Use {{firstName}} here: A"]],
  },
  "white space around blocks": {
    from: "iterable",
    source: "<p> {{~#if a~}} yes {{~else~}} no {{~/if~}} </p>",
    shows: [[{ "a": 1 }, "<p>yes</p>"], [{}, "<p>no</p>"]],
  },
  "names in other scripts": {
    from: "iterable",
    source: "{{größe}} {{[größe]}} {{имя}}",
    shows: [[{ "größe": "L", "имя": "Ann" }, "L L Ann"]],
  },
  "values that are not equal": {
    from: "iterable",
    source: "{{#neq a b}}x{{/neq}}",
    shows: [[{ "a": 1, "b": 2 }, "x"], [{ "a": 1, "b": 1 }, ""]],
  },
  "calculation with a date": {
    from: "iterable",
    source: '{{dateMath "now" "+7d" format="dd"}}',
    mend: [/Compute the value before the call, and pass it as a field: f/],
  },
  "conditional comment of Outlook": {
    from: "iterable",
    source: '<!--[if mso]><v:rect href="{{url}}"><![endif]-->{{!-- note {{x}} --}}{{name}}',
    shows: [[{ "url": "https://a.b", "name": "N" }, '<!--[if mso]><v:rect href="https://a.b"><![endif]-->N']],
  },
  "line ends of Windows": {
    from: "iterable",
    format: "text",
    source: "Hi\r\n{{#if a}}\r\nYes\r\n{{else}}\r\nNo\r\n{{/if}}\r\nBye\r\n",
    shows: [[{ "a": 1 }, "Hi\r\nYes\r\nBye\r\n"], [{}, "Hi\r\nNo\r\nBye\r\n"]],
  },
  "loop in an object": {
    from: "iterable",
    source: "{{#with order}}{{id}}{{#each lines}}{{../id}}{{sku}}{{/each}}{{/with}}",
    shows: [[{ "order": { "id": 1, "lines": [{ "sku": "s" }] } }, "11s"]],
  },
  "truth that is compared with its text": {
    from: "iterable",
    source: '{{#ifEq vip true}}y{{else}}n{{/ifEq}}{{#ifEq vip "true"}}y{{else}}n{{/ifEq}}',
    shows: [[{ "vip": true }, "yy"], [{ "vip": "true" }, "yy"], [{}, "nn"]],
  },
  "second name of a loop": {
    from: "iterable",
    source: "{{#each byDay as |list day|}}{{day}}:{{#each list}}{{this}}{{/each}};{{/each}}",
    check: [/Write \{\{ list\[0\] \}\} for day, and list\[1\]/],
  },
  "assigned number that is compared": {
    from: "iterable",
    source:
      '{{#assign "n"}}{{math count "+" 1}}{{/assign}}{{#ifEq n 3}}three{{else}}x{{/ifEq}}{{#ifGt n 2}}more{{/ifGt}}',
    shows: [[{ "count": 2 }, "threemore"]],
  },
  "sorted list": {
    from: "iterable",
    source: '{{#sortBy items field="price" as |sorted|}}{{#each sorted}}{{this.name}}{{/each}}{{/sortBy}}',
    mend: [/assign sorted = items \| sort/],
  },
  "list with an element": {
    from: "iterable",
    source: '{{#ifContains items `{"type":"shirt"}`}}x{{/ifContains}}',
    mend: [/where: "name", "value"/],
  },
  "signs for white space on lines of their own": {
    from: "iterable",
    format: "text",
    source: "A\n{{~#if a}}\nyes\n{{/if~}}\n\nB",
    shows: [[{ a: 1 }, "Ayes\nB"], [{}, "AB"]],
  },
}

export const sendgridMessages: Readonly<Record<string, Message>> = {
  "conditions": {
    from: "sendgrid",
    source:
      '{{#equals status "open"}}O{{else}}C{{/equals}}{{#greaterThan n 3}}>{{/greaterThan}}{{#and a b}}&{{/and}}{{#notEquals x "1"}}!{{/notEquals}}',
    shows: [[{ status: "open", n: 4, a: 1, b: 1, x: "1" }, "O>&"], [{ n: 1 }, "C!"]],
  },
  "insert and date": {
    from: "sendgrid",
    source: '{{insert city "default=your city"}} {{formatDate at "MMMM D, YYYY"}} {{length items}}',
    shows: [[{ at: "2026-03-04T00:00:00Z", items: [1, 2] }, "your city March 4, 2026 2"]],
  },
  "link to unsubscribe": {
    from: "sendgrid",
    source: '<a href="{{{unsubscribe}}}">Out</a>',
    shows: [[{ unsubscribe_url: "u" }, '<a href="u">Out</a>']],
  },
  "Mandrill expressions": {
    from: "mandrill",
    source: '{{#if `total >= 100 || vip == "yes"`}}Free{{else}}{{upper s}}{{/if}}',
    shows: [[{ total: 120 }, "Free"], [{ vip: "yes", total: 1 }, "Free"], [{ total: 1, s: "a" }, "A"]],
  },
  "offset of a time zone": {
    from: "sendgrid",
    source: '{{formatDate timeStamp "YYYY-MM-DD HH:mm" "-0800"}}',
    shows: [[{ "timeStamp": "2026-03-04T15:06:07Z" }, "2026-03-04 07:06"]],
  },
}
