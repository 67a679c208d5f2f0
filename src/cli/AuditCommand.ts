import type { AuditEntry } from "../accounts/Audit.ts"
import { commandGroup, steps } from "./ApiCommand.ts"
import { exportCommand, installationFlag, verifyCommand } from "./AuditChainCommands.ts"
import { changesText } from "./ChangesText.ts"
import { given, optionalWhole, text } from "./Flags.ts"
import { organization } from "./Root.ts"
import { changesFlag } from "./TemplateIndexCommands.ts"

/** The largest number of entries in one response. */
const atOnce = 200

/** `parlance audit …` */
export const auditCommand = commandGroup("audit", "The audit log", {
  list: steps("List changes and their authors, newest first", {
    installation: installationFlag,
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
  }, function* (client, { changes: _, installation, limit = Infinity, ...filters }) {
    const org = installation ? undefined : yield* organization
    const entries: Array<AuditEntry> = []
    let cursor: string | undefined
    do {
      const query = given({
        ...filters,
        limit: String(Math.max(1, Math.min(atOnce, limit - entries.length))),
        cursor,
      })
      const page = yield* org === undefined
        ? client.listInstallationAudit({ query })
        : client.listAudit({ params: { org }, query })
      entries.push(...page.entries)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined && entries.length < limit)
    return entries.slice(0, limit)
  }).text((entries, { changes }) => entries.length === 0 ? "No matching entries" : changesText(entries, changes)),
  verify: verifyCommand,
  export: exportCommand,
})
