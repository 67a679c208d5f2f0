import { Context, Duration, Effect, Layer } from "effect"
import { Resolver } from "node:dns/promises"
import { Settings } from "../../settings/Settings.ts"

/**
 * The result of a DNS query.
 *
 *     found         the name has TXT records
 *     none          no records were found, or a name server failed for this name only
 *     unavailable   DNS does not work here
 */
export type DnsAnswer =
  | { readonly _tag: "found"; readonly texts: ReadonlyArray<string> }
  | { readonly _tag: "none" }
  | { readonly _tag: "unavailable"; readonly reason: string }

/** Timeout of one name, including one repetition. */
const patience = Duration.seconds(5)

/**
 * Whether a code means an answer without records. Deno returns these codes also if a name server fails or refuses to
 * answer.
 */
const isEmpty = (code: string | undefined): boolean => code === "ENOTFOUND" || code === "ENODATA"

const reasonOf = (error: unknown): string => String((error as { readonly code?: string }).code ?? "it failed")

/**
 * Queries the TXT records of a name. After an answer without records, queries the root's name servers, which every
 * working resolver knows: if that query fails, the empty answer proves nothing about the name.
 */
const lookUp = async (resolver: Resolver, name: string): Promise<DnsAnswer> => {
  try {
    return { _tag: "found", texts: (await resolver.resolveTxt(name)).map((parts) => parts.join("")) }
  } catch (error) {
    if (!isEmpty(reasonOf(error))) return { _tag: "unavailable", reason: reasonOf(error) }
  }
  try {
    await resolver.resolveNs(".")
    return { _tag: "none" }
  } catch {
    return { _tag: "unavailable", reason: "the name server does not even know the root of DNS" }
  }
}

/** Queries the TXT records of a name and joins the strings of each record. Never fails. Timeout: 5 seconds. */
export type LookUpTxt = (name: string) => Effect.Effect<DnsAnswer>

/** Returns a query function that uses these name servers, or the system's name servers if the list is empty. */
export const lookUpAt = (servers: ReadonlyArray<string>): LookUpTxt =>
  Effect.fn("DnsRecords.txt")((name: string) =>
    Effect.callback<DnsAnswer>((resume) => {
      const resolver = new Resolver({ timeout: 2_000, tries: 2 })
      if (servers.length > 0) resolver.setServers(servers)
      void lookUp(resolver, name).then((answer) => resume(Effect.succeed(answer)))
      return Effect.sync(() => resolver.cancel())
    }).pipe(Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.succeed<DnsAnswer>({ _tag: "unavailable", reason: "no name server answered in 5 seconds" }),
    }))
  )

/** Maximum number of domains that are queried for a DMARC policy. */
const maxParents = 8

/**
 * Returns the domains to query for a DMARC policy: the sender's domain and its parents, without the top-level domain.
 */
const policyDomains = (domain: string): ReadonlyArray<string> => {
  const labels = domain.split(".")
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join(".")).slice(0, maxParents)
}

/** Queries `_dmarc.` from the domain upwards, up to the first domain with a policy. Returns all answers. */
export const lookUpPolicy = Effect.fnUntraced(function* (txt: LookUpTxt, domain: string) {
  const answers = []
  for (const one of policyDomains(domain)) {
    const answer = yield* txt(`_dmarc.${one}`)
    answers.push({ domain: one, answer })
    if (answer._tag === "unavailable") break
    if (answer._tag === "found" && answer.texts.some((text) => /^\s*v\s*=\s*dmarc1/i.test(text))) break
  }
  return answers
})

/** Queries TXT records at the name servers of `DNS_SERVERS`. Default: the system's name servers. */
export class DnsRecords extends Context.Service<DnsRecords, {
  readonly txt: LookUpTxt
}>()("parlance/delivery/receivers/DnsRecords") {
  static readonly layer = Layer.effect(
    DnsRecords,
    Effect.map(Settings, ({ dnsServers }) => DnsRecords.of({ txt: lookUpAt(dnsServers) })),
  )
}
