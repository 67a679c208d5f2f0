import { assert, it } from "@effect/vitest"
import { type Answer, assertProblem, pointersOf, read, suiteOnService, variants } from "./harness.ts"

const warnings = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.headers.get("parlance-warnings")
}

suiteOnService("Unfilled placeholders and lookalike values", (bench) => {
  it("are rejected as ids by every call with the text and the member", async () => {
    const org = await bench.organization("unfilled-ids")
    await org.template({ id: "t", variants: variants("a", "b") })
    const delay = async (query: Record<string, string>) =>
      read(
        await bench.service.request(`/api/delay/${org.slug}?${new URLSearchParams(query)}`, {
          headers: { "x-api-key": org.key },
        }),
      )
    for (const text of ["null", "{{user.id}}", "%%_subscriberkey%%", "*|UNIQID|*", "[object Object]", " None "]) {
      const cases: ReadonlyArray<readonly [Answer, ReadonlyArray<string>]> = [
        [await org.post({ template_id: text }), ["/template_id"]],
        [
          await org.post({ template_id: "t", tracking_id: text, user_id: text }),
          ["/tracking_id", "/user_id"],
        ],
        [await org.get({ template_id: "t", user_id: text }), ["user_id"]],
        [
          await org.batch({ requests: [{ template_id: "t", tracking_id: text, copy_id: text }], user_id: text }),
          ["/requests/0/copy_id", "/requests/0/tracking_id", "/user_id"],
        ],
        [await delay({ delay_id: text }), ["delay_id"]],
        [await delay({ delay_id: "a", user_id: text, email: text }), ["email", "user_id"]],
      ]
      for (const [answer, pointers] of cases) {
        assertProblem(answer, 400, "invalid-request", text)
        assert.deepStrictEqual(pointersOf(answer), pointers, text)
        assert.include(answer.json.errors[0].detail, `has the placeholder ${JSON.stringify(text)}`)
      }
    }
    assert.deepStrictEqual(await org.decisions(), [])
    const { status } = await bench.service.manage("POST", `/organizations/${org.slug}/templates`, {
      id: "None",
      name: "N",
    })
    assert.strictEqual(status, 400)
  })

  it("cause warnings in fields and attrs of POST, GET and batches without a rejection", async () => {
    const org = await bench.organization("unfilled-values")
    await org.template({
      id: "t",
      variants: [
        { id: "gold", vars: {}, targeting: [{ attribute: "tier", op: "is", values: ["gold"] }] },
        { id: "free", vars: {}, targeting: [{ attribute: "plan", op: "is", values: ["None"] }] },
        { id: "all", vars: { s: "Hi" } },
      ],
    })
    const body = { template_id: "t", attrs: { tier: "{{customer.tier}}" }, fields: { a: { "b;c": ["*|FNAME|*"] } } }
    const both = 'the member "/attrs/tier" has the placeholder "{{customer.tier}}", which nobody filled in; ' +
      'the member "/fields/a/b?c/0" has the placeholder "*|FNAME|*", which nobody filled in'
    assert.strictEqual(warnings(await org.post(body)), both)
    const { template_id, ...shared } = body
    assert.strictEqual(warnings(await org.batch({ ...shared, requests: [{ template_id }] })), both)
    assert.strictEqual(
      warnings(await org.get({ template_id, "attrs[tier]": "null", "fields[name]": "Ann" })),
      'the parameter "attrs[tier]" has the placeholder "null", which nobody filled in',
    )
    assert.include(warnings(await org.post({ template_id, user_id: "user-undefined" })), '"/user_id" has')
    assert.include(warnings(await org.post({ template_id, fields: { "{{ name }}": 1 } })), "has as its name the")
    assert.isNull(warnings(await org.post({ template_id, attrs: { plan: "none" } })), "the targeting asks for it")
    assert.isNull(warnings(await org.post({ template_id, attrs: { plan: null, tier: null }, fields: { n: null } })))
    const nope = await org.post({ template_id: "nope", attrs: { a: "null" } })
    assert.strictEqual(nope.status, 404)
    assert.include(nope.headers.get("parlance-warnings"), '"/attrs/a"', "also with a refusal")
  })

  it("cause warnings in a batch that name their templates, as do similar names of attributes", async () => {
    const org = await bench.organization("near-names")
    const targeted = (attribute: string) => [
      { id: "m", vars: {}, targeting: [{ attribute, op: "is", values: ["gold"] }] },
      { id: "o", vars: {} },
    ]
    await org.template({ id: "t", variants: targeted("loyalty_tier") })
    await org.template({ id: "u", variants: targeted("Preis") })
    for (
      const name of [
        "Loyalty_Tier",
        "loyaltyTier",
        "loyalty-tier",
        "Loyalty Tier",
        " loyalty_tier",
        "loyalty_tier\u200b",
        "ｌｏｙａｌｔｙ_tier",
        "loyalty.tier",
        "LOYALTY_TIER",
        "loyalty_tíer",
        "loyaltytier",
      ]
    ) {
      const warned = warnings(await org.post({ template_id: "t", attrs: { [name]: "gold" } }))
      assert.include(warned, 'the template asks for "loyalty_tier"', name)
    }
    for (
      const attrs of [{ loyalty_tier: "gold" }, { loyal: "gold" }, { loyalty_tier: "x", loyaltyTier: "gold" }, {
        "_": 1,
      }]
    ) {
      assert.isNull(warnings(await org.post({ template_id: "t", attrs })), JSON.stringify(attrs))
    }
    const batch = await org.batch({ requests: [{ template_id: "t" }, { template_id: "u" }], attrs: { preis: "gold" } })
    assert.strictEqual(
      warnings(batch),
      'in "u": the attribute "preis" is not targeted, the template asks for "Preis": write the name like that',
    )
  })

  it("match targeting if they differ only in case, white space or Unicode form", async () => {
    const org = await bench.organization("alike")
    await org.template({
      id: "t",
      variants: [
        { id: "m", vars: {}, targeting: [{ attribute: "tier", op: "is", values: ["Caf\u00e9 cr\u00e8me "] }] },
        { id: "o", vars: {}, active: false },
      ],
    })
    for (
      const tier of [
        "caf\u00e9 cr\u00e8me",
        "cafe\u0301 CRE\u0300ME",
        "\u00a0caf\u00e9\u202fcr\u00e8me\n",
        "\ufeffcaf\u00e9 cr\u00e8\u00adme",
      ]
    ) {
      const { json } = await org.get({ template_id: "t", "attrs[tier]": tier })
      assert.strictEqual(json.copy.id, "m", JSON.stringify(tier))
    }
  })
})
