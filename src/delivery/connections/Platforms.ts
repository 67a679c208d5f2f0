import { Effect, Result, type Scope } from "effect"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import type { SinkMessages } from "../sandbox/SinkMessages.ts"
import type { Composer } from "../Composer.ts"
import type { Connection, ConnectionInput, Faults } from "../Connection.ts"
import * as Braze from "./Braze.ts"
import * as CustomerIo from "./CustomerIo.ts"
import type { Variables } from "./Entry.ts"
import * as Iterable from "./Iterable.ts"
import * as Postmark from "./Postmark.ts"
import * as Resend from "./Resend.ts"
import * as Ses from "./Ses.ts"
import * as Sfmc from "./Sfmc.ts"
import * as Sink from "./Sink.ts"
import * as Smtp from "./Smtp.ts"
import * as Webhook from "./Webhook.ts"

/** Requirements for opening a connection, which closes with the scope. */
type Opened = Effect.Effect<Connection, Faults, Scope.Scope | AddressGuard | Composer | SinkMessages>

/** A messaging platform that can send messages. */
interface SendingPlatform {
  /** Returns the faults of an input; empty if it is valid. */
  readonly faults: (input: ConnectionInput) => Faults
  /** Opens a connection without contacting the platform. Fails with the faults that `faults` returns. */
  readonly make: (input: ConnectionInput) => Opened
  /**
   * Returns the names of the variables that become parts of an e-mail, for valid settings. Undefined if the platform or
   * the organization's server composes the message from variables of any name.
   */
  readonly variables: (settings: ConnectionInput["settings"]) => typeof Variables.Type | undefined
}

/** The setting `variables` of a platform whose messages have a subject and a body. */
const ofEmail: SendingPlatform["variables"] = (settings) => settings["variables"] ?? {}

const ofAnyName: SendingPlatform["variables"] = () => undefined

const platform = <Settings, Secrets>({ decode, make }: {
  readonly decode: (
    input: ConnectionInput,
  ) => Result.Result<{ readonly settings: Settings; readonly secrets: Secrets }, Faults>
  readonly make: (
    settings: Settings,
    secrets: Secrets,
  ) => Effect.Effect<Connection, never, Scope.Scope | AddressGuard | Composer | SinkMessages>
}, variables: SendingPlatform["variables"]): SendingPlatform => ({
  variables,
  faults: (input) => {
    const decoded = decode(input)
    return Result.isFailure(decoded) ? decoded.failure : []
  },
  make: (input) => {
    const decoded = decode(input)
    return Result.isFailure(decoded)
      ? Effect.fail(decoded.failure)
      : make(decoded.success.settings, decoded.success.secrets)
  },
})

/** The platforms, by their name in paths, settings and tables. */
export const platforms = {
  smtp: platform(Smtp, ofEmail),
  ses: platform(Ses, ofEmail),
  resend: platform(Resend, ofEmail),
  postmark: platform(Postmark, ofEmail),
  braze: platform(Braze, (settings) => "transactional_campaign_id" in settings ? undefined : ofEmail(settings)),
  iterable: platform(Iterable, ofAnyName),
  customerio: platform(CustomerIo, ofEmail),
  sfmc: platform(Sfmc, ofAnyName),
  webhook: platform(Webhook, ofAnyName),
  sink: platform(Sink, ofEmail),
} as const satisfies Readonly<Record<string, SendingPlatform>>

/** Name of a platform in paths, settings and tables. */
export type PlatformName = keyof typeof platforms
