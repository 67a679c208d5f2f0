import { assert, describe, it } from "@effect/vitest"
import { foreignFilters, foreignTags } from "../../src/rendering/dialects/LiquidTags.ts"
import { filters } from "../../src/rendering/Filters.ts"
import { tagNames } from "../../src/rendering/Grammar.ts"
import { foreignFaults, sourceWarnings } from "../../src/rendering/SourceWarnings.ts"

const faultsOf = (source: string) => foreignFaults("v", source).map(({ message }) => message)
const warningsOf = (source: string) => sourceWarnings({ v: source }, { v: "html" }).map(({ message }) => message)

/** Copy with one notation, and the replacement that its message writes. */
const refused: Readonly<Record<string, ReadonlyArray<readonly [copy: string, replacement: string]>>> = {
  Mailchimp: [
    ["Hi *|FNAME|*!", "{{ first_name }}"],
    ["Dear *|LNAME|friend|*", '{{ last_name | default: "friend" }}'],
    ["Your plan: *|PLAN|*", "{{ plan }}"],
    ["*|IF:FNAME|*Hi", "{% if first_name != blank %}"],
    ["*|IF:PLAN=pro|*Hi", "{% if plan == 'pro' %}"],
    ["*|ELSEIF:AGE >= 18|*Hi", "{% elsif age >= 18 %}"],
    ["*|END:IF|*", "{% endif %}"],
    ["*|TITLE:CITY|*", "{{ city | titlecase }}"],
    ['<a href="*|UNSUB|*">', "{{ unsubscribe_url }}"],
    ['<a href="*|ARCHIVE|*">', "{{ browser_url }}"],
    ["© *|CURRENT_YEAR|*", "{{ 'now' | date: '%Y' }}"],
    ["*|LIST:COMPANY|*", "Write the words here"],
    ["*|INTERESTED:Hobbies:Dogs|*", "{% if interests contains 'name' %}"],
    ["*|MC:DATE|*", "{{ 'now' | date: "],
    ["*|FEEDBLOCK:https://x.example/rss|*", "Look the data up before the call"],
    ["*|PROMO_CODE:[$spring]|*", "{{ promo_code }}"],
  ],
  "Marketing Cloud": [
    ["Hi %%FirstName%%", "{{ first_name }}"],
    ["Your %%Loyalty Tier%%", "{{ ['Loyalty Tier'] }}"],
    ['<a href="%%unsub_center_url%%">', "{{ unsubscribe_url }}"],
    ["%%=v(@name)=%%", "{{ name }}"],
    ['%%=AttributeValue("Tier")=%%', "{{ Tier }}"],
    ["%%=ProperCase(City)=%%", "{{ City | titlecase }}"],
    ['%%=Lookup("Shops", "Town", "Id", ShopId)=%%', "Look the data up before the call"],
    ['%%[ SET @city = AttributeValue("Town") ]%%', "{% assign city = Town %}"],
    ["%%[ IF NOT EMPTY(@code) THEN ]%%", "{% if code != blank %}"],
    ['<script runat="server">', "Compute the values before the call"],
    ["%%[IF EMPTY(Code) THEN]%%", "{% if Code == blank %}"],
    ["%%[ IF @tier == 'Gold' THEN ]%%", "{% if tier == 'Gold' %}"],
    ["%%[ IF [First Name] != 'x' AND @b > 1 THEN ]%%", "{% if first_name != 'x' and b > 1 %}"],
    ["%%=IIF(Empty(Town),'here',Town)=%%", "{% if Town == blank %}"],
  ],
  ERB: [
    ["Hi <%= user.name %>", "{{ user.name }}"],
    ["<% if @order.paid %>Paid", "{% if order.paid %}"],
    ["<% items.each do |item| %>", "{% for item in items %}"],
    ["<%asm_group_unsubscribe_raw_url%>", "{{ unsubscribe_url }}"],
    ["<%= number_to_currency(item.price) %>", "{{ item.price | money: 'USD' }}"],
    ["<%= name.titleize || 'you' %>", "{{ name | titlecase | default: 'you' }}"],
    ["<%= link_to 'Shop', url %>", '<a href="{{ url }}">'],
    ["<%= items[0].title %>", "{{ items[0].title }}"],
    ["<%= h(@user&.name) %>", "{{ user.name }}"],
    ["<%= paid ? 'yes' : 'no' %>", "{% if paid %}{{ 'yes' }}{% else %}{{ 'no' }}{% endif %}"],
    ["<%= t('.hello') %>", "Write the words here"],
    ["<% if order.paid? %>", "{% if order.paid %}"],
  ],
  PHP: [
    ["Hi <?= $name ?>", "{{ name }}"],
    ["Hi <?php echo $name; ?>", "{{ name }}"],
    ["{{ user->name }}", "{{ user.name }}"],
    ["{% foreach items as item %}", "{% for item in items %}"],
    ["{{ name | nl2br }}", "{{ name | newline_to_br }}"],
  ],
  Mailgun: [
    ["Hi %recipient.first_name%", "{{ first_name }}"],
    ["%unsubscribe_url%", "{{ unsubscribe_url }}"],
    ["Dear %recipient.First Name%", "{{ first_name }}"],
    ["%recipient.order.id|none%", '{{ order.id | default: "none" }}'],
    ["<%recipient.email%>", "{{ email }}"],
  ],
  Mailjet: [['{{var:town:"your town"}}', '{{ town | default: "your town" }}']],
  SendGrid: [
    ["Hi [%first_name | there%]", '{{ first_name | default: "there" }}'],
    ['{{insert town "default=your town"}}', '{{ town | default: "your town" }}'],
    ["{{#greaterThan total 100}}", "{% if total > 100 %}"],
    ["<a href='{{{unsubscribe}}}'>", "{{ unsubscribe_url }}"],
    ['<a href="[Unsubscribe]">', "{{ unsubscribe_url }}"],
  ],
  Iterable: [
    ["{{#if firstName}}Hi", "{% if firstName != blank %}"],
    ['{{#ifEq plan "pro"}}', '{% if plan == "pro" %}'],
    ["{{else if isMember}}", "{% elsif isMember != blank %}"],
    ["{{else}}", "{% else %}"],
    ["{{/if}}", "{% endif %}"],
    ["{{#each cart}}", "{% for item in cart %}"],
    ["{{#each cart as |line|}}", "{% for line in cart %}"],
    ["{{@index}}", "{{ forloop.index0 }}"],
    ["{{../currency}}", "{{ currency }}"],
    ['{{defaultIfEmpty nick "friend"}}', '{{ nick | default: "friend" }}'],
    ['{{dateFormat due format="MMMM d"}}', "{{ due | date: "],
    ["{{[Favorite Color]}}", "{{ ['Favorite Color'] }}"],
    ["{{{intro}}}", "{{ intro | raw }}"],
    ['{{#ifMatchesRegexStr email ".*@x"}}', '{% if email contains "…" %}'],
    ['{{{snippet "My footer"}}}', "{% render 'my-footer' %}"],
    ['{{snippet "footer"}}', '{% render "footer" %}'],
    ["{{> footer}}", "{% render 'footer' %}"],
    ["{{!-- a note --}}", "{% comment %}"],
    ["[[#each articles]]", "Look the data up before the call"],
    ["{{#unless @last}}", "{% unless forloop.last %}"],
    ["{{#assign 'total'}}", "{% capture total %}"],
    ["{{/assign}}", "{% endcapture %}"],
    ["{{#sendSkip cause='x'}}", "targeting of the variant"],
  ],
  Mandrill: [["{{#if `total >= 100`}}", "{% if total >= 100 %}"], [
    "*|UNSUB:https://x.example|*",
    "{{ unsubscribe_url }}",
  ]],
  Braze: [
    ["Hi {{${first_name} | default: 'you'}}", "{{ first_name | default: 'you' }}"],
    ["You are {{custom_attribute.${tier}}}", "{{ tier }}"],
    ["{{custom_attribute.${zip code}}}", "{{ ['zip code'] }}"],
    ["{{event_properties.${product}}}", "{{ event.product }}"],
    ["{% if {{custom_attribute.${plan}}} == 'pro' %}Hi{% endif %}", "{% if plan == 'pro' %}"],
    ["{% connected_content https://x.example/a :save r %}", "Look the data up before the call"],
    ["{% connected_content https://x.example/?z={{${zip}}} :save r %}", "Look the data up before the call"],
    ["{% catalog_items shoes {{event_properties.${sku}}} %}", "Look the data up before the call"],
    ["{% abort_message('no stock') %}", "targeting of the variant"],
    ["{{content_blocks.${Footer}}}", "{% render 'footer' %}"],
  ],
  "Customer.io": [
    ['<a href="{% unsubscribe_url %}">', "{{ unsubscribe_url }}"],
    ["{% view_in_browser_url %}", "{{ browser_url }}"],
    ["{{ total | currency }}", "{{ total | money: 'USD' }}"],
  ],
  Klaviyo: [
    ["{% if a %}A{% elif b %}B{% endif %}", "{% elsif b %}"],
    ["{% unsubscribe 'Stop' %}", '<a href="{{ unsubscribe_url }}">'],
    ["{{ person|lookup:'Loyalty Points' }}", "{{ person['Loyalty Points'] }}"],
    ["{{ first_name|title }}", "{{ first_name | titlecase }}"],
    ["{% if 'tea' in interests %}{% endif %}", "{% if interests contains 'tea' %}"],
    ["{% for i in items|slice:':3' %}{% endfor %}", "{% for i in items limit: 3 %}"],
    ["{% for i in items %}{{ forloop.counter }}{% endfor %}", "forloop.index"],
    ["{% if items|length > 1 %}{% endif %}", "items.size"],
    ["{# a note #}", "{% comment %}"],
  ],
  HubSpot: [
    ["{{ personalization_token('contact.town', 'your town') }}", "{{ town | default: 'your town' }}"],
    ["{{ contact.firstname|there }}", '{{ firstname | default: "there" }}'],
    ["{{ contact.town|default('x') }}", "{{ contact.town | default: 'x' }}"],
    ["{% set a = b %}", "{% assign a = b %}"],
    ["{{ a|replace('x','y') }}", "{{ a | replace: 'x','y' }}"],
    ["{% for d in deals|sort(attribute='amount') %}", "deals | sort: 'amount'"],
    ["{{ a | first | upper }}", "{{ a | first | upcase }}"],
    ["{{ contact.town | escape_html }}", "{{ contact.town | escape }}"],
    ["{% if a is defined %}{% endif %}", "{% if a != blank %}"],
    ["{{ 'a' if b else 'c' }}", "{% if b %}{{ 'a' }}{% else %}{{ 'c' }}{% endif %}"],
  ],
  Marketo: [
    ["Hi {{lead.First Name:default=there}}", '{{ first_name | default: "there" }}'],
    ["{{my.Event Date}}", "{{ ['Event Date'] }}"],
    ["{{system.unsubscribeLink}}", "{{ unsubscribe_url }}"],
  ],
  listmonk: [
    ["{{ .Subscriber.FirstName }}", "{{ first_name }}"],
    ["{{ .Subscriber.Attribs.city }}", "{{ city }}"],
    ['{{ if eq .Plan "pro" }}', '{% if Plan == "pro" %}'],
    ["{{ range .Items }}", "{% for item in Items %}"],
    ["{{ UnsubscribeURL }}", "{{ unsubscribe_url }}"],
    ["https://x.example/a@TrackLink", "without @TrackLink"],
  ],
  Salesforce: [["Hi {!Contact.FirstName}", "{{ first_name }}"]],
  Mautic: [["Hi {contactfield=firstname|you}", '{{ firstname | default: "you" }}']],
  "Campaign Monitor": [["Hi [firstname,fallback=you]", '{{ firstname | default: "you" }}']],
  FreeMarker: [["<#if name??>", "{% if name != blank %}"]],
  MessageFormat: [["{count, plural, one {# item} other {# items}}", "pluralize"]],
  JavaScript: [["{{ name || 'you' }}", "{{ name | default: 'you' }}"]],
  "mail merge": [["Hi {{First Name}}", "{{ first_name }}"]],
}

