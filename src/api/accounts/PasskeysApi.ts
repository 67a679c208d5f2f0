import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { Passkey } from "../../accounts/Account.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { DisplayName } from "../../domain/Ids.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

// The part of the management API about the caller's own passkeys.

const path = { passkey: Schema.String }

const ProofBody = Schema.Struct({
  current_password: Schema.optionalKey(Schema.String).annotate({
    description: "The password of the caller's account, if it has one",
  }),
})

/** The name of a passkey. */
export const PasskeyName = Schema.Struct({ name: DisplayName })

const NewBody = Schema.Struct({
  ...PasskeyName.fields,
  response: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The result of `navigator.credentials.create`, as its `toJSON` returns it",
  }),
})

const errors = [...Problems.ofBody, Problems.Unprocessable]

/** Endpoints of passkeys. */
export class PasskeysGroup extends managementGroup(
  "passkeys",
  "Passkeys of accounts",
  {
    listPasskeys: reads("signed-in"),
    beginPasskey: writes("signed-in", "passkey set-up begun", undefined, { isPrivate: true }),
    addPasskey: writes("signed-in", "passkey added", undefined, { isPrivate: true }),
    renamePasskey: writes("signed-in", "passkey renamed", undefined, { isPrivate: true }),
    removePasskey: writes("signed-in", "passkey removed", undefined, { isPrivate: true }),
  },
  HttpApiEndpoint.get("listPasskeys", "/account/passkeys", {
    success: Schema.Struct({ passkeys: Schema.Array(Passkey) }),
    error: Problems.Unprocessable,
  }).annotate(OpenApi.Summary, "The caller's own passkeys"),
  HttpApiEndpoint.post("beginPasskey", "/account/passkeys/options", {
    payload: ProofBody,
    success: Schema.Struct({
      options: Schema.Record(Schema.String, Schema.Unknown).annotate({
        description: "For `PublicKeyCredential.parseCreationOptionsFromJSON`",
      }),
    }).pipe(HttpApiSchema.status(201)),
    error: [...errors, Problems.TooManyAttempts],
  }).annotate(OpenApi.Summary, "Begins to add a passkey to the caller's own account").annotate(
    OpenApi.Description,
    "The challenge works once, within 5 minutes. An account without a password, or with a second factor, must have " +
      "signed in within 15 minutes.",
  ),
  HttpApiEndpoint.post("addPasskey", "/account/passkeys", {
    payload: NewBody,
    success: Schema.Struct({
      ...Passkey.fields,
      recovery_codes: Schema.NullOr(Schema.Array(Schema.String)).annotate({
        description: "New recovery codes, only in this response; null if the account has codes left",
      }),
    }).pipe(HttpApiSchema.status(201)),
    error: errors,
  }).annotate(OpenApi.Summary, "Adds a passkey to the caller's own account").annotate(
    OpenApi.Description,
    "Ends the caller's other sessions. From then on, the password alone does not sign in.",
  ),
  HttpApiEndpoint.patch("renamePasskey", "/account/passkeys/:passkey", {
    params: path,
    payload: PasskeyName,
    success: Passkey,
    error: [...errors, Problems.PasskeyNotFound],
  }).annotate(OpenApi.Summary, "Renames one of the caller's own passkeys"),
  HttpApiEndpoint.post("removePasskey", "/account/passkeys/:passkey/remove", {
    params: path,
    payload: ProofBody,
    success: HttpApiSchema.NoContent,
    error: [...errors, Problems.PasskeyNotFound, Problems.TooManyAttempts],
  }).annotate(OpenApi.Summary, "Removes one of the caller's own passkeys").annotate(
    OpenApi.Description,
    "An account without a password, or with a second factor, must have signed in within 15 minutes. Without another " +
      "second factor, the recovery codes are removed too.",
  ),
) {}
