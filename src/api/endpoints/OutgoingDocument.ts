import { Schema } from "effect"
import { type BatchedType, batchedTypes, batchSize, batchTypes } from "../../webhooks/BatchTypes.ts"
import { eventData, eventExamples, eventSummaries, type EventType } from "../../webhooks/EventTypes.ts"

// The part of the OpenAPI document about events that this service sends.

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
})

const operationIdOf = (type: string) =>
  `on${type.split(".").map((part) => part[0]!.toUpperCase() + part.slice(1)).join("")}`

/** A request of a type: its summary, the JSON Schema of its data, and an example. */
const webhookOf = (type: string, summary: string, data: unknown, example: unknown) => ({
  post: {
    operationId: operationIdOf(type),
    summary,
    description: "Signed as Standard Webhooks describes. An event can arrive more than once: compare `webhook-id`.",
    security: [],
    parameters: [
      header("webhook-id", "The id of the event, the same in every attempt"),
      header("webhook-timestamp", "Time of the attempt in Unix seconds"),
      header(
        "webhook-signature",
        "`v1,` and the HMAC-SHA256 of id, timestamp and body in Base64; two while a secret is replaced",
      ),
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["type", "timestamp", "data"],
            properties: {
              type: { type: "string", const: type },
              timestamp: { type: "string", format: "date-time", description: "Time of the event" },
              data,
            },
          },
          example: { type, timestamp: "2026-05-04T09:30:00.000Z", data: example },
        },
      },
    },
    responses: {
      "200": { description: "Any status from 200 to 299: the event is taken" },
      "4XX": { description: "Refused. 410 disables the endpoint; the event is sent again after other failures" },
    },
  },
})

const ofSingle = (type: EventType) =>
  webhookOf(type, eventSummaries[type], Schema.toJsonSchemaDocument(eventData[type]).schema, eventExamples[type])

const ofBatch = (type: BatchedType) => {
  const { example, members, summary } = batchTypes[type]
  const fields = Object.fromEntries(Object.entries(members).map(([member, [, schema]]) => [member, schema]))
  const event = Schema.Struct({
    id: Schema.String.annotate({ description: "Identifies the event, also when a later batch repeats it" }),
    ...fields,
  })
  const data = Schema.Struct({
    org: Schema.String.annotate({ description: "The organization" }),
    events: Schema.Array(event).annotate({ description: `At most ${batchSize.toLocaleString("en")} events` }),
  })
  return webhookOf(type, `${summary}. In batches`, Schema.toJsonSchemaDocument(data).schema, {
    org: "shop",
    events: [{ id: "3q2-7wAAuZ0Jc6vYb0mB1XgQk8nT5sL4hRfDpEiUoWc", ...example }],
  })
}

/** The description of every outgoing event in the OpenAPI document, by type. */
export const webhooks = Object.fromEntries([
  ...(Object.keys(eventData) as ReadonlyArray<EventType>).map((type) => [type, ofSingle(type)]),
  ...batchedTypes.map((type) => [type, ofBatch(type)]),
])
