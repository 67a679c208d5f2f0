import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { patchOf } from "../../src/console/pages/SettingsPages.tsx"

describe("the form of an organization's settings", () => {
  const sent = {
    name: "Harbour",
    time_zone: "Europe/Berlin",
    exploration_floor: "5",
    holdout_share: "10",
    holdout_content: "no_message",
    suppression: "true",
    soft_bounce_limit: "3",
    group_opt_outs: "grp-1\nNews",
    currency: " eur ",
    delivery_failure_threshold: "2.5",
    tracking: "opens\nclicks",
    tracking_url: "https://links.shop.example",
    unsubscribe_page_language: "de",
    unsubscribe_page_title: "Abmelden",
    unsubscribe_page_question: "Keine E-Mails mehr von {organization}?",
    unsubscribe_page_button: "Abmelden",
    unsubscribe_page_done: "Sie sind abgemeldet.",
    delay_horizon_hours: "48",
    "quiet_hours-from": "21:00",
    "quiet_hours-to": "08:00",
    allowed_days: "mon\ntue",
    retention_days: "500",
    inbox_retention_days: "14",
  }

  it("converts empty times to no quiet hours, and all days to no limit", () => {
    assert.deepStrictEqual(
      patchOf(sent),
      Result.succeed({
        name: "Harbour",
        time_zone: "Europe/Berlin",
        exploration_floor: 0.05,
        holdout: { share: 0.1, content: "no_message" },
        suppression: true,
        soft_bounce_limit: 3,
        group_opt_outs: ["grp-1", "News"],
        currency: "EUR",
        delivery_failure_threshold: 0.025,
        tracking: { opens: true, clicks: true, url: "https://links.shop.example" },
        unsubscribe_page: {
          language: "de",
          title: "Abmelden",
          question: "Keine E-Mails mehr von {organization}?",
          button: "Abmelden",
          done: "Sie sind abgemeldet.",
        },
        delay_horizon_hours: 48,
        quiet_hours: { from: "21:00", to: "08:00" },
        allowed_days: ["mon", "tue"],
        retention_days: 500,
        inbox_retention_days: 14,
      } as never),
    )
    const open = patchOf({
      ...sent,
      currency: "",
      "quiet_hours-from": "",
      "quiet_hours-to": " ",
      allowed_days: "mon\ntue\nwed\nthu\nfri\nsat\nsun",
    })
    assert.deepInclude(Result.getOrThrow(open), { quiet_hours: null, allowed_days: null, currency: null } as never)
  })

  it("reports every fault at its field", () => {
    const pointers = (more: Record<string, string>) => {
      const found = patchOf({ ...sent, ...more })
      return Result.isFailure(found) ? found.failure.map(({ pointer }) => pointer).sort() : []
    }
    assert.deepStrictEqual(
      pointers({
        name: "",
        time_zone: "Nowhere",
        exploration_floor: " ",
        holdout_share: "60",
        suppression: "true",
        soft_bounce_limit: "0",
        group_opt_outs: "*\nx".padEnd(300, "x"),
        currency: "euro",
        delivery_failure_threshold: "0",
        tracking_url: "links.shop.example",
        unsubscribe_page_language: "german!",
        unsubscribe_page_title: "Abmelden",
        delay_horizon_hours: "0",
        "quiet_hours-from": "25:00",
        "quiet_hours-to": "",
        allowed_days: "",
        retention_days: "30",
        inbox_retention_days: "",
      }),
      [
        "/allowed_days",
        "/currency",
        "/delay_horizon_hours",
        "/delivery_failure_threshold",
        "/exploration_floor",
        "/group_opt_outs",
        "/holdout_share",
        "/inbox_retention_days",
        "/name",
        "/quiet_hours-from",
        "/quiet_hours-to",
        "/retention_days",
        "/soft_bounce_limit",
        "/time_zone",
        "/tracking_url",
        "/unsubscribe_page_language",
      ],
    )
    assert.deepStrictEqual(pointers({ "quiet_hours-from": "08:00" }), ["/quiet_hours-to"], "nothing would be left")
    assert.deepStrictEqual(pointers({ allowed_days: "mon\nsomeday" }), ["/allowed_days"])
    assert.deepStrictEqual(pointers({ "quiet_hours-to": "" }), ["/quiet_hours-to"])
  })
})