/** Copy with a sign that occurs in other texts as well, and the replacement. */
const doubtful: ReadonlyArray<readonly [copy: string, replacement: string]> = [
  ["{{ snippets.footer }}", "{% render 'footer' %}"],
  ["Hi ${first_name}", "{{ first_name }}"],
  ["Hi #{name}", "{{ name }}"],
  ["Hi {$name}", "{{ name }}"],
  ["[[title]]", "{{ title }}"],
  ['[[data:name:"you"]]', "{{ name }}"],
  ["Hi %FIRSTNAME%", "{{ first_name }}"],
  ["Hi @FIRSTNAME@", "{{ first_name }}"],
  ["Hi {first_name}", "{{ first_name }}"],
  ["Hi [FIRSTNAME]", "{{ first_name }}"],
  ["Hi <<First Name>>", "{{ first_name }}"],
  ["Hi {name}, {customer_name}", "{{ name }}"],
  ["Hi { first_name }}", "{{ first_name }}"],
  ["Hi «FirstName»", "{{ first_name }}"],
  ["Hi ##FirstName##", "{{ first_name }}"],
  ["Hi %(name)s", "{{ name }}"],
  ["Hi %name%", "{{ name }}"],
  ["Your address: [Sender_Address]", "Write the words here"],
  ["Stop: [unsubscribe]", "{{ unsubscribe_url }}"],
  ["{{ now | date: '%Y' }}", "{{ 'now' | date: '%Y' }}"],
  ["{{ this.title }}", "{{ item.title }}"],
  ["{{ end }}", "{% endif %}"],
  ["{{ unsubscribeUrl }}", "{{ unsubscribe_url }}"],
  ["{{ unsubscribe_link }}", "{{ unsubscribe_url }}"],
  ["{{ hostedUnsubscribeUrl }}", "{{ unsubscribe_url }}"],
  ["{{ viewInBrowserUrl }}", "{{ browser_url }}"],
  ["{{ view_as_page_url }}", "{{ browser_url }}"],
  ["{{ manage_preferences_link }}", "{{ unsubscribe_url }}"],
]

