import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch, Result } from "effect"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import { TestClock } from "effect/testing"
import * as GroupCommit from "../../src/store/GroupCommit.ts"

const down = new SqlError({
  reason: new ConnectionError({ cause: new Error("down"), message: "down", operation: "query" }),
})
const poison = new SqlError({
  reason: new UnknownError({ cause: { code: "22P05" }, message: "no such character", operation: "query" }),
})

/** A store of lines that a test can switch off, hold back, or poison. */
const makeStore = Effect.fnUntraced(function* (
  { beside, gathering }: Pick<GroupCommit.GroupCommitOptions<string, string>, "beside" | "gathering"> = {},
) {
  const written: Array<string> = []
  const groups: Array<number> = []
  const settled: Array<string> = []
  const gate = yield* Latch.make(true)
  const state = { isDown: false }
  const write = (entries: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      yield* gate.await
      if (state.isDown) return yield* down
      if (entries.includes("poison")) return yield* poison
      if (entries.includes("bug")) throw new TypeError("nobody thought of this")
      groups.push(entries.length)
      written.push(...entries)
      return entries.map((entry) => entry.toUpperCase())
    })
  const commit = yield* GroupCommit.make<string, string>({
    write,
    onSettled: (entry) => settled.push(entry),
    maxGroup: 10,
    ...(gathering === undefined ? {} : { gathering }),
    ...(beside === undefined ? {} : { beside }),
    maxWaiting: 30,
    maxWeight: { limit: 1000, held: 200, of: (entry) => entry.length },
    bufferSize: 5,
    bufferAge: Duration.seconds(60),
    timeout: Duration.seconds(3),
    drainTimeout: Duration.seconds(10),
  })
  const put = (entry: string) =>
    Effect.suspend(() => {
      const write = commit.submit(entry)
      return write === undefined ? new GroupCommit.BufferFull() : commit.settled(write)
    })
  // Closing waits for queued entries, and the test clock does not advance then.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.sync(() => void (state.isDown = false)), TestClock.adjust("1 seconds"))
  )
  return { commit, gate, groups, put, settled, state, written }
})

const durable = (value: string) => ({ durable: true, value })

