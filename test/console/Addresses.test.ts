import { assert } from "@effect/vitest"
import { it } from "vitest"
import { addressesIn } from "../../src/console/Addresses.ts"

it.each<readonly [text: string, addresses: ReadonlyArray<string>]>([
  [" ,;\r\n ", []],
  ["a@x.example b@x.example,c@x.example;d@x.example\r\ne@x.example", [..."abcde"].map((one) => `${one}@x.example`)],
  ["Ann@x.example, b@x.example, ann@X.example", ["Ann@x.example", "b@x.example"]],
  ["Ann Lee <ann@x.example>, Ben <ben@x.example>", ["ann@x.example", "ben@x.example"]],
  ['"Lee, Ann" <ann@x.example>; Lee, Ben < ben@x.example >', ["ann@x.example", "ben@x.example"]],
  ["'ann@x.example' <ann@x.example>\nben@x.example", ["ann@x.example", "ben@x.example"]],
  ['"ann@x.example", "ben@x.example"', ["ann@x.example", "ben@x.example"]],
  ["Ann <ann@x.example\nben@x.example", ["ann@x.example", "ben@x.example"]],
  ["ann; Ben <ben@x.example>; Cleo ben", ["ann", "ben@x.example", "Cleo", "ben"]],
  ["Ann <>", ["<>"]],
  ["Ann <not an address>", ["not an address"]],
])("addresses of %j are %j", (text, addresses) => {
  assert.deepStrictEqual(addressesIn(text), addresses)
})
