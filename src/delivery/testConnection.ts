import { Duration, Effect } from "effect"
import type { ConnectionNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { TestResult } from "./Connection.ts"
import type { Connections } from "./Connections.ts"

/** How long a platform may take. */
const patience = Duration.seconds(30)

/** Tries a connection out without sending anything to anybody. */
export const testConnection = (
  connections: Connections["Service"],
  org: OrgSlug,
  name: string,
): Effect.Effect<TestResult, ConnectionNotFound> =>
  connections.open(org, name).pipe(
    Effect.flatMap(({ test }) => test),
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.succeed({ ok: false, detail: "The platform did not answer within 30 seconds" }),
    }),
    Effect.catchTag("NotOpened", ({ reason }) => Effect.succeed({ ok: false, detail: reason })),
  )
