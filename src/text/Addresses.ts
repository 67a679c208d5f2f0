import ipaddr from "ipaddr.js"

// IP addresses, and ranges of IP addresses, of settings and connections.

/** A parsed IP address. */
export type Address = ReturnType<typeof ipaddr.parse>
/** A range of addresses: its base address, and the number of leading bits that must match. */
export type AddressRange = ReturnType<typeof ipaddr.parseCIDR>

/** Parses an IP address without its brackets and zone. Returns undefined for any other text. */
export const addressOf = (text: string): Address | undefined => {
  // A zone names a network interface of this machine and is not part of the address.
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const plain = bare.split("%", 1)[0]!
  return ipaddr.IPv4.isValidFourPartDecimal(plain)
    ? ipaddr.IPv4.parse(plain)
    : ipaddr.IPv6.isValid(plain) && plain.includes(":")
    ? ipaddr.IPv6.parse(plain)
    : undefined
}

/** The IPv4 address in the last 32 bits. */
export const innerIPv4 = (address: ipaddr.IPv6): ipaddr.IPv4 => new ipaddr.IPv4(address.toByteArray().slice(12))

/** Converts an IPv4-mapped IPv6 address, such as the address of a connected socket, to IPv4. Keeps other addresses. */
export const unmapped = (address: Address): Address =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? innerIPv4(address) : address

/** Whether an address is in a range. False if one is IPv4 and the other is IPv6. */
export const isIn = (address: Address, [base, bits]: AddressRange): boolean =>
  address.kind() === base.kind() && address.match(base, bits)

/** Parses a range such as `10.0.0.0/8`, or a single address. Returns undefined for any other text. */
export const addressRangeOf = (entry: string): AddressRange | undefined => {
  try {
    if (entry.includes("/")) {
      return ipaddr.IPv4.isValidCIDRFourPartDecimal(entry) || entry.includes(":") ? ipaddr.parseCIDR(entry) : undefined
    }
    const address = addressOf(entry)
    return address && [address, address instanceof ipaddr.IPv4 ? 32 : 128]
  } catch {
    return undefined
  }
}

/**
 * The network by which requests of an address are counted: an IPv4 address, or the /64 of an IPv6 address, because one
 * customer has at least a /64. Returns the first 100 characters of any other text.
 */
export const networkOf = (text: string): string => {
  const address = addressOf(text)
  if (address === undefined) return text.slice(0, 100)
  const plain = unmapped(address)
  if (plain instanceof ipaddr.IPv4) return plain.toString()
  return `${new ipaddr.IPv6([...plain.toByteArray().slice(0, 8), 0, 0, 0, 0, 0, 0, 0, 0]).toString()}/64`
}
