import { Effect, Result, type Scope } from "effect"
import type { AddressGuard } from "../AddressGuard.ts"
import type { Composer } from "../Composer.ts"
import type { Connection, ConnectionInput, Faults } from "../Connection.ts"
import * as Braze from "./Braze.ts"
import * as CustomerIo from "./CustomerIo.ts"
import * as Iterable from "./Iterable.ts"
import * as Sfmc from "./Sfmc.ts"
import * as Smtp from "./Smtp.ts"
import * as Webhook from "./Webhook.ts"

/** What opening a connection needs: it closes with the scope. */
type Opened = Effect.Effect<Connection, Faults, Scope.Scope | AddressGuard | Composer>

/** A messaging platform that messages can leave through. */
export interface Platform {
  /** What is wrong with an input; empty when nothing is. */
  readonly faults: (input: ConnectionInput) => Faults
  /** Opens a connection; connects to nothing yet. Fails with the faults of an input that `faults` finds fault with. */
  readonly make: (input: ConnectionInput) => Opened
}

const platform = <Settings, Secrets>({ decode, make }: {
  readonly decode: (
    input: ConnectionInput,
  ) => Result.Result<{ readonly settings: Settings; readonly secrets: Secrets }, Faults>
  readonly make: (
    settings: Settings,
    secrets: Secrets,
  ) => Effect.Effect<Connection, never, Scope.Scope | AddressGuard | Composer>
}): Platform => ({
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

/** By the name in paths, settings and tables. */
export const platforms = {
  smtp: platform(Smtp),
  braze: platform(Braze),
  iterable: platform(Iterable),
  customerio: platform(CustomerIo),
  sfmc: platform(Sfmc),
  webhook: platform(Webhook),
} as const satisfies Readonly<Record<string, Platform>>

export type PlatformName = keyof typeof platforms
