import type { Message } from "./message.ts"

export const brazeMessages: Readonly<Record<string, Message>> = {
  "name with a default": {
    from: "braze",
    source: "<p>Hi {{${first_name} | default: 'there'}},</p>",
    shows: [[{ first_name: "Ann" }, "<p>Hi Ann,</p>"], [{ first_name: "" }, "<p>Hi there,</p>"], [
      {},
      "<p>Hi there,</p>",
    ]],
  },
  "custom attributes with members and indices": {
    from: "braze",
    source:
      "{{custom_attribute.${gear}.shoes.brand}} {{custom_attribute.${runs}[0].km}} km, {{custom_attribute.${Home Store}}}",
    shows: [[
      { gear: { shoes: { brand: "Roc" } }, runs: [{ km: 12 }], "Home Store": "Oslo" },
      "Roc 12 km, Oslo",
    ]],
  },
  "condition with braces within braces": {
    from: "braze",
    source:
      "{% if {{custom_attribute.${total_spend}}} > 100 %}10% off{% elsif{{custom_attribute.${total_spend}}} > 0 %}5% off{% else %}Buy now{% endif %}",
    shows: [[{ total_spend: 150 }, "10% off"], [{ total_spend: 20 }, "5% off"], [{}, "Buy now"]],
  },
  "grouping from the right, as here": {
    from: "braze",
    source:
      "{% if ${country} == 'DE' and custom_attribute.${tier} == 'gold' or custom_attribute.${vip} %}A{% else %}B{% endif %}",
    shows: [[{ country: "FR", tier: "x", vip: true }, "B"], [{ country: "DE", tier: "x", vip: true }, "A"]],
    check: [/reads from right to left/],
  },
  "event properties of three sources": {
    from: "braze",
    source:
      "{{event_properties.${product}}} {{canvas_entry_properties.${size}}} {{api_trigger_properties.${code}}} {{context.${step}}}",
    shows: [[{ event: { product: "Tent", size: "L", code: "X1", step: 2 } }, "Tent L X1 2"]],
  },
  "loop over a list of objects": {
    from: "braze",
    source:
      "{% for item in {{event_properties.${items}}} limit: 2 %}<li>{{ item.name }}: {{ item.price | money }}</li>{% endfor %}",
    shows: [[
      { event: { items: [{ name: "A & B", price: 1234.5 }, { name: "C", price: 2 }, { name: "D", price: 3 }] } },
      "<li>A &amp; B: 1,234.50</li><li>C: 2.00</li>",
    ]],
  },
  "assign from braces": {
    from: "braze",
    source: "{% assign days = {{custom_attribute.${days_left}}} | plus: 1 %}{{ days }} days",
    shows: [[{ days_left: 4 }, "5 days"]],
  },
  "link to unsubscribe": {
    from: "braze",
    source: '<a href="{{${set_user_to_unsubscribed_url}}}">Unsubscribe</a>',
    shows: [[{ unsubscribe_url: "https://u.example/1" }, '<a href="https://u.example/1">Unsubscribe</a>']],
  },
  "link to subscribe": {
    from: "braze",
    source: '<a href="{{${set_user_to_subscribed_url}}}">Yes</a>',
    mend: [/Pass the address as a field/],
  },
  "abort": {
    from: "braze",
    source: "{% if {{${first_name}}} == blank %}{% abort_message('no name') %}{% endif %}Hi {{${first_name}}}",
    mend: [/targeting of the variant/],
  },
  "connected content": {
    from: "braze",
    source: "{% connected_content https://api.example/w?c={{${city}}} :save weather %}\nIt is {{weather.temp}} degrees",
    mend: [/Look the data up before the call/],
  },
  "content block": {
    from: "braze",
    source: "<hr>{{content_blocks.${Legal footer} | id: 'cb1'}}",
    shows: [[{}, "<hr>SNIPPET legal-footer"]],
    check: [/as the snippet legal-footer/],
  },
  "catalog": {
    from: "braze",
    source: "{% catalog_items games {{event_properties.${id}}} %}{{ items[0].title }}",
    mend: [/Look the data up/],
  },
  "promotion code": { from: "braze", source: "Code: {% promotion('spring') %}", mend: [/promotion_code/] },
  "subscription state": {
    from: "braze",
    source: "{% if {{subscribed_state.${email_global}}} == 'opted_in' %}Thanks{% endif %}",
    mend: [/targeting of the variant/],
  },
  "translations": {
    from: "braze",
    source: "{% translation hello %}Hello{% endtranslation %} {{${first_name}}}",
    shows: [[{ first_name: "Ann" }, "Hello Ann"]],
    check: [/variant for each language/],
  },
  "filters of other names": {
    from: "braze",
    source: "{{ ${code} | base64 }} {{ custom_attribute.${plans} | property_accessor: 'pro' }}",
    shows: [[{ code: "a b", plans: { pro: 9 } }, "YSBi 9"]],
  },
  "quotient of whole numbers": {
    from: "braze",
    source: "{{ event_properties.${seconds} | divided_by: 86400 }} days",
    shows: [[{ event: { seconds: 200000 } }, "2 days"]],
    check: [/drops the decimals/],
  },
  "raw text and code": {
    from: "braze",
    source: "{% raw %}{{${x}}}{% endraw %} <pre>*|FNAME|*</pre> {{${city}}}",
    shows: [[{ city: "Oslo" }, "{{${x}}} <pre>*|FNAME|*</pre> Oslo"]],
  },
  "context without a dollar sign": {
    from: "braze",
    source: "{{context.order_id}} {{context.${order_id}}}",
    shows: [[{ "event": { "order_id": 7 } }, "7 7"]],
  },
  "quotient of two fields": {
    from: "braze",
    source:
      "{% assign total = {{event_properties.${total}}} %}{% assign n = {{event_properties.${n}}} %}{{ total | divided_by: n }}",
    check: [/Compare the quotient: Liquid of Ruby dro/],
  },
  "raw text": {
    from: "braze",
    source: "{% raw %}{{${x}}}{% endraw %}{{${first_name}}}",
    shows: [[{ "first_name": "A" }, "{{${x}}}A"]],
  },
}

