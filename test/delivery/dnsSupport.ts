import { Context, Effect, Layer } from "effect"
import { temporaryEnvironment } from "../support/stores.ts"
import { type DnsServer, startDns } from "../support/dnsServer.ts"
import { layerQueue } from "./support.ts"

/** The name server that the services under test ask. */
export class TestDns extends Context.Service<TestDns, DnsServer>()("parlance/test/TestDns") {}

/** Everything but HTTP and background jobs, on a database and a name server of its own. */
export const layerWithDns = Layer.unwrap(Effect.gen(function* () {
  const environment = yield* temporaryEnvironment
  const dns = yield* Effect.acquireRelease(Effect.promise(() => startDns()), (server) => Effect.promise(server.close))
  return layerQueue(environment, { DNS_SERVERS: dns.address }).pipe(Layer.merge(Layer.succeed(TestDns, dns)))
}))
