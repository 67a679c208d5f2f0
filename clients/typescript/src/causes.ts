import type { UnavailableReason } from "./errors.ts"

/** The answer does not come from Parlance, such as the page of a proxy, or is too large. */
export class UnexpectedAnswer extends TypeError {}

interface Described {
  readonly code?: unknown
  readonly message?: unknown
  readonly name?: unknown
  readonly cause?: unknown
}

/** Returns an error and its causes, outermost first, at most 5. */
const chainOf = (error: unknown): ReadonlyArray<Described> => {
  const chain: Array<Described> = []
  for (
    let one = error;
    typeof one === "object" && one !== null && chain.length < 5;
    one = (one as Described).cause
  ) {
    chain.push(one)
  }
  return chain
}

/** Patterns in the codes of Node and Bun and in the texts of Deno, by the reason that they mean. */
const patterns: ReadonlyArray<readonly [UnavailableReason, RegExp]> = [
  ["timeout", /TimeoutError|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT/],
  ["refused", /ECONNREFUSED|ConnectionRefused|connection refused/i],
  ["dns", /ENOTFOUND|EAI_AGAIN|dns error|getaddrinfo/i],
  ["tls", /CERT|certificate|\bTLS\b|\bSSL\b|ERR_TLS|corrupt message/i],
]

/** Texts of Node, Bun and Deno for an answer in plain HTTP to a request over TLS. */
const withoutTls = /wrong.version.number|http.request|packet.length.too.long|InvalidContentType/i

/** Returns why an attempt got no answer: its reason, and a sentence for people. `timeout` is in milliseconds. */
export const causeOf = (
  error: unknown,
  timeout: number,
): { readonly reason: UnavailableReason; readonly text: string } => {
  const chain = chainOf(error)
  const innermost = chain.at(-1)?.message
  const detail = typeof innermost === "string" && innermost !== "" ? innermost : String(error)
  if (error instanceof UnexpectedAnswer) {
    return { reason: "answer", text: detail }
  }
  const texts = chain.map(({ code, message, name }) => `${code} ${name} ${message}`).join("\n")
  const reason = patterns.find(([, pattern]) => pattern.test(texts))?.[0] ??
    "network"
  switch (reason) {
    case "timeout":
      return { reason, text: `no answer came within ${timeout} ms` }
    case "refused":
      return { reason, text: "the connection was refused. Check the address, and that the service runs" }
    case "dns":
      return { reason, text: "the name of the host was not found. Check the address" }
    case "tls":
      if (withoutTls.test(texts)) {
        return {
          reason,
          text: "the service answers without TLS. If this is its port, its address begins with http://",
        }
      }
      return {
        reason,
        text: `the certificate was not accepted (${detail}). Behind a TLS proxy, trust its certificate: ` +
          "NODE_EXTRA_CA_CERTS of Node, DENO_CERT of Deno",
      }
    default:
      return { reason, text: detail }
  }
}
