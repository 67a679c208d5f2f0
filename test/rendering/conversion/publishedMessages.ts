import type { Message } from "./message.ts"

// Messages after public documentation, gists and templates of other platforms, with the text that the platform shows.

const brazeMessages: Readonly<Record<string, Message>> = {
  "anniversary without abort": {
    from: "braze",
    source: '{% assign month = {{custom_attribute.${registration_date}}} | date: "%B" %}' +
      '{% assign year = {{custom_attribute.${registration_date}}} | date: "%Y" %}' +
      "{% if month == 'May' %}{% if year == '2021' %}One year{% elsif year == '2020' %}Two years{% else %}Long{% endif %}" +
      "{% else %}Hi{% endif %}",
    shows: [
      [{ registration_date: "2021-05-03" }, "One year"],
      [{ registration_date: "2020-05-03" }, "Two years"],
      [{ registration_date: "2020-06-03" }, "Hi"],
    ],
  },
  "membership tier without inner braces": {
    from: "braze",
    source: "{% if custom_attribute.${membership_tier} == 'gold' %}Early access{% else %}Upgrade{% endif %}, " +
      "{{${first_name} | default: 'there'}}",
    shows: [
      [{ membership_tier: "gold", first_name: "Ann" }, "Early access, Ann"],
      [{}, "Upgrade, there"],
    ],
  },
  "days until an event": {
    from: "braze",
    source:
      "{% assign event_date = {{custom_attribute.${event}}} | date: '%s' %}{% assign today = 'now' | date: '%s' %}" +
      "{% assign difference = event_date | minus: today %}{% assign days = difference | divided_by: 86400 %}" +
      "{% if days > 1 %}In {{ days }} days{% else %}Now{% endif %}",
    shows: [[{ event: "1970-01-04" }, "In 3 days"], [{ event: "1970-01-01" }, "Now"]],
  },
  "VIP tutorial": {
    from: "braze",
    source:
      "Happy summer, {{${first_name} | default: \"traveler\"}}! {% if {{custom_attribute.${vip_status}}} == 'VIP' %}" +
      "VIPSUMMR464{% elsif {{custom_attribute.${vip_status}}} == 'new' %}NEWTRAVEL257{% else %}Look around{% endif %}",
    shows: [
      [{ first_name: "Ann", vip_status: "VIP" }, "Happy summer, Ann! VIPSUMMR464"],
      [{ vip_status: "new" }, "Happy summer, traveler! NEWTRAVEL257"],
      [{}, "Happy summer, traveler! Look around"],
    ],
  },
  "cart reminder by number of items": {
    from: "braze",
    source:
      "{% if {{custom_attribute.${cart_items}}} == 0 %}Start{% elsif {{custom_attribute.${cart_items}}} > 0 and " +
      "{{custom_attribute.${cart_items}}} < 10 %}Only {{custom_attribute.${cart_items}}} items{% else %}Many{% endif %}",
    shows: [[{ cart_items: 0 }, "Start"], [{ cart_items: 3 }, "Only 3 items"], [{ cart_items: 12 }, "Many"]],
  },
  "list of favourites": {
    from: "braze",
    source: "{% for game in {{custom_attribute.${favorites}}} limit: 2 %}{{ forloop.index }}. {{ game | capitalize }}" +
      "{% unless forloop.last %}, {% endunless %}{% endfor %}",
    shows: [[{ favorites: ["chess", "go", "mill"] }, "1. Chess, 2. Go"]],
  },
  "nested array of a canvas": {
    from: "braze",
    source:
      "{% for p in canvas_entry_properties.${products} %}{{p.name}}: {{ p.price | times: 1.2 | round: 2 }};{% endfor %}",
    shows: [[{ event: { products: [{ name: "Mug", price: 5 }, { name: "Cap", price: 10.1 }] } }, "Mug: 6;Cap: 12.12;"]],
  },
}

