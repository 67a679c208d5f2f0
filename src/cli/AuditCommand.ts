import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { AuditEntry } from "../accounts/Audit.ts"
import { changesText } from "./ChangesText.ts"
import { ManagementClient } from "./Connection.ts"
import { given, optionalWhole, text, toggle } from "./Flags.ts"
import { organization, print } from "./Root.ts"
import { changesFlag } from "./TemplateIndexCommands.ts"

/** The largest number of entries in one response. */
const atOnce = 200

const list = Command.make(
  "list",
  {
    installation: toggle(
      "installation",
      "Show entries outside any organization: accounts, sessions and created organizations",
    ),
    changes: changesFlag,
    actor: text(
      "actor",
      "Only entries of this actor: an e-mail address, or the admin token or API key as entries name it",
    ),
    action: text("action", 'Only entries of this action, such as "variant changed"'),
    subject: text("subject", "Only entries about this id. Of a template: also those about its variants"),
    since: text("since", "Only entries of this time or later, such as 2026-05-04 or 2026-05-04T09:30:00Z"),
    until: text("until", "Only entries before this time"),
    limit: optionalWhole("limit", "Maximum number of entries. Default: all"),
  },
  Effect.fnUntraced(function* ({ changes, installation, limit, ...filters }) {
    const client = yield* ManagementClient
    const org = installation ? undefined : yield* organization
    const most = Option.getOrElse(limit, () => Infinity)
    const entries: Array<AuditEntry> = []
    let cursor: number | undefined
    do {
      const query = {
        ...given(filters),
        limit: String(Math.max(1, Math.min(atOnce, most - entries.length))),
        ...(cursor === undefined ? {} : { before: String(cursor) }),
      }
      const page = yield* org === undefined
        ? client.accounts.listInstallationAudit({ query })
        : client.accounts.listAudit({ params: { org }, query })
      entries.push(...page.entries)
      cursor = page.next ?? undefined
    } while (cursor !== undefined && entries.length < most)
    const shown = entries.slice(0, most)
    yield* print(shown, shown.length === 0 ? "No matching entries" : changesText(shown, changes))
  }),
).pipe(Command.withDescription("List changes and their authors, newest first"))

/** `parlance audit …` */
export const auditCommand = Command.make("audit").pipe(
  Command.withDescription("The audit log"),
  Command.withSubcommands([list]),
)