describe("GroupCommit", () => {
  it.effect("answers each writer with its own result once its group is committed", () =>
    Effect.gen(function* () {
      const { put, settled } = yield* makeStore()
      const answers = yield* Effect.all(["a", "b", "c"].map(put), { concurrency: "unbounded" })
      assert.deepStrictEqual(answers, ["A", "B", "C"].map(durable))
      assert.deepStrictEqual(settled, ["a", "b", "c"])
    }))

  it.effect("gathers entries during a commit into the next one, up to the limit", () =>
    Effect.gen(function* () {
      const { gate, groups, put } = yield* makeStore()
      yield* gate.close
      const writers = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 25 }, (_, i) => put(`e${i}`)), { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("1 millis")
      yield* gate.open
      yield* Fiber.join(writers)
      assert.strictEqual(groups.reduce((sum, size) => sum + size, 0), 25)
      assert.isTrue(groups.every((size) => size <= 10))
      assert.isTrue(groups.length <= 4)
    }))

  it.effect("waits for the configured gathering time, or until a group is full", () =>
    Effect.gen(function* () {
      const { commit, groups } = yield* makeStore({ gathering: Duration.millis(100) })
      commit.submit("a")
      yield* TestClock.adjust("60 millis")
      commit.submit("b")
      assert.deepStrictEqual(groups, [])
      yield* TestClock.adjust("40 millis")
      assert.deepStrictEqual(groups, [2])
      for (let i = 0; i < 15; i++) commit.submit(`e${i}`)
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(groups, [2, 10])
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(groups, [2, 10, 5])
    }))

  it.effect("starts a second concurrent commit once enough entries wait, but not while a commit fails", () =>
    Effect.gen(function* () {
      const { commit, gate, groups, state, written } = yield* makeStore({ beside: { most: 1, from: 4 } })
      const submit = (...entries: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          for (const entry of entries) commit.submit(entry)
          yield* TestClock.adjust("1 millis")
        })
      yield* gate.close
      yield* submit("a")
      yield* submit("b", "c", "d")
      yield* submit("e")
      yield* submit("f", "g", "h", "i", "j")
      yield* gate.open
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(groups, [1, 4, 5], "the third waits for one of the two")
      assert.deepStrictEqual(written, [..."abcdefghij"])
      state.isDown = true
      yield* submit("k")
      yield* submit("l", "m", "n", "o")
      state.isDown = false
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(groups, [1, 4, 5, 5], "what waits is written at once when the store is back")
    }))

  it.effect("keeps the answers of committed entries until all acknowledged entries are stored", () =>
    Effect.gen(function* () {
      const { commit, gate, put, settled, state, written } = yield* makeStore()
      state.isDown = true
      const first = commit.submit("a")!
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* commit.settled(first), { durable: false })
      yield* gate.close
      state.isDown = false
      yield* TestClock.adjust("250 millis")
      assert.deepStrictEqual(yield* put("b"), { durable: false }, "the group of a is being written")
      yield* gate.release
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(written, ["a"])
      assert.isTrue(commit.isDown())
      assert.deepStrictEqual(settled, [])
      assert.deepStrictEqual(yield* commit.settled(first), durable("A"))
      yield* gate.open
      yield* TestClock.adjust("1 millis")
      assert.isFalse(commit.isDown())
      assert.sameMembers(settled, ["a", "b"])
    }))

  it.effect("refuses entries while too many wait, by number and by weight, and accepts them afterwards", () =>
    Effect.gen(function* () {
      const { gate, put } = yield* makeStore()
      yield* gate.close
      const writers = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 45 }, (_, i) => Effect.result(put(`e${i}`))), { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("1 millis")
      yield* gate.open
      const answers = yield* Fiber.join(writers)
      // A group is on its way, or about to be, and 30 wait.
      const taken = answers.filter(Result.isSuccess).length
      assert.isTrue(taken >= 30 && taken <= 40, String(taken))
      assert.strictEqual((yield* put("one more")).durable, true)
      yield* gate.close
      const heavy = yield* Effect.forkChild(put("x".repeat(150)))
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Effect.flip(put("y".repeat(60))))._tag, "BufferFull")
      const light = yield* Effect.forkChild(put("z".repeat(50)))
      yield* TestClock.adjust("1 millis")
      yield* gate.open
      assert.strictEqual((yield* Fiber.join(heavy)).durable, true)
      assert.strictEqual((yield* Fiber.join(light)).durable, true)
      assert.strictEqual((yield* put("w".repeat(500))).durable, true, "one alone may be of any weight")
    }))

  it.effect("answers from memory while the database is unavailable, and writes all entries afterwards", () =>
    Effect.gen(function* () {
      const { commit, put, state, written } = yield* makeStore()
      state.isDown = true
      assert.deepStrictEqual(yield* put("a"), { durable: false })
      assert.deepStrictEqual(yield* put("b"), { durable: false })
      assert.isTrue(commit.isDown())
      assert.strictEqual(commit.size(), 2)
      state.isDown = false
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(written, ["a", "b"])
      assert.isFalse(commit.isDown())
      assert.strictEqual(commit.size(), 0)
      assert.deepStrictEqual(yield* put("c"), durable("C"))
    }))

  it.effect("rejects entries beyond its buffer while the database is unavailable", () =>
    Effect.gen(function* () {
      const { put, state, written } = yield* makeStore()
      state.isDown = true
      for (const entry of ["a", "b", "c", "d", "e"]) assert.deepStrictEqual(yield* put(entry), { durable: false })
      const refused = yield* Effect.flip(put("f"))
      assert.strictEqual(refused._tag, "BufferFull")
      state.isDown = false
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(written, ["a", "b", "c", "d", "e"])
    }))

  it.effect("rejects new entries once the oldest has waited longer than the maximum age", () =>
    Effect.gen(function* () {
      const { put, state } = yield* makeStore()
      state.isDown = true
      yield* put("a")
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* Effect.flip(put("b")))._tag, "BufferFull")
    }))

  it.effect("counts the age of the entries in progress, and has room again once they are stored", () =>
    Effect.gen(function* () {
      const { commit, gate, put } = yield* makeStore()
      yield* gate.close
      const first = yield* Effect.forkChild(put("a"))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(first)
      // From here on "a" is tried for three seconds and waits a quarter of one: it is on its way when it gets too old.
      yield* TestClock.adjust("55 seconds")
      assert.isTrue(commit.hasRoom())
      assert.deepStrictEqual(yield* put("b"), { durable: false })
      yield* TestClock.adjust("3 seconds")
      assert.isFalse(commit.hasRoom())
      assert.strictEqual((yield* Effect.flip(put("c")))._tag, "BufferFull")
      yield* gate.open
      yield* TestClock.adjust("4 seconds")
      assert.isTrue(commit.hasRoom())
      assert.strictEqual(commit.size(), 0)
    }))

  it.effect("never loses entries that it acknowledged from memory, with any outages", () =>
    Effect.gen(function* () {
      const { commit, gate, put, state, written } = yield* makeStore()
      state.isDown = true
      const promised = ["a1", "a2", "a3", "a4", "a5"]
      for (const entry of promised) assert.deepStrictEqual(yield* put(entry), { durable: false })
      // The store takes a little and fails again while others come in.
      yield* gate.close
      state.isDown = false
      yield* TestClock.adjust("300 millis")
      const others = yield* Effect.forkChild(
        Effect.all(["b1", "b2", "b3"].map((entry) => Effect.exit(put(entry))), { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("1 millis")
      state.isDown = true
      yield* gate.open
      yield* TestClock.adjust("1 seconds")
      state.isDown = false
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(others)
      for (const entry of promised) assert.include(written, entry)
      assert.isFalse(commit.isDown())
    }))

  it.effect("answers all waiting callers when the database becomes unavailable", () =>
    Effect.gen(function* () {
      const { gate, put, state } = yield* makeStore()
      yield* gate.close
      state.isDown = true
      const many = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 25 }, (_, i) => Effect.exit(put(`e${i}`))), { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("1 millis")
      yield* gate.open
      yield* TestClock.adjust("1 millis")
      const exits = yield* Fiber.join(many)
      assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 5)
      assert.strictEqual(exits.filter((exit) => exit._tag === "Failure").length, 20)
    }))

  it.effect("treats a commit that does not end as an unavailable database", () =>
    Effect.gen(function* () {
      const { commit, gate, put } = yield* makeStore()
      yield* gate.close
      const writer = yield* Effect.forkChild(put("a"))
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(yield* Fiber.join(writer), { durable: false })
      assert.isTrue(commit.isDown())
      yield* gate.open
    }))

  it.effect("does not wait for an abandoned commit, and settles each entry once and in order", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const settled: Array<string> = []
      let tries = 0
      const commit = yield* GroupCommit.make<string, string>({
        // The first cannot be interrupted, as a statement on a connection that is cut, and succeeds all the same.
        write: (entries) =>
          Effect.uninterruptible(Effect.gen(function* () {
            const name = `try ${++tries}`
            if (tries === 1) yield* Effect.sleep("8 seconds")
            ended.push(name)
            return entries.map((entry) => `${entry} of ${name}`)
          })),
        onSettled: (entry) => settled.push(entry),
        maxGroup: 10,
        maxWaiting: 30,
        bufferSize: 5,
        bufferAge: Duration.seconds(60),
        timeout: Duration.seconds(3),
        drainTimeout: Duration.seconds(10),
      })
      const first = commit.submit("a")!
      const writer = yield* Effect.forkChild(commit.settled(first))
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* Fiber.join(writer), { durable: false })
      commit.submit("b")
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(settled, ["a", "b"])
      assert.deepStrictEqual(ended, ["try 2"])
      assert.deepStrictEqual(yield* commit.settled(first), durable("a of try 2"))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(ended, ["try 2", "try 1"])
      assert.deepStrictEqual(settled, ["a", "b"])
      assert.deepStrictEqual(yield* commit.settled(first), durable("a of try 2"))
      assert.strictEqual(commit.size(), 0)
    }))

  it.effect("stores the other entries of a group if the database rejects one permanently", () =>
    Effect.gen(function* () {
      const { gate, put, written } = yield* makeStore()
      yield* gate.close
      const good = yield* Effect.forkChild(Effect.all(["a", "b", "c"].map(put), { concurrency: "unbounded" }))
      const bad = yield* Effect.forkChild(Effect.exit(put("poison")))
      yield* TestClock.adjust("1 millis")
      yield* gate.open
      assert.deepStrictEqual(yield* Fiber.join(good), ["A", "B", "C"].map(durable))
      assert.strictEqual((yield* Fiber.join(bad))._tag, "Failure")
      assert.deepStrictEqual([...written].sort(), ["a", "b", "c"])
    }))

  it.effect("continues after an entry with an unexpected failure", () =>
    Effect.gen(function* () {
      const { gate, put, settled } = yield* makeStore()
      yield* gate.close
      const good = yield* Effect.forkChild(Effect.all(["a", "b", "c"].map(put), { concurrency: "unbounded" }))
      const bad = yield* Effect.forkChild(Effect.exit(put("bug")))
      yield* TestClock.adjust("1 millis")
      yield* gate.open
      assert.deepStrictEqual(yield* Fiber.join(good), ["A", "B", "C"].map(durable))
      assert.include(String(yield* Fiber.join(bad)), "nobody thought of this")
      assert.deepStrictEqual(yield* put("d"), durable("D"))
      assert.deepStrictEqual([...settled].sort(), ["a", "b", "bug", "c", "d"])
    }))

  it.effect("writes queued entries before it closes", () =>
    Effect.gen(function* () {
      const written = yield* Effect.scoped(Effect.gen(function* () {
        const { commit, gate, written } = yield* makeStore()
        yield* gate.close
        commit.submit("a")
        commit.submit("b")
        yield* Effect.addFinalizer(() => gate.open)
        return written
      }))
      assert.deepStrictEqual(written, ["a", "b"])
    }))
})
