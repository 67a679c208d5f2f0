import { Effect } from "effect"
import { SourceNotFound } from "../../../domain/Errors.ts"
import { type SourceId, sourceIdOf } from "../../../domain/Source.ts"
import type { mailSource } from "../../../domain/Source.ts"
import { inboxSourceOf } from "../../../intake/Sources.ts"
import type { Visit } from "../../Routes.tsx"

/** Where the pages of sources are. */
export const sourcesPath = ({ org }: Visit) => `/console/o/${org.slug}/sources`

/** The inbox in a path: the inbox of a source, or the inbox of mail. */
export const inboxOf = ({ params }: Visit): Effect.Effect<SourceId | typeof mailSource, SourceNotFound> => {
  const name = params["segment"] ?? ""
  const source = inboxSourceOf(name)
  return source === undefined ? new SourceNotFound({ id: name.slice(0, 100) }) : Effect.succeed(source)
}

/** The source that a path names, by either of its names. */
export const sourceOf = ({ params }: Visit): Effect.Effect<SourceId, SourceNotFound> => {
  const name = params["segment"] ?? ""
  const sourceId = sourceIdOf(name)
  return sourceId === undefined ? new SourceNotFound({ id: name.slice(0, 100) }) : Effect.succeed(sourceId)
}
