import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { imageName, imagePath, readImagePath } from "../../src/domain/Image.ts"
import { readImageFile } from "../../src/domain/ImageFile.ts"
import { images, pngOf } from "../support/testImages.ts"

const faultOf = (bytes: Uint8Array): string => {
  const facts = readImageFile(bytes)
  return "fault" in facts ? facts.fault : `${facts.type} ${facts.width}`
}

describe("readImageFile", () => {
  it("returns the type and the size of each type of image", () => {
    const types = { progressive: "jpeg", animated: "gif", lossless: "webp" }
    for (const [kind, file] of Object.entries(images)) {
      const type = kind in types ? types[kind as keyof typeof types] : kind
      assert.deepStrictEqual(readImageFile(file) as object, { type, width: 6, height: 4 }, kind)
    }
    assert.deepStrictEqual(readImageFile(pngOf(70_000, 80_000)) as object, {
      type: "png",
      width: 70_000,
      height: 80_000,
    })
  })

  it("refuses every file that ends too early", () => {
    for (const [kind, file] of Object.entries(images)) {
      for (let length = 0; length < file.length; length++) {
        assert.notMatch(faultOf(file.subarray(0, length)), /^\w+ \d+$/, `${kind} ${length}`)
      }
    }
    assert.include(faultOf(images.png.subarray(0, 60)), "ends before the image does")
  })

  it("refuses a file with another file after the image", () => {
    for (const [kind, file] of Object.entries(images)) {
      const both = Buffer.concat([file, Buffer.from("<script>alert(1)</script>")])
      assert.include(faultOf(both), "has other data after the end of the image, 25 of its bytes", kind)
    }
  })

  it("refuses damage in the structure", () => {
    const damaged = Buffer.from(images.png)
    damaged[45]! ^= 1
    assert.include(faultOf(damaged), "is damaged")
    assert.include(faultOf(pngOf(0, 4)), "has no pixels")
    // A header, and the end.
    const empty = Buffer.concat([images.png.subarray(0, 33), images.png.subarray(-12)])
    assert.include(faultOf(empty), "has no pixels")
    const noFrame = Buffer.concat([images.gif.subarray(0, 10), Buffer.from("\0\0\0;", "latin1")])
    assert.include(faultOf(noFrame), "has no pixels")
    assert.notMatch(faultOf(Buffer.from("GIF89a/*<script>*/=1;alert(1)")), /^gif/)
    assert.include(faultOf(Buffer.from("\xff\xd8\xff\xd9", "latin1")), "has no pixels")
  })

  it("reads the size of pixels that exceed the declared size", () => {
    const gif = Buffer.from(images.gif)
    gif.writeUInt16LE(1, 6)
    assert.deepStrictEqual(readImageFile(gif) as object, { type: "gif", width: 6, height: 4 })
    const canvas = Buffer.from("VP8X\x0a\0\0\0\0\0\0\0\x05\0\0\x03\0\0", "latin1")
    const webp = Buffer.concat([images.webp.subarray(0, 12), canvas, images.webp.subarray(12)])
    webp.writeUInt32LE(webp.length - 8, 4)
    assert.deepStrictEqual(readImageFile(webp) as object, { type: "webp", width: 6, height: 4 })
    webp[24] = 0
    assert.include(faultOf(webp), "is damaged")
  })

  it("names files that are no images, whatever their names say", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["", "is empty"],
      ['<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "is an SVG"],
      ["<!-- logo --><svg onload=alert(1)>", "can contain scripts"],
      ["<!DOCTYPE html><p>Hi", "is an HTML page"],
      ["\0\0\0\x18ftypheic", "HEIC"],
      ["\0\0\0\x18ftypavif", "AVIF"],
      ["BM....", "BMP"],
      ["%PDF-1.7", "PDF"],
      ["hello", "is not a PNG, JPEG, GIF or WebP image"],
      ["\0\0\0", "is not a PNG, JPEG, GIF or WebP image"],
    ]
    for (const [text, fault] of cases) assert.include(faultOf(Buffer.from(text, "latin1")), fault, text)
  })

  it("reads bytes in the middle of a buffer", () => {
    const inside = Buffer.concat([Buffer.from("xx"), images.png]).subarray(2)
    assert.strictEqual(faultOf(inside), "png 6")
  })
})

describe("names of images", () => {
  it("have no folders, control characters or marks of direction", () => {
    assert.strictEqual(imageName("..\\..\\C:\\banner.png"), "banner.png")
    assert.strictEqual(imageName("/etc/passwd/شعار الصيف.png"), "شعار الصيف.png")
    assert.strictEqual(imageName("photo\u202Egnp.exe\0\n.png"), "photognp.exe.png")
    for (const name of ["", "folder/", "\u202E", " \n"]) assert.strictEqual(imageName(name), "image")
    assert.strictEqual(imageName("x".repeat(500)).length, 100)
  })

  it("are not part of the address", () => {
    const id = "0a".repeat(32)
    assert.strictEqual(imagePath("shop", { id, type: "jpeg" }), `/i/shop/${id}.jpg`)
    assert.deepStrictEqual(readImagePath(`${id}.jpg`), { id, type: "jpeg" })
    for (const file of [`${id}.jpeg`, id, `${id.toUpperCase()}.jpg`, `x${id}.jpg`, `${id}.svg`, ""]) {
      assert.isUndefined(readImagePath(file), file)
    }
  })
})
