import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { AuditEntry } from "../accounts/Audit.ts"
import { changesText } from "./ChangesText.ts"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { changesFlag } from "./TemplateIndexCommands.ts"

const list = Command.make(
  "list",
  {
    installation: Flag.Boolean("installation").pipe(
      Flag.withDescription("Show entries outside any organization: accounts, sessions and created organizations"),
      Flag.withDefault(false),
    ),
    changes: changesFlag,
    limit: Flag.Int("limit").pipe(Flag.withDescription("Maximum number of entries. Default: all"), Flag.optional),
  },
  Effect.fnUntraced(function* ({ changes, installation, limit }) {
    const client = yield* ManagementClient
    const org = installation ? undefined : yield* organization
    const most = Option.getOrElse(limit, () => Infinity)
    const entries: Array<AuditEntry> = []
    let cursor: number | undefined
    do {
      const query = { limit: "200", ...(cursor === undefined ? {} : { before: String(cursor) }) }
      const page = yield* org === undefined
        ? client.accounts.listInstallationAudit({ query })
        : client.accounts.listAudit({ params: { org }, query })
      entries.push(...page.entries)
      cursor = page.next ?? undefined
    } while (cursor !== undefined && entries.length < most)
    const shown = entries.slice(0, most)
    yield* print(shown, changesText(shown, changes))
  }),
).pipe(Command.withDescription("List changes and their authors, newest first"))

/** `parlance audit …` */
export const auditCommand = Command.make("audit").pipe(
  Command.withDescription("The audit log"),
  Command.withSubcommands([list]),
)
