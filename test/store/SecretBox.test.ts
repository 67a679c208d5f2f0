import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { SecretBox } from "../../src/store/SecretBox.ts"
import { Store } from "../../src/store/Store.ts"
import { type Environment, layerSettings, temporaryFolder } from "../support/stores.ts"

const newKey = () => randomBytes(32).toString("hex")

/** Runs with a box of its own, on a store of which only the kind matters. */
const withBox = <A, E>(kind: "embedded" | "postgres", env: Environment, effect: Effect.Effect<A, E, SecretBox>) =>
  Effect.scoped(Effect.flatMap(
    Layer.build(
      SecretBox.layer.pipe(
        Layer.provide(Layer.succeed(Store, { kind } as Store["Service"])),
        Layer.provide(layerSettings(env)),
      ),
    ),
    (context) => Effect.provideContext(effect, context),
  ))

const seal = (purpose: string, secret: string) =>
  Effect.flatMap(SecretBox, (box) => box.seal(purpose, Redacted.make(secret)))
const open = (purpose: string, sealed: string) =>
  Effect.flatMap(SecretBox, (box) => Effect.map(box.open(purpose, sealed), Redacted.value))

describe("SecretBox", () => {
  it.effect("opens what it sealed, and seals the same secret differently each time", () =>
    withBox(
      "postgres",
      { SECRET_KEY: newKey() },
      Effect.gen(function* () {
        for (const secret of ["", "a", "Zoë 🎉", "x".repeat(1000), "v1:a:b", "\u0000"]) {
          const sealed = yield* seal("webhook acme/provider_a", secret)
          assert.match(sealed, /^v1:[0-9a-f]{8}:[A-Za-z0-9+/]+=*$/)
          if (secret.length > 2) assert.notInclude(atob(sealed.split(":")[2]!), secret)
          assert.strictEqual(yield* open("webhook acme/provider_a", sealed), secret)
          assert.notStrictEqual(yield* seal("webhook acme/provider_a", secret), sealed)
        }
        const box = yield* SecretBox
        const opened = yield* box.open("p", yield* seal("p", "hidden-secret"))
        assert.notInclude(`${opened} ${JSON.stringify(opened)}`, "hidden-secret")
      }),
    ))

  it.effect("rejects another purpose and altered text", () =>
    withBox(
      "postgres",
      { SECRET_KEY: newKey() },
      Effect.gen(function* () {
        const sealed = yield* seal("webhook acme/provider_a", "hidden-secret")
        for (const purpose of ["webhook acme/provider_b", "webhook other/provider_a", ""]) {
          const error = yield* Effect.flip(open(purpose, sealed))
          assert.strictEqual(error._tag, "SecretUnreadable")
          assert.include(error.message, "SECRET_KEY")
          assert.notInclude(error.message, "hidden-secret")
        }
        const [version, id, text] = sealed.split(":") as [string, string, string]
        const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
        const altered = [0, 11, 12, 27, 28, bytes.length - 1].map((at) => {
          const copy = bytes.slice()
          copy[at]! ^= 1
          return `${version}:${id}:${btoa(String.fromCharCode(...copy))}`
        })
        for (
          const other of [
            ...altered,
            "",
            "v1",
            `v1:${id}`,
            `v1:${id}:`,
            `v1:${id}:AAAA`,
            `v2:${id}:${text}`,
            `v1:00000000:${text}`,
            "hidden-secret",
            `v1:${id}:${btoa(String.fromCharCode(...bytes.slice(0, 20)))}`,
          ]
        ) {
          assert.strictEqual(
            (yield* Effect.flip(open("webhook acme/provider_a", other)))._tag,
            "SecretUnreadable",
            other,
          )
        }
      }),
    ))

  it.effect("rejects a truncated authentication tag", () =>
    withBox(
      "postgres",
      { SECRET_KEY: newKey() },
      Effect.gen(function* () {
        // 12 bytes and a tag cut to 4: nothing is left that could be a text.
        const [version, id, text] = (yield* seal("p", "")).split(":") as [string, string, string]
        const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
        for (const length of [12, 16, 20, 24, 27]) {
          const cut = `${version}:${id}:${btoa(String.fromCharCode(...bytes.slice(0, length)))}`
          assert.strictEqual((yield* Effect.flip(open("p", cut)))._tag, "SecretUnreadable", String(length))
        }
      }),
    ))

  it.effect("opens with any of its keys and seals with the first", () =>
    Effect.gen(function* () {
      const [old, fresh] = [newKey(), newKey()]
      const sealed = yield* withBox("postgres", { SECRET_KEY: old }, seal("p", "hidden-secret"))
      assert.strictEqual(
        (yield* withBox("postgres", { SECRET_KEY: fresh }, Effect.flip(open("p", sealed))))._tag,
        "SecretUnreadable",
      )
      const both = { SECRET_KEY: `${fresh} , ${old.toUpperCase()}` }
      assert.strictEqual(yield* withBox("postgres", both, open("p", sealed)), "hidden-secret")
      const anew = yield* withBox("postgres", both, seal("p", "hidden-secret"))
      assert.strictEqual(yield* withBox("postgres", { SECRET_KEY: fresh }, open("p", anew)), "hidden-secret")
    }))

  it.effect("refuses to seal on PostgreSQL without a key, and explains how to create one", () =>
    withBox(
      "postgres",
      {},
      Effect.gen(function* () {
        const error = yield* Effect.flip(seal("p", "hidden-secret"))
        assert.strictEqual(error._tag, "NoSecretKey")
        assert.match(error.message, /SECRET_KEY.*openssl rand -hex 32/)
        assert.strictEqual((yield* Effect.flip(open("p", "v1:00000000:AAAA")))._tag, "SecretUnreadable")
      }),
    ))

  it.effect("creates a key file readable only by its owner when the embedded store first needs it", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const env = { DATA_DIR: folder }
      const file = join(folder, "secret-key")
      yield* withBox("embedded", env, Effect.void)
      assert.isFalse(existsSync(file))
      const sealed = yield* withBox("embedded", env, seal("p", "hidden-secret"))
      assert.match(readFileSync(file, "utf8"), /^[0-9a-f]{64}\s*$/)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(yield* withBox("embedded", env, open("p", sealed)), "hidden-secret")
      // A key that is set later seals new secrets, and earlier secrets can still be opened.
      const given = { ...env, SECRET_KEY: newKey() }
      assert.strictEqual(yield* withBox("embedded", given, open("p", sealed)), "hidden-secret")
      const anew = yield* withBox("embedded", given, seal("p", "hidden-secret"))
      assert.strictEqual(
        (yield* withBox("embedded", env, Effect.flip(open("p", anew))))._tag,
        "SecretUnreadable",
      )
    })))

  it.effect("creates no key file with SECRET_KEY", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const given = { DATA_DIR: folder, SECRET_KEY: newKey() }
      const sealed = yield* withBox("embedded", given, seal("p", "hidden-secret"))
      assert.strictEqual(yield* withBox("embedded", given, open("p", sealed)), "hidden-secret")
      assert.lengthOf(yield* withBox("embedded", given, Effect.flatMap(SecretBox, ({ ids }) => ids)), 1)
      assert.isFalse(existsSync(join(folder, "secret-key")))
    })))

  it.effect("reports a key file that contains no valid key", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* Effect.sync(() => Deno.writeTextFileSync(join(folder, "secret-key"), "no key"))
      const exit = yield* Effect.exit(withBox("embedded", { DATA_DIR: folder }, seal("p", "hidden-secret")))
      assert.strictEqual(exit._tag, "Failure")
      assert.include(String(exit), "secret-key")
    })))
})
