import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { restoreFault, writeFault } from "../../../src/store/bundled/BackupFault.ts"

const fault = (message: string, code?: string) => Object.assign(new Error(message), code === undefined ? {} : { code })

describe("a failed backup", () => {
  it("is explained with the change to make", () => {
    const folder = mkdtempSync(join(tmpdir(), "parlance-fault-"))
    try {
      const file = join(folder, "a.backup")
      writeFileSync(file, "")
      for (const full of [fault("write", "ENOSPC"), fault("No space left on device (os error 28)")]) {
        assert.match(writeFault(full, file), /^the disk is full. Free space, or name a file on another disk$/)
        assert.strictEqual(
          restoreFault(full, file, "/data"),
          "the disk of /data is full. Free space, or use a folder on another disk",
        )
      }
      assert.match(writeFault(fault("open", "EACCES"), file), /may not write there.*another folder/)
      assert.match(
        writeFault(fault("open", "ENOENT"), join(folder, "no", "x")),
        /the folder \S+no does not exist. Create it/,
      )
      assert.match(writeFault(fault("rename", "EISDIR"), folder), /is a folder. Name a file in it/)
      assert.match(restoreFault(fault("open", "ENOENT"), join(folder, "x"), "/data"), /no such file. Correct its path/)
      assert.match(restoreFault(fault("read", "EISDIR"), folder, "/data"), /is a folder. Name the file of the backup/)
      assert.match(
        restoreFault(fault("Invalid tar header checksum."), file, "/data"),
        /^Invalid tar header checksum. The file is damaged or incomplete.*Restore another copy.*pg_restore$/,
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
