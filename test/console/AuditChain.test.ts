import { assert } from "@effect/vitest"
import { it } from "vitest"
import { hash } from "node:crypto"
import { runCommand } from "../support/cli.ts"
import { adminToken } from "../support/service.ts"
import { describeShop } from "./shop.ts"

describeShop("The proof of the audit log", (shop) => {
  const parlance = (args: ReadonlyArray<string>, input = "") =>
    runCommand(["audit", ...args], { PARLANCE_URL: shop.service.url, ADMIN_TOKEN: adminToken }, input)

  const ofShop = ["--org", "shop"]

  it("verifies the chain, and a file that anyone can verify", async () => {
    for (const id of ["one", "two"]) {
      await shop.manage("POST", "/organizations/shop/templates", {
        id,
        name: id,
        variants: [{ id: "a", vars: { subject: "1, 2" } }],
      })
    }
    const { code, output } = await parlance(["verify", ...ofShop])
    assert.strictEqual(code, 0, output)
    const [, entries, seq, head] = /^changes: (\d+) entries are whole. Head: (\d+):([0-9a-f]{64})$/m.exec(output)!
    assert.strictEqual(entries, seq)
    assert.include(output, "refusals: no entries")
    const { changes } = await shop.manage("GET", "/organizations/shop/audit/chains")
    assert.deepStrictEqual(changes.head, { seq: Number(seq), hash: head })

    const file = (await parlance(["export", ...ofShop])).output
    const lines = file.trimEnd().split("\n")
    assert.lengthOf(lines, Number(entries))
    for (const [at, line] of lines.entries()) {
      const { hash: stored, previous } = JSON.parse(line)
      assert.strictEqual(stored, hash("sha256", line.replace(/,"hash":"[0-9a-f]{64}"\}$/, "}"), "hex"))
      assert.strictEqual(previous, at === 0 ? "0".repeat(64) : JSON.parse(lines[at - 1]!).hash)
    }
    const checked = await parlance(["verify", "--file", "-", "--head", `${seq}:${head}`], file)
    assert.deepStrictEqual(checked.code, 0, checked.output)
    const fromWindows = await parlance(["verify", "--file", "-"], `\ufeff${lines.join("\r\n")}\r\n`)
    assert.strictEqual(fromWindows.code, 0, fromWindows.output)
    const shortened = await parlance(["verify", "--file", "-"], lines.toSpliced(1, 1).join("\n"))
    assert.strictEqual(shortened.code, 1)
    assert.include(shortened.output, "broken: entry 2 is missing. 1 entries before it are whole")
    const rewritten = await parlance(["verify", ...ofShop, "--head", `1:${"0".repeat(64)}`])
    assert.strictEqual(rewritten.code, 1)
    assert.include(rewritten.output, "changes: broken: entry 1 has another hash than the one you kept")
    const rest = lines.slice(1).join("\n")
    const continued = await parlance(["verify", "--file", "-", "--head", `1:${JSON.parse(lines[0]!).hash}`], rest)
    assert.include(continued.output, "entries are whole after entry 1, up to which all were deleted")
    const gone = await parlance(["verify", "--file", "-", "--head", `1:${"0".repeat(64)}`], rest)
    assert.strictEqual(gone.code, 1)
    assert.include(gone.output, "entry 1 is gone, but you kept its hash: all entries up to 1 were deleted")
    assert.include((await parlance(["verify", ...ofShop, "--head", "12"])).output, "--head must be a number and a hash")
  })

  it("offers the head and downloads to admins", async () => {
    const log = "/console/o/shop/settings/audit"
    const admin = await shop.signIn("admin@example.com")
    const { changes } = await shop.manage("GET", "/organizations/shop/audit/chains")
    assert.include((await admin.get(log)).text, `${changes.head.seq}:${changes.head.hash}`)
    const csv = await admin.get(`${log}/export?format=csv`)
    assert.match(
      csv.text,
      /^seq,previous,id,at,org,actor,actor_id,action,subject,address,refusal,details,changes,hash\r\n1,0{64},/,
    )
    assert.include(csv.text, changes.head.hash)
    assert.strictEqual((await admin.get(`${log}/export`)).text.trimEnd().split("\n").length, changes.head.seq)
    assert.strictEqual((await (await shop.signIn("editor@example.com")).get(`${log}/export`)).status, 403)
    const page = async (query: string) => {
      const response = await shop.service.request(`/console/api/organizations/shop/audit/export?${query}`, {
        headers: { authorization: `Bearer ${adminToken}` },
      })
      const text = await response.text()
      return {
        seqs: text.trimEnd().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).seq),
        cursor: response.headers.get("parlance-cursor"),
        more: response.headers.get("parlance-more"),
      }
    }
    assert.deepStrictEqual(await page("after=1&limit=1"), { seqs: [2], cursor: "2", more: "true" })
    const seqs: Array<number> = []
    for (let cursor = "0", more = "true"; more === "true";) {
      const found = await page(`cursor=${cursor}&limit=2`)
      seqs.push(...found.seqs)
      cursor = found.cursor!
      more = found.more!
    }
    assert.deepStrictEqual(seqs, Array.from({ length: changes.head.seq }, (_, at) => at + 1))
    assert.deepStrictEqual(await page("limit=600"), { seqs, cursor: null, more: null })
  })
})
