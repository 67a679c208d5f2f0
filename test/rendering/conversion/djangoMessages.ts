import type { Message } from "./message.ts"

export const klaviyoMessages: Readonly<Record<string, Message>> = {
  "name with a default": {
    from: "klaviyo",
    source: "Hi {{ first_name|default:'friend' }} {{ person.first_name|title }}",
    shows: [[{ first_name: "ann LEE" }, "Hi ann LEE Ann Lee"], [{}, "Hi friend "]],
  },
  "default of a number": {
    from: "klaviyo",
    source: "{{ event.quantity|default:'no' }} left",
    shows: [[{ event: { quantity: 0 } }, "no left"], [{ event: { quantity: 3 } }, "3 left"], [
      { event: {} },
      "no left",
    ]],
  },
  "lookup": {
    from: "klaviyo",
    source: "{{ person|lookup:'Loyalty Points' }} {% if event|lookup:'$value' > 50 %}Big{% endif %}",
    shows: [[{ "Loyalty Points": 7, event: { $value: 60 } }, "7 Big"], [{ event: { $value: 6 } }, " "]],
  },
  "missing values": {
    from: "klaviyo",
    source: "{% if person.points %}P{% elif event.code %}C{% else %}N{% endif %}{% if not person.city %}?{% endif %}",
    shows: [
      [{ points: 3, city: "x" }, "P"],
      [{ points: 0, event: { code: "a" } }, "C?"],
      [{ points: "", event: { code: [] } }, "N?"],
    ],
  },
  "grouping from the left": {
    from: "klaviyo",
    source: "{% if person.a and person.b or person.c %}X{% else %}Y{% endif %}",
    shows: [[{ a: 0, b: 0, c: 1 }, "X"], [{ a: 1, b: 0, c: 0 }, "Y"], [{ a: 1, b: 1 }, "X"], [{ a: 1 }, "Y"]],
  },
  "two groups": {
    from: "klaviyo",
    source:
      "{% if a == 1 and b == 2 or c == 3 and d == 4 %}X{% elif a == 9 and b == 9 or c == 9 and d == 9 %}Z{% else %}Y{% endif %}",
    shows: [
      [{ a: 1, b: 2, c: 0, d: 0 }, "X"],
      [{ a: 0, b: 2, c: 3, d: 4 }, "X"],
      [{ a: 1, b: 0, c: 3, d: 0 }, "Y"],
      [{ a: 9, b: 9 }, "Z"],
      [{ c: 9, d: 9 }, "Z"],
    ],
  },
  "negated group": {
    from: "klaviyo",
    source: "{% if not a and b %}X{% else %}Y{% endif %}",
    shows: [[{ b: 1 }, "X"], [{ a: 1, b: 1 }, "Y"], [{ a: 0, b: "t" }, "X"]],
  },
  "member of a list": {
    from: "klaviyo",
    source: "{% if 'tea' in person.interests %}T{% endif %}{% if 'tea' not in person.interests %}N{% endif %}",
    shows: [[{ interests: ["tea"] }, "T"], [{ interests: ["x"] }, "N"]],
  },
  "filter in a condition": {
    from: "klaviyo",
    source: "{% if event.items|length > 1 %}many{% else %}few{% endif %} {{ event.items.0.title }}",
    shows: [[{ event: { items: [{ title: "A" }, { title: "B" }] } }, "many A"], [
      { event: { items: [{ title: "A" }] } },
      "few A",
    ]],
  },
  "loop with slice, counter and empty": {
    from: "klaviyo",
    source:
      "{% for item in event.items|slice:':2' %}{{ forloop.counter }}. {{ item.name|default:'?' }}{% if not forloop.last %}, {% endif %}{% empty %}none{% endfor %}",
    shows: [
      [{ event: { items: [{ name: "A" }, { name: "" }, { name: "C" }] } }, "1. A, 2. ?"],
      [{ event: { items: [] } }, "none"],
    ],
  },
  "with keeps the name outside": {
    from: "klaviyo",
    source: "{{ city }} {% with city=event.city %}{{ city }}{% endwith %} {{ city }}",
    shows: [[{ city: "Oslo", event: { city: "Rome" } }, "Oslo Rome Oslo"]],
  },
  "filters": {
    from: "klaviyo",
    source:
      "{{ a|upper }} {{ b|capfirst }} {{ c|truncatechars:5 }} {{ d|truncatewords:2 }} {{ e|floatformat:2 }} {{ f|join:', ' }} {{ n|add:1 }} {{ h|safe }} {{ q|urlencode }}",
    shows: [[
      { a: "x", b: "aBC", c: "abcdefgh", d: "one two three", e: 1234.5, f: ["p", "q"], n: 2, h: "<b>", q: "a b/c" },
      "X ABC abcd… one two … 1234.50 p, q 3 <b> a%20b/c",
    ]],
  },
  "plural": {
    from: "klaviyo",
    source: "{{ n }} item{{ n|pluralize }}, {{ m }} cherr{{ m|pluralize:'y,ies' }}",
    shows: [[{ n: 1, m: 2 }, "1 item, 2 cherries"], [{ n: 0, m: 1 }, "0 items, 1 cherry"]],
  },
  "absent, but not empty": {
    from: "klaviyo",
    source: "[{{ x|default_if_none:'none' }}]",
    shows: [[{ x: "" }, "[]"], [{ x: null }, "[none]"], [{ x: 5 }, "[5]"]],
  },
  "dates with letters of PHP": {
    from: "klaviyo",
    source: "{{ event.at|format_date_string|date:'F j, Y' }}",
    shows: [[{ event: { at: "2026-03-04" } }, "March 4, 2026"]],
  },
  "escaping": {
    from: "klaviyo",
    source: "{{ person.name }} {{ person.bio|safe }}",
    shows: [[{ name: "A<b", bio: "<i>" }, "A&lt;b <i>"]],
  },
  "links": {
    from: "klaviyo",
    source: "{% unsubscribe %} {% unsubscribe 'Stop' %} <a href=\"{% unsubscribe_link %}\">x</a> {% web_view 'Web' %}",
    shows: [[
      { unsubscribe_url: "u", browser_url: "w" },
      '<a href="u">Unsubscribe</a> <a href="u">Stop</a> <a href="u">x</a> <a href="w">Web</a>',
    ]],
    check: [/browser_url/],
  },
  "comments": {
    from: "klaviyo",
    source: "a{# {{ x }} #}b{% comment %}{{ y|odd }}{% endcomment %}c",
    shows: [[{}, "abc"]],
  },
  "coupon": { from: "klaviyo", source: "{% coupon_code 'Spring' %}", mend: [/coupon_code/] },
  "catalog": {
    from: "klaviyo",
    source: "{% catalog event.id unpublished='cancel' %}{{ catalog_item.title }}{% endcatalog %} {{ first_name }}",
    mend: [/Look the data up/],
  },
  "company": {
    from: "klaviyo",
    source: "{{ organization.name }}, {{ organization.full_address }}",
    mend: [/Write the words/, /Write the words/],
  },
  "outer loop": {
    from: "klaviyo",
    source: "{% for a in x %}{% for b in a %}{{ forloop.parentloop.counter }}{% endfor %}{% endfor %}",
    mend: [/outer loop/],
  },
  "words of Liquid in quotes": {
    from: "klaviyo",
    source:
      "{% if event.title == 'Box blank card' %}A{% endif %}{% if person.plan == 'x contains y' %}B{% endif %}{{ person.name|default:'it is nil ok' }}",
    shows: [[{ "event": { "title": "Box blank card" }, "plan": "x contains y", "name": "N" }, "ABN"], [
      {},
      "it is nil ok",
    ]],
  },
  "members of an object": {
    from: "klaviyo",
    source: "{% for key, value in event.props.items %}{{ key }}={{ value }};{% endfor %}",
    shows: [[{ "event": { "props": { "a": 1, "b": 2 } } }, "a=1;b=2;"]],
  },
  "rounded number that is compared with a text": {
    from: "klaviyo",
    source: "{% if 1 < event.n|length %}Y{% endif %}{% if event.total|floatformat:0 == '5' %}F{% endif %}",
    shows: [[{ "event": { "n": [1, 2], "total": 5.2 } }, "YF"]],
  },
  "text that is added to a text": {
    from: "klaviyo",
    source: "{{ 'Hi '|add:first_name }}",
    shows: [[{ "first_name": "A" }, "Hi A"]],
  },
  "length of an absent list": {
    from: "klaviyo",
    source: "{{ event.Items|length }} {% if event.Items|length > 1 %}s{% endif %}",
    shows: [[{ "event": { "Items": [1, 2] } }, "2 s"], [{}, "0 "]],
  },
  "length that is 0": {
    from: "klaviyo",
    source: "{% if event.Items|length == 0 %}none{% elif event.Items|length > 1 %}many{% else %}one{% endif %}",
    shows: [[{}, "none"], [{ "event": { "Items": [] } }, "none"], [{ "event": { "Items": [1] } }, "one"], [{
      "event": { "Items": [1, 2] },
    }, "many"]],
  },
}

