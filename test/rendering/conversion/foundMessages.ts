import type { Message } from "./message.ts"

const now = /the other platform makes it/

/** Kinds of copy that were found in public repositories. Names and texts are new. */
export const foundMessages: Readonly<Record<string, Message>> = {
  "Braze: whole days between two dates": {
    from: "braze",
    source:
      "{% assign a = {{custom_attribute.${a}}} | date: '%s' %}{% assign b = {{custom_attribute.${b}}} | date: '%s' %}" +
      "{{ b | minus: a | divided_by: 86400 }} days",
    shows: [[{ a: "2026-11-25T18:00:00Z", b: "2026-11-30T12:00:00Z" }, "4 days"]],
    check: [/Compare the quotient/],
  },
  "Braze: values around a shared block": {
    from: "braze",
    source: "{% capture block %}{{content_blocks.${footer}}}{% endcapture %}{{block | strip}}",
    shows: [[{}, "SNIPPET footer"]],
    check: [/Save the shared block as the snippet footer/],
  },
  "Braze: a greeting by the hour of the person": {
    from: "braze",
    source: "{% assign hour = {{event_properties.${at}}} | time_zone: {{${time_zone}}} | date: '%H' | plus: 0 %}" +
      "{% if hour < 12 %}Morning{% else %}Evening{% endif %}",
    shows: [[{ event: { at: "2026-11-30T12:00:00Z" }, time_zone: "America/New_York" }, "Morning"]],
  },
  "Braze: a filter of Ruby": {
    from: "braze",
    source: "{% assign n = {{custom_attribute.${ticket}}} | to_i %}{{n}}",
    mend: [/"to_i" has no equivalent/],
  },
  "Customer.io: values of the campaign": {
    from: "customerio",
    source: "{{ campaign.name }} {{ delivery_id }} {{ customer.city }}",
    mend: [now, now],
  },
  "Customer.io: a link that is not tracked": {
    from: "customerio",
    source: '<a href="{% cio_link url:https://x.example/a track:false %}">x</a>',
    shows: [[{}, '<a href="https://x.example/a">x</a>']],
    check: [/this link was not tracked/],
  },
  "Iterable: values of the campaign": {
    from: "iterable",
    source: '<a href="https://x.example/?c={{campaignId}}">{{firstName}}</a>{{#each items}}{{campaignId}}{{/each}}',
    mend: [now, now],
  },
  "Iterable: conditions in a chain": {
    from: "iterable",
    source: '{{#ifEq "MUST" kind}}must{{else ifEq "SHOULD" kind}}should{{else}}may{{/ifEq}}',
    shows: [[{ kind: "SHOULD" }, "should"], [{ kind: "x" }, "may"]],
  },
  "Klaviyo: a whole link in the address of another one": {
    from: "klaviyo",
    source: `<a href="{% unsubscribe %}">Out</a> <a href='{% unsubscribe_link %}'>Out</a> {% unsubscribe 'Bye' %}`,
    shows: [[
      { unsubscribe_url: "u" },
      `<a href="u">Out</a> <a href='u'>Out</a> <a href="u">Bye</a>`,
    ]],
  },
  "Klaviyo: the preview text": {
    from: "klaviyo",
    source: "{% render_variable preview_text %}{{ message.name }}",
    mend: [/write the preheader/, now],
  },
  "Klaviyo: a property with a space, and or": {
    from: "klaviyo",
    source: "{% if person|lookup:'Active Type' and not a or b %}Y{% else %}N{% endif %}",
    shows: [[{ "Active Type": "x", a: false }, "Y"], [{ b: true }, "Y"], [{ a: true }, "N"]],
  },
  "HubSpot: times of the rendering": {
    from: "hubspot",
    source: "{{ year }} {{ local_dt|datetimeformat('%Y') }} {% set d = now() %}{{ d|datetimeformat('%Y') }}",
    shows: [[{}, "1970 1970 1970"]],
    check: [/where the date is shown/],
  },
  "HubSpot: a time without a format": {
    from: "hubspot",
    source: "{{ today() }} {{ local_dt }} {{ content.name }}",
    mend: [/with the format to show/, /with the format to show/, now],
  },
  "Mailchimp: a tag in a tag": {
    from: "mailchimp",
    source: "*|IF:BIRTHDAY=*|DATE:m/d|*|*Happy birthday*|END:IF|*",
    mend: [/a tag in a tag has no equivalent/],
  },
  "Mailchimp: values of the campaign": {
    from: "mailchimp",
    source: "*|FNAME|* *|CAMPAIGN_UID|* *|UNIQID|* *|ABOUT_LIST|*",
    mend: [now, now, /no such link/],
  },
  "Mailchimp: an attribute by a condition": {
    from: "mailchimp",
    source: '<option value="A"*|IF:COUNTRY=A|* selected*|END:IF|*>A</option>',
    shows: [[{ country: "A" }, '<option value="A" selected>A</option>'], [{}, '<option value="A">A</option>']],
  },
  "Marketing Cloud: dates of the sending": {
    from: "sfmc",
    source: "%%xtmonth%% %%xtyear%% %%xtdayofweek%% %%xtshortdate%% %%xtmonthnumeric%%/%%xtday%%",
    shows: [[{}, "January 1970 Thursday 1/1/1970 1/1"]],
  },
  "Marketing Cloud: values of the job": {
    from: "sfmc",
    source: "%%jobid%% %%FirstName%% %%Member_Busname%%",
    mend: [now, /Write the words here/],
  },
  "Marketing Cloud: OR before AND": {
    from: "sfmc",
    source: '%%[ IF PlanA == "1" OR PlanB == "1" AND PlanC == "1" THEN ]%%Y%%[ ELSE ]%%N%%[ ENDIF ]%%',
    shows: [[{ PlanA: "1" }, "Y"], [{ PlanB: "1" }, "N"]],
  },
  "Marketo: tokens that look like Liquid": {
    from: "marketo",
    source: "{{my.Title}} {{lead.City}} {{trigger.Name}} {{program.Id}}",
    mend: [now, now],
  },
  "OneSignal: values of the app": {
    from: "onesignal",
    source: "{{ app.name }} {{ message.custom_data.order.id }}",
    mend: [now],
  },
  "SendGrid: substitution tags": {
    from: "sendgrid",
    source: "<p style='-webkit-box-flex:1'>Hi -name-, #city#. {{#greaterThan n 2}}many{{else}}few{{/greaterThan}}</p>",
    shows: [[{ n: 3 }, "<p style='-webkit-box-flex:1'>Hi -name-, #city#. many</p>"]],
    check: [/\{\{ name \}\} if this is a substitution tag/, /\{\{ city \}\}/],
  },
}
