import { Schema } from "effect"

/** The primary answers in place of the replica of `DATABASE_READ_URL`. */
export class ReplicaNotRead extends Schema.TaggedError<ReplicaNotRead>()("ReplicaNotRead", {
  /** `failed`: a statement of the read failed. The replica can be read again at once. */
  outcome: Schema.Literals(["behind", "unreachable", "failed"]),
  /** The cause, without a period at its end. */
  reason: Schema.String,
}) {
  override get message() {
    return this.reason
  }
}