export const jinjaMessages: Readonly<Record<string, Message>> = {
  "HubSpot names": {
    from: "hubspot",
    source: "{{ contact.firstname|default('there', true) }} {{ personalization_token('contact.city', 'town') }}",
    shows: [[{ firstname: "Ann" }, "Ann town"], [{ city: "Oslo" }, "there Oslo"]],
  },
  "HubSpot expressions": {
    from: "hubspot",
    source:
      "{% set n = contact.orders + 1 %}{{ n }} {{ contact.firstname ~ '!' }} {{ 'VIP' if contact.tier == 'gold' else 'you' }}",
    shows: [[{ orders: 2, firstname: "A", tier: "gold" }, "3 A! VIP"], [{ orders: 0, firstname: "B" }, "1 B! you"]],
  },
  "HubSpot conditions": {
    from: "hubspot",
    source:
      "{% if (contact.a or contact.b) and contact.c %}X{% endif %}{% if contact.d is defined %}D{% endif %}{% if contact.t in ['x', 'y'] %}T{% endif %}",
    shows: [[{ a: 0, b: 1, c: 1, t: "y" }, "XT"], [{ a: 1, d: 0, t: "z" }, "D"]],
  },
  "HubSpot loop": {
    from: "hubspot",
    source:
      "{% for p in contact.items %}{{ loop.index }}{{ p.name|upper }}{% if not loop.last %}-{% endif %}{% endfor %}",
    shows: [[{ items: [{ name: "a" }, { name: "b" }] }, "1A-2B"]],
  },
  "HubSpot modules and data": {
    from: "hubspot",
    source: "{% module 'm' path='/x' %}{% set d = crm_object('deal', 1) %}{{ site_settings.company_name }}",
    mend: [/shared block/, /crm_object\(\) has no equivalent/, /Write the words/],
  },
  "HubSpot links": {
    from: "hubspot",
    source: '<a href="{{ unsubscribe_link_all }}">Out</a> <a href="{{ view_as_page_url }}">Web</a>',
    shows: [[{ unsubscribe_url: "u", browser_url: "w" }, '<a href="u">Out</a> <a href="w">Web</a>']],
  },
  "MoEngage attributes": {
    from: "moengage",
    source:
      "{{UserAttribute['First Name']|default('Hi')}} {% if EventAttribute['Price'] > 10 %}{{EventAttribute.Name}}{% endif %}",
    shows: [[{ "First Name": "Ann", event: { Price: 20, Name: "Tent" } }, "Ann Tent"]],
  },
  "text that is cut within a word": {
    from: "hubspot",
    source: "{{ contact.bio|truncate(10, true, '') }}",
    shows: [[{ "bio": "abcdefghijklmnop" }, "abcdefghij"]],
  },
  "text that is cut behind a word": {
    from: "hubspot",
    source: "{{ contact.bio|truncate(12) }}",
    mend: [/Write \| truncate: 20, which ends within words, or \| truncate/],
  },
  "sort by a member": {
    from: "hubspot",
    source: "{% for i in items|sort(False, False, 'price') %}{{ i.name }}{% endfor %}",
    shows: [[{ "items": [{ "name": "b", "price": 2 }, { "name": "a", "price": 1 }] }, "ab"]],
  },
  "reversed sort": {
    from: "hubspot",
    source: "{% for i in items|sort(true) %}{{ i }}{% endfor %}",
    shows: [[{ "items": [1, 3, 2] }, "321"]],
  },
  "sort by a named argument": {
    from: "hubspot",
    source: "{% for i in items|sort(attribute='price') %}{{ i.name }}{% endfor %}",
    shows: [[{ "items": [{ "name": "b", "price": 2 }, { "name": "a", "price": 1 }] }, "ab"]],
  },
  "reversed sort by a named argument": {
    from: "hubspot",
    source: "{% for i in items|sort(attribute='price', reverse=true) %}{{ i.name }}{% endfor %}",
    shows: [[{ "items": [{ "name": "b", "price": 2 }, { "name": "a", "price": 1 }] }, "ba"]],
  },
  "manner of rounding": {
    from: "hubspot",
    source: "{{ x|round(1, 'floor') }} {{ x|round(2) }}",
    mend: [/Compute the value before the call, and pass it as a field: "/],
  },
  "members that are joined": {
    from: "hubspot",
    source: "{{ items|join(', ', attribute='name') }}",
    shows: [[{ "items": [{ "name": "a" }, { "name": "b" }] }, "a, b"]],
  },
  "count of replacements": {
    from: "hubspot",
    source: "{{ 'aaa'|replace('a', 'b', 1) }}",
    mend: [/Compute the value before the call, and pass it as a field: "/],
  },
  "limit of a split": {
    from: "hubspot",
    source: "{{ contact.name|split(' ', 2)|last }}",
    mend: [/Compute the value before the call, and pass it as a field: "/],
  },
  "names that are added": {
    from: "hubspot",
    source: "{{ contact.firstname + contact.lastname }}",
    shows: [[{ "firstname": "A", "lastname": "B" }, "AB"]],
  },
  "state of a loop without an equivalent": {
    from: "hubspot",
    source: "{% for i in items %}{{ loop.previtem }}{{ loop.depth }}{% endfor %}",
    mend: [
      /Compute the value before the call: loop\.previtem has no equi/,
      /Compute the value before the call: loop\.depth has no equival/,
    ],
  },
  "white space around tags": {
    from: "hubspot",
    source: "a {%- if contact.x -%} b {%- endif %} c {{- contact.y }}",
    shows: [[{ "x": 1, "y": 2 }, "ab c2"]],
  },
  "filter for each element": {
    from: "hubspot",
    source: "{{ words|map('upper')|join('/') }}",
    mend: [/Compute the value before the call, and pass it as a field: "/],
  },
  "reversed text": {
    from: "hubspot",
    source: "{{ 'abc'|reverse }} {{ items|reverse|join('') }}",
    mend: [/Compute the value before the call, and pass it as a field: "/],
  },
  "person without a message": {
    from: "moengage",
    source: "{% set name = UserAttribute['First Name'] %}{% if name %}Hi {{name}}{% else %}{{MOE_NOT_SEND}}{% endif %}",
    mend: [/Choose who gets the message by the targeting of the variant,/],
  },
  "time of sending that is compared": {
    from: "hubspot",
    source: "{% if contact.until > now() %}valid{% endif %}",
    mend: [/Compare seconds/],
  },
}
