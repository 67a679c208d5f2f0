import ipaddr from "ipaddr.js"

// IP addresses and ranges of them, as settings and connections name them.

export type Address = ReturnType<typeof ipaddr.parse>
/** A range of addresses: its base, and how many bits of that count. */
export type AddressRange = ReturnType<typeof ipaddr.parseCIDR>

/** The address a text is in its usual form, without brackets or zone; undefined for any other text. */
export const addressOf = (text: string): Address | undefined => {
  // A zone names a network card of this machine; the address is judged without it.
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

/** The address of a connected socket; an IPv4-mapped IPv6 address is converted to IPv4. */
export const unmapped = (address: Address): Address =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? innerIPv4(address) : address

/** Whether a range holds an address of the same kind. */
export const isIn = (address: Address, [base, bits]: AddressRange): boolean =>
  address.kind() === base.kind() && address.match(base, bits)

/** The range a text such as `10.0.0.0/8` or `fd00::1` is; undefined for any other text. */
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
 * The network an address is counted under: an IPv4 address itself, of an IPv6 address its /64, since one customer holds at
 * least that much. A text that is no address stands for itself, cut to 100 characters.
 */
export const networkOf = (text: string): string => {
  const address = addressOf(text)
  if (address === undefined) return text.slice(0, 100)
  const plain = unmapped(address)
  if (plain instanceof ipaddr.IPv4) return plain.toString()
  return `${new ipaddr.IPv6([...plain.toByteArray().slice(0, 8), 0, 0, 0, 0, 0, 0, 0, 0]).toString()}/64`
}
