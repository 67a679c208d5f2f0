import { addressOf, type AddressRange, isIn, unmapped } from "../../domain/Addresses.ts"

/** Why a connection is not accepted: the process has too many, or its address has. */
export type ConnectionRefusal = "total" | "address"

/** How many client connections the process accepts. */
export interface ConnectionLimits {
  readonly total: number
  /** Connections of one address. IPv6 clients are counted by /64, the block that a provider assigns to one customer. */
  readonly perAddress: number
  /** Addresses of load balancers, which carry the connections of many clients and have no limit of their own. */
  readonly exempt: ReadonlyArray<AddressRange>
}

/** The key an address is counted under; undefined for an exempt address and for one that is not known. */
export const countedAddress = (text: string | undefined, exempt: ReadonlyArray<AddressRange>): string | undefined => {
  const parsed = text === undefined ? undefined : addressOf(text)
  if (parsed === undefined) return undefined
  const address = unmapped(parsed)
  if (exempt.some((range) => isIn(address, range))) return undefined
  return address.kind() === "ipv4"
    ? address.toString()
    : address.toByteArray().slice(0, 8).map((byte) => byte.toString(16)).join(":")
}

const reservedShare = 0.05

/** Counts the open connections, in total and by address. */
export class ConnectionTable {
  #open = 0
  readonly #byAddress = new Map<string, number>()
  /** Connections beyond the total, for addresses without another one: health probes, and clients that are new. */
  readonly #reserve: number

  constructor(readonly limits: ConnectionLimits) {
    this.#reserve = Math.ceil(limits.total * reservedShare)
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#open
  }

  /** Counts a connection, or says why it is refused. `address` is a `countedAddress`. */
  enter(address: string | undefined): ConnectionRefusal | undefined {
    const open = address === undefined ? undefined : this.#byAddress.get(address) ?? 0
    if (this.#open >= this.limits.total + (open === 0 ? this.#reserve : 0)) return "total"
    if (address !== undefined && open !== undefined) {
      if (open >= this.limits.perAddress) return "address"
      this.#byAddress.set(address, open + 1)
    }
    this.#open++
    return undefined
  }

  /** Reverses the count of `enter`. */
  leave(address: string | undefined): void {
    this.#open--
    if (address === undefined) return
    const open = this.#byAddress.get(address)! - 1
    if (open === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, open)
  }
}