const legitimate: ReadonlyArray<string> = [
  "50 %% off, and 20%% more tomorrow",
  "I pay 20%%, you pay 30%%",
  "100%% wool, 30%% silk",
  "https://x.example/?q=%20Name%20&r=%7B%7Bx%7D%7D%25%25",
  "{{ first_name | default: 'there' }}, your total is {{ total | money: 'USD' }}",
  "{% if items.size > 1 %}{{ items.size }}{% elsif items.size == 1 %}one{% else %}none{% endif %}",
  "{% for item in items limit: 3 %}{{ forloop.index }}. {{ item.title }}{% endfor %}",
  "{{ html | raw }} {{ content }} {{ safety | default: 'x' }}",
  "{% for this in items %}{{ this.title }}{% endfor %}",
  "{% case tier %}{% when 'gold' %}G{% else %}S{% endcase %}",
  "{% unless a or b %}x{% endunless %}{% if not a %}y{% endif %}",
  "{% raw %}*|FNAME|* %%Name%% <%= a %> {{#if x}} {!User.Name}{% endraw %}",
  "{%- raw -%}{% elif %}{%- endraw -%}",
  "{% comment %}*|FNAME|* {{#if x}}{% endcomment %}",
  "<pre>*|FNAME|* %%Name%% <%= a %></pre>",
  "<p>Merge tags look like <code>*|FNAME|*</code></p>",
  "<style>a{color:red}@media (max-width:600px){.x{width:100%}}</style>",
  "<style>.a{content:'{#x#}'}#b{color:red}</style>",
  '<!--[if mso]><table width="600"><tr><td><![endif]-->Hi<!--[if mso]></td></tr></table><![endif]-->',
  "<!--[if (gte mso 9)|(IE)]><xml><o:AllowPNG/></xml><![endif]-->",
  '<script type="application/ld+json">{"name": "${x}", "a": {"b": 1}}</script>',
  '<td style="mso-line-height-rule:exactly;width:calc(100% - 20px)">{{ x }}</td>',
  "{{ ['First Name'] }} and {{ person['Loyalty Points'] }} and {{ items[0].title }}",
  "{{ customer.first_name }} {{ event.name }} {{ user.name }} {{ contact.email }} {{ person.city }}",
  "{{ end_date }} {{ else_text }} {{ date }} {{ length }} {{ title }} {{ upper }} {{ range }}",
  "[Unsubscribe]({{ unsubscribe_url }}) or [read more](https://x.example)",
  "[ORDER] Your order [#1234] [SALE]",
  "5 < 6 % 2 > 1, 2*|a|*3, a ~ b, -5~10 °C",
  "{sic} {groß} {1} {a, b} { } {🎉}",
  "Write to support@example.com, or to @parlance on X",
  "$5 to $10, $${{ price }} and ${{ price }}",
  "10%OFF%NOW, SAVE%20, %d of %s",
  "« Bonjour » and << back to the shop >>",
  "C# and F#, #hashtag, #1",
  "« Email » ou « Phone », ~A.B~, {0} {1:C}, ## Company",
  '<?xml version="1.0"?><p>{"a":{"b":1}}</p>',
  "Use `${HOME}` in a shell",
  "{{ items | map: 'title' | join: ', ' | upcase }}",
  "{% liquid\nassign a = 1\necho a\n%}",
  "{{ x | replace: '*|', '|*' }} {{ 'now' | date: '%Y-%m-%d' }}",
  "{{ a | split: '{#' }}",
]

