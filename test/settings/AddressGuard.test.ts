import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { LookupFunction } from "node:net"
import { AddressGuard, AddressRefused } from "../../src/settings/AddressGuard.ts"

const forbidden: ReadonlyArray<string> = [
  // IPv4: this machine, private, link-local with the metadata service, shared, and unassigned.
  "127.0.0.1",
  "127.255.255.254",
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "10.255.255.255",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.0.1",
  "192.168.255.255",
  "169.254.0.1",
  "169.254.169.254",
  "168.63.129.16",
  "100.64.0.1",
  "100.127.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "198.51.100.7",
  "203.0.113.9",
  "198.18.0.1",
  "198.19.255.255",
  "192.88.99.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  // IPv6.
  "::",
  "::1",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "fec0::1",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "2001:db8::1",
  "3fff::1",
  "100::1",
  "2001:2::1",
  "2001:10::1",
  "5f00::1",
  // IPv4 in other clothes.
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:169.254.169.254",
  "::ffff:0:10.0.0.1",
  "::127.0.0.1",
  "::a00:1",
  "64:ff9b::10.0.0.1",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::1",
  "2002:7f00:1::",
  "2002:a00:1::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
]

const permitted: ReadonlyArray<string> = [
  "8.8.8.8",
  "1.1.1.1",
  "172.15.255.255",
  "172.32.0.1",
  "100.63.255.255",
  "100.128.0.1",
  "169.253.1.1",
  "192.167.1.1",
  "223.255.255.254",
  "2606:4700:4700::1111",
  "2a00:1450:4001:81b::200e",
  "::ffff:8.8.8.8",
  "64:ff9b::8.8.8.8",
]

const faultyHosts: ReadonlyArray<string> = [
  "2130706433",
  "0x7f000001",
  "0177.0.0.1",
  "127.1",
  "0x7f.1",
  "127.0.0.1.",
  "017700000001",
  "1.2.3.4.5",
  "[::1]",
  "",
  "a b",
  "exa_mple..com",
  "evil.example/path",
  "user@host",
  "host:25",
  "host\r\nx",
  "localhost.0x1",
]

/** URLs of forbidden addresses in many spellings, by what the refusal says. */
const forbiddenUrls: ReadonlyArray<readonly [said: string, ...urls: ReadonlyArray<string>]> = [
  [
    "this machine",
    "https://127.0.0.1/hook",
    "https://127.8.8.8:8443/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0x0.0x0.0x1/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://127.0.0.1./",
    "https://%31%32%37.0.0.1/",
    "https://\u2460\u2461\u2466.0.0.1/",
    "https://127\u30020\u30020\u30021/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://127.0x0.00.1/",
    "https://0x7f000001./",
    "https://127\uff0e0\uff610\u30021/",
    "https://\u{1d7cf}\u{1d7d0}\u{1d7d5}.0.0.1/",
    "https://127.0.0.1\u200b/",
    "https://127.0.\t0.1/",
    "https://127.0.0\n.1/",
    " https://127.0.0.1/ ",
    "https:127.0.0.1/",
    "https:\\\\127.0.0.1\\",
    "https:////127.0.0.1/",
    "https://hooks.example.com@127.0.0.1/",
    "https://hooks.example.com:443@127.0.0.1/",
    "https://127.0.0.1\\@hooks.example.com/",
    "https://127.0.0.1?@hooks.example.com/",
    "https://127.0.0.1#@hooks.example.com/",
  ],
  [
    "this machine",
    "https://localhost/",
    "https://LocalHost/",
    "https://localhost./",
    "https://localhost:8443/hook?x=1",
    "https://api.localhost/",
    "https://a.b.localhost./",
    "https://localhost%2e/",
    "https://%6cocalhost/",
    "https://\uff4cocalhost/",
    "https://LOCALHOST.:8443/",
    "https://localho\u017ft/",
    "https://loc\u00adal\u200bhost/",
    "https://a.localhost\u3002/",
    "https://local\nhost/",
    "http://localhost/",
  ],
  [
    "a private address",
    "https://10.0.0.1/",
    "https://10.1/",
    "https://167772161/",
    "https://0x0a000001/",
    "https://012.0.0.1/",
    "https://172.16.0.1/",
    "https://0xac.0x1f.0xff.0xff/",
    "https://192.168.0.1/",
    "https://192.168.257/",
    "https://3232235521/",
    "https://0300.0250.0.1/",
    "https://[fd00::1]/",
    "https://[fc00:1::]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:c0a8:1]/",
    "https://[64:ff9b::a00:1]/",
  ],
  [
    "credentials",
    "https://169.254.169.254/latest/meta-data/",
    "http://169.254.169.254/computeMetadata/v1/",
    "https://169.254.43518/",
    "https://169.16689662/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0xa9.0xfe.0xa9.0xfe/",
    "https://0251.0376.0251.0376/",
    "https://169.254.169.254./",
    "https://169.254.170.2/v2/credentials",
    "https://[::ffff:169.254.169.254]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[fe80::1]/",
    "https://168.63.129.16/machine",
  ],
  [
    "address",
    "https://0/",
    "https://0.0.0.0/",
    "https://[::]/",
    "https://100.100.100.200/latest/meta-data/",
    "https://192.0.0.192/",
    "https://[fd00:ec2::254]/",
    "https://[2002:a9fe:a9fe::]/",
    "https://[::169.254.169.254]/",
    "https://[64:ff9b:1::10.0.0.1]/",
    "https://[2001:0:7f00:1::]/",
    "https://[::ffff:0:127.0.0.1]/",
    "https://4294967295/",
    "https://0x/",
    "https://127.0.0.1../",
    "https://localhost../",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://192.0.2.1/",
  ],
  ["unencrypted", "http://8.8.8.8/", "http://134744072/", "http://[2606:4700::1]/"],
  ["is not https:", "ftp://8.8.8.8/", "file:///etc/passwd"],
]

