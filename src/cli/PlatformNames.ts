import type { PlatformName } from "../delivery/connections/Platforms.ts"

// The names are repeated here because loading the adapters would delay every command.
const names: { readonly [name in PlatformName]: true } = {
  smtp: true,
  ses: true,
  resend: true,
  postmark: true,
  braze: true,
  iterable: true,
  customerio: true,
  sfmc: true,
  webhook: true,
  sink: true,
}

/** The platforms of connections. */
export const platformNames = Object.keys(names) as ReadonlyArray<PlatformName>
