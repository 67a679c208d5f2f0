import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { GivenUserId, isIdText } from "../../src/domain/Ids.ts"
import {
  collectPlaceholders,
  idFault,
  type Placeholder,
  placeholderIn,
  placeholderInId,
  suspectPartOf,
} from "../../src/text/Placeholders.ts"

/** What platforms, languages and spreadsheets write for a value that they do not have. */
const everywhere = [
  ...[
    "null",
    "NULL",
    "Null",
    "undefined",
    "Undefined",
    "None",
    "none",
    "NONE",
    "nil",
    "NaN",
    "nan",
    "N/A",
    "n/a",
    "#N/A",
  ],
  ...[
    " null",
    "null ",
    "\u200bnull",
    "\u00a0None\n",
    '"null"',
    "'undefined'",
    "`nil`",
    "(null)",
    "<null>",
    "<nil>",
    "[None]",
  ],
  ...["(not set)", "<no value>", "(unknown)", "<NA>", "\\N", "#REF!", "[object Object]", "[object Promise]"],
  // Liquid, Handlebars, Jinja, HubSpot, Marketo, Braze
  ...[
    "{{user.id}}",
    "{{ customer.tier | default: 'x' }}",
    "{{{name}}}",
    "{{${user_id}}}",
    "{{lead.Email Address:default=x}}",
  ],
  ...["{% if a %}", "{%= profile.email %}", "{{\nname\n}}"],
  // Marketing Cloud, Mailchimp, ERB, Iterable, Mailgun, SendGrid, Salesforce, Emarsys, dotdigital, Keap, MailerLite
  ...[
    "%%FirstName%%",
    "%%=v(@tier)=%%",
    "%%[SET @a = 1]%%",
    "*|FNAME|*",
    "*|IF:TIER|*",
    "<%= recipient.email %>",
    "[[tier]]",
  ],
  ...["%recipient.tier%", "%FIRSTNAME%", "%ADDRESS%", "[%first_name | x%]", "{!Contact.Email}", "$email$", "@EMAIL@"],
  ...["~Contact.FirstName~", "<<First Name>>", "{$email}", "#{tier}", "@{triggerBody()}", "${tier}", "user-${id}"],
  // Programs
  ...["{first_name}", "{0}", "{}", "%s", "%d", "%@", "%(name)s", "%!s(<nil>)", "%7B%7Buser.id%7D%7D", "%25%25id%25%25"],
  ...["__CAMPAIGN_ID__", "<?= $id ?>", "<?php echo $row['id']; ?>", "{address1}", "{field_12}"],
  // Escaped for HTML, with an invisible character inside, and first and last name of nobody
  ...["&#123;&#123; user.id &#125;&#125;", "&lt;%= id %&gt;", "nu\u200bll", "un\u00addefined"],
  ...["undefined undefined", "null-null", "undefined@undefined", "None None", "null:undefined"],
]

const onlyInIds = [
  "user-{id}",
  "<user_id>",
  "<your-id>",
]

const real = [
  ...[
    "ann",
    "Nancy",
    "none-vip",
    "Nina Nilsson",
    "nullable",
    "Noneuclid",
    "na",
    "NA",
    "unknown",
    "empty",
    "0",
    "-",
    "true",
  ],
  ...[
    "0190b1f2-3c4d-7abc-8def-0123456789ab",
    "{6F9619FF-8B86-D011-B42D-00CF4FC964FF}",
    "user[1]",
    "[DRAFT]",
    "__proto__",
  ],
  ...[
    "<ann@example.com>",
    "ann+x@example.com",
    "50%%",
    "100%",
    "a%20b%20c",
    "%D0%BF%D1%80",
    "%C3%A9t%C3%A9",
    "5 * | 2",
  ],
  ...[
    "a*|b",
    "$5",
    "$5 or $6",
    "@ann",
    "~10",
    "__init",
    "#1",
    "x < y %",
    "Zoë",
    "日本語",
    "price: {",
    "}}",
    "C:\\n",
    "",
  ],
  // Filled in between braces, such as hash tags of Redis
  ...[
    "user:{42}",
    "user{1}",
    "{42}",
    "crm-{f81d4fae}",
    "{507f191e810c19729de860ea}",
    "Tom & Jerry",
    "&#39;",
    "<?xml version='1.0'?>",
  ],
]

describe("an unfilled placeholder", () => {
  it("is found as an id and as a value, for every system", () => {
    for (const text of everywhere) {
      assert.isDefined(placeholderInId(text), `as an id: ${text}`)
      assert.isDefined(placeholderIn(text), `as a value: ${text}`)
    }
    for (const text of onlyInIds) {
      assert.isDefined(placeholderInId(text), text)
      assert.isUndefined(placeholderIn(text), text)
    }
  })

  it("is found within a longer value if its notation is unambiguous", () => {
    assert.strictEqual(placeholderIn("Hi {{ name }}, welcome"), "{{ name }}")
    assert.strictEqual(placeholderIn("Hi *|FNAME|*"), "*|FNAME|*")
    assert.strictEqual(placeholderInId("ann@{{domain}}"), "{{domain}}")
    for (
      const text of ["Mr. Null", "None of these", "f{x}", '{"a":{"b":1}}', "%s items", "x".repeat(1_001) + "{{ a }}"]
    ) {
      assert.isUndefined(placeholderIn(text), text)
    }
  })

  it("is not found in real ids and values", () => {
    for (const text of real) {
      assert.isUndefined(placeholderInId(text), `as an id: ${text}`)
      assert.isUndefined(placeholderIn(text), `as a value: ${text}`)
    }
  })

  it("is suspected in a part of an id that looks like a failed conversion", () => {
    assert.strictEqual(suspectPartOf("user-undefined"), "undefined")
    assert.strictEqual(suspectPartOf("null@example.com"), "null")
    assert.strictEqual(suspectPartOf("order/42/NULL"), "null")
    for (const id of ["none-vip", "nullable-1", "user-42", "nan@example.com"]) assert.isUndefined(suspectPartOf(id), id)
  })

  it("is reported as an id with its shortened text", () => {
    assert.strictEqual(
      idFault("{{user.id}}"),
      'has the placeholder "{{user.id}}", which nobody filled in. Send the id itself',
    )
    assert.strictEqual(idFault(" \t"), "must not be white space alone")
    assert.isBelow(idFault(`{{${"x".repeat(190)}}}`)!.length, 140)
    assert.isUndefined(idFault("ann"))
    const accepts = Schema.is(GivenUserId)
    for (const id of [...everywhere, ...onlyInIds, ...real]) assert.strictEqual(isIdText(id), accepts(id), id)
  })

  it("is found in names and values at any depth, by JSON pointer", () => {
    const found: Array<Placeholder> = []
    collectPlaceholders({ a: { "b/c": ["x", "{{ y }}"] }, "*|NAME|*": 1, d: null, e: 5, f: "ok" }, "/fields", found)
    assert.deepStrictEqual(found, [
      { at: "/fields/*|NAME|*", text: "*|NAME|*", isName: true },
      { at: "/fields/a/b~1c/1", text: "{{ y }}" },
    ])
    const many: Array<Placeholder> = []
    collectPlaceholders(Array(100).fill("null"), "/fields/x", many)
    assert.lengthOf(many, 10)
    collectPlaceholders(undefined, "/fields", many)
    collectPlaceholders("null", "/fields", many)
    assert.lengthOf(many, 10)
  })
})
