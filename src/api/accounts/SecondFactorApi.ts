import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { SecondFactorState } from "../../accounts/Account.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

// The part of the management API about second factors: codes of an authenticator app (TOTP) and recovery codes.

const CurrentPassword = Schema.String.annotate({ description: "The password of the caller's account" })
const Code = Schema.String.annotate({
  description: "Six digits of the authenticator app, or a recovery code if the second factor is on",
})

const BeginBody = Schema.Struct({ current_password: CurrentPassword })
const CodeBody = Schema.Struct({ code: Code })
const BothBody = Schema.Struct({ current_password: CurrentPassword, code: Code })

const RecoveryCodes = Schema.Struct({
  recovery_codes: Schema.Array(Schema.String).annotate({
    description: "Each works once instead of a code. Only this response contains them",
  }),
})

const errors = [...Problems.ofBody, Problems.Unprocessable, Problems.TooManyAttempts]

/** Endpoints of second factors. */
export class SecondFactorGroup extends managementGroup(
  "secondFactor",
  "Second factors of accounts",
  {
    getSecondFactor: reads("signed-in"),
    beginSecondFactor: writes("signed-in", "second factor set-up begun", undefined, { isPrivate: true }),
    confirmSecondFactor: writes("signed-in", "second factor turned on", undefined, { isPrivate: true }),
    disableSecondFactor: writes("signed-in", "second factor turned off", undefined, { isPrivate: true }),
    renewRecoveryCodes: writes("signed-in", "recovery codes renewed", undefined, { isPrivate: true }),
    resetSecondFactor: writes("administrator", "second factor reset"),
  },
  HttpApiEndpoint.get("getSecondFactor", "/account/second-factor", {
    success: SecondFactorState,
    error: Problems.Unprocessable,
  }).annotate(OpenApi.Summary, "The caller's own second factor"),
  HttpApiEndpoint.post("beginSecondFactor", "/account/second-factor", {
    payload: BeginBody,
    success: Schema.Struct({
      secret: Schema.String.annotate({ description: "Base32, for apps that do not read the URI" }),
      uri: Schema.String.annotate({ description: "`otpauth:` URI for a QR code" }),
    }).pipe(HttpApiSchema.status(201)),
    error: errors,
  }).annotate(OpenApi.Summary, "Begins to set up the caller's own second factor").annotate(
    OpenApi.Description,
    "Only this response contains the secret. It takes effect once a code confirms it.",
  ),
  HttpApiEndpoint.put("confirmSecondFactor", "/account/second-factor", {
    payload: CodeBody,
    success: RecoveryCodes,
    error: errors,
  }).annotate(OpenApi.Summary, "Turns the caller's own second factor on").annotate(
    OpenApi.Description,
    "Confirms the set-up with the first code of the authenticator app. Ends the caller's other sessions.",
  ),
  HttpApiEndpoint.post("disableSecondFactor", "/account/second-factor/disable", {
    payload: BothBody,
    success: HttpApiSchema.NoContent,
    error: errors,
  }).annotate(OpenApi.Summary, "Turns the caller's own second factor off"),
  HttpApiEndpoint.post("renewRecoveryCodes", "/account/second-factor/recovery-codes", {
    payload: BothBody,
    success: RecoveryCodes,
    error: errors,
  }).annotate(OpenApi.Summary, "Replaces the caller's recovery codes"),
  HttpApiEndpoint.delete("resetSecondFactor", "/accounts/:account/second-factor", {
    params: { account: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [Problems.AccountNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Removes the authenticator app and the passkeys of an account").annotate(
    OpenApi.Description,
    "For a person who lost the authenticator app or passkeys, and the recovery codes. Removes all of them. The account " +
      "signs in with its password alone until it sets up a second factor again. Ends its sessions.",
  ),
) {}
