import { assert, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { suiteOnPlatforms } from "./platformSuite.ts"
import { makeOrganization } from "../support/service.ts"
import { type Json, read } from "./harness.ts"

const mebibyte = 1024 * 1024

const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

suiteOnPlatforms("Compressed webhook bodies", (server) => {
  const post = async (path: string, body: Uint8Array, headers: Record<string, string>) =>
    read(
      await server().service.request(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: body as BodyInit,
      }),
    )
  const bytesOf = (body: unknown) => new TextEncoder().encode(JSON.stringify(body))
  const click = { event: "click", tracking_id: "t" }

  it("are read in each coding, for any spelling of its name", async () => {
    const key = await makeOrganization(server().service, "codings", ["events"])
    const coded: ReadonlyArray<readonly [string, Uint8Array]> = [
      ["gzip", gzipSync(bytesOf(click))],
      ["GZIP", gzipSync(bytesOf(click))],
      ["x-gzip", gzipSync(bytesOf(click))],
      ["identity, gzip", gzipSync(bytesOf(click))],
      ["deflate", deflateSync(bytesOf(click))],
      ["deflate", deflateRawSync(bytesOf(click))],
      ["br", brotliCompressSync(bytesOf(click))],
      ["zstd", zstdCompressSync(bytesOf(click))],
      ["identity", bytesOf(click)],
      ["Identity", bytesOf(click)],
      // A sender that forgets the header.
      ["identity", gzipSync(bytesOf(click))],
    ]
    for (const [encoding, body] of coded) {
      const answer = await post("/api/webhook/events/codings?validate=true", body, {
        "x-api-key": key,
        "content-encoding": encoding,
      })
      assert.strictEqual(answer.status, 200, `${encoding} ${answer.text}`)
      assert.strictEqual(answer.json.items[0].status, "accepted", encoding)
    }
  })

  it("are rejected before an acknowledgment if they cannot be decompressed", async () => {
    const { service } = server()
    const key = await makeOrganization(service, "refused", ["events", "generate"])
    const paths = ["/api/webhook/events/refused", "/api/webhook/provider_b/refused"]
    await service.manage("PUT", "/organizations/refused/webhooks/provider_b", { secret: "token-0123456789" })
    const status = async (path: string, encoding: string, body: Uint8Array) =>
      (await post(path, body, { "x-api-key": key, "authorization": "token-0123456789", "content-encoding": encoding }))
        .status
    const long = gzipSync(bytesOf([{ ...click, pad: "x".repeat(60_000) }]))
    const zeros = new Uint8Array(64 * mebibyte)
    const bombs = { gzip: gzipSync(zeros), br: brotliCompressSync(zeros, quickly) }
    for (const path of paths) {
      for (const encoding of ["compress", "aws-chunked", "gzip, gzip", "constructor"]) {
        assert.strictEqual(await status(path, encoding, bytesOf(click)), 415, `${path} ${encoding}`)
      }
      assert.strictEqual(await status(path, "gzip", bytesOf(click)), 400, path)
      assert.strictEqual(await status(path, "gzip", long.subarray(0, long.length - 9)), 400, path)
      for (const [encoding, bomb] of Object.entries(bombs)) {
        assert.strictEqual(await status(path, encoding, bomb), 413, `${path} ${encoding}`)
      }
    }
    assert.strictEqual(await status("/api/generate/refused", "gzip", gzipSync(bytesOf({ template_id: "t" }))), 415)
    for (const source of ["events", "provider_b"]) {
      const { body } = await service.manage("GET", `/organizations/refused/webhooks/${source}/inbox?all=true`)
      assert.deepStrictEqual(body.inbox, [])
    }
  })

  it("of platforms are stored as they were before compression", async () => {
    const { service } = server()
    await makeOrganization(service, "platform", ["events"])
    await service.manage("PUT", "/organizations/platform/webhooks/provider_b", { secret: "token-0123456789" })
    const body = {
      email: "ann@example.com",
      eventName: "emailClick",
      dataFields: { messageId: "m", url: "https://x/?tracking_id=t" },
    }
    const answer = await post("/api/webhook/provider_b/platform", gzipSync(bytesOf(body)), {
      "authorization": "token-0123456789",
      "content-encoding": "gzip",
    })
    assert.deepStrictEqual([answer.status, answer.json], [200, { status: "ok", received: 1 }])
    const inbox = async (): Promise<ReadonlyArray<Json>> =>
      (await service.manage("GET", "/organizations/platform/webhooks/provider_b/inbox?all=true")).body.inbox
    await service.untilStored("the body has been read", ["inbox"], async () => (await inbox())[0]?.status === "done")
    assert.strictEqual((await inbox())[0].events, 1)
  })

  it("may be signed before or after compression", async () => {
    const { service } = server()
    await makeOrganization(service, "signed", ["events"])
    await service.manage("PUT", "/organizations/signed/webhooks/provider_d", { secret: "s3cret" })
    const body = bytesOf({ type: "track", event: "Email Link Clicked", userId: "u", properties: { tracking_id: "t" } })
    const coded = gzipSync(body)
    const sent = (signed: Uint8Array) =>
      post("/api/webhook/provider_d/signed", coded, {
        "x-signature": createHmac("sha1", "s3cret").update(signed).digest("hex"),
        "content-encoding": "gzip",
      })
    assert.strictEqual((await sent(body)).status, 200)
    assert.strictEqual((await sent(coded)).status, 200)
    assert.strictEqual((await sent(bytesOf({}))).status, 401)
  })
})
