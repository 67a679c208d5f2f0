import { Context, Effect, Layer, Schema } from "effect"
import ipaddr from "ipaddr.js"
import { lookup as systemLookup } from "node:dns"
import type { LookupFunction } from "node:net"
import { type Address, addressOf, addressRangeOf, innerIPv4, isIn, unmapped } from "../domain/Addresses.ts"

/** Entries of `OUTBOUND_ALLOW` that are no address ranges. */
export class OutboundAllowFaulty extends Schema.TaggedError<OutboundAllowFaulty>()("OutboundAllowFaulty", {
  entries: Schema.Array(Schema.String),
}) {
  override get message() {
    return `OUTBOUND_ALLOW: ${
      this.entries.map((entry) => JSON.stringify(entry)).join(", ")
    } is no address or range of addresses. Write ranges such as 10.2.0.0/16, fd00:1::/32 or 127.0.0.1, with commas.`
  }
}

/** `code` of the error that a connection to a forbidden address ends with. */
export const guardCode = "EADDRESSREFUSED"

/** A connection was not made, because of where it would have gone. */
export class AddressRefused extends Error {
  readonly code = guardCode
}

const given = ipaddr.IPv6.parseCIDR("2000::/3")
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
  "6to4": "a 6to4 address",
  teredo: "a Teredo address",
}

const described = (kind: string) => kinds[kind] ?? "a reserved address"

/** The kind of an address that is refused unless it is listed; undefined for public addresses. */
const specialKind = (address: Address): string | undefined => {
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast" ? undefined : address.range()
  // Networks without IPv4 reach all of it by this prefix, the private part too.
  if (address.match(nat64)) return specialKind(innerIPv4(address))
  if (address.range() !== "unicast") return address.range()
  // Only this eighth of the space has been given out; `::10.0.0.1` and the like are outside of it.
  return address.match(given) ? undefined : "reserved"
}

/**
 * A host name by DNS: labels of letters, digits and hyphens, the last one no number. `2130706433`, `0177.0.0.1` and `0x7f.1`
 * are addresses to some resolvers, names to none.
 */
const isName = (host: string): boolean => {
  const labels = (host.endsWith(".") ? host.slice(0, -1) : host).split(".")
  return host.length <= 253 && labels.every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label)) &&
    !/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1)!)
}

/**
 * Says which addresses this service may connect to on behalf of an organization. Public ones; what is loopback, private,
 * link-local, shared, multicast, documentation or otherwise reserved only when it was listed.
 */
export class AddressGuard extends Context.Service<AddressGuard, {
  /** Why an address may not be connected to, to stand after the address; undefined when it may. */
  readonly refusalOf: (address: string) => string | undefined
  /** Why a host cannot be entered at all: no name, or an address that is refused. Names are judged when they are looked up. */
  readonly hostRefusalOf: (host: string) => string | undefined
  /** Whether an address was listed: only to such ones may anything be sent unencrypted. */
  readonly isListed: (address: string) => boolean
  /**
   * Looks a name up for a socket and hands out only addresses that may be connected to; `AddressRefused` when there are
   * none. The socket connects to the address that was checked, so that a second DNS answer changes nothing.
   */
  readonly lookup: LookupFunction
  /** The same, for listed addresses only. */
  readonly lookupListed: LookupFunction
}>()("parlance/delivery/AddressGuard") {
  /**
   * `allow`: addresses and CIDR ranges that may be connected to although they are special. `resolve` stands for the
   * system's resolver.
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
          refusalOf,
          hostRefusalOf: (host) =>
            addressOf(host) !== undefined
              ? refusalOf(host)
              : isName(host)
              ? undefined
              : "is neither a host name nor an IP address in its usual form",
          isListed,
          lookup: lookupWith(refusalOf),
          lookupListed: lookupWith(unlistedOf),
        })
      }),
    )
}
