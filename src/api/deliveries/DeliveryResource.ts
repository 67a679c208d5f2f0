import { Schema } from "effect"
import { DeliveryState, Priority } from "../../delivery/Delivery.ts"

const delivery = {
  id: Schema.String.annotate({ description: "Id of the delivery and tracking id of its decision" }),
  template_id: Schema.String,
  copy_id: Schema.String,
  email: Schema.NullOr(Schema.String).annotate({ description: "Null once the person has been erased" }),
  state: DeliveryState,
  priority: Priority.annotate({ description: "Transactional messages are sent before bulk messages" }),
  due_at: Schema.String,
  queued_at: Schema.String,
  expires_at: Schema.NullOr(Schema.String).annotate({
    description: "The message fails if it is not sent by this time; null: it does not expire",
  }),
  attempts: Schema.Int.annotate({ description: "Failed attempts to send" }),
  connection: Schema.NullOr(Schema.String),
  message_id: Schema.NullOr(Schema.String).annotate({ description: "Id of the message on the platform" }),
  reason: Schema.NullOr(Schema.String).annotate({
    description: "Why the last attempt failed; for failed and cancelled messages, the final reason",
  }),
  finished_at: Schema.NullOr(Schema.String),
}

/** A delivery, queued or finished, without its content. */
export const DeliveryResource = Schema.Struct(delivery).annotate({ identifier: "Delivery" })
export type DeliveryResource = typeof DeliveryResource.Type

/** A delivery with its content. */
export const DeliveryDetail = Schema.Struct({
  ...delivery,
  vars: Schema.NullOr(Schema.Record(Schema.String, Schema.String)),
  formats: Schema.Record(Schema.String, Schema.String),
}).annotate({ identifier: "DeliveryDetail" })
