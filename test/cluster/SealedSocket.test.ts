import { NodeSocket, NodeSocketServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue, Redacted } from "effect"
import { NetAddress } from "effect/net"
import { Socket } from "effect/socket"
import { connect, createServer, type Socket as NetSocket } from "node:net"
import type { AddressInfo } from "node:net"
import { seal } from "../../src/cluster/SealedSocket.ts"

const secret = Redacted.make("the secret of this installation, 32+")

const portOf = (address: NetAddress.SocketAddress) => address._tag === "UnixPathAddress" ? 0 : address.port

/** Answers every message with itself in capitals; tells of each that was let through, and of each connection's end. */
const server = Effect.gen(function* () {
  const inner = yield* NodeSocketServer.make({ host: "127.0.0.1", port: 0 })
  const received = yield* Queue.unbounded<string>()
  const ends = yield* Queue.unbounded<string>()
  yield* Effect.forkScoped(inner.run((raw) =>
    Effect.scoped(Effect.gen(function* () {
      const socket = seal(raw, secret, "server")
      const writer = yield* socket.writer
      const { pull } = yield* socket.reader
      for (;;) {
        for (const bytes of yield* pull) {
          const text = new TextDecoder().decode(bytes as Uint8Array)
          Queue.offerUnsafe(received, text)
          yield* writer.write(text.toUpperCase())
        }
      }
    })).pipe(
      Effect.catch((error: Socket.SocketError) => {
        const { cause } = error.reason as { readonly cause?: unknown }
        return Queue.offer(ends, cause instanceof Error ? cause.message : error.reason._tag)
      }),
    )
  ))
  return { port: portOf(inner.address), received, ends }
})

/** Sends `texts` one after another and gives what came back; fails as the socket does. */
const converse = (port: number, key: Redacted.Redacted<string>, texts: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function* () {
    const socket = seal(yield* NodeSocket.makeNet({ host: "127.0.0.1", port }), key, "client")
    const writer = yield* socket.writer
    const { pull } = yield* socket.reader
    const answers: Array<string> = []
    yield* Effect.forkChild(Effect.forEach(texts, writer.write, { discard: true }))
    while (answers.join("").length < texts.join("").length) {
      for (const bytes of yield* pull) answers.push(new TextDecoder().decode(bytes as Uint8Array))
    }
    return answers
  }))

/** A network that keeps what goes by from client to server, and may change it. */
const wire = (port: number, change: (chunk: Buffer, at: number) => Buffer) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const kept: Array<Buffer> = []
      const sockets = new Set<NetSocket>()
      const relay = createServer((near) => {
        const far = connect(port, "127.0.0.1")
        for (const socket of [near, far]) {
          sockets.add(socket)
          socket.on("error", () => {})
        }
        near.on("data", (chunk: Buffer) => {
          kept.push(chunk)
          far.write(change(chunk, kept.length))
        })
        far.on("data", (chunk) => near.write(chunk))
        near.on("close", () => far.destroy())
        far.on("close", () => near.destroy())
      })
      await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", () => resolve()))
      return { kept, port: (relay.address() as AddressInfo).port, relay, sockets }
    }),
    ({ relay, sockets }) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        relay.close()
      }),
  )

/** Writes bytes as they are, and waits until the other side hangs up. */
const write = (port: number, bytes: Uint8Array) =>
  Effect.callback<void>((resume) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes))
    socket.on("error", () => {}).on("data", () => {}).on("close", () => resume(Effect.void))
    return Effect.sync(() => socket.destroy())
  })

describe("A sealed socket", () => {
  it.live("carries messages of every size both ways, in order and unreadable on the way", () =>
    Effect.scoped(Effect.gen(function* () {
      const { port } = yield* server
      const { kept, port: relay } = yield* wire(port, (chunk) => chunk)
      const texts = ["hello", "x".repeat(3_000_000), "and a last one"]
      const answers = yield* converse(relay, secret, texts)
      assert.strictEqual(answers.join("|"), texts.join("|").toUpperCase())
      assert.isFalse(Buffer.concat(kept).includes("hello"))
      assert.isFalse(Buffer.concat(kept).includes("xxxxxxxx"))
    })))

  it.live(
    "lets nothing through from who does not know the secret, repeats what another said, or says anything else",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { ends, port, received } = yield* server
        const refused = yield* Effect.result(
          converse(port, Redacted.make("another secret of enough characters"), ["let me in"]),
        )
        assert.strictEqual(refused._tag, "Failure")
        assert.include(yield* Queue.take(ends), "CLUSTER_SECRET")

        const { kept, port: relay } = yield* wire(port, (chunk) => chunk)
        yield* converse(relay, secret, ["pay once"])
        assert.strictEqual(yield* Queue.take(received), "pay once")
        yield* Queue.take(ends)
        yield* write(port, Buffer.concat(kept))
        assert.include(yield* Queue.take(ends), "CLUSTER_SECRET")

        const tampered = yield* wire(port, (chunk, at) => {
          if (at > 1) chunk[chunk.length - 20]! ^= 1
          return chunk
        })
        assert.strictEqual((yield* Effect.result(converse(tampered.port, secret, ["pay once more"])))._tag, "Failure")
        assert.include(yield* Queue.take(ends), "tampered")

        yield* write(port, Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n"))
        assert.include(yield* Queue.take(ends), "does not speak")
        const greeting = Buffer.concat([Buffer.from("PLC1"), Buffer.alloc(32)])
        const huge = Buffer.alloc(4)
        huge.writeUInt32BE(1_000_000)
        yield* write(port, Buffer.concat([greeting, huge]))
        assert.include(yield* Queue.take(ends), "1000000 bytes")
        // Nor does it wait for ever for who says nothing.
        yield* write(port, greeting)
        assert.include(yield* Queue.take(ends), "nothing for too long")
        assert.deepStrictEqual(yield* Queue.clear(received), [])
      })),
    30_000,
  )
})