const iterableMessages: Readonly<Record<string, Message>> = {
  "items with the cheapest": {
    from: "iterable",
    source: '{{#minInList shoppingCartItems "price"}}From {{price}}{{/minInList}}',
    shows: [[{ shoppingCartItems: [{ price: 9 }, { price: 4 }] }, "From 4"]],
  },
  "multiple of seven": {
    from: "iterable",
    source: "{{#ifModEq age 7 0}}Seventh{{else}}Other{{/ifModEq}}",
    shows: [[{ age: 21 }, "Seventh"], [{ age: 22 }, "Other"]],
  },
  "tiers with nested conditions": {
    from: "iterable",
    source:
      '{{#ifEq tier "gold"}}G{{else}}{{#ifEq tier "silver"}}S{{else}}B{{/ifEq}}{{/ifEq}} {{#ifGte points 100}}+{{/ifGte}}',
    shows: [[{ tier: "silver", points: 100 }, "S +"], [{ tier: "x", points: 3 }, "B "]],
  },
  "default and capital": {
    from: "iterable",
    source:
      'Hi {{#if firstName}}{{capitalizeFirst firstName}}{{else}}friend{{/if}}, {{defaultIfEmpty city "your town"}}',
    shows: [[{ firstName: "ann" }, "Hi Ann, your town"], [{ firstName: "", city: "Oslo" }, "Hi friend, Oslo"]],
  },
  "date of a delivery": {
    from: "iterable",
    source: '{{dateFormat deliveryDate format="EEEE, MMMM d, yyyy"}}',
    shows: [[{ deliveryDate: "2026-03-04" }, "Wednesday, March 4, 2026"]],
  },
  "names with spaces": {
    from: "iterable",
    source: "{{[Favorite Color]}} {{address.[Zip Code]}}",
    shows: [[{ "Favorite Color": "blue", address: { "Zip Code": "0150" } }, "blue 0150"]],
  },
  "joined list": {
    from: "iterable",
    source: '{{join tags ", "}} {{upper plan}} {{length tags}}',
    shows: [[{ tags: ["a", "b"], plan: "pro" }, "a, b PRO 2"]],
  },
  "loop with position": {
    from: "iterable",
    source:
      "{{#each items}}{{#if @first}}<b>{{/if}}{{this.name}}{{#if @first}}</b>{{/if}}{{#unless @last}} | {{/unless}}{{/each}}",
    shows: [[{ items: [{ name: "A" }, { name: "B" }] }, "<b>A</b> | B"]],
  },
}

