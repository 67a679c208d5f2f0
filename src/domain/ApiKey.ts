import { Schema } from "effect"
import { KeyId } from "./Ids.ts"

/** What a key may be used for. `generate` covers Generate, Batch generate and Delay. */
export const Scope = Schema.Literals(["generate", "deliver", "events"])
export type Scope = typeof Scope.Type

/** What a key may do unless its creator says otherwise. */
export const defaultScopes: ReadonlyArray<Scope> = ["generate", "deliver"]

/** A stored key without its secret, times as ISO 8601 UTC. `last_used_at` is exact to a minute. */
export const ApiKey = Schema.Struct({
  id: KeyId,
  name: Schema.String,
  scopes: Schema.Array(Scope),
  created_at: Schema.String,
  expires_at: Schema.NullOr(Schema.String),
  revoked_at: Schema.NullOr(Schema.String),
  last_used_at: Schema.NullOr(Schema.String),
})
export type ApiKey = typeof ApiKey.Type
