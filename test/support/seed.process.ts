// Makes an embedded database without tables in the folder it is given. A process of its own, since PGlite leaves its own
// exit code behind, which hid from whoever ran the tests that some had failed.
import { PGlite } from "@electric-sql/pglite"

const db = await PGlite.create({ dataDir: Deno.args[0]! })
await db.close()
Deno.exit(0)