const handlebarsMessages: Readonly<Record<string, Message>> = {
  "SendGrid receipt": {
    from: "sendgrid",
    source: "{{#if receipt}}{{#each items}}<td>{{text}}</td><td>{{price}}</td>{{/each}}Total {{total}}{{/if}} " +
      "{{#each address}}{{this}} {{/each}}",
    shows: [[
      { receipt: true, items: [{ text: "Mug", price: "$5" }], total: "$5", address: ["Main 1", "Oslo"] },
      "<td>Mug</td><td>$5</td>Total $5 Main 1 Oslo ",
    ]],
  },
  "SendGrid languages": {
    from: "sendgrid",
    source: "{{#if english}}Hi{{else if spanish}}Hola{{else if french}}Salut{{/if}} {{name}}",
    shows: [[{ spanish: true, name: "Ann" }, "Hola Ann"], [{ name: "Ann" }, " Ann"]],
  },
  "SendGrid comparisons": {
    from: "sendgrid",
    source: '{{#greaterThan score 10}}High{{else}}Low{{/greaterThan}} {{#equals plan "pro"}}Pro{{/equals}}' +
      '{{#notEquals plan "pro"}}Basic{{/notEquals}}',
    shows: [[{ score: 11, plan: "pro" }, "High Pro"], [{ score: 2, plan: "x" }, "Low Basic"]],
  },
  "SendGrid and, or": {
    from: "sendgrid",
    source: "{{#and a b}}both{{else}}not both{{/and}} {{#or a b}}one{{/or}}",
    shows: [[{ a: 1, b: 0 }, "not both one"], [{ a: 1, b: 2 }, "both one"], [{}, "not both "]],
  },
  "SendGrid insert with default": {
    from: "sendgrid",
    source: 'Hello {{insert name "default=Customer"}}! {{insert city "default=home"}}',
    shows: [[{ name: "Ann" }, "Hello Ann! home"]],
  },
  "SendGrid nested lists": {
    from: "sendgrid",
    source: "{{#each orders}}{{id}}:{{#each lines}}{{../id}}-{{sku}} {{/each}}{{/each}}",
    shows: [[{ orders: [{ id: 1, lines: [{ sku: "a" }, { sku: "b" }] }] }, "1:1-a 1-b "]],
  },
  "SendGrid formatDate": {
    from: "sendgrid",
    source: '{{formatDate sent "MMMM DD, YYYY h:mm A"}}',
    shows: [[{ sent: "2026-03-04T15:07:00Z" }, "March 04, 2026 3:07 PM"]],
  },
  "Oracle approval": {
    from: "sendgrid",
    source: 'Task {{number}} is {{#eq outcome "APPROVE"}}approved{{else}}rejected{{/eq}}{{#gt amount 10000}}!{{/gt}}',
    shows: [[{ number: 4, outcome: "APPROVE", amount: 10001 }, "Task 4 is approved!"]],
  },
  "Snipcart conditions": {
    from: "sendgrid",
    source: "{{#if_eq order.method 'Card'}}By card{{else}}By {{order.method}}{{/if_eq}}",
    shows: [[{ order: { method: "Card" } }, "By card"], [{ order: { method: "cash" } }, "By cash"]],
  },
  "Snipcart money and dates": {
    from: "sendgrid",
    source: "{{ money order.total }} {{ date order.completed 'yyyy-MM-dd' }}",
    mend: [/format of the date/],
  },
  "Emailit default with a bar": {
    from: "sendgrid",
    source: 'Hello {{first_name|"there"}}',
    shows: [[{ first_name: "Ann" }, "Hello Ann"], [{}, "Hello there"]],
  },
  "Postmark section of an object": {
    from: "mandrill",
    source: "{{#person}}Hello {{first_name}}{{/person}}",
    mend: [/if person|for item in person/],
  },
  "Postmark inverted section": {
    from: "mandrill",
    source: "{{^name}}Hi there{{/name}}",
    shows: [[{}, "Hi there"], [{ name: "Ann" }, ""]],
  },
  "Postmark list with the outer name": {
    from: "mandrill",
    source: "{{#each employees}}<li>{{name}} of {{../company}}</li>{{/each}}",
    shows: [[{ company: "ACME", employees: [{ name: "Wile" }] }, "<li>Wile of ACME</li>"]],
  },
  "Mandrill order": {
    from: "mandrill",
    source:
      "{{#each products}}<p>{{name}} {{{html}}}</p>{{/each}}{{#if `total >= 50`}}Free{{else}}Paid{{/if}} {{upper code}}",
    shows: [[
      { products: [{ name: "A&B", html: "<i>x</i>" }], total: 60, code: "ab" },
      "<p>A&amp;B <i>x</i></p>Free AB",
    ]],
  },
  "Sortment members": {
    from: "sendgrid",
    source: "{{members.0.first_name}} {{classification.1}} {{#each investments}}{{amount}} {{company}}; {{/each}}",
    shows: [[
      {
        members: [{ first_name: "Ann" }],
        classification: ["a", "pro"],
        investments: [{ amount: 10, company: "X" }, { amount: 20 }],
      },
      "Ann pro 10 X; 20 ; ",
    ]],
  },
}