export const customerioMessages: Readonly<Record<string, Message>> = {
  "name with a condition": {
    from: "customerio",
    source: "{% if customer.first_name != blank %}Hello {{ customer.first_name }}!{% else %}Hello there!{% endif %}",
    shows: [[{ first_name: "Ann" }, "Hello Ann!"], [{}, "Hello there!"]],
  },
  "attribute with a space": {
    from: "customerio",
    source: "{{ customer['Preferred Name'] | default: \"you\" }} {{customer.plan.name | upcase}}",
    shows: [[{ "Preferred Name": "Annie", plan: { name: "pro" } }, "Annie PRO"]],
  },
  "event and trigger": {
    from: "customerio",
    source:
      "{% for item in event.items %}{{ item.title }}{% unless forloop.last %}, {% endunless %}{% endfor %} {{ trigger.code }}",
    shows: [[{ event: { items: [{ title: "A" }, { title: "B" }], code: "S" } }, "A, B S"]],
  },
  "currency with a locale": {
    from: "customerio",
    source: '{{ event.total | currency: "de-de" }} {{ 10 | currency }}',
    shows: [[{ event: { total: 1234.5 } }, "1.234,50\u00a0€ $10.00"]],
  },
  "date some days later": {
    from: "customerio",
    source: '{{ event.date | add_day: 3 | date: "%B %-d" }}',
    shows: [[{ event: { date: "2026-03-30" } }, "April 2"]],
  },
  "time zone": {
    from: "customerio",
    source: "{{ event.at | timezone: 'Europe/Berlin' | date: '%H:%M' }}",
    shows: [[{ event: { at: "2026-01-05T10:00:00Z" } }, "11:00"]],
  },
  "links": {
    from: "customerio",
    source:
      '<a href="{% unsubscribe_url %}">Out</a> <a href="{% view_in_browser_url %}">Web</a> <a href="{% manage_subscription_preferences_url %}">Prefs</a>',
    shows: [[
      { unsubscribe_url: "u", browser_url: "b", preferences_url: "p" },
      '<a href="u">Out</a> <a href="b">Web</a> <a href="p">Prefs</a>',
    ]],
    check: [/browser_url/, /preferences_url/],
  },
  "snippet": {
    from: "customerio",
    source: "Bye {{ snippets.footer }}",
    shows: [[{}, "Bye SNIPPET footer"]],
    check: [/as the snippet footer/],
  },
  "layout": { from: "customerio", source: "<html>{{content}}</html>", mend: [/frame of the layout/] },
  "random": { from: "customerio", source: "{% random 6 %}", mend: [/variant for each text/] },
  "countdown": {
    from: "customerio",
    source: "{{ event.end | countdown: 'red' }}",
    mend: [/"countdown" has no equivalent/],
  },
  "months later": {
    from: "customerio",
    source: "{{ 'now' | add_month: 1 | date: '%B' }}",
    mend: [/no equivalent/],
  },
  "variable with the name of a field": {
    from: "customerio",
    source: "{% assign first_name = customer.first_name | default: 'X' %}{{ first_name }}{{customer.first_name}}",
    mend: [/Rename the variable first_name: the field first_name of the /],
  },
  "loop with the name of a field": {
    from: "customerio",
    source: "{% for plan in customer.plans %}{{plan}}-{{customer.plan}};{% endfor %}",
    mend: [/Rename the variable plan: the field plan of the person has t/],
  },
}

export const otherLiquidMessages: Readonly<Record<string, Message>> = {
  "OneSignal tags": {
    from: "onesignal",
    source: "Hi {{ user.tags.first_name | default: 'there' }}",
    shows: [[{ first_name: "Ann" }, "Hi Ann"]],
  },
  "CleverTap profile and event": {
    from: "clevertap",
    source: "{% if Profile.Tier == 'gold' %}{{ Profile.Name | default: 'you' }}{% endif %} {{ Event.Amount }}",
    shows: [[{ Tier: "gold", Name: "Ann", event: { Amount: 5 } }, "Ann 5"]],
  },
  "Dittofeed user and link": {
    from: "dittofeed",
    source: "{{ user.firstName }} {% unsubscribe_link here %}",
    shows: [[{ firstName: "Ann", unsubscribe_url: "u" }, 'Ann <a href="u">here</a>']],
  },
}
