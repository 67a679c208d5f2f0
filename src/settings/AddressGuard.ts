import { Context, Effect, Layer, Schema } from "effect"
import ipaddr from "ipaddr.js"
import { lookup as systemLookup } from "node:dns"
import type { LookupFunction } from "node:net"
import { type Fault, InvalidInput } from "../domain/Errors.ts"
import { type Address, addressOf, addressRangeOf, innerIPv4, isIn, unmapped } from "../text/Addresses.ts"

/** `OUTBOUND_ALLOW` contains entries that are not address ranges. */
class OutboundAllowFaulty extends Schema.TaggedError<OutboundAllowFaulty>()("OutboundAllowFaulty", {
  entries: Schema.Array(Schema.String),
}) {
  override get message() {
    return `OUTBOUND_ALLOW: ${
      this.entries.map((entry) => JSON.stringify(entry)).join(", ")
    } is not an IP address or a range of addresses. Write ranges such as 10.2.0.0/16, fd00:1::/32 or 127.0.0.1, with commas.`
  }
}

/** Error code (`code`) of a connection to a forbidden address. */
export const guardCode = "EADDRESSREFUSED"

/** A connection was refused because of its address. */
export class AddressRefused extends Error {
  readonly code = guardCode
}

/** The addresses that IANA has assigned. */
const assigned = ipaddr.IPv6.parseCIDR("2000::/3")
/** A public address that Azure routes to a service of the machine, which answers with credentials. */
const wireServer = "168.63.129.16"
const nat64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96")

const kinds: Readonly<Record<string, string>> = {
  unspecified: "an unspecified address",
  broadcast: "a broadcast address",
  multicast: "a multicast address",
  linkLocal: "a link-local address, where clouds answer with credentials",
  loopback: "this machine",
  carrierGradeNat: "a provider's shared address",
  private: "a private address",
  uniqueLocal: "a private address",
  wireServer: "an address where Azure answers with credentials",
  "6to4": "a 6to4 address",
  teredo: "a Teredo address",
}

const described = (kind: string) => kinds[kind] ?? "a reserved address"

/**
 * The kind of a special address, such as `private`, or undefined for a public address. Special addresses are refused
 * unless listed.
 */
const specialKind = (address: Address): string | undefined => {
  if (address instanceof ipaddr.IPv4) {
    if (address.toString() === wireServer) return "wireServer"
    return address.range() === "unicast" ? undefined : address.range()
  }
  // Networks without IPv4 reach all IPv4 addresses under this prefix, including private ones.
  if (address.match(nat64)) return specialKind(innerIPv4(address))
  if (address.range() !== "unicast") return address.range()
  // Addresses such as `::10.0.0.1` are outside of the assigned eighth of the address space.
  return address.match(assigned) ? undefined : "reserved"
}

/**
 * A host name for DNS: labels of letters, digits and hyphens, where the last one is not a number. Some resolvers read
 * `2130706433`, `0177.0.0.1` and `0x7f.1` as addresses.
 */
const isName = (host: string): boolean => {
  const labels = (host.endsWith(".") ? host.slice(0, -1) : host).split(".")
  return host.length <= 253 && labels.every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label)) &&
    !/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1)!)
}

/** Whether a name always means this machine, without a name server (RFC 6761). */
const isLocal = (host: string): boolean => /^(.+\.)?localhost\.?$/i.test(host)

/**
 * Decides to which addresses this service may connect on behalf of an organization: to public addresses, and to special
 * addresses that `OUTBOUND_ALLOW` lists. Special addresses are loopback, private, link-local, shared, multicast,
 * documentation and other reserved addresses.
 */
