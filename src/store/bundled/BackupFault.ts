import { existsSync, statSync } from "node:fs"
import { dirname } from "node:path"

// Explains failures of the file system and of archives to a person who makes or restores a backup.

const codeOf = (cause: unknown): string => cause instanceof Error && "code" in cause ? String(cause.code) : ""

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const isFull = (cause: unknown): boolean =>
  /^(ENOSPC|EDQUOT)$/.test(codeOf(cause)) || /no space left|quota exceeded/i.test(messageOf(cause))

const isForbidden = (cause: unknown): boolean => /^(EACCES|EPERM|EROFS)$/.test(codeOf(cause))

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Returns why a backup was not written to `file`, and what to do. */
export const writeFault = (cause: unknown, file: string): string => {
  if (isFull(cause)) return "the disk is full. Free space, or name a file on another disk"
  if (isFolder(file)) return `${file} is a folder. Name a file in it`
  if (!existsSync(dirname(file))) {
    return `the folder ${dirname(file)} does not exist. Create it, or name a file in another folder`
  }
  if (isForbidden(cause)) return `this user may not write there (${messageOf(cause)}). Name a file in another folder`
  return `${messageOf(cause)}. Check the disk and the log of the service, then repeat the command`
}

/** Returns why a backup in `file` was not restored to `dataDir`, and what to do. */
export const restoreFault = (cause: unknown, file: string, dataDir: string): string => {
  if (isFull(cause)) return `the disk of ${dataDir} is full. Free space, or use a folder on another disk`
  if (!existsSync(file)) return "there is no such file. Correct its path"
  if (isFolder(file)) return "it is a folder. Name the file of the backup in it"
  if (isForbidden(cause)) return `this user may not read it or write to ${dataDir} (${messageOf(cause)})`
  return `${
    messageOf(cause).replace(/\.$/, "")
  }. The file is damaged or incomplete, or was not made by \`parlance backup\`. ` +
    "Restore another copy of it, or an earlier backup. A file of pg_dump needs pg_restore"
}
