import { Context, Duration, Effect, Layer } from "effect"
import { Resolver } from "node:dns/promises"
import { Settings } from "../../Settings.ts"

/**
 * The answer to a look-up.
 *
 *     found         the name has such records
 *     none          no records were found; a name server that fails for this name alone looks the same
 *     unavailable   DNS cannot be asked
 */
export type DnsAnswer =
  | { readonly _tag: "found"; readonly texts: ReadonlyArray<string> }
  | { readonly _tag: "none" }
  | { readonly _tag: "unavailable"; readonly reason: string }

/** Longest wait for one name, with one repetition. */
const patience = Duration.seconds(5)

/** Codes of an answer without records. Deno gives the same code when a name server fails or refuses to answer. */
const isEmpty = (code: string | undefined): boolean => code === "ENOTFOUND" || code === "ENODATA"

const reasonOf = (error: unknown): string => String((error as { readonly code?: string }).code ?? "it failed")

/**
 * Looks a name up. After an answer without records it asks for the name servers of the root, which every working name server
 * knows: without them, the empty answer says nothing about the name.
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

/** The TXT records of a name, the strings of each joined. Never fails, and takes at most 5 seconds. */
export type LookUpTxt = (name: string) => Effect.Effect<DnsAnswer>

/** Looks TXT records up at these name servers; without any, at those of the system. */
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

/** Most parent domains that are asked for a DMARC policy. */
const maxParents = 8

/** Domains to ask for a DMARC policy: the sender's and its parents, without the top level. */
const policyDomains = (domain: string): ReadonlyArray<string> => {
  const labels = domain.split(".")
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join(".")).slice(0, maxParents)
}

/** The answers for `_dmarc.` from the domain upwards, up to the first with a policy. */
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

/** Looks up TXT records at the name servers of `DNS_SERVERS`, or at those of the system. */
export class DnsRecords extends Context.Service<DnsRecords, {
  readonly txt: LookUpTxt
}>()("parlance/delivery/receivers/DnsRecords") {
  static readonly layer = Layer.effect(
    DnsRecords,
    Effect.map(Settings, ({ dnsServers }) => DnsRecords.of({ txt: lookUpAt(dnsServers) })),
  )
}
