import { assert, describe, it } from "@effect/vitest"
import * as ServerLog from "../../../src/store/bundled/ServerLog.ts"

describe("the output of PostgreSQL", () => {
  const reasons: ReadonlyArray<readonly [name: string, lines: ReadonlyArray<string>, expected: RegExp]> = [
    [
      "a full disk",
      [
        'PANIC:  could not write to file "pg_wal/xlogtemp.42": No space left on device',
        "LOG:  startup process was aborted",
      ],
      /^the disk is full/,
    ],
    [
      "a file system that only reads",
      ['FATAL:  could not open file "postmaster.pid": Read-only file system'],
      /read-only/,
    ],
    [
      "files of another release",
      [
        "FATAL:  database files are incompatible with server",
        "DETAIL:  The database cluster was initialized with PG_CONTROL_VERSION 1300",
      ],
      /another release of PostgreSQL than 18/,
    ],
    ...[
      'PANIC:  could not read file "global/pg_control": read 100 of 296',
      "postgres: could not find the database system",
      "DETAIL:  The database cluster was initialized with PG_CONTROL_VERSION 0, but the server was compiled with PG_CONTROL_VERSION 1800.",
      "FATAL:  could not access status of transaction 752",
      "PANIC:  could not locate a valid checkpoint record at 0/174B290",
      'FATAL:  "/data" is not a valid data directory',
      'FATAL:  relation mapping file "global/pg_filenode.map" contains invalid data',
      'FATAL:  could not open file "global/pg_filenode.map": No such file or directory',
      'FATAL:  could not open file "base/5/1259": Input/output error',
      'postgres: could not access the server configuration file "/data/postgresql.conf": No such file or directory',
      "FATAL:  could not load /data/pg_hba.conf",
      "FATAL:  incorrect checksum in control file",
      'PANIC:  invalid page in block 3 of relation "base/5/1259"',
    ].map((line, at): readonly [string, ReadonlyArray<string>, RegExp] => [
      `damaged files (${at + 1})`,
      ["FATAL:  database files are incompatible with server", line, "LOG:  database system is shut down"],
      /^its files are damaged \(.*parlance restore FILE/,
    ]),
    [
      "a file that another user owns",
      ['FATAL:  could not open file "global/pg_control": Permission denied'],
      /^FATAL: {2}could not open file/,
    ],
    [
      "a user without an account",
      ["initdb: error: could not look up effective user ID 4711: user does not exist"],
      /passwd/,
    ],
    [
      "anything else that is fatal",
      ["LOG:  starting", "FATAL:  something else", "LOG:  bye"],
      /^FATAL: {2}something else$/,
    ],
    ["a last word", ["LOG:  starting", "LOG:  bye"], /^LOG: {2}bye$/],
    ["nothing", [], /^it printed nothing$/],
  ]
  for (const [name, lines, expected] of reasons) {
    it(`names ${name} as the reason`, () => assert.match(ServerLog.reasonOf(lines, 18), expected))
  }

  it("reports when the server is ready, and its work before", () => {
    assert.isTrue(ServerLog.isReady("LOG:  database system is ready to accept connections"))
    assert.isFalse(ServerLog.isReady("LOG:  starting PostgreSQL 18.4"))
    assert.match(
      ServerLog.progressOf("LOG:  database system was not properly shut down; automatic recovery in progress") ?? "",
      /recovers/,
    )
    assert.isUndefined(ServerLog.progressOf("LOG:  listening on Unix socket"))
  })

  it("distinguishes a fault of the server from the end of one connection", () => {
    assert.isTrue(ServerLog.isFault("PANIC:  could not write"))
    assert.isFalse(ServerLog.isFault("FATAL:  terminating connection due to administrator command"))
    assert.isFalse(ServerLog.isFault("LOG:  checkpoint starting"))
  })

  it("is limited to its last lines", () => {
    const log = ServerLog.make()
    for (let n = 0; n < 100; n++) log.add(`line ${n}`)
    log.add(" ")
    assert.lengthOf(log.lines(), 40)
    assert.strictEqual(log.lines().at(-1), "line 99")
  })
})