const klaviyoMessages: Readonly<Record<string, Message>> = {
  "items of an order": {
    from: "klaviyo",
    source: "{% for item in event.extra.line_items %}{{ item.quantity }} x {{ item.title|title }} " +
      "{{ item.line_price|floatformat:2 }}{% if not forloop.last %}, {% endif %}{% endfor %}",
    shows: [[
      { event: { extra: { line_items: [{ quantity: 2, title: "blue mug", line_price: 10 }] } } },
      "2 x Blue Mug 10.00",
    ]],
  },
  "property with a space": {
    from: "klaviyo",
    source:
      "{% if person|lookup:'Favorite Store' == 'Oslo' %}Oslo{% else %}{{ person|lookup:'Favorite Store'|default:'all' }}{% endif %}",
    shows: [[{ "Favorite Store": "Oslo" }, "Oslo"], [{}, "all"]],
  },
  "glossary of numbers": {
    from: "klaviyo",
    source: "{{ a|abs }} {{ b|at_least:5 }} {{ c|at_most:2 }} {{ d|ceil }}",
    shows: [[{ a: -1.2, b: 1, c: 9, d: 5.01 }, "1.2 5 2 6"]],
  },
  "glossary of texts": {
    from: "klaviyo",
    source: "{{ a|append:' world' }} {{ b|capfirst }} {{ c|truncatewords:2 }}",
    shows: [[{ a: "hello", b: "ann LEE", c: "one two three" }, "hello world Ann LEE one two …"]],
  },
  "SMS with coupon": {
    from: "klaviyo",
    format: "text",
    source: "{{ organization.name }}: {{ first_name|default:'Hi' }}, use {% coupon_code 'Spring' %}",
    mend: [/Write the words/, /coupon_code/],
  },
  "several conditions": {
    from: "klaviyo",
    source:
      "{% if event.total > 100 and person.country == 'NO' or person.vip %}Free{% elif event.total > 50 %}Half{% else %}Full{% endif %}",
    shows: [
      [{ event: { total: 120 }, country: "NO" }, "Free"],
      [{ event: { total: 10 }, vip: true }, "Free"],
      [{ event: { total: 60 }, country: "SE" }, "Half"],
      [{ event: { total: 5 } }, "Full"],
    ],
  },
  "today in words": {
    from: "klaviyo",
    source: "{% today '%Y-%m-%d' as today %}{{ event.date|format_date_string|date:'F d, Y' }}",
    mend: [/as today/],
  },
}

const jinjaMessages: Readonly<Record<string, Message>> = {
  "MoEngage attributes": {
    from: "moengage",
    source: "Welcome, {{UserAttribute['First Name']|default('there')}} from {{UserAttribute['City']}}",
    shows: [[{ "First Name": "Ann", City: "Oslo" }, "Welcome, Ann from Oslo"], [
      { City: "Oslo" },
      "Welcome, there from Oslo",
    ]],
  },
  "MoEngage condition and set": {
    from: "moengage",
    source: "{% set left = 100 - UserAttribute['Points'] %}{% if left > 0 %}{{ left }} to go{% else %}Done{% endif %}",
    shows: [[{ Points: 40 }, "60 to go"], [{ Points: 120 }, "Done"]],
  },
  "MoEngage loop": {
    from: "moengage",
    source:
      "{% for item in EventAttribute['Items'] %}{{ loop.index }}. {{ item.name|upper }}{% if not loop.last %}, {% endif %}{% endfor %}",
    shows: [[{ event: { Items: [{ name: "a" }, { name: "b" }] } }, "1. A, 2. B"]],
  },
  "HubSpot token and filter": {
    from: "hubspot",
    source:
      "Hi {{ contact.firstname|default('there', true)|title }}{% if contact.company %} at {{ contact.company }}{% endif %}",
    shows: [[{ firstname: "ann lee", company: "X" }, "Hi Ann Lee at X"], [{ firstname: "" }, "Hi There"]],
  },
  "HubSpot list in a custom object": {
    from: "hubspot",
    source: "{% for line in custom.order.lines %}{{ line.name }} {{ '%.2f'|format(line.price) }}{% endfor %}",
    mend: [/"format" has no equivalent/],
  },
  "HubSpot inline if": {
    from: "hubspot",
    source:
      "{{ 'VIP' if contact.tier == 'gold' else 'Guest' }} {{ contact.email|lower }} {{ contact.tags|join(', ') }}",
    shows: [[{ tier: "gold", email: "A@B.example", tags: ["x", "y"] }, "VIP a@b.example x, y"]],
  },
  "Mailjet bands": {
    from: "other",
    source: 'Hello {{var:first_name:""}}{% for band in var:rock_bands %}{{ band.name }}{% endfor %}',
    mend: [/rock_bands/],
  },
}

