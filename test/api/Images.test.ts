import { assert, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import { adminToken } from "../support/service.ts"
import { images, pngOf } from "../support/testImages.ts"
import { assertProblem, type Json, read, suiteOnService } from "./harness.ts"

const settings = {
  IMAGE_BYTES: "2 kB",
  IMAGE_TOTAL_BYTES: "600",
  IMAGE_PIXELS: "1000",
  PUBLIC_URL: "https://p.example",
}

suiteOnService("Images", (bench) => {
  const send = async (method: string, path: string, body?: Uint8Array | string, type = "application/octet-stream") =>
    read(
      await bench.service.request(`/console/api/organizations/${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, ...(body === undefined ? {} : { "content-type": type }) },
        ...(body === undefined ? {} : { body: body as BodyInit }),
      }),
    )

  const upload = async (org: string, name: string, body: Uint8Array, status = 201): Promise<Json> => {
    const answer = await send("POST", `${org}/images?name=${encodeURIComponent(name)}`, body, "image/svg+xml")
    assert.strictEqual(answer.status, status, answer.text)
    return answer.json
  }

  /** Requests the public address of an image. */
  const fetched = (url: string, init?: RequestInit) => bench.service.request(new URL(url).pathname, init)

  it("are stored under the digest of their content, and served to everybody for good", async () => {
    await bench.organization("gallery")
    const image = await upload("gallery", "C:\\ads\\Sommer.png", images.png)
    const id = hash("sha256", images.png, "hex")
    const { created_at: _, ...facts } = image
    const url = `https://p.example/i/gallery/${id}.png`
    assert.deepStrictEqual(facts, { id, name: "Sommer.png", type: "png", width: 6, height: 4, size: 101, url })

    const served = await fetched(url)
    assert.strictEqual(served.status, 200)
    assert.deepStrictEqual(Buffer.from(await served.arrayBuffer()), images.png)
    const expected = {
      "content-type": "image/png",
      "content-length": "101",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      etag: `"${id}"`,
    }
    for (const [name, value] of Object.entries(expected)) assert.strictEqual(served.headers.get(name), value, name)
    const head = await fetched(url, { method: "HEAD" })
    assert.strictEqual(head.headers.get("content-length"), "101")
    assert.strictEqual(await head.text(), "")
    const again = await fetched(url, { headers: { "if-none-match": `"x", "${id}"` } })
    assert.deepStrictEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", `"${id}"`])
    assert.strictEqual(again.headers.get("cache-control"), expected["cache-control"])
  })

  it("of one organization are unknown under the name of another", async () => {
    await bench.organization("owner")
    await bench.organization("stranger")
    const { id } = await upload("owner", "a.png", images.png)
    const paths = [
      `stranger/${id}.png`,
      `nobody/${id}.png`,
      `owner/${id}.gif`,
      `owner/${id}`,
      `owner/${"0".repeat(64)}.png`,
    ]
    for (const path of [...paths, `%00/${id}.png`, "owner/..%2f..%2fetc"]) {
      const unknown = await bench.service.request(`/i/${path}`)
      assert.deepStrictEqual([unknown.status, await unknown.text()], [404, ""], path)
      assert.strictEqual(unknown.headers.get("cache-control"), "no-store")
    }
    assertProblem(await send("GET", `stranger/images/${id}`), 404, "image-not-found")
    assertProblem(await send("DELETE", `stranger/images/${id}`), 404, "image-not-found")
    assert.deepStrictEqual((await send("GET", "stranger/images")).json, { images: [] })
  })

  it("that are uploaded twice at once are stored once, under their first name", async () => {
    await bench.organization("twice")
    const sent = await Promise.all(
      ["a.png", "b.png"].map((name) => send("POST", `twice/images?name=${name}`, images.png)),
    )
    assert.deepStrictEqual(sent.map(({ status }) => status).sort(), [200, 201])
    assert.deepStrictEqual(sent[0]!.json, sent[1]!.json)
    assert.lengthOf((await send("GET", "twice/images")).json.images, 1)
  })

  it("are refused with the reason if they are no images, or exceed a limit", async () => {
    await bench.organization("limits")
    const refused = async (body: Uint8Array | string, reason: string) => {
      const answer = await send("POST", "limits/images?name=a.png", body, "image/png")
      assertProblem(answer, 400, "invalid-request")
      assert.include(answer.json.detail, reason)
    }
    await refused("", "is empty")
    await refused("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "is an SVG")
    await refused("GIF89a<html>", "The file")
    await refused(Buffer.alloc(2001), "At most 1.95 KiB are accepted (IMAGE_BYTES)")
    await refused(pngOf(50_000, 50_000), "50000 × 50000 pixels. At most 1000")
    assertProblem(await send("POST", "limits/images", Buffer.alloc(9_000_000)), 413, "payload-too-large")
    await upload("limits", "p.jpg", images.progressive)
    await refused(images.jpeg, "(IMAGE_TOTAL_BYTES). Delete unused images first")
    await upload("limits", "p.jpg", images.progressive, 200)
    assertProblem(await send("POST", "nobody/images", images.png), 404, "organization-not-found")
    assertProblem(await send("POST", "limits/images?name=%00", images.gif), 400, "invalid-request")
  })

  it("in use are deleted only by force, and are gone at once", async () => {
    const org = await bench.organization("used")
    const { id, url } = await upload("used", "logo.gif", images.gif)
    await bench.service.manage("PUT", "/organizations/used/snippets/footer", {
      format: "html",
      text: `<img src="${url}">`,
    })
    await org.template({
      id: "welcome",
      name: "Welcome",
      variants: [
        { id: "a", vars: { body: `<img src="${url}" alt="">` }, formats: { body: "html" } },
        { id: "b", vars: { body: "{% render 'footer' %}" }, formats: { body: "html" }, active: false },
        { id: "c", vars: { body: "plain" } },
      ],
    })
    const { snippets, templates } = (await send("GET", `used/images/${id}`)).json
    assert.deepStrictEqual(snippets, ["footer"])
    assert.deepStrictEqual(templates, [{ template_id: "welcome", name: "Welcome", copy_ids: ["a", "b"], served: true }])
    const refused = await send("DELETE", `used/images/${id}`)
    assertProblem(refused, 409, "conflict")
    for (
      const place of [
        'the variant "a" of the template "welcome"',
        'the snippet "footer"',
        "delete it with force (`--force`, `?force=true`)",
      ]
    ) {
      assert.include(refused.json.detail, place)
    }
    assert.strictEqual((await fetched(url)).status, 200)
    assert.strictEqual((await send("DELETE", `used/images/${id}?force=true`)).status, 204)
    assert.strictEqual((await fetched(url)).status, 404)
    const unused = await upload("used", "unused.png", images.png)
    const both = await Promise.all([1, 2, 3, 4, 5].map(() => send("DELETE", `used/images/${unused.id}`)))
    assert.deepStrictEqual(both.map(({ status }) => status).sort(), [204, 404, 404, 404, 404])
    const { entries } = (await send("GET", "used/audit")).json
    const actions = entries.map(({ action }: Json) => action).filter((action: string) => action.startsWith("image"))
    assert.deepStrictEqual(actions, ["image deleted", "image uploaded", "image deleted", "image uploaded"])
  })
}, settings)