const guardOf = (allow: ReadonlyArray<string> = [], resolve?: LookupFunction) =>
  Effect.map(Layer.build(AddressGuard.layer(allow, resolve)), (context) => AddressGuard.pipe(Effect.provide(context)))
    .pipe(Effect.flatten)

/** A name server whose answers are given one after the other. */
const answering = (...answers: ReadonlyArray<ReadonlyArray<string>>) => {
  const left = [...answers]
  const resolve: LookupFunction = (_host, _options, done) =>
    done(null, (left.shift() ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })))
  return resolve
}

const lookedUp = (lookup: LookupFunction, host: string) =>
  Effect.callback<unknown, Error>((resume) =>
    lookup(host, { all: true }, (error, found) => resume(error ? Effect.fail(error) : Effect.succeed(found)))
  )

describe("AddressGuard", () => {
  for (const address of forbidden) {
    it.effect(`refuses ${address}`, () =>
      Effect.gen(function* () {
        assert.isString((yield* guardOf()).hostRefusalOf(address))
      }))
  }

  for (const address of permitted) {
    it.effect(`accepts ${address}`, () =>
      Effect.gen(function* () {
        assert.isUndefined((yield* guardOf()).hostRefusalOf(address))
      }))
  }

  for (const host of faultyHosts) {
    it.effect(`refuses ${JSON.stringify(host)} as a host`, () =>
      Effect.gen(function* () {
        assert.isString((yield* guardOf()).hostRefusalOf(host))
      }))
  }

  it.effect("accepts host names and public addresses as hosts", () =>
    Effect.gen(function* () {
      const guard = yield* guardOf()
      for (
        const host of [
          "smtp.example.com",
          "localhost.example.com",
          "a-b.xn--mnchen-3ya.de",
          "8.8.8.8",
          "mail.example.com.",
        ]
      ) {
        assert.isUndefined(guard.hostRefusalOf(host), host)
      }
    }))

  for (const [said, ...urls] of forbiddenUrls) {
    it.effect(`refuses ${urls[0]} in ${urls.length} spellings`, () =>
      Effect.gen(function* () {
        const guard = yield* guardOf()
        for (const url of urls) assert.include(guard.urlRefusalOf(new URL(url)) ?? "", said, url)
      }))
  }

  it.effect("accepts URLs of names and of public addresses", () =>
    Effect.gen(function* () {
      const guard = yield* guardOf()
      const urls = [
        "https://hooks.example.com/x",
        "http://relay.internal/",
        "https://8.8.8.8/",
        "https://[2606:4700::1]/",
        "https://[2001:200::1]:8443/",
        "https://[64:ff9b::8.8.8.8]/",
        "https://134744072/",
        "https://local.example.com/",
        "https://localhost.example.com./",
        "https://mylocalhost/",
        "https://127.0.0.1.example.com/",
        "https://0x7f.example.com/",
        "https://hooks.example.com\\@127.0.0.1/",
      ]
      for (const url of urls) assert.isUndefined(guard.urlRefusalOf(new URL(url)), url)
    }))

  it.effect("accepts localhost if an address of this machine is listed", () =>
    Effect.gen(function* () {
      for (const listed of ["127.0.0.1", "127.0.0.0/8", "::1"]) {
        const guard = yield* guardOf([listed])
        assert.isUndefined(guard.hostRefusalOf("localhost", true), listed)
        assert.isUndefined(guard.urlRefusalOf(new URL("http://localhost:8080/")), listed)
      }
      const guard = yield* guardOf(["10.0.0.0/8"])
      assert.include(guard.hostRefusalOf("localhost.") ?? "", "OUTBOUND_ALLOW")
    }))

  it.effect("accepts addresses in the listed ranges only", () =>
    Effect.gen(function* () {
      const guard = yield* guardOf([" 10.2.0.0/16", "127.0.0.1", "fd00:1::/32", ""])
      for (const address of ["10.2.3.4", "::ffff:10.2.3.4", "127.0.0.1", "fd00:1::9"]) {
        assert.isUndefined(guard.hostRefusalOf(address), address)
        assert.isUndefined(guard.hostRefusalOf(address, true), address)
      }
      for (const address of ["10.3.0.1", "127.0.0.2", "fd00:2::1", "64:ff9b::10.2.3.4"]) {
        assert.isString(guard.hostRefusalOf(address), address)
      }
      assert.isString(guard.hostRefusalOf("8.8.8.8", true))
    }))

  it.effect("rejects a list with invalid ranges and names each invalid entry", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(guardOf(["10.0.0.0/8", "10.0.0.0/33", "example.com", "10.1"]))
      assert.deepStrictEqual(error.entries, ["10.0.0.0/33", "example.com", "10.1"])
      assert.include(error.message, "OUTBOUND_ALLOW")
    }))

  it.effect("resolves a name to its public addresses only", () =>
    Effect.gen(function* () {
      const { lookup } = yield* guardOf([], answering(["10.0.0.1", "8.8.8.8", "::1"]))
      assert.deepStrictEqual(yield* lookedUp(lookup, "mixed.example"), [{ address: "8.8.8.8", family: 4 }])
    }))

  it.effect("checks every DNS answer, so that a rebound name is refused", () =>
    Effect.gen(function* () {
      const { lookup } = yield* guardOf([], answering(["8.8.8.8"], ["169.254.169.254"]))
      yield* lookedUp(lookup, "rebinding.example")
      const error = yield* Effect.flip(lookedUp(lookup, "rebinding.example"))
      assert.instanceOf(error, AddressRefused)
      assert.include(error.message, "rebinding.example is at 169.254.169.254")
    }))

  it.effect("refuses a name that the system resolves to a private address", () =>
    Effect.gen(function* () {
      const { lookup } = yield* guardOf()
      assert.instanceOf(yield* Effect.flip(lookedUp(lookup, "localhost")), AddressRefused)
    }))

  it.effect("resolves a name for unencrypted sending to its listed addresses only", () =>
    Effect.gen(function* () {
      const { lookupListed } = yield* guardOf(["10.0.0.0/8"], answering(["8.8.8.8"], ["10.0.0.1", "8.8.8.8"]))
      assert.instanceOf(yield* Effect.flip(lookedUp(lookupListed, "relay.example")), AddressRefused)
      assert.deepStrictEqual(yield* lookedUp(lookupListed, "relay.example"), [{ address: "10.0.0.1", family: 4 }])
    }))
})
