import { Result } from "effect"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"

/** The content of a file's text. Throws if it has faults. */
export const parsed = (text: string): unknown => Result.getOrThrow(TemplateFile.parse(text, "file.yaml"))

/** Templates that say everything a file can say, and one that says nothing. */
export const fullContent = [
  {
    id: "welcome-en",
    name: "Welcome",
    tags: ["spring", "no"],
    owner: "ada@example.com",
    archived: true,
    strict: true,
    locale: { field: "user.language", default: "en" },
    sticky_hours: 12.5,
    runner_up_floor: 0.05,
    objective: { click: 1, conversion: 5, negative: -2, revenue: 0.1, revenue_cap: 200 },
    send_nothing: true,
    holdout: { share: 0.05, content: "fixed", copy_id: "welcome-en-warm" },
    ignore_unsubscribes: true,
    tracking: { opens: false, clicks: true },
    list_unsubscribe: true,
    link_domains: ["shop.example", "on"],
    conversion_events: ["trial_started", "no"],
    variants: [
      {
        id: "welcome-en-warm",
        name: "Warm",
        active: false,
        vars: { subject: "Welcome, {{ name | default: 'you' }}", body_html: "<p>Hello</p>\n<p>Bye</p>\n" },
        locales: { de: { subject: "Willkommen" }, "zh-Hant": { body_html: "<p>您好</p>\n" } },
        formats: { body_html: "html" },
        components: { subject: "question", image: "A shoe: red" },
        targeting: [
          { attribute: "tier", op: "in", values: ["Gold", 3, true] },
          { attribute: "email", op: "exists", values: [] },
        ],
        seasons: [
          { starts_at: "2026-11-15", ends_at: "2027-01-06T09:00", annual: { from: "11-15", to: "01-06" } },
          { days: ["sat", "sun"], hours: { from: 22, to: 6 } },
        ],
      },
      { vars: {} },
    ],
  },
  { name: "Without more" },
]