describe("copy of other platforms", () => {
  for (const [platform, cases] of Object.entries(refused)) {
    it("has no filter or tag of its own in the tables, and names only own filters", () => {
      for (const [name, { write }] of Object.entries(foreignFilters)) {
        assert.isFalse(filters.has(name), name)
        const named = write.split("|").flatMap((part) => /^\s*([a-z_0-9]+)/.exec(part)?.[1] ?? [])
        for (const one of named) assert.isTrue(filters.has(one), `${name}: ${write}`)
      }
      for (const name of Object.keys(foreignTags)) assert.notInclude(tagNames, name)
    })

    it(`is refused with the Liquid to write: ${platform}`, () => {
      for (const [copy, replacement] of cases) {
        const [first = ""] = faultsOf(copy)
        assert.include(first, replacement, copy)
        assert.match(first, / is written for \S/, copy)
      }
    })
  }

  it("is named also behind another block of Marketing Cloud", () => {
    const found = faultsOf("%%[ SET @a = 1 ]%%Hi %%=v(@name)=%% %%[ ELSE ]%%x%%[ ENDIF ]%% %%FirstName%%")
    assert.lengthOf(found, 5)
    assert.include(found[4]!, "{{ first_name }}")
  })

  it("is named with a warning where its sign occurs in other texts as well", () => {
    for (const [copy, replacement] of doubtful) {
      assert.deepStrictEqual(faultsOf(copy), [], copy)
      assert.include(warningsOf(copy).join(), replacement, copy)
    }
  })

  it("is reported for each placeholder with its line and column, at most 20 for a variable", () => {
    const places = foreignFaults("body", "Hi *|FNAME|*,\nyour {{custom_attribute.${tier}}} and <%= x %>")
    assert.deepStrictEqual(places.map(({ column, line, variable }) => [variable, line, column]), [
      ["body", 1, 4],
      ["body", 2, 6],
      ["body", 2, 39],
    ])
    assert.lengthOf(foreignFaults("v", "*|FNAME|* ".repeat(500)), 20)
  })

  it("can be sent as it is with raw", () => {
    assert.include(faultsOf("*|FNAME|*")[0]!, "put {% raw %} and {% endraw %} around it")
    assert.deepStrictEqual(faultsOf("{% raw %}*|FNAME|*{% endraw %}"), [])
  })
})

describe("texts that only look like copy of other platforms", () => {
  it("are saved without faults and warnings", () => {
    for (const text of legitimate) assert.deepStrictEqual([...faultsOf(text), ...warningsOf(text)], [], text)
  })
})
