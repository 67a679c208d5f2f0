import { Schema } from "effect"

/** The server cannot be reached, or refuses a statement that every start needs. */
export class StoreUnreachable extends Schema.TaggedError<StoreUnreachable>()("StoreUnreachable", {
  /** The setting that determines the database. */
  setting: Schema.Literals(["DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_READ_URL", "DATA_DIR"]),
  address: Schema.String,
  reason: Schema.String,
  /** Whether the failure may pass, such as a server that is still starting. */
  isPassing: Schema.Boolean,
  /** How long the start has tried. 0 for a single attempt. Unit: seconds. */
  triedSeconds: Schema.Int,
}) {
  override get message() {
    const tried = this.triedSeconds === 0 ? "" : ` for ${this.triedSeconds} s`
    return `${this.setting}: the database at ${this.address} cannot be used${tried}: ${this.reason}`
  }

  /** Returns this failure after so many seconds of attempts. */
  afterTrying(seconds: number): StoreUnreachable {
    return new StoreUnreachable({ ...this, triedSeconds: seconds })
  }
}
