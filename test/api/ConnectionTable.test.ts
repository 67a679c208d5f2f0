import { assert, describe, it } from "@effect/vitest"
import { addressRangeOf } from "../../src/domain/Addresses.ts"
import { ConnectionTable, countedAddress } from "../../src/api/server/ConnectionTable.ts"

const exempt = [addressRangeOf("10.0.0.0/8")!, addressRangeOf("fd00::/16")!]

describe("The address a connection is counted under", () => {
  it("is the IPv4 address, also in its mapped form", () => {
    assert.strictEqual(countedAddress("192.0.2.7", exempt), "192.0.2.7")
    assert.strictEqual(countedAddress("::ffff:192.0.2.7", exempt), "192.0.2.7")
  })

  it("is the /64 of an IPv6 address", () => {
    const one = countedAddress("2001:db8:1:2::1", exempt)
    assert.isDefined(one)
    assert.strictEqual(countedAddress("2001:db8:1:2:ffff::9", exempt), one)
    assert.notStrictEqual(countedAddress("2001:db8:1:3::1", exempt), one)
  })

  it("is none for a trusted proxy and for an address that is not known", () => {
    assert.isUndefined(countedAddress("10.1.2.3", exempt))
    assert.isUndefined(countedAddress("::ffff:10.1.2.3", exempt))
    assert.isUndefined(countedAddress("fd00::7", exempt))
    assert.isUndefined(countedAddress(undefined, exempt))
    assert.isUndefined(countedAddress("not an address", exempt))
  })
})

describe("The table of connections", () => {
  it("refuses the connection past the limit of an address, and takes it once another has ended", () => {
    const table = new ConnectionTable({ total: 100, perAddress: 2, exempt })
    assert.deepStrictEqual(["a", "a", "a", "b"].map((address) => table.enter(address)), [
      undefined,
      undefined,
      "address",
      undefined,
    ])
    assert.strictEqual(table.open, 3)
    table.leave("a")
    assert.isUndefined(table.enter("a"))
  })

  it("has no limit by address for an exempt one", () => {
    const table = new ConnectionTable({ total: 100, perAddress: 1, exempt })
    for (let i = 0; i < 100; i++) assert.isUndefined(table.enter(undefined))
    assert.strictEqual(table.enter(undefined), "total")
  })

  it("keeps a twentieth beyond the total for addresses without another connection", () => {
    const table = new ConnectionTable({ total: 100, perAddress: 1000, exempt })
    for (let i = 0; i < 100; i++) assert.isUndefined(table.enter("flood"))
    assert.strictEqual(table.enter("flood"), "total")
    for (let i = 0; i < 5; i++) assert.isUndefined(table.enter(`probe ${i}`))
    assert.strictEqual(table.enter("one more"), "total")
    assert.strictEqual(table.enter("probe 0"), "total")
    table.leave("probe 0")
    assert.isUndefined(table.enter("one more"))
  })
})
