import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { makeClassifier } from "../../../src/domain/refusals/Classify.ts"
import { eventOfRefusal } from "../../../src/domain/refusals/BounceEvent.ts"
import { classifyRefusal, extendRefusals } from "../../../src/domain/refusals/Refusals.ts"
import type { RefusalFact } from "../../../src/domain/refusals/RefusalTable.ts"
import { replies } from "./replies.ts"
import { wordings } from "./wordings.ts"

const classOf = (said: string, status?: string) => classifyRefusal({ said, status }).class

describe("The classifier of refusals", () => {
  for (const [name, sources] of Object.entries(replies)) {
    for (const [source, texts] of Object.entries(sources)) {
      it(`takes replies of ${source} for ${name}`, () => {
        assert.deepStrictEqual(
          texts.filter((text) => classOf(text) !== name).map((text) => [text, classifyRefusal({ said: text })]),
          [],
        )
      })
    }
  }

  for (const [event, texts] of Object.entries(wordings)) {
    it(`reads common wordings of a ${event}`, () => {
      assert.deepStrictEqual(
        texts.filter((said) => eventOfRefusal(classOf(said)) !== event).map((
          said,
        ) => [said, classifyRefusal({ said })]),
        [],
      )
    })
  }

  it("believes the receiver and not the reporting server, which writes 5.1.1 for anything", () => {
    const contradicted = ["mailbox-full", "disabled", "content-policy", "sender-policy", "temporary"] as const
    for (const name of contradicted) {
      for (const text of Object.values(replies[name]!).flat()) {
        for (const status of ["5.1.1", "5.1.3", "5.2.1", "5.0.0"]) assert.strictEqual(classOf(text, status), name, text)
      }
    }
  })

  it("finds a mailbox that does not exist whatever the reporting server writes", () => {
    for (const text of Object.values(replies["no-such-mailbox"]!).flat()) {
      for (const status of ["5.0.0", "5.7.1", "5.2.0", "5.5.0"]) {
        assert.strictEqual(classOf(text, status), "no-such-mailbox", text)
      }
    }
  })

  it("reads the code of the reporting server where the receiver says nothing", () => {
    assert.strictEqual(classOf("", "5.1.1"), "no-such-mailbox")
    assert.strictEqual(classOf("550", "5.1.1"), "no-such-mailbox")
    assert.strictEqual(classOf("the local server has its own words", "5.1.1"), "no-such-mailbox")
    assert.strictEqual(classOf("550 unbekannte Worte", "5.7.1"), "sender-policy")
    assert.strictEqual(classOf("", "5.2.2"), "mailbox-full")
    assert.strictEqual(classOf("", "5.7.1"), "sender-policy")
    assert.strictEqual(classOf("", "4.4.7"), "temporary")
    assert.strictEqual(classOf("", "4.1.1"), "temporary")
    assert.strictEqual(classOf("", "5.0.0"), "unknown")
    assert.strictEqual(classOf(""), "unknown")
  })

  it("lets words contradict a code, and no code about something else establish a missing mailbox", () => {
    assert.strictEqual(classOf("550 5.1.1 <eva@mail.example> mailbox is full"), "mailbox-full")
    assert.strictEqual(classOf("550 5.1.1 temporarily deferred, try again later"), "temporary")
    assert.strictEqual(classOf("550 5.1.1 rejected as spam"), "content-policy")
    assert.strictEqual(classOf("550 5.2.2 no such user"), "mailbox-full")
    assert.strictEqual(classOf("550 5.7.26 sender unauthenticated, user unknown"), "sender-policy")
    assert.strictEqual(classOf("550 5.1.1 <news@shop.example>: Sender address rejected: User unknown"), "sender-policy")
  })

  it("ignores addresses, numbers of hosts and versions that look like words and codes", () => {
    assert.strictEqual(classOf("554 no reason for <user.unknown@mail.example> given"), "unknown")
    assert.strictEqual(classOf("554 no reason given by mailbox-full@spam.example"), "unknown")
    assert.strictEqual(classOf("554 server 5.1.1.7 with version 8.15.5.1.1 says no"), "unknown")
    assert.strictEqual(classOf("554 id 15505.1.15"), "unknown")
  })

  it("compares without case, accents, line breaks and typographic apostrophes", () => {
    assert.strictEqual(classOf("550 BOÎTE AUX LETTRES\r\n PLEINE"), "mailbox-full")
    assert.strictEqual(classOf("550 Cet utilisateur n’est pas là: Utilisateur   inconnu"), "no-such-mailbox")
    assert.strictEqual(classOf("550 Użytkownik nie istnieje"), "no-such-mailbox")
    assert.strictEqual(classOf("550 Почтовый ящик ПЕРЕПОЛНЕН"), "mailbox-full")
    assert.strictEqual(classOf("550 メールボックスが一杯です"), "mailbox-full")
    assert.strictEqual(classOf("550 收件人不存在"), "no-such-mailbox")
  })

  it("blames no address for words about the sender or policy of the receiver", () => {
    for (
      const said of [
        "550 5.1.1 Callout verification failed",
        "550 5.1.1 Callback verification failed",
        "550 5.1.1 Cannot verify return address, user unknown",
        "550 5.1.1 Authentication failed: user unknown",
        "550 5.1.1 Sender address is not allowed",
        "550 5.1.1 Transient IP not allowed",
        "550 5.1.1 Dialup hosts not allowed",
        "550 5.1.1 Dialup not allowed",
        "550 5.1.1 Local delivery of this message is restricted",
        "550 5.1.1 Command rejected for policy reasons",
        "550 5.1.1 No such host for your PTR",
      ]
    ) assert.strictEqual(classOf(said), "sender-policy", said)
  })

  it("takes a mailbox that is unavailable for a time as temporary", () => {
    for (
      const said of [
        "550 5.1.1 Mailbox unavailable, under maintenance",
        "550 5.1.1 Mailbox unavailable temporarily, try again later",
        "550 Requested action not taken: mailbox unavailable, try again later",
        "550 5.1.1 <eva@mail.example>: undeliverable address: Connection timed out",
        "550 5.1.4 RESOLVER.ADR.Ambiguous; ambiguous address",
      ]
    ) assert.strictEqual(classOf(said), "temporary", said)
    assert.strictEqual(classOf("550 Requested action not taken: mailbox unavailable"), "no-such-mailbox")
    assert.strictEqual(classOf("550 RESOLVER.ADR.ExRecipNotFound; not found"), "no-such-mailbox")
    assert.strictEqual(classOf("550 5.1.1 undeliverable address: user unknown"), "no-such-mailbox")
  })

  it("takes no number of a port or a time as the reply code", () => {
    for (
      const said of [
        "host mx.example port 465 said: 550 5.1.1 user unknown",
        "remote server mx.example:465 said: 550 5.1.1 user unknown",
        "remote server mx.example:465 said: 550 user unknown",
        "connected to 10.0.0.5, 450 ms later: 550 5.1.1 user unknown",
        "connected to 10.0.0.5, 450 ms later: 550 user unknown",
        "mx.example answered after 421 s with 550 user unknown",
      ]
    ) assert.strictEqual(classOf(said), "no-such-mailbox", said)
    assert.strictEqual(classOf("host mx.example port 587 said: 450 user unknown"), "temporary")
  })

  it("reads the last reply of a transcript", () => {
    for (
      const said of [
        "<<< 451 4.7.1 Greylisted, try again later\n<<< 550 5.1.1 User unknown",
        "<<< 451 4.7.1 Greylisted, try again later\n>>> RCPT TO:<eva@mail.example>\n<<< 550 User unknown",
        "451 4.7.1 Please wait\r\n550 5.1.1 User unknown",
        "451 Please wait\r\n550 User unknown",
        "450 4.4.317 Cannot reach the host -> 550 User unknown",
      ]
    ) assert.strictEqual(classOf(said), "no-such-mailbox", said)
    assert.strictEqual(classOf("<<< 550 5.1.1 User unknown\n<<< 450 4.1.1 User unknown"), "temporary")
    assert.strictEqual(classOf("<<< 452 4.2.2 Mailbox full\n<<< 503 5.5.1 Need RCPT"), "mailbox-full")
    assert.strictEqual(classOf("<<< 550 5.1.1 User unknown\n<<< 503 5.5.1 Need RCPT"), "no-such-mailbox")
    assert.strictEqual(classOf("450 4.1.1 User unknown,\n500 messages refused"), "temporary")
  })

  it("says which fact decided, with its source", () => {
    assert.strictEqual(
      classifyRefusal({ said: "550 5.2.2 Voll" }).because,
      "X.2.2 (IANA, SMTP Enhanced Status Codes)",
    )
    assert.match(classifyRefusal({ said: "554 mailbox is full" }).because ?? "", /^"mailbox is full" \(.+\)$/)
    assert.isUndefined(classifyRefusal({ said: "554 no" }).because)
  })

  it("begins a phrase at the beginning of a word, with gaps of 60 characters at most", () => {
    const fact = { class: "disabled", source: "a test", date: "2026-11-29" } as const
    const classify = makeClassifier([{ ...fact, phrase: "box * shut" }, { ...fact, phrase: "gone", code: "554" }])
    const isDisabled = (said: string) => classify({ said }).class === "disabled"
    assert.isTrue(isDisabled("550 The box of Eva is shut"))
    assert.isFalse(isDisabled("550 The mailbox of Eva is shut"))
    assert.isTrue(isDisabled(`550 The box ${"x".repeat(57)} shut`))
    assert.isFalse(isDisabled(`550 The box ${"x".repeat(70)} shut`))
    assert.isTrue(isDisabled("554 gone"))
    assert.isFalse(isDisabled("550 gone"))
  })

  it("finds each alternative of a phrase", () => {
    const fact = { class: "disabled", source: "a test", date: "2026-11-29" } as const
    const classify = makeClassifier([{ ...fact, phrase: "{box|case} * {shut|locked up}" }])
    for (const said of ["box is shut", "the case was locked up", "BOX: LOCKED UP"]) {
      assert.strictEqual(classify({ said }).class, "disabled", said)
    }
    for (const said of ["box", "locked up", "mailbox is shut"]) {
      assert.strictEqual(classify({ said }).class, "unknown", said)
    }
  })

  it("believes the receiver's own code of a missing mailbox next to words that say nothing", () => {
    assert.strictEqual(classOf("550 5.1.1 unbekannte Worte"), "no-such-mailbox")
    assert.strictEqual(classOf("550 5.1.1 unbekannte Worte", "5.0.0"), "no-such-mailbox")
    assert.strictEqual(classOf("550 unbekannte Worte", "5.1.1"), "unknown")
  })

  it("lets a later fact replace an earlier one of an equal code or phrase", () => {
    const source = "a test"
    const date = "2026-11-29"
    const facts: ReadonlyArray<RefusalFact> = [
      { class: "unknown", code: "X.9.*", source, date },
      { class: "disabled", code: "X.9.1-5", source, date },
      { class: "temporary", code: "X.9.3", source, date },
      { class: "disabled", code: "X.9.3", source, date },
      { class: "mailbox-full", phrase: "Zu Voll", source, date },
      { class: "disabled", phrase: "zu voll", source, date },
    ]
    const classify = makeClassifier(facts)
    assert.strictEqual(classify({ said: "550 5.9.3 x" }).class, "disabled")
    assert.strictEqual(classify({ said: "550 5.9.5 x" }).class, "disabled")
    assert.strictEqual(classify({ said: "550 5.9.6 x" }).class, "unknown")
    assert.strictEqual(classify({ said: "550 zu voll" }).class, "disabled")
  })

  it("knows the facts of the operator in addition to its own", () => {
    const reply = "554 XQ77 der Kasten klemmt"
    assert.strictEqual(classOf(reply), "unknown")
    extendRefusals([{ class: "mailbox-full", phrase: "der Kasten klemmt", source: "our own log", date: "2026-11-29" }])
    assert.strictEqual(classOf(reply), "mailbox-full")
    assert.strictEqual(classOf("550 5.1.1 User unknown"), "no-such-mailbox")
    extendRefusals([])
    assert.strictEqual(classOf(reply), "unknown")
  })

  it("assigns any text one class, which is the same each time", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.string(), (said, status) => {
      assert.deepStrictEqual(classifyRefusal({ said, status }), classifyRefusal({ said, status }))
    }))
  })

  it("looks at a bounded part of a hostile text", () => {
    const parts = [
      "user ",
      "@",
      "a@",
      "550 5.1.1 ",
      "550-",
      "<",
      "mailbox * ",
      "account ",
      "\u0301",
      "ﷺ",
      "5.1.1",
      "\r\n ",
    ]
    for (const part of parts) {
      const text = part.repeat(Math.ceil(1_000_000 / part.length))
      assert.strictEqual(classOf(text), classOf(text.slice(0, 8_000)), JSON.stringify(part))
    }
  })
})
