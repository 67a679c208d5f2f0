import { Schema } from "effect"
import { described } from "../../domain/described.ts"
import { EventName } from "../../domain/EventKinds.ts"

const text = (description: string) => Schema.optionalKey(described(Schema.String, description))

const eventNames = EventName.literals.map((name) =>
  name === "conversion" ? "`conversion` (also `purchase`, `order_completed`)" : `\`${name}\``
)

const CustomEvent = Schema.Struct({
  event: text(
    `${eventNames.join(", ")}, in any case and tense. Another name is a conversion if it is declared ` +
      "in `conversion_events` of the organization or of a template, or in the settings of the source; others are rejected",
  ),
  tracking_id: text("Tracking id of the decision that the event belongs to"),
  user_id: text("Recipient of the message, for events without a tracking id. `email` may name an address instead"),
  template_id: text("Needed if one message contains several templates, and without a tracking id"),
  event_id: text(
    "Repeat it when you resend the event: each id counts once. Without an id, the content identifies the event",
  ),
  occurred_at: Schema.optionalKey(
    described(
      Schema.Union([Schema.String, Schema.Finite]),
      "ISO 8601 with a zone, RFC 2822, or Unix seconds, milliseconds, microseconds or nanoseconds; otherwise the time of receipt",
    ),
  ),
  automated: Schema.optionalKey(
    described(
      Schema.Union([Schema.Boolean, Schema.String, Schema.Finite]),
      "True: caused by a machine, such as a mail proxy or link scanner",
    ),
  ),
  link: text("The clicked link"),
  value: Schema.optionalKey(
    described(
      Schema.Union([Schema.String, Schema.Finite]),
      "Value of the conversion in the main unit of its currency, at most 1,000,000,000. It counts for objectives with " +
        "`revenue`. Below 0: a refund",
    ),
  ),
  currency: text("ISO 4217 code of the value's currency, such as `EUR`"),
  time_zone: text("The user's time zone, an IANA name, which Delay uses"),
})

/** The OpenAPI schema of custom events. `CustomEvents` and `MappingSchema` decide how a body is read. */
export const CustomEventsBody = Schema.Union([
  CustomEvent,
  Schema.Array(CustomEvent),
  described(Schema.Struct({ events: Schema.Array(CustomEvent) }), "`batch` and `data` are accepted as well"),
  described(Schema.Json, "A CloudEvent, an array of CloudEvents, or any JSON that the mapping of the source reads"),
]).annotate({
  description: "One event or up to 10,000 events, at most 8 MiB in total. Members have alternative names, which " +
    "docs/integrations/custom-events.md lists.",
  examples: [
    {
      event: "click",
      tracking_id: "01a1fffb-8ba1-713d-835a-86c5a52cea17",
      event_id: "c-1",
      link: "https://shop.example/",
    },
    {
      events: [
        { event: "open", tracking_id: "01a1fffb-8ba1-713d-835a-86c5a52cea17", event_id: "o-1", automated: true },
        {
          event: "order_completed",
          user_id: "ann",
          event_id: "order-50314",
          occurred_at: "2026-02-03T12:10:05Z",
          value: 49.9,
        },
      ],
    },
  ],
})
