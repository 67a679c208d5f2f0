import { Duration, Effect } from "effect"
import type { ConnectionNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { t } from "../languages/Language.ts"
import type { TemplateCache, TemplateView } from "../templates/TemplateCache.ts"
import type { TestResult } from "./Connection.ts"
import { platforms } from "./connections/Platforms.ts"
import type { Connections } from "./Connections.ts"
import { type NamedVariant, sendWarnings } from "./Sendable.ts"

/** Timeout of the platform's answer. */
const patience = Duration.seconds(30)

/** The result of a test of credentials and settings, with warnings about variants that cannot be sent. */
export interface ConnectionTest extends TestResult {
  readonly warnings: ReadonlyArray<string>
}

/** The variants that Deliver may select: active variants of templates that are not archived. */
function* variantsInUse(templates: Iterable<TemplateView>): Iterable<NamedVariant> {
  for (const { archived, id: template, variants } of templates) {
    if (archived) continue
    for (const { active, formats, id, vars } of variants) {
      if (active) yield { name: `${template} / ${id}`, formats, vars }
    }
  }
}

/**
 * Tests a connection without sending a message, and finds variants that cannot be sent through it. Fails with
 * `ConnectionNotFound` for an unknown connection.
 */
export const testConnection = Effect.fn("testConnection")(function* (
  connections: Connections["Service"],
  templateCache: TemplateCache["Service"],
  org: OrgSlug,
  name: string,
): Effect.fn.Return<ConnectionTest, ConnectionNotFound> {
  const { platform, settings } = yield* connections.get(org, name)
  const result = yield* connections.open(org, name).pipe(
    Effect.flatMap(({ test }) => test),
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.succeed({ ok: false, detail: t`The platform did not answer within 30 seconds` }),
    }),
    Effect.catchTag("NotOpened", ({ reason }) => Effect.succeed({ ok: false, detail: reason })),
  )
  const variables = platforms[platform].variables(settings)
  return { ...result, warnings: sendWarnings(variantsInUse(templateCache.templates(org).values()), variables) }
})