const otherMessages: Readonly<Record<string, Message>> = {
  "Mandrill merge conditions": {
    from: "mailchimp",
    source: "*|IF:PLAN=x|*X*|ELSEIF:PLAN=y|*Y*|ELSE:|*Z*|END:IF|* *|IFNOT:CITY|*no city*|ELSE:|**|CITY|**|END:IF|*",
    shows: [[{ plan: "y" }, "Y no city"], [{ plan: "q", city: "Oslo" }, "Z Oslo"]],
  },
  "Mailchimp nested conditions": {
    from: "mailchimp",
    source: "*|IF:A=x|**|IF:B=y|*both*|END:IF|**|END:IF|*",
    shows: [[{ a: "x", b: "y" }, "both"], [{ a: "x" }, ""]],
  },
  "Mailchimp footer": {
    from: "mailchimp",
    source: '<a href="*|UNSUB|*">unsubscribe</a> *|CURRENT_YEAR|* *|EMAIL|*',
    shows: [[{ unsubscribe_url: "u", email: "a@b.example" }, '<a href="u">unsubscribe</a> 1970 a@b.example']],
  },
  "AMPscript age": {
    from: "sfmc",
    source: '%%[ IF Age >= 18 THEN SET @msg = "Eligible" ELSE SET @msg = "Too young" ENDIF ]%%%%=v(@msg)=%%',
    shows: [[{ Age: 20 }, "Eligible"], [{ Age: 3 }, "Too young"]],
  },
  "AMPscript tiers": {
    from: "sfmc",
    source:
      '%%[ IF Tier == "Gold" THEN ]%%Gold offer%%[ ELSEIF Tier == "Silver" THEN ]%%Silver offer%%[ ELSE ]%%Offer%%[ ENDIF ]%%',
    shows: [[{ Tier: "Gold" }, "Gold offer"], [{ Tier: "Silver" }, "Silver offer"], [{}, "Offer"]],
  },
  "AMPscript fallback name": {
    from: "sfmc",
    source:
      '%%[ VAR @name SET @name = ProperCase(Trim(FirstName)) IF EMPTY(@name) THEN SET @name = "Customer" ENDIF ]%%Dear %%=v(@name)=%%',
    shows: [[{ first_name: " ann " }, "Dear Ann"], [{ first_name: "" }, "Dear Customer"]],
  },
  "AMPscript nested functions": {
    from: "sfmc",
    source: "%%=Lowercase(Substring(Name,1,5))=%% %%=Concat(City, ', ', Country)=%% %%=Length(Name)=%%",
    shows: [[{ Name: "ELIZABETH", City: "Oslo", Country: "NO" }, "eliza Oslo, NO 9"]],
  },
  "AMPscript table look-up": {
    from: "sfmc",
    source: '%%[ SET @rows = LookupRows("Orders", "Id", SubscriberKey) ]%%%%=RowCount(@rows)=%%',
    mend: [/Look the data up/, /Look the data up/],
  },
  "AMPscript date": {
    from: "sfmc",
    source: '%%=FormatDate(Renewal, "MMMM d, yyyy")=%%',
    shows: [[{ Renewal: "2026-03-04" }, "March 4, 2026"]],
  },
  "Marketo tokens": {
    from: "marketo",
    source: "Hi {{lead.First Name:default=Friend}}, {{company.Company Name}} {{my.Event Date}}",
    shows: [[
      { first_name: "Ann", company: "X", "Event Date": "May 4" },
      "Hi Ann, X May 4",
    ]],
  },
  "Marketo Velocity": {
    from: "marketo",
    source: '#if(${lead.Gender} == "Male")Mr. ${lead.LastName}#else Dear ${lead.FirstName}#end',
    mend: [/\{% if Gender/],
  },
  "Marketo Velocity with a set": {
    from: "marketo",
    source: '#set($greeting = "Dear ${lead.LastName}")\n${greeting}',
    mend: [/assign/],
  },
  "Brevo old condition": {
    from: "other",
    source: "{IF,CHILDREN,>=,3}{Big Family}//{Little Family}",
    mend: [/\{% if children >= 3 %\}/],
  },
  "GetResponse condition": {
    from: "other",
    source: "{{IF \"(pet STRING_EQ 'dog')\"}}Bone{{ELSE}}Toy{{ENDIF}}",
    mend: [/pet STRING_EQ/],
  },
  "ActiveCampaign tags": {
    from: "activecampaign",
    source: "Hi %FIRSTNAME%, %COMPANY_NAME% %UNSUBSCRIBELINK%",
    shows: [[{ first_name: "Ann", company: "X", unsubscribe_url: "u" }, "Hi Ann, X u"]],
  },
  "ActiveCampaign condition": {
    from: "activecampaign",
    source: "%IF in_string('VIP', $TAGS)%VIP%ELSE%Hi%/IF%",
    mend: [/Write the condition/, /Write the condition/, /Write the condition/],
  },
  "Sendmachine macros": {
    from: "other",
    source: "Hello [[FIRSTNAME]], [[IF:IS_CLIENT]]client[[ELSE]]guest[[ENDIF]]",
    mend: [/else/],
  },
  "Lyris merge": {
    from: "other",
    source: "Dear %%FirstName%%, %%=name=%%",
    mend: [/as a field/],
  },
  "Oracle marketing condition": {
    from: "other",
    source: "$(if [Field: First Name])Dear [Field: First Name],$(else)Dear Sir,$(endif)",
    mend: [/\{% if first_name != blank %\}/, /\{% else %\}/, /\{% endif %\}/],
  },
}

const liquidMessages: Readonly<Record<string, Message>> = {
  "SmartReach profession": {
    from: "customerio",
    source:
      "{% if customer.profession == 'marketer' %}DreamForce{% elsif customer.profession == 'SDR' %}SaaSSales{% else %}Tell us{% endif %}" +
      "{% unless customer.vip %} Hi{% endunless %}",
    shows: [[{ profession: "SDR" }, "SaaSSales Hi"], [{ profession: "x", vip: true }, "Tell us"]],
  },
  "Customer.io cart": {
    from: "customerio",
    source:
      "{% for item in event.items %}{{ item.name }} {{ item.price | currency }}{% unless forloop.last %}, {% endunless %}{% endfor %}",
    shows: [[
      { event: { items: [{ name: "Mug", price: 5 }, { name: "Cap", price: 1200.5 }] } },
      "Mug $5.00, Cap $1,200.50",
    ]],
  },
  "Customer.io days of a trial": {
    from: "customerio",
    source:
      "{% assign now = 'now' | date: '%s' %}{% assign end = customer.trial_end %}{% assign left = end | minus: now | divided_by: 86400 %}" +
      "{{ left }} {{ left | pluralize: 'day', 'days' }}",
    shows: [[{ trial_end: 172_800 }, "2 days"], [{ trial_end: 86_400 }, "1 day"]],
  },
  "Customer.io missing attribute": {
    from: "customerio",
    source:
      "{% if customer.first_name != blank %}{{ customer.first_name | capitalize }}{% else %}there{% endif %} {{ trigger.code | upcase }}",
    shows: [[{ first_name: "ann", event: { code: "ab" } }, "Ann AB"], [{ event: { code: "x" } }, "there X"]],
  },
  "OneSignal cart": {
    from: "onesignal",
    source: "{% for product in message.custom_data.cart %}<td>{{product.cartProductName}}</td>{% endfor %} " +
      'Hi {{ first_name | default: "there" }}, {{ message.custom_data.cart.size }} items',
    shows: [[
      { cart: [{ cartProductName: "Acorns" }, { cartProductName: "Sweater" }] },
      "<td>Acorns</td><td>Sweater</td> Hi there, 2 items",
    ]],
  },
  "OneSignal journey event": {
    from: "onesignal",
    source: '{{ journey.first_event.properties.item }} {{ journey.last_event.properties["order status"] }}',
    shows: [[
      {
        journey: {
          first_event: { properties: { item: "Sweater" } },
          last_event: { properties: { "order status": "pending" } },
        },
      },
      "Sweater pending",
    ]],
  },
  "CleverTap profile": {
    from: "clevertap",
    source: 'Hi {{ Profile.Name | default: "friend" }}, {{ Event.Amount | money_with_currency }}',
    mend: [/money_with_currency/],
  },
}

export const publishedMessages = {
  ...Object.fromEntries(
    Object.entries({
      Braze: brazeMessages,
      Iterable: iterableMessages,
      Handlebars: handlebarsMessages,
      Klaviyo: klaviyoMessages,
      Jinja: jinjaMessages,
      "other platforms": otherMessages,
      Liquid: liquidMessages,
    }).flatMap(([group, messages]) =>
      Object.entries(messages).map(([name, message]) => [`${group}, ${name}`, message] as const)
    ),
  ),
} as Readonly<Record<string, Message>>