export class AddressGuard extends Context.Service<AddressGuard, {
  /**
   * Returns why users may not enter this host, as the end of a sentence that begins with the host: the host is no host
   * name, a forbidden address, or an address that `OUTBOUND_ALLOW` does not list for an unencrypted connection
   * (`isPlain`, default false). Undefined if users may enter it. `lookup` and `lookupListed` check the addresses of a name.
   */
  readonly hostRefusalOf: (host: string, isPlain?: boolean) => string | undefined
  /** Returns why users may not enter this URL, without a full stop. Undefined if users may enter it. */
  readonly urlRefusalOf: (url: URL) => string | undefined
  /**
   * Looks up a name for a socket and returns only allowed addresses. Fails with `AddressRefused` if no address is
   * allowed. The socket connects to the checked address, so a second DNS answer has no effect.
   */
  readonly lookup: LookupFunction
  /** Looks up a name like `lookup`, but returns only addresses that `OUTBOUND_ALLOW` lists, for unencrypted connections. */
  readonly lookupListed: LookupFunction
}>()("parlance/settings/AddressGuard") {
  /**
   * `allow` lists addresses and CIDR ranges that are allowed although they are special. Default: no entries. `resolve`
   * replaces the resolver of the operating system. Fails with `OutboundAllowFaulty` if an entry is not an address
   * range.
   */
  static readonly layer = (
    allow: ReadonlyArray<string> = [],
    resolve: LookupFunction = systemLookup as LookupFunction,
  ): Layer.Layer<AddressGuard, OutboundAllowFaulty> =>
    Layer.effect(
      AddressGuard,
      Effect.gen(function* () {
        const entries = allow.map((entry) => entry.trim()).filter((entry) => entry !== "")
        const faulty = entries.filter((entry) => addressRangeOf(entry) === undefined)
        if (faulty.length > 0) return yield* new OutboundAllowFaulty({ entries: faulty })
        const listed = entries.flatMap((entry) => [addressRangeOf(entry)!])

        const isListed = (text: string) => {
          const address = addressOf(text)
          return address !== undefined && listed.some((range) => isIn(unmapped(address), range))
        }
        const refusalOf = (text: string) => {
          const parsed = addressOf(text)
          if (parsed === undefined) return "is no IP address"
          const address = unmapped(parsed)
          if (listed.some((range) => isIn(address, range))) return undefined
          const kind = specialKind(address)
          return kind === undefined
            ? undefined
            : `is ${described(kind)}; whoever runs this service can allow it in OUTBOUND_ALLOW`
        }
        const unlistedOf = (address: string) =>
          isListed(address)
            ? undefined
            : "is not listed in OUTBOUND_ALLOW, and unencrypted connections are made only to what is"
        const hostRefusalOf = (host: string, isPlain = false) => {
          if (addressOf(host) !== undefined) return refusalOf(host) ?? (isPlain ? unlistedOf(host) : undefined)
          if (!isName(host)) return "is neither a host name nor an IP address in its usual form"
          return isLocal(host) && !isListed("127.0.0.1") && !isListed("::1") ? refusalOf("127.0.0.1") : undefined
        }

        const lookupWith =
          (refusal: (address: string) => string | undefined): LookupFunction => (host, options, done) =>
            resolve(host, { ...options, all: true }, (error, answer) => {
              if (error) return done(error, "", undefined)
              const found = Array.isArray(answer) ? answer : [{ address: answer, family: answer.includes(":") ? 6 : 4 }]
              const usable = found.filter(({ address }) => refusal(address) === undefined)
              const first = usable[0]
              if (first === undefined) {
                const refused = found[0]
                const detail = refused === undefined
                  ? `${host} has no address`
                  : `${host} is at ${refused.address}, which ${refusal(refused.address)}`
                return done(new AddressRefused(detail), "", undefined)
              }
              return options.all ? done(null, usable) : done(null, first.address, first.family)
            })

        return AddressGuard.of({
          hostRefusalOf,
          urlRefusalOf: ({ hostname, protocol }) => {
            if (protocol !== "https:" && protocol !== "http:") return `${protocol} is not https:`
            const host = hostname.replace(/^\[|\]$/g, "")
            const refusal = hostRefusalOf(host, protocol === "http:")
            return refusal === undefined ? undefined : `${host} ${refusal}`
          },
          lookup: lookupWith(refusalOf),
          lookupListed: lookupWith(unlistedOf),
        })
      }),
    )
}

/** Returns the fault of an input from why the guard refuses its host or URL. Empty without a refusal. */
export const addressFaults = (pointer: string, refusal: string | undefined): ReadonlyArray<Fault> =>
  refusal === undefined ? [] : [{ pointer, detail: `must be an allowed address: ${refusal}` }]

/** Fails with `InvalidInput` if `guard` refuses the URL of an input. Accepts an absent URL. */
export const requireAllowed = (
  guard: AddressGuard["Service"],
  pointer: string,
  url: string | null | undefined,
): Effect.Effect<void, InvalidInput> => {
  const faults = url === null || url === undefined ? [] : addressFaults(pointer, guard.urlRefusalOf(new URL(url)))
  return faults.length === 0 ? Effect.void : new InvalidInput({ faults })
}
