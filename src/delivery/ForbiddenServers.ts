import { addressFaults, type AddressGuard } from "../settings/AddressGuard.ts"
import type { ConnectionInput, Faults } from "./Connection.ts"

/** Settings of all platforms that hold the URL of a server. */
const serverUrls = ["url", "endpoint", "auth_endpoint", "rest_endpoint"]

/** Returns a fault for each server in valid settings that `guard` forbids by its address. */
export const forbiddenServers = (guard: AddressGuard["Service"], settings: ConnectionInput["settings"]): Faults => {
  const { host, tls } = settings
  const refusal = typeof host === "string" ? guard.hostRefusalOf(host, tls === "none") : undefined
  return [
    ...addressFaults("/settings/host", refusal && `${host} ${refusal}`),
    ...serverUrls.flatMap((name) => {
      const url = settings[name]
      return typeof url === "string" ? addressFaults(`/settings/${name}`, guard.urlRefusalOf(new URL(url))) : []
    }),
  ]
}
