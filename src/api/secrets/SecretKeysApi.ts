import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

const SecretKeyResource = Schema.Struct({
  id: Schema.String.annotate({ description: "The first 8 digits of the SHA-256 of the key in lower case" }),
  state: Schema.Literals(["encrypting", "decrypting", "missing"]).annotate({
    description:
      "`encrypting`: the first key of SECRET_KEY. `decrypting`: another key of SECRET_KEY, or the key file of the embedded " +
      "database. `missing`: values need this key, and SECRET_KEY does not contain it",
  }),
  values: Schema.Finite.annotate({ description: "Number of stored values that only this key decrypts" }),
  removable: Schema.Boolean.annotate({
    description: "Whether SECRET_KEY no longer needs the key. Backups that were made before still need it",
  }),
}).annotate({ identifier: "SecretKey" })

const keys = { keys: Schema.Array(SecretKeyResource) }

/** Endpoints of the keys that encrypt stored secrets. */
export class SecretKeysGroup extends managementGroup(
  "secret-keys",
  "Keys that encrypt stored secrets",
  {
    listSecretKeys: reads("administrator"),
    reencryptSecrets: writes("administrator", "secrets encrypted again"),
  },
  HttpApiEndpoint.get("listSecretKeys", "/secret-keys", {
    success: Schema.Struct(keys),
    error: Problems.Unprocessable,
  }).annotate(OpenApi.Summary, "The keys that encrypt stored secrets, and how many values need each of them"),
  HttpApiEndpoint.post("reencryptSecrets", "/secret-keys/reencrypt", {
    success: Schema.Struct({
      changed: Schema.Finite.annotate({ description: "Number of values that were encrypted again" }),
      ...keys,
    }),
    error: Problems.Unprocessable,
  }).annotate(OpenApi.Summary, "Encrypts all stored secrets with the first key of SECRET_KEY").annotate(
    OpenApi.Description,
    "Call it when all nodes run with the new key in the first place. Then the earlier keys are removable. Another call " +
      "changes nothing.",
  ),
) {}
